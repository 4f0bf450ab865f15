"""Imported by the fork server, so that the processes forked from it find every kernel loaded."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ..support.stored import QuickDisk
from . import children
from .scenarios import SCENARIOS

assert children
with tempfile.TemporaryDirectory() as place:
    for number, scenario in enumerate(SCENARIOS.values()):
        folder = Path(place, str(number))
        scenario.prepare(folder)
        scenario.act(folder, QuickDisk())
