"""Known answers for every format, depth and orientation; and nothing but ImageError from damaged files."""

from __future__ import annotations

import importlib.util
import io
import math
import os
import struct
import sys
import threading
import time
import tracemalloc
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, features

from resight.errors import ImageError, ImageKindError, ImageSizeError, UsageError
from resight.folders import find_pictures
from resight.images import (
    decode,
    decode_rgb,
    decode_with_thumbnail,
    from_array,
    is_picture_name,
    read_bytes,
    size_of,
    stored_size,
)
from resight.options import ImageOptions
from resight.types import Picture

from .support.raw import dng

HAS_RAW = importlib.util.find_spec("rawpy") is not None
HAS_HEIF = importlib.util.find_spec("pillow_heif") is not None
Array = npt.NDArray[Any]
LOSSLESS = {"PNG": {}, "WEBP": {"lossless": True}, "TIFF": {}, "BMP": {}}
FORMATS: dict[str, dict[str, Any]] = {"JPEG": {"quality": 95}, **LOSSLESS}


def encode(array: Array | Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    (array if isinstance(array, Image.Image) else Image.fromarray(array)).save(buffer, kind, **options)
    return buffer.getvalue()


def heic(array: Array) -> bytes:
    import pillow_heif

    buffer = io.BytesIO()
    pillow_heif.from_pillow(Image.fromarray(array)).save(buffer, quality=90)
    return buffer.getvalue()


def grey(data: bytes, max_side: int = 4096) -> Array:
    return decode(data, name="x", max_side=max_side).pixels


def scene(height: int = 90, width: int = 120, seed: int = 0) -> Array:
    """Smooth coloured blobs: compresses like a photo, and no two corners are alike."""
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)
    large: Array = cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)
    return large


def luma(rgb: Array) -> Array:
    weighted: Array = np.rint(rgb @ np.array([0.299, 0.587, 0.114])).astype(np.uint8)
    return weighted


def difference(a: Array, b: Array) -> float:
    assert a.shape == b.shape
    return float(np.abs(a.astype(float) - b.astype(float)).mean())


# --- formats and depths ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_gives_the_pixels_that_were_saved(kind: str) -> None:
    rgb = scene()
    data = encode(rgb, kind, **FORMATS[kind])
    picture = decode(data, name="x", max_side=4096)
    assert (picture.width, picture.height) == (120, 90)
    assert picture.pixels.dtype == np.uint8
    assert picture.pixels.flags.writeable
    assert picture.pixels.flags.c_contiguous
    shown = decode_rgb(data, name="x", max_side=4096)
    if kind == "JPEG":
        assert difference(picture.pixels, luma(rgb)) < 1.5
        assert difference(shown, rgb) < 3
    else:
        assert np.abs(picture.pixels.astype(int) - luma(rgb)).max() <= 1
        assert np.array_equal(shown, rgb)


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "BMP"])
def test_one_bit(kind: str) -> None:
    bits = scene()[..., 0] > 128
    assert np.array_equal(grey(encode(bits, kind)), bits * 255)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "BMP"])
def test_grey(kind: str) -> None:
    values = scene()[..., 0]
    assert difference(grey(encode(values, kind, quality=100)), values) < 0.5
    assert decode_rgb(encode(values, kind), name="x", max_side=4096).shape == (90, 120, 3)


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "big-endian TIFF"])
def test_sixteen_bit_grey_is_scaled_not_clipped(kind: str) -> None:
    values = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    image = Image.fromarray(values)
    if kind == "big-endian TIFF":
        image = Image.frombytes("I;16B", image.size, values.astype(">u2").tobytes())
    pixels = grey(encode(image, kind.removeprefix("big-endian ")))
    assert np.array_equal(pixels, np.rint(values / 257).astype(np.uint8))


@pytest.mark.parametrize("kind", [".png", ".tiff"])
def test_sixteen_bit_rgb(kind: str) -> None:
    rgb = scene()
    deep = rgb.astype(np.uint16) * 257
    data = cv2.imencode(kind, deep[..., ::-1])[1].tobytes()
    assert np.array_equal(decode_rgb(data, name="x", max_side=4096), rgb)


def test_sixteen_bit_png_with_a_transparent_colour() -> None:
    rows = b"".join(b"\0" + struct.pack(">6H", 65535, 0, 0, 257, 257, 257) for _ in range(2))
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 16, 2, 0, 0, 0)), (b"tRNS", struct.pack(">3H", 65535, 0, 0))]
    data = png([*chunks, (b"IDAT", zlib.compress(rows)), (b"IEND", b"")])
    assert grey(data).shape == (2, 2)
    assert grey(data)[0, 1] == 1


def test_twelve_bit_tiff() -> None:
    values = [(0, 4095), (2048, 1024)]
    packed = b"".join(bytes([a >> 4, (a & 15) << 4 | b >> 8, b & 255]) for a, b in values)
    tags = {256: 2, 257: 2, 258: 12, 259: 1, 262: 1, 273: 8, 277: 1, 278: 2, 279: len(packed)}
    entries = b"".join(struct.pack("<HHII", tag, 4 if tag in (273, 279) else 3, 1, v) for tag, v in tags.items())
    data = b"II*\0" + struct.pack("<I", 14) + packed + struct.pack("<H", len(tags)) + entries + bytes(4)
    assert grey(data).tolist() == [[0, 255], [128, 64]]


def test_thirty_two_bit_and_float_tiffs_are_rescaled() -> None:
    ramp = np.arange(256, dtype=np.int32).reshape(16, 16)
    assert np.array_equal(grey(encode(ramp * 100_000 - 5_000, "TIFF")), ramp)
    assert np.array_equal(grey(encode((ramp / 255).astype(np.float32), "TIFF")), ramp)
    assert np.array_equal(grey(encode((ramp * 40 - 300).astype(np.float32), "TIFF")), ramp)
    half = (ramp / 510).astype(np.float32)  # within [0, 1]: 0.5 is mid-grey, not white
    assert grey(encode(half, "TIFF")).max() == 128
    odd = (ramp * 40).astype(np.float32)
    odd[0, :3] = np.nan, np.inf, -np.inf
    assert grey(encode(odd, "TIFF"))[0, :4].tolist() == [0, 255, 0, 0]
    assert not grey(encode(np.full((4, 4), np.nan, np.float32), "TIFF")).any()
    assert not grey(encode(np.full((4, 4), 7, np.int32), "TIFF")).any()


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP"])
@pytest.mark.parametrize("mode", ["LA", "RGBA"])
def test_alpha_is_shown_on_white(kind: str, mode: str) -> None:
    rgba = Image.new("RGBA", (3, 1))
    for x, alpha in enumerate((0, 128, 255)):
        rgba.putpixel((x, 0), (0, 0, 0, alpha))
    data = encode(rgba.convert(mode), kind, **({"lossless": True, "exact": True} if kind == "WEBP" else {}))
    assert grey(data).tolist() == [[255, 127, 0]]
    assert decode_rgb(data, name="x", max_side=9)[0, :, 1].tolist() == [255, 127, 0]


def test_premultiplied_grey_and_alpha_tiff() -> None:
    data = bytearray(encode(Image.merge("LA", [Image.new("L", (2, 1), 60), Image.new("L", (2, 1), 128)]), "TIFF"))
    at = data.index(struct.pack("<HHI", 338, 3, 1)) + 8  # ExtraSamples
    assert data[at] == 2
    data[at] = 1
    if not survives(bytes(data)):
        pytest.skip("this Pillow does not read premultiplied grey")  # 11.3 does not, 13.0 does
    assert np.abs(grey(bytes(data)).astype(int) - (60 + 127)).max() <= 1


def test_palette_with_and_without_transparency() -> None:
    image = Image.new("P", (3, 1))
    image.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    image.putdata([0, 1, 2])
    assert grey(encode(image, "PNG")).tolist() == [[76, 150, 29]]
    assert grey(encode(image, "BMP")).tolist() == [[76, 150, 29]]
    assert grey(encode(image, "TIFF")).tolist() == [[76, 150, 29]]
    assert grey(encode(image, "GIF")).tolist() == [[76, 150, 29]]
    assert grey(encode(image, "GIF", transparency=1)).tolist() == [[76, 255, 29]]
    assert grey(encode(image, "PNG", transparency=1)).tolist() == [[76, 255, 29]]
    assert grey(encode(image, "PNG", transparency=bytes([255, 0, 0]))).tolist() == [[76, 255, 255]]


def test_a_transparent_grey_or_colour_value() -> None:
    assert grey(encode(np.array([[7, 8]], np.uint8), "PNG", transparency=7)).tolist() == [[255, 8]]
    pair = np.array([[[7, 7, 7], [8, 8, 8]]], np.uint8)
    assert grey(encode(pair, "PNG", transparency=(7, 7, 7))).tolist() == [[255, 8]]


@pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
def test_cmyk(kind: str) -> None:
    rgb = scene()
    data = encode(Image.fromarray(rgb).convert("CMYK"), kind, quality=95)
    assert difference(grey(data), luma(rgb)) < 2
    assert difference(decode_rgb(data, name="x", max_side=4096), rgb) < 5


def test_ycck_jpeg() -> None:
    """Adobe's YCCK holds the inks C, M, Y as YCbCr and inverted K; made by writing that as CMYK and renaming it."""
    rgb = scene()
    y, cb, cr = Image.fromarray(255 - rgb).convert("YCbCr").split()
    black = Image.new("L", y.size, 255)  # inverted: no ink
    planes = [plane.point([255 - v for v in range(256)]) for plane in (y, cb, cr, black)]  # Pillow inverts when saving
    data = bytearray(encode(Image.merge("CMYK", planes), "JPEG", quality=95))
    adobe = data.index(b"Adobe")
    assert data[adobe + 11] == 0
    data[adobe + 11] = 2
    oracle: Any = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert difference(oracle[..., ::-1], rgb) < 5
    assert difference(grey(bytes(data)), luma(rgb)) < 2
    assert difference(decode_rgb(bytes(data), name="x", max_side=4096), rgb) < 5


def test_rgb_and_progressive_jpegs() -> None:
    rgb = scene()
    assert difference(grey(encode(rgb, "JPEG", quality=95, keep_rgb=True)), luma(rgb)) < 1.5
    assert difference(grey(encode(rgb, "JPEG", quality=95, progressive=True)), luma(rgb)) < 1.5


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP", "MPO", "GIF"])
def test_the_first_frame_is_taken(kind: str) -> None:
    frames = [Image.new("RGB", (20, 10), colour) for colour in ("white", "black", "black")]
    data = encode(frames[0], kind, save_all=True, append_images=frames[1:])
    assert grey(data).min() >= 254


def test_the_extension_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(encode(scene(), "PNG"))
    assert np.array_equal(grey(read_bytes(path)), grey(encode(scene(), "TIFF")))


@pytest.mark.skipif(not HAS_HEIF, reason="needs resight[heif]")
def test_heic() -> None:
    rgb = scene()
    data = heic(rgb)
    before = dict(Image.OPEN)
    picture = decode(data, name="x", max_side=4096)
    assert (picture.width, picture.height) == (120, 90)
    assert difference(picture.pixels, luma(rgb)) < 4
    assert before == Image.OPEN  # nothing was registered for the whole process
    with pytest.raises(ImageError, match="cannot decode"):
        decode(data[:-200], name="x", max_side=4096)


def test_heic_without_the_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(ImageError, match=r"'a\.heic'.*pip install resight\[heif\]"):
        decode(b"\0\0\0\x18ftypheic" + bytes(40), name="a.heic", max_side=64)


@pytest.mark.skipif(not HAS_RAW, reason="needs resight[raw]")
@pytest.mark.parametrize("preview", ["JPEG", "pixels"])
@pytest.mark.parametrize("orientation", [1, 3, 6, 8])  # those that cameras write
def test_the_preview_of_a_raw_file_is_upright(preview: str, orientation: int) -> None:
    stored: Array = np.repeat(np.ascontiguousarray(STORED[orientation])[..., None], 3, axis=2)
    inside = encode(stored, "JPEG", quality=100) if preview == "JPEG" else stored
    data = dng(inside, stored.shape[1::-1], orientation=orientation)
    picture = decode(data, name="x", max_side=64)
    assert (picture.width, picture.height) == size_of(data, name="x") == (48, 32)
    assert math.prod(stored_size(data, name="x")) == 48 * 32
    assert difference(picture.pixels, UPRIGHT) < 1
    with pytest.raises(ImageSizeError, match=r"(48 × 32|32 × 48) pixels"):
        decode(data, name="x", max_side=64, options=ImageOptions(max_pixels=48 * 32 - 1))


def test_raw_without_the_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rawpy", None)
    heads = b"FUJIFILMCCD-RAW 0201", b"\0\0\0\x18ftypcrx \0\0", b"IIRO\x08\0", b"IIU\0\x18\0", b"II*\0\x10\0\0\0CR\2\0"
    for data in (*heads, dng(scene(), (120, 90))):
        with pytest.raises(ImageKindError, match=r"'a\.nef'.*pip install resight\[raw\]"):
            decode(data, name="a.nef", max_side=64)
    assert grey(encode(scene(), "TIFF")).shape == (90, 120)  # which begins as most RAW files do


# --- orientation and size -------------------------------------------------------------------------------------------

UPRIGHT = np.kron(np.array([[0, 40, 80], [120, 180, 250]], np.uint8), np.ones((16, 16), np.uint8))
# What a camera stores for each orientation value, written as the EXIF standard defines it: where the first stored row
# and first stored column lie in the upright picture.
STORED = {
    1: UPRIGHT,  # top, left
    2: UPRIGHT[:, ::-1],  # top, right
    3: UPRIGHT[::-1, ::-1],  # bottom, right
    4: UPRIGHT[::-1],  # bottom, left
    5: UPRIGHT.T,  # left, top
    6: UPRIGHT[:, ::-1].T,  # right, top
    7: UPRIGHT[::-1, ::-1].T,  # right, bottom
    8: UPRIGHT[::-1].T,  # left, bottom
}


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", STORED)
@pytest.mark.parametrize("max_side", [64, 24])
def test_all_orientations(kind: str, orientation: int, max_side: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = np.repeat(np.ascontiguousarray(STORED[orientation])[..., None], 3, axis=2)
    options = {"lossless": True} if kind == "WEBP" else {"quality": 100} if kind == "JPEG" else {}
    data = encode(stored, kind, exif=exif, **options)
    picture = decode(data, name="x", max_side=max_side)
    assert (picture.width, picture.height) == size_of(data, name="x") == (48, 32)
    assert math.prod(stored_size(data, name="x")) == 48 * 32
    assert picture.pixels.shape == ((32, 48) if max_side == 64 else (16, 24))
    step = picture.pixels.shape[0] // 2
    centres = picture.pixels[step // 2 :: step, step // 2 :: step].astype(int)
    assert np.abs(centres - UPRIGHT[8::16, 8::16]).max() <= 2
    assert decode_rgb(data, name="x", max_side=max_side).shape == (*picture.pixels.shape, 3)


@pytest.mark.parametrize("exif", [b"Exif\0\0", b"Exif\0\0garbage!", b"Exif\0\0II*\0\xff\xff\xff\xff", b"\0" * 40])
def test_broken_exif_does_not_hide_the_picture(exif: bytes) -> None:
    assert difference(grey(encode(scene(), "JPEG", exif=exif, quality=95)), luma(scene())) < 1.5


def test_the_size_of_what_is_no_picture() -> None:
    with pytest.raises(ImageError, match="holds an unknown kind of file"):
        size_of(b"no picture", name="x")
    with pytest.raises(ImageError, match="the size of"):
        stored_size(b"\x89PNG\r\n\x1a\n", name="x")
    with pytest.raises(ImageError, match="cannot read the size of 'x'"):
        size_of(encode(scene(), "PNG")[:20], name="x")


def test_an_orientation_that_does_not_exist_is_ignored() -> None:
    exif = Image.Exif()
    exif[0x0112] = 99
    assert decode(encode(scene(), "JPEG", exif=exif), name="x", max_side=500).width == 120


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("size", [(1, 1), (1, 300), (300, 1), (7, 5)])
def test_thin_pictures(kind: str, size: tuple[int, int]) -> None:
    picture = decode(encode(np.full((*size, 3), 90, np.uint8), kind), name="x", max_side=50)
    assert (picture.height, picture.width) == size
    assert max(picture.pixels.shape) == min(50, max(size))
    assert np.abs(picture.pixels.astype(int) - 90).max() <= 1


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("max_side", [1, 16, 119, 120, 121])
def test_never_larger_than_asked_nor_enlarged(kind: str, max_side: int) -> None:
    picture = decode(encode(scene(), kind), name="x", max_side=max_side)
    assert max(picture.pixels.shape) == min(max_side, 120)
    assert (picture.width, picture.height) == (120, 90)


@pytest.mark.parametrize("width", [1600, 1601, 1607])  # draft pads to multiples of the block; positions may not move
@pytest.mark.parametrize("max_side", [90, 100, 200, 333, 800, 1000])
def test_reducing_while_decoding_agrees_with_reducing_afterwards(width: int, max_side: int) -> None:
    data = encode(scene(1200, width, seed=1), "JPEG", quality=95)
    full = Image.fromarray(grey(data))
    size = (max_side, round(1200 * max_side / width))
    assert difference(grey(data, max_side), np.asarray(full.resize(size, Image.Resampling.LANCZOS))) < 0.6


def test_reduction_does_not_alias() -> None:
    stripes = np.zeros((400, 400), np.uint8)
    stripes[:, ::2] = 255
    for kind in ("PNG", "JPEG"):
        inside = grey(encode(stripes, kind, quality=100), 130)[:, 4:-4]
        assert np.abs(inside.astype(int) - 127).max() <= 8


# --- bounds and damage ----------------------------------------------------------------------------------------------


def png(chunks: list[tuple[bytes, bytes]]) -> bytes:
    body = (struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d)) for t, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)


def huge(kind: str) -> bytes:
    """A few hundred bytes that claim 60,000 × 60,000 pixels (16,384 × 16,384 for WebP, whose limit that is)."""
    if kind == "PNG":
        header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 6, 0, 0, 0)
        return png([(b"IHDR", header), (b"IDAT", zlib.compress(bytes(999))), (b"IEND", b"")])
    data = bytearray(encode(np.zeros((77, 88, 3), np.uint8), kind, **({"lossless": True} if kind == "WEBP" else {})))
    if kind == "JPEG":
        data[(at := data.index(b"\xff\xc0") + 5) : at + 4] = struct.pack(">HH", 60_000, 60_000)
    if kind == "GIF":
        data[6:10] = struct.pack("<HH", 60_000, 60_000)
    if kind == "BMP":
        data[18:26] = struct.pack("<ii", 60_000, 60_000)
    if kind == "TIFF":
        for tag, old in ((256, 88), (257, 77)):
            at = next(
                at for at in range(len(data)) if data[at : at + 2] == struct.pack("<H", tag) and data[at + 8] == old
            )
            data[at : at + 12] = struct.pack("<HHII", tag, 4, 1, 60_000)
    if kind == "WEBP":
        data[21:25] = b"\xff\xff\xff\x0f"
    return bytes(data)


def _decoded(data: bytes, *, name: str) -> object:
    return decode(data, name=name, max_side=1024)


@pytest.mark.parametrize(("kind", "read"), [*((kind, _decoded) for kind in [*FORMATS, "GIF"]), ("PNG", size_of)])
def test_bombs_are_refused_from_the_header(kind: str, read: Callable[..., object]) -> None:
    data = huge(kind)
    tracemalloc.start()
    start = time.perf_counter()
    with pytest.raises(ImageError, match=r"'bomb'.*pixels.*reduce the picture"):
        read(data, name="bomb")
    assert time.perf_counter() - start < 0.5
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


def test_max_pixels_is_the_only_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow's own limit neither warns nor refuses; ours names both values and the option."""
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    for kind in set(FORMATS) - {"WEBP"}:
        assert grey(encode(scene(), kind)).shape == (90, 120)
    survives(encode(scene(), "WEBP"))  # Pillow 13 refuses it, 11 does not
    with pytest.raises(ImageError, match=r"120 × 90 pixels, more than max_pixels = 10799"):
        decode(encode(scene(), "PNG"), name="x", max_side=64, options=ImageOptions(max_pixels=10_799))
    decode(encode(scene(), "PNG"), name="x", max_side=64, options=ImageOptions(max_pixels=10_800))


def survives(data: bytes) -> bool:
    """True where a picture comes out, False for ImageError; anything else fails the test."""
    try:
        picture = decode(data, name="x", max_side=64, options=ImageOptions(max_pixels=10_000_000))
    except ImageError as error:
        named = "'x'" in str(error)
    else:
        assert isinstance(picture, Picture)
        assert 1 <= max(picture.pixels.shape) <= 64
        return True
    assert named
    return False


def samples() -> dict[str, bytes]:
    rgb, noise = scene(60, 80), np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "description"
    found = {kind: encode(noise, kind, exif=exif, **FORMATS[kind]) for kind in ("JPEG", "PNG", "WEBP", "TIFF")}
    found["BMP"] = encode(noise, "BMP")
    found["PNG palette"] = encode(Image.fromarray(rgb).quantize(32), "PNG", transparency=3)
    found["PNG 16-bit"] = encode(rgb[..., 0].astype(np.uint16) * 200, "PNG")
    found["JPEG CMYK"] = encode(Image.fromarray(rgb).convert("CMYK"), "JPEG")
    found["JPEG progressive"] = encode(rgb, "JPEG", progressive=True)
    found["WEBP lossy"] = encode(noise, "WEBP", quality=80)
    found["BMP 8-bit"] = encode(rgb[..., 0], "BMP")
    for compression in ("tiff_lzw", "jpeg", "tiff_adobe_deflate", "packbits"):
        if features.check("libtiff"):
            found[f"TIFF {compression}"] = encode(rgb, "TIFF", compression=compression, exif=exif)
    found["GIF"] = encode(Image.fromarray(noise).quantize(64), "GIF")
    if HAS_HEIF:
        found["HEIC"] = heic(rgb)
    if HAS_RAW:
        found["RAW"] = dng(found["JPEG"], (80, 60))
    return found


SAMPLES = samples()


@pytest.mark.parametrize("kind", SAMPLES)
def test_truncated_at_many_lengths(kind: str) -> None:
    data = SAMPLES[kind]
    assert survives(data)
    lengths = sorted({*range(0, min(600, len(data)), 7), *range(0, len(data), max(1, len(data) // 60))})
    for length in lengths:
        alive = survives(data[:length])
        if length < 0.9 * len(data):
            assert not alive, f"{length} of {len(data)} bytes"


@pytest.mark.parametrize("kind", SAMPLES)
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(flips=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=8), whole=st.booleans())
def test_flipped_bytes_give_a_picture_or_an_image_error(kind: str, flips: list[tuple[float, int]], whole: bool) -> None:
    data = bytearray(SAMPLES[kind])
    for position, value in flips:  # the header half of the time: that is where flips hurt
        data[int(position * ((len(data) if whole else 200) - 1))] = value
    survives(bytes(data))


@given(st.binary(max_size=200), st.sampled_from([b"", *(data[:12] for data in SAMPLES.values())]))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_garbage_is_an_image_error(tail: bytes, head: bytes) -> None:
    survives(head + tail)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"hello, world", "unknown kind"),
        (b"%PDF-1.7\n", "a PDF file"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", "a PostScript file"),
        (b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>', "an SVG file"),
        (b"<!DOCTYPE html><title>404</title>", "a web page file"),
        (b"\xff\xd8\xff", r"cannot decode.*copy it again"),
    ],
)
def test_what_is_not_a_picture_is_named(data: bytes, message: str) -> None:
    with pytest.raises(ImageError, match=message) as caught:
        decode(data, name="odd.jpg", max_side=64)
    assert "'odd.jpg'" in str(caught.value)


def test_zero_pixels_are_refused() -> None:
    with pytest.raises(ImageError, match="cannot decode"):
        grey(png([(b"IHDR", struct.pack(">IIBBBBB", 0, 9, 8, 0, 0, 0, 0)), (b"IEND", b"")]))


def test_an_interruption_is_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Image.Image, "convert", interrupt)
    with pytest.raises(KeyboardInterrupt):
        grey(encode(scene(), "PNG"))


def test_threads_leave_the_warning_filters_as_they_were() -> None:
    data = encode(scene(), "PNG")
    before = list(warnings.filters)
    threads = [threading.Thread(target=lambda: [grey(data) for _ in range(50)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(warnings.filters) == before


# --- arrays ---------------------------------------------------------------------------------------------------------


def test_arrays_of_every_depth_agree() -> None:
    rgb = scene()
    expected = from_array(rgb, max_side=4096)
    assert (expected.width, expected.height) == (120, 90)
    assert np.abs(expected.pixels.astype(int) - luma(rgb)).max() <= 1
    opaque = np.dstack([rgb, np.full(rgb.shape[:2], 255, np.uint8)])
    for same in (
        rgb.astype(np.uint16) * 257,
        rgb / 255,
        (rgb / 255).astype(np.float32),
        opaque,
        np.asfortranarray(rgb),
    ):
        assert np.array_equal(from_array(same, max_side=4096).pixels, expected.pixels)
    assert from_array(np.eye(3, dtype=bool), max_side=9).pixels.tolist() == (np.eye(3) * 255).tolist()
    assert from_array(np.zeros((2, 2, 4), np.uint8), max_side=9).pixels.tolist() == [[255, 255], [255, 255]]
    assert from_array(rgb[:, ::-2], max_side=30).pixels.shape == (30, 20)
    assert from_array(np.array([[0, 65535]], ">u2"), max_side=9).pixels.tolist() == [[0, 255]]


def test_a_picture_shares_no_memory_with_the_array() -> None:
    values = scene()[..., 0].copy()
    picture = from_array(values, max_side=4096)
    values[:] = 0
    assert picture.pixels.any()


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros(5, np.uint8),
        np.zeros((5, 5, 1), np.uint8),
        np.zeros((5, 5, 2), np.uint8),
        np.zeros((1, 5, 5, 3), np.uint8),
        np.zeros((0, 5), np.uint8),
        np.zeros((5, 5), np.int64),
        np.zeros((5, 5), np.uint32),
        np.zeros((5, 5), complex),
        np.full((5, 5), np.nan),
        np.full((5, 5), 1.5),
        np.full((5, 5), -0.1),
        np.array([[None, "a"]], dtype=object),
        [[1, 2], [3]],
        "picture.jpg",
        None,
    ],
    ids=repr,
)
def test_other_arrays_are_refused(bad: Any) -> None:
    with pytest.raises(ImageError, match=r"pass \(rows, columns\)"):
        from_array(bad, max_side=64)


# --- files ----------------------------------------------------------------------------------------------------------


def test_read_bytes(tmp_path: Path) -> None:
    (tmp_path / "a b\n\udcff.jpg").write_bytes(b"x")
    assert read_bytes(tmp_path / "a b\n\udcff.jpg") == b"x"
    (tmp_path / "empty.jpg").touch()
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "dangling.jpg").symlink_to(tmp_path / "nowhere")
    for path, message in (
        (tmp_path / "missing.jpg", "No such file"),
        (tmp_path / "dangling.jpg", "No such file"),
        (tmp_path / "empty.jpg" / "x", "Not a directory"),
        (tmp_path / ("n" * 300), "too long"),
        (tmp_path / "null\0.jpg", "null"),
        (tmp_path / "empty.jpg", "is empty"),
        (tmp_path / "pipe.jpg", "pipe or device"),
        (Path("/dev/zero"), "pipe or device"),
        (tmp_path, "a folder"),
    ):
        with pytest.raises(ImageError, match=message) as caught:
            read_bytes(path)
        assert repr(str(path)) in str(caught.value)
        str(caught.value).encode()  # printable, whatever bytes the name has


def test_a_folder_that_may_not_be_listed_is_handed_on_to_be_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refuse)  # the test may run as root, whom nothing stops
    assert list(find_pictures([tmp_path])) == [tmp_path]
    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(ImageError, match="Permission denied; check the path and its permissions"):
        read_bytes(tmp_path)


def test_picture_names() -> None:
    assert all(
        is_picture_name(n)
        for n in ("a.jpg", "A.JPEG", "b.Png", "c.webp", "d.TIF", "e.tiff", "f.bmp", "g.HEIC", "h.gif", "i.NEF")
    )
    assert not any(is_picture_name(Path(n)) for n in ("a.mp4", "jpg", ".jpg", "a.jpg.txt", "a.svg", ""))


def test_find_pictures(tmp_path: Path) -> None:
    wanted = [
        "Z.JPG",
        "a b.png",
        "new\nline.jpg",
        "ü.webp",
        "\udcff.tif",
        "sub/1.bmp",
        "sub/deep/2.heic",
        "x.jpg/3.jpg",
    ]
    unwanted = [
        ".hidden.jpg",
        "notes.txt",
        ".git/a.jpg",
        "sub/.thumbs/a.jpg",
        "photos.resight/a.jpg",
        "sub/i.resight/a.jpg",
    ]
    for name in wanted + unwanted:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "alias.jpg").symlink_to(tmp_path / "Z.JPG")
    found = [str(path.relative_to(tmp_path)) for path in find_pictures([tmp_path])]
    top = sorted(["alias.jpg", *(name for name in wanted if "/" not in name)])
    assert found == [*top, "sub/1.bmp", "sub/deep/2.heic", "x.jpg/3.jpg"]


def test_roots_are_taken_whatever_their_names(tmp_path: Path) -> None:
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "a.jpg").touch()
    (tmp_path / "notes.txt").touch()
    roots = [tmp_path / "notes.txt", tmp_path / ".cache"]
    assert list(find_pictures(roots)) == [tmp_path / "notes.txt", tmp_path / ".cache" / "a.jpg"]
    with pytest.raises(UsageError, match=r"gone' does not exist"):
        next(find_pictures([*roots, tmp_path / "gone"]))


def test_roots_that_a_walk_of_another_does_not_come_to(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/e.jpg").touch()
    top = tmp_path / "top"
    for name in ("a.jpg", ".h.jpg", ".hid/b.jpg", ".hid/sub/c.jpg", "old.resight/d.jpg", "sub/f.jpg"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).touch()
    (top / "link").symlink_to(tmp_path / "elsewhere")
    (top / "alias.jpg").symlink_to(top / "a.jpg")
    walked = [top / "a.jpg", top / "alias.jpg", top / "sub/f.jpg"]
    assert list(find_pictures([top, *walked, top / "sub"])) == walked
    others = [top / ".h.jpg", top / ".hid/b.jpg", top / "old.resight/d.jpg", top / "link/e.jpg"]
    assert list(find_pictures([top, *others, *others])) == [*walked, *others]
    folders = [top / ".hid", top / ".hid/sub", top / "link"]
    found = [*walked, top / ".hid/b.jpg", top / ".hid/sub/c.jpg", top / "link/e.jpg"]
    assert list(find_pictures([top, *folders, top / ".hid/b.jpg"])) == found


@pytest.mark.parametrize("kind", FORMATS)
def test_a_thumbnail_in_colour(kind: str) -> None:
    """Beside the same grey picture; small, with the colours of the picture, sampled or reduced."""
    rgb = np.zeros((600, 900, 3), np.uint8)
    rgb[:, :450], rgb[:, 450:] = (200, 30, 30), (30, 30, 200)
    data = encode(rgb, kind, **FORMATS[kind])
    picture, plain = (read(data, name="x", max_side=700) for read in (decode_with_thumbnail, decode))
    assert np.array_equal(picture.pixels, plain.pixels)
    assert (picture.width, picture.height, plain.thumbnail) == (900, 600, None)
    assert picture.thumbnail is not None
    assert picture.thumbnail.shape == (85, 128, 3)
    left, right = picture.thumbnail[:, :60].astype(int), picture.thumbnail[:, 68:].astype(int)
    assert max(np.abs(left - (200, 30, 30)).max(), np.abs(right - (30, 30, 200)).max()) <= 4
    assert from_array(rgb, max_side=700).thumbnail is not None


def test_grey_files_have_no_thumbnail() -> None:
    grey = np.full((50, 60), 99, np.uint8)
    for data in (encode(grey, "JPEG"), encode(grey, "PNG"), encode(grey.astype(np.uint16), "PNG")):
        assert decode_with_thumbnail(data, name="x", max_side=99).thumbnail is None
    assert from_array(grey, max_side=99).thumbnail is None
