"""Imported by the fork server, so that the processes forked from it find the kernels that they need loaded."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ..support.stored import QuickDisk
from . import children
from .scenarios import SCENARIOS

assert children
with tempfile.TemporaryDirectory() as place:
    for name in ("build", "change and merge with all columns"):  # these are played by processes that are killed
        folder = Path(place, name)
        SCENARIOS[name].prepare(folder)
        SCENARIOS[name].act(folder, QuickDisk())
