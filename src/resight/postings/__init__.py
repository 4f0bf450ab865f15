"""Words → inverted lists."""

from .geometry import ANGLE, GEOMETRY, SCALE, SCALE_STEPS_PER_OCTAVE, SHAPED, as_bytes, decode, encode
from .lists import Forward, Lists, build, cells, forward, frozen, of_picture, worth_cells
from .statistics import count

__all__ = [
    "ANGLE",
    "GEOMETRY",
    "SCALE",
    "SCALE_STEPS_PER_OCTAVE",
    "SHAPED",
    "Forward",
    "Lists",
    "as_bytes",
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
