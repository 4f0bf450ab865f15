"""A camera's RAW file, made up: a DNG with a preview and a mosaic of sensor values."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

SENSOR = (64, 96)  # rows, columns
BYTE, ASCII, SHORT, LONG, RATIONAL = 1, 2, 3, 4, 10  # TIFF's field types
LETTER = {BYTE: "B", ASCII: "B", SHORT: "H", LONG: "I", RATIONAL: "i"}


def dng(preview: npt.NDArray[np.uint8] | bytes, size: tuple[int, int], *, orientation: int = 1) -> bytes:
    """preview: RGB pixels, or a JPEG file; size: its width and height."""
    jpeg = isinstance(preview, bytes)
    strip = preview if isinstance(preview, bytes) else preview.tobytes()
    sensor = np.random.default_rng(0).integers(100, 4000, SENSOR).astype("<u2").tobytes()
    data = b"II*\0" + bytes(4) + strip + bytes(len(strip) % 2)
    at_sensor = len(data)
    data += sensor
    at_mosaic = len(data)
    data += _directory(
        at_mosaic,
        {
            254: (LONG, [0]), 256: (LONG, [SENSOR[1]]), 257: (LONG, [SENSOR[0]]), 258: (SHORT, [16]), 259: (SHORT, [1]),
            262: (SHORT, [32803]), 273: (LONG, [at_sensor]), 277: (SHORT, [1]), 278: (LONG, [SENSOR[0]]),
            279: (LONG, [len(sensor)]), 33421: (SHORT, [2, 2]), 33422: (BYTE, [0, 1, 1, 2]), 50717: (LONG, [4095]),
        },
    )  # fmt: skip
    first = len(data)
    data += _directory(
        first,
        {
            254: (LONG, [1]), 256: (LONG, [size[0]]), 257: (LONG, [size[1]]), 258: (SHORT, [8, 8, 8]),
            259: (SHORT, [7 if jpeg else 1]), 262: (SHORT, [6 if jpeg else 2]), 271: (ASCII, b"Made\0"),
            272: (ASCII, b"Up\0"), 273: (LONG, [8]), 274: (SHORT, [orientation]), 277: (SHORT, [3]),
            278: (LONG, [size[1]]), 279: (LONG, [len(strip)]), 330: (LONG, [at_mosaic]), 50706: (BYTE, [1, 4, 0, 0]),
            50721: (RATIONAL, [1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1]), 50778: (SHORT, [21]),
        },
    )  # fmt: skip
    return data[:4] + struct.pack("<I", first) + data[8:]


def _directory(at: int, tags: Mapping[int, tuple[int, list[int] | bytes]]) -> bytes:
    """A TIFF directory that begins at this byte; long values follow it."""
    entries, behind = b"", b""
    for tag, (kind, values) in sorted(tags.items()):
        packed = struct.pack(f"<{len(values)}{LETTER[kind]}", *values)
        if len(packed) > 4:
            behind += bytes(len(behind) % 2)
            place = struct.pack("<I", at + 2 + 12 * len(tags) + 4 + len(behind))
            behind += packed
        else:
            place = packed.ljust(4, b"\0")
        count = len(values) // 2 if kind == RATIONAL else len(values)
        entries += struct.pack("<HHI", tag, kind, count) + place
    return struct.pack("<H", len(tags)) + entries + bytes(4) + behind + bytes(len(behind) % 2)
