"""Write the golden index of the current format: ``python -m tests.golden.make``. Once per format, never again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from resight.store import Disk
from resight.store.manifest import FORMAT

from ..support.stored import build, change, cluster, complete, entry, keep_similarity, learn_context

HELD = {  # the first version of format 1 kept no colours
    key: replace(complete(entry(key, seed, features=0 if key == "empty" else None)), colours=None)
    for seed, key in enumerate(["arch", "bridge", "château", "door\udcff", "empty"])
}


def make(folder: Path) -> None:
    """Two segments, with codes and shapes; one picture was removed and one replaced.

    Learnt in between: context terms, a similarity, and two clusters, with cells in the first segment.
    """
    old, gone = complete(entry("arch", 30)), complete(entry("gone", 31))
    build(folder, [old, HELD["bridge"], HELD["château"], gone, HELD["empty"]], disk=Disk())
    learn_context(folder, disk=Disk())
    keep_similarity(folder, disk=Disk())
    change(folder, add=[complete(entry("gone", 32, features=25))], disk=Disk())  # makes lists long enough for cells
    cluster(folder, 2, disk=Disk())
    change(folder, add=[HELD["door\udcff"], HELD["arch"]], remove=["gone"], disk=Disk())
    (folder / "writer.lock").unlink()


if __name__ == "__main__":
    make(Path(__file__).parent / f"format-{FORMAT}")
