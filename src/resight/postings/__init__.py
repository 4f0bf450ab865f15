"""Words → inverted lists."""

from .geometry import GEOMETRY, decode, encode
from .lists import Lists, build
from .statistics import count

__all__ = ["GEOMETRY", "Lists", "build", "count", "decode", "encode"]
