"""Which things belong together, if some pairs do: connected components."""

from __future__ import annotations


class Connected:
    """Names that are connected directly or through others; each is alone until it is connected."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def leader(self, name: str) -> str:
        """The smallest name that it is connected with, in the order of strings."""
        while (above := self._above.setdefault(name, name)) != name:
            # Halving the way keeps it short.
            self._above[name], name = self._above[above], above
        return name

    def connect(self, one: str, other: str) -> None:
        first, second = sorted((self.leader(one), self.leader(other)))
        self._above[second] = first

    def groups(self) -> dict[str, list[str]]:
        """All names that were asked for or connected, in order, by their leader."""
        groups: dict[str, list[str]] = {}
        for name in sorted(self._above):
            groups.setdefault(self.leader(name), []).append(name)
        return groups
