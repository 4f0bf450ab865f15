"""Words → inverted lists."""

from .geometry import GEOMETRY, SCALE_STEPS_PER_OCTAVE, decode, encode
from .lists import Forward, Lists, build, forward, frozen, of_picture
from .statistics import count

__all__ = [
    "GEOMETRY",
    "SCALE_STEPS_PER_OCTAVE",
    "Forward",
    "Lists",
    "build",
    "count",
    "decode",
    "encode",
    "forward",
    "frozen",
    "of_picture",
]
