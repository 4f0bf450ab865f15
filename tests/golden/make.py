"""Write the golden index of the current format: ``python -m tests.golden.make``. Once per format, never again."""

from __future__ import annotations

from pathlib import Path

from resight.store import Disk
from resight.store.manifest import FORMAT

from ..store.support import build, change, entry, learn_context

ENTRIES = {
    key: entry(key, seed, features=0 if key == "empty" else None)
    for seed, key in enumerate(["arch", "bridge", "château", "door\udcff", "empty"])
}


def make(folder: Path) -> None:
    """Two segments; one picture was removed and one replaced. Since format 2: context terms, learnt in between."""
    old = entry("arch", 30)
    build(folder, [old, ENTRIES["bridge"], ENTRIES["château"], entry("gone", 31), ENTRIES["empty"]], disk=Disk())
    learn_context(folder, disk=Disk())
    change(folder, add=[ENTRIES["door\udcff"], ENTRIES["arch"]], remove=["gone"], disk=Disk())
    (folder / "writer.lock").unlink()


if __name__ == "__main__":
    make(Path(__file__).parent / f"format-{FORMAT}")
