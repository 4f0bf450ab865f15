"""Fixtures of the tests of features."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import pytest


@pytest.fixture
def threads() -> Iterator[None]:
    before = cv2.getNumThreads()
    yield
    cv2.setNumThreads(before)
