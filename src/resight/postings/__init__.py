"""Words → inverted lists."""

from .forward import Forward, forward, whole_forward
from .geometry import ANGLE, GEOMETRY, SCALE, SCALE_STEPS_PER_OCTAVE, SHAPED, as_bytes, decode, encode
from .lists import Lists, build, frozen, of_picture
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
    "count",
    "decode",
    "encode",
    "forward",
    "frozen",
    "of_picture",
    "whole_forward",
]
