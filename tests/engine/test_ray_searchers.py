"""Searchers on a Ray cluster of two nodes, on one of which the plug is pulled."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from resight import Index
from resight.cli import app
from resight.engine.ray_searchers import RaySearchers
from resight.errors import EngineError, IndexDamagedError
from resight.server import Collection

from ..support.pictures import SIZE, panorama
from ..support.processes import open_files
from ..support.stored import build as build_made
from ..support.stored import entry
from .searched import FEATURES, SEGMENTS, fill, same

pytestmark = pytest.mark.filterwarnings("default")  # Ray's own

NODES = 2


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with Index.create(tmp_path_factory.mktemp("ray") / "i.resight", features=FEATURES) as index:
        fill(index)
    return index.path


@pytest.fixture(scope="module")
def searchers(cluster: Any) -> Iterator[RaySearchers]:
    with RaySearchers(cluster.address) as found:
        yield found


@pytest.fixture
def spread(searchers: RaySearchers, made: Path) -> Iterator[Index]:
    with Index.open(made) as index:
        index.spread(searchers)
        yield index


def nodes_of(searchers: RaySearchers) -> list[str]:
    """Where each searcher lives."""
    from ray._private.state import actors

    return [actors(actor._actor_id.hex())["Address"]["NodeID"] for actor in searchers._actors]


def test_results_are_those_of_one_place(searchers: RaySearchers, spread: Index, made: Path) -> None:
    assert len(nodes_of(searchers)) == NODES
    assert len(set(nodes_of(searchers))) > 1
    with Index.open(made) as index:
        assert index.info().segments == SEGMENTS
        for recipe in ("expanded", "density-hamming", "bow-negative"):
            assert same(spread.search(key="copy 1", recipe=recipe), index.search(key="copy 1", recipe=recipe))
        assert same(spread.compare(key="wall 0", other="wall 1"), index.compare(key="wall 0", other="wall 1"))


def test_links_found_by_searchers_elsewhere_are_those_found_here(
    searchers: RaySearchers, made: Path, tmp_path: Path
) -> None:
    found = []
    for number, elsewhere in enumerate((None, searchers)):
        copied = tmp_path / f"{number}.resight"
        shutil.copytree(made, copied)
        with Index.open(copied) as index:
            if elsewhere:
                index.spread(elsewhere)
            assert index.learn.links() == len(index)
            found.append({key: index.links(key) for key in index})
    assert found[0] == found[1]
    assert any(found[0].values())


def test_the_command_line(cluster: Any, searchers: RaySearchers, made: Path) -> None:
    words = ["search", str(made), "--key", "copy 1", "--json"]
    local, ray = (CliRunner().invoke(app, [*words, *more]) for more in ([], ["--engine", "ray", "--ray-address",
                                                                           cluster.address]))  # fmt: skip
    assert (local.exit_code, ray.exit_code) == (0, 0)
    assert json.loads(ray.stdout) == json.loads(local.stdout)


def test_a_server_sees_what_is_added(searchers: RaySearchers, tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight", features=FEATURES) as index:
        fill(index)
    collection = Collection(index.path, searchers)
    before = collection.index.search(key="copy 1")
    with Index.open(index.path) as other:
        other.add(np.ascontiguousarray(panorama(1)[:, 60 : SIZE - 10]), key="new")
    after = collection.index.search(key="copy 1")
    assert {hit.key for hit in after.hits} - {hit.key for hit in before.hits} >= {"new"}
    with Index.open(index.path) as alone:
        assert same(after, alone.search(key="copy 1"))
    collection.close()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux's list of open files")
def test_idle_searchers_hold_nothing_and_closed_ones_answer_nobody(cluster: Any, tmp_path: Path) -> None:
    from ray._private.state import actors

    with Index.create(tmp_path / "i.resight", features=FEATURES) as index:
        fill(index)
    with Index.open(index.path) as spread, RaySearchers(cluster.address, count=2) as some:
        spread.spread(some)
        with Index.open(index.path) as other:
            other.merge()
            wanted = other.search(key="copy 1")
        spread.refresh()
        assert same(spread.search(key="copy 1"), wanted)
        busy, idle = (open_files(index.path, actors(actor._actor_id.hex())["Pid"]) for actor in some._actors)
        assert busy > idle == 0
    with pytest.raises(EngineError, match="were closed"):
        some.group(spread.snapshot)


def test_errors_are_resights_own(searchers: RaySearchers, tmp_path: Path) -> None:
    build_made(tmp_path / "i", [entry("a", 1)], [entry("b", 2)])
    with Index.open(tmp_path / "i") as index:
        for file in (tmp_path / "i" / "segments").glob("*/sums.npy"):
            file.write_bytes(b"")
        with pytest.raises(IndexDamagedError, match=r"sums\.npy"):
            searchers.group(index.snapshot)


def test_a_node_dies_during_a_search(cluster: Any, searchers: RaySearchers, spread: Index, made: Path) -> None:
    with Index.open(made) as index:
        wanted = index.search(key="copy 1")
    assert same(spread.search(key="copy 1"), wanted)
    _, *others = cluster.list_all_nodes()  # the first is the head
    lost = next(node for node in others if node.node_id in nodes_of(searchers))
    found, begun = [], threading.Event()

    def search() -> None:
        for _ in range(200):
            begun.set()
            found.append(spread.search(key="copy 1"))
            if dead.is_set():
                return

    dead, thread = threading.Event(), threading.Thread(target=search)
    thread.start()
    begun.wait()
    cluster.remove_node(lost, allow_graceful=False)
    dead.set()
    thread.join()
    found.append(spread.search(key="copy 1"))
    assert all(same(result, wanted) for result in found)
    assert lost.node_id not in nodes_of(searchers)
