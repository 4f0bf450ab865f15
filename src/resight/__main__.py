"""``python -m resight``: the same commands."""

from .cli import main

if __name__ == "__main__":
    main()
