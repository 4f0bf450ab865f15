"""Words → inverted lists."""

from .geometry import GEOMETRY, SCALE_STEPS_PER_OCTAVE, decode, encode
from .lists import Forward, Lists, build, cells, forward, frozen, of_picture, worth_cells
from .statistics import count

__all__ = [
    "GEOMETRY",
    "SCALE_STEPS_PER_OCTAVE",
    "Forward",
    "Lists",
    "build",
    "cells",
    "count",
    "decode",
    "encode",
    "forward",
    "frozen",
    "of_picture",
    "worth_cells",
]
