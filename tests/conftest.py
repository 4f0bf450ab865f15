"""How tests are run."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.testing
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

# The same examples in every run and on every machine; none are remembered.
settings.register_profile("repeatable", derandomize=True, database=None)
settings.load_profile("repeatable")

# Where an assert in these fails, it says as much as one in a test.
pytest.register_assert_rewrite("tests.support", "tests.engine.searched")

# Typer makes all commands anew from their functions whenever a test runs one, which takes longer than most of them.
# What it makes keeps nothing of a run, so it is made once in each process.
vars(typer.testing)["_get_command"] = cache(typer.main.get_command)

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")

# Every processor runs tests already: more threads would be in their way, also in programs that tests start.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

# Files that share a server, a browser or a cluster: their tests run in one process. Those of any other file do, too.
TOGETHER = ("tests/browser/", "tests/engine/test_ray", "tests/server/")
# What takes longest is begun first, so that no process ends long after the others. At the head what mostly waits.
LONGEST_FIRST = (
    *("tests/browser/", "tests/engine/test_ray", "tests/failure/test_killed", "tests/failure/test_damage"),
    *("tests/server/", "tests/failure/", "tests/search/test_kept", "tests/cli/", "tests/ingest/test_build"),
    *("tests/engine/", "tests/test_known_answers", "tests/evaluation/", "tests/learning_to_rank/", "tests/store/"),
    *("tests/search/", "tests/test_warm", "tests/test_s3", "tests/test_draw", "tests/test_index"),
    *("tests/vocabulary/test_approximate", "tests/scoring/"),
)
# What `make quick` leaves out: tests that need a server, a cluster, a browser, other processes, injected faults, many
# real pictures or much computing.
SLOW = (
    *("tests/browser/", "tests/engine/", "tests/failure/", "tests/server/", "tests/cli/", "tests/demo/"),
    *("tests/test_known_answers", "tests/test_s3", "tests/test_warm", "tests/store/test_remote"),
    *(
        "tests/ingest/test_build",
        "tests/evaluation/",
        "tests/interop/",
        "tests/learning_to_rank/test_learn.py",
        "tests/test_draw",
    ),
    *("tests/search/test_kept", "tests/search/test_several_vocabularies", "tests/duplicates/test_find"),
    *("tests/scoring/test_clusters", "tests/test_clusters", "tests/search/test_candidates.py::test_four_views"),
    *("tests/search/test_clusters", "tests/store/test_random_operations", "tests/store/test_clusters"),
    *("tests/test_index.py::test_results_do_not_depend", "tests/vocabulary/test_approximate"),
    *("tests/search/test_search.py::test_one_pattern", "tests/search/test_search.py::test_pictures_with_few_features"),
    *("tests/search/test_search.py::test_a_key_finds", "tests/search/test_search.py::test_verification_matches"),
    *(
        "tests/features/test_hessian_affine.py::test_regions_follow",
        "tests/features/test_sift.py::test_positions_of_a_reduced",
        "tests/learn/test_similarity.py::test_an_interrupted_run",
        "tests/rerank/test_verify.py::test_unrelated_ellipses",
        "tests/scoring/test_neighbours.py::test_as_a_search_that_looks_at_everything",
        "tests/scoring/test_voting.py::test_row_matches_equals_its_twin",
        "tests/store/test_round_trip.py::test_a_check_holds_some_rows",
        "tests/test_docs.py::test_the_interop_examples",
        "tests/test_images.py::test_flipped_bytes",
        "tests/test_images.py::test_reducing_while_decoding",
        "tests/test_index.py::test_threads_search_while",
        "tests/test_urls.py::test_indexed_searched_drawn",
        "tests/vocabulary/test_assign.py::test_large_vocabularies",
        "tests/vocabulary/test_codes.py::test_learnt_codes_lie_nearer",
        "tests/vocabulary/test_codes.py::test_ready_codebooks_are_made",
        "tests/vocabulary/test_pca.py::test_large_vocabularies",
        "tests/vocabulary/test_train.py::test_sample_is_uniform",
    ),
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What is left out need not be imported, either: that takes longer than many a test."""
    path = str(collection_path.relative_to(config.rootpath))
    return True if config.option.markexpr == "not slow" and f"{path}/".startswith(SLOW) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
    ranks = {group: rank for rank, group in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: next((ranks[g] for g in LONGEST_FIRST if item.nodeid.startswith(g)), len(ranks)))


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((group for group in TOGETHER if file.startswith(group)), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A process for each processor, and two more beside those that wait for a browser, a cluster or a disk."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quick: bool = config.option.markexpr == "not slow"
    return processors if quick else processors + 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    return Scheduling(config, log)
