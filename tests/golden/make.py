"""Write the golden index of the current format: ``python -m tests.golden.make``. Once per format, never again."""

from __future__ import annotations

from pathlib import Path

from resight.store import Disk
from resight.store.manifest import FORMAT

from ..support.stored import build, change, cluster, coded, complete, entry, keep_similarity, learn_context

PLAIN = {
    key: entry(key, seed, features=0 if key == "empty" else None)
    for seed, key in enumerate(["arch", "bridge", "château", "door\udcff", "empty"])
}
CODED = {key: coded(e) for key, e in PLAIN.items()}  # since format 4
COMPLETE = {key: complete(e) for key, e in PLAIN.items()}  # since format 6


def make(folder: Path) -> None:
    """Two segments; one picture was removed and one replaced. Since format 4 with codes, since format 6 with shapes.

    Learnt in between: since format 2 context terms, since format 3 two clusters, with cells in the first segment, since
    format 5 a similarity.
    """
    old, gone = complete(entry("arch", 30)), complete(entry("gone", 31))
    build(folder, [old, COMPLETE["bridge"], COMPLETE["château"], gone, COMPLETE["empty"]], disk=Disk())
    learn_context(folder, disk=Disk())
    keep_similarity(folder, disk=Disk())
    change(folder, add=[complete(entry("gone", 32, features=25))], disk=Disk())  # makes lists long enough for cells
    cluster(folder, 2, disk=Disk())
    change(folder, add=[COMPLETE["door\udcff"], COMPLETE["arch"]], remove=["gone"], disk=Disk())
    (folder / "writer.lock").unlink()


if __name__ == "__main__":
    make(Path(__file__).parent / f"format-{FORMAT}")
