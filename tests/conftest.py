"""How tests are run, and fixtures that several folders share."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from resight.demo.collection import Collection, build
from resight.index import Index

# The same examples in every run and on every machine; none are remembered.
settings.register_profile("repeatable", derandomize=True, database=None)
settings.load_profile("repeatable")

# Where an assert in these fails, it says as much as one in a test.
pytest.register_assert_rewrite("tests.support", "tests.engine.searched")

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")

# Tests run in as many processes as there are processors: more threads would be in their way. Also those of programs
# that tests start.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

# Files that share a server, a browser or a cluster: their tests run in one process. Those of any other file do, too.
TOGETHER = ("tests/browser/", "tests/engine/test_ray", "tests/server/")
# What `make quick` leaves out: tests that need a server, a cluster, a browser, other processes, injected faults or many
# real pictures.
SLOW = (
    *("tests/browser/", "tests/engine/", "tests/failure/", "tests/server/", "tests/cli/", "tests/demo/"),
    *(
        "tests/ingest/test_build",
        "tests/test_known_answers",
        "tests/test_s3",
        "tests/test_warm",
        "tests/store/test_remote",
    ),
    *("tests/evaluation/", "tests/interop/", "tests/learning_to_rank/test_learn.py", "tests/test_draw"),
    *("tests/search/test_kept", "tests/search/test_several_vocabularies"),
    *("tests/search/test_clusters", "tests/store/test_random_operations", "tests/store/test_clusters"),
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What is left out need not be imported, either: that takes longer than many a test."""
    path = str(collection_path.relative_to(config.rootpath))
    return True if config.option.markexpr == "not slow" and f"{path}/".startswith(SLOW) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((group for group in TOGETHER if file.startswith(group)), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    return Scheduling(config, log)


@dataclass(frozen=True)
class Demo:
    """The demo collection, indexed with relative keys."""

    folder: Path
    collection: Collection
    index: Path


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """Made once per process, for tests that only read it."""
    folder = tmp_path_factory.mktemp("demo")
    collection = build(folder)
    with Index.create(folder / "demo.resight") as index:
        outcomes = list(index.add_files(collection.pictures, relative_to=folder / "pictures"))
    assert not [o for o in outcomes if o.skipped]
    return Demo(folder, collection, folder / "demo.resight")
