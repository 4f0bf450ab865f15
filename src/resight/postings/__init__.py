"""Words → inverted lists."""

from .geometry import GEOMETRY, SCALE_STEPS_PER_OCTAVE, decode, encode
from .lists import Lists, build, of_picture
from .statistics import count

__all__ = ["GEOMETRY", "SCALE_STEPS_PER_OCTAVE", "Lists", "build", "count", "decode", "encode", "of_picture"]
