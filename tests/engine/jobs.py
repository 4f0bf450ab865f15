"""Jobs and plans. Workers are spawned: what they run must be importable, so it stands at the top of a module."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterator

import cv2
import numpy as np

from resight._faiss import load
from resight.errors import VocabularyError


def square_plan() -> Callable[[int], int]:
    return square


def square(job: int) -> int:
    return job * job


def fragile_plan() -> Callable[[int], int]:
    return fragile


def fragile(job: int) -> int:
    """Negative jobs kill their worker, as a fault in a decoder would."""
    if job < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.abort()
    time.sleep(0.005)
    return job * 10


def picky_plan() -> Callable[[int], int]:
    return picky


def picky(job: int) -> int:
    if job == 5:
        raise ValueError("five is right out")
    return job


def state_plan() -> Callable[[int], tuple[int, int, int]]:
    return state


def state(job: int) -> tuple[int, int, int]:
    """Where it ran, with how many threads."""
    return os.getpid(), cv2.getNumThreads(), load().omp_get_max_threads()


def noise_plan() -> Callable[[int], bytes]:
    return noise


def noise(job: int) -> bytes:
    time.sleep(0.01 if job % 7 == 0 else 0)  # so that later jobs are done before earlier ones
    rows = np.random.default_rng(job).standard_normal((40, 40)).astype(np.float32)
    return (rows @ rows.T).tobytes()


def no_crash(job: int) -> int:
    raise AssertionError(f"job {job} was reported as crashed")


def counted(jobs: int, taken: list[int]) -> Iterator[int]:
    for job in range(jobs):
        taken.append(job)
        yield job


def failing_plan() -> Callable[[int], int]:
    raise VocabularyError("no words")
