"""Work in processes: order, crashes, errors, and nothing left behind. Jobs are real, and so are the crashes."""

from __future__ import annotations

import multiprocessing
import os
import time

import cv2
import pytest

from resight._faiss import load
from resight.engine import LocalEngine
from resight.engine.local import WINDOW
from resight.errors import VocabularyError
from resight.machine import processors

from .jobs import counted, failing_plan, fragile_plan, no_crash, noise, noise_plan, picky_plan, square_plan, state_plan


def nothing_left_running() -> bool:
    """Workers of a broken pool may take a moment to be gone."""
    deadline = time.monotonic() + 10
    while multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.02)
    return not multiprocessing.active_children()


def test_results_come_in_the_order_of_the_jobs_and_are_the_same_bits_in_one_or_two_processes() -> None:
    jobs = list(range(80))
    expected = [noise(job) for job in jobs]
    assert len(set(expected)) == 80
    for processes in (1, 2):
        assert list(LocalEngine(processes).run(noise_plan, iter(jobs), on_crash=lambda job: b"")) == expected
        assert nothing_left_running()


def test_one_process_is_this_one() -> None:
    here = (os.getpid(), cv2.getNumThreads(), load().omp_get_max_threads())
    assert list(LocalEngine(1).run(state_plan, [0, 1], on_crash=lambda job: here)) == [here, here]


def test_workers_are_others_with_one_thread_each() -> None:
    seen = list(LocalEngine(2).run(state_plan, range(40), on_crash=lambda job: (0, 0, 0)))
    assert os.getpid() not in {pid for pid, _, _ in seen}
    assert 1 <= len({pid for pid, _, _ in seen}) <= 2
    assert {(cv, omp) for _, cv, omp in seen} == {(1, 1)}


@pytest.mark.parametrize("processes", [1, 2])
def test_no_jobs(processes: int) -> None:
    assert list(LocalEngine(processes).run(square_plan, [], on_crash=no_crash)) == []


def test_a_job_that_kills_its_worker_is_reported_and_the_others_complete() -> None:
    """The first culprit makes suspects of the whole window, and two more lurk behind it; no innocent job is blamed."""
    culprits = {0: -1, WINDOW * 2: -2, WINDOW * 2 + 1: -3}
    jobs = [culprits.get(i, i) for i in range(WINDOW * 2 + 10)]
    crashed: list[int] = []

    def on_crash(job: int) -> int:
        crashed.append(job)
        return job

    results = list(LocalEngine(2).run(fragile_plan, jobs, on_crash=on_crash))
    assert results == [job if job < 0 else job * 10 for job in jobs]
    assert crashed == [-1, -2, -3]
    assert nothing_left_running()


def test_a_crash_while_the_caller_is_busy() -> None:
    """The pool breaks between two results, so that the next job cannot even be submitted."""
    jobs = [0, -1, *range(2, WINDOW * 2 + 10)]
    results = []
    for result in LocalEngine(2).run(fragile_plan, jobs, on_crash=lambda job: job):
        results.append(result)
        while len(results) == 1 and multiprocessing.active_children():  # until the crash has ended all workers
            time.sleep(0.01)
    assert results == [job if job < 0 else job * 10 for job in jobs]


@pytest.mark.parametrize("processes", [1, 2])
def test_an_exception_in_a_job_propagates(processes: int) -> None:
    results = LocalEngine(processes).run(picky_plan, range(20), on_crash=no_crash)
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="five is right out"):
        next(results)
    assert next(results, None) is None
    assert nothing_left_running()


@pytest.mark.parametrize("processes", [1, 2])
def test_jobs_are_taken_as_they_are_needed_and_stopping_early_leaves_nothing(processes: int) -> None:
    taken: list[int] = []
    results = LocalEngine(processes).run(square_plan, counted(10_000, taken), on_crash=no_crash)
    assert [next(results) for _ in range(3)] == [0, 1, 4]
    assert len(taken) <= 3 + WINDOW * processes
    results.close()  # type: ignore[attr-defined]
    assert nothing_left_running()
    assert len(taken) <= 3 + WINDOW * processes


@pytest.mark.parametrize("processes", [1, 2])
def test_a_worker_that_cannot_be_set_up_is_an_error_not_a_crash(processes: int) -> None:
    with pytest.raises(VocabularyError, match="no words"):
        list(LocalEngine(processes).run(failing_plan, range(5), on_crash=no_crash))


def test_processors_are_those_this_process_may_use() -> None:
    assert processors() == len(os.sched_getaffinity(0))
