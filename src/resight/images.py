"""Bytes, path or URL → bounded, upright array. The only place that decodes anything.

Formats are told apart by content, never by extension: JPEG, PNG, WebP, GIF, TIFF, BMP, HEIC with ``resight[heif]``, and
with ``resight[raw]`` camera RAW, of which the embedded preview is taken. Of animations and multi-page files the first
frame is taken. Transparent pixels are shown on white. 16-bit values are
divided by 257; 32-bit and float values in [0, 1] are multiplied by 255, others stretched from their least to their
greatest. Whatever is wrong with a file, the only exception that leaves this module is ImageError.
"""

from __future__ import annotations

import os
import stat
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL
from PIL import ExifTags, Image, ImageFile
from PIL.BmpImagePlugin import BmpImageFile
from PIL.GifImagePlugin import GifImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import ImageFileDirectory_v2, TiffImageFile
from PIL.WebPImagePlugin import WebPImageFile

from . import __version__
from .errors import ImageAccessError, ImageError, ImageKindError, ImageSizeError
from .options import ImageOptions, fingerprint
from .types import Bytes, Picture
from .urls import Place, is_url, reason_of, site

KINDS = "JPEG, PNG, WebP, GIF, TIFF, BMP, HEIC and camera RAW"  # for messages
_RAW = ("arw", "cr2", "cr3", "dng", "nef", "nrw", "orf", "pef", "raf", "rw2", "srw")
_PLAIN = ("jpg", "jpeg", "jpe", "jfif", "png", "webp", "gif", "tif", "tiff", "bmp", "heic", "heif", "hif")
EXTENSIONS = {f".{e}" for e in (*_PLAIN, *_RAW)}
TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")  # first bytes; the last two: of BigTIFF
COLOR_FILTER_ARRAY = 32803  # as PhotometricInterpretation: what a sensor measured, not a picture
THUMBNAIL = 128  # pixels of a thumbnail's longest side
GREY = {"1", "L", "LA", "La", "I", "F", "I;16", "I;16B", "I;16L", "I;16N"}  # Pillow's modes without colour
PIECE = 1 << 20  # bytes that are asked of a file system at a time
_DEFAULTS = ImageOptions()
_TURN = {  # EXIF orientation → what makes the picture upright
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def read_bytes(place: Place, *, options: ImageOptions = _DEFAULTS) -> bytes:
    """The content of a regular, non-empty file of bounded size, here or behind a URL."""
    data = _read_url(str(place), options) if is_url(place) else _read_path(Path(place), options)
    if not data:
        raise ImageError(f"{str(place)!r} is empty; copy or download it again")
    return data


def _read_path(path: Path, options: ImageOptions) -> bytes:
    try:
        # Asked before opening: opening a FIFO waits for a writer, and opening a device may do anything.
        facts = os.stat(path)
        if stat.S_ISDIR(facts.st_mode):
            os.listdir(path)  # a folder that cannot be listed is reported as such, below
            raise ImageError(f"{str(path)!r} is a folder, not a picture; give the path of a picture in it")
        if not stat.S_ISREG(facts.st_mode):
            raise ImageError(f"{str(path)!r} is a pipe or device, not a picture; give the path of a regular file")
        if facts.st_size > options.max_bytes:
            raise _too_large(path, f"{facts.st_size} bytes, more", options)
        return path.read_bytes()
    except (OSError, ValueError, MemoryError) as error:  # ValueError: a null character in the path
        reason = getattr(error, "strerror", None) or str(error) or "out of memory"
        raise ImageAccessError(f"cannot read {str(path)!r}: {reason}; check the path and its permissions") from error


def _read_url(url: str, options: ImageOptions) -> bytes:
    try:
        files, path = site(url)
        facts = files.info(path)
        if facts["type"] != "file":
            raise ImageError(f"{url!r} is a {facts['type']}, not a picture; give the URL of a picture in it")
        if (facts["size"] or 0) > options.max_bytes:
            raise _too_large(url, f"{facts['size']} bytes, more", options)
        data = bytearray()
        with files.open(path, "rb") as file:  # a server need not say a size, or not the true one, or send all at once
            while len(data) <= options.max_bytes and (piece := file.read(PIECE)):
                data += piece
    except ImageError:
        raise
    except Exception as error:  # each file system has errors of its own
        reason = reason_of(error)
        raise ImageAccessError(f"cannot read {url!r}: {reason}; check the URL and your access to it") from error
    if len(data) > options.max_bytes:
        raise _too_large(url, "more bytes", options)
    return bytes(data)


def _too_large(place: Place, size: str, options: ImageOptions) -> ImageSizeError:
    limit = f"than the limit of {options.max_bytes}; raise images.max_bytes to allow it"
    return ImageSizeError(f"{str(place)!r} has {size} {limit}")


def decode(data: bytes, *, name: str, max_side: int, options: ImageOptions = _DEFAULTS) -> Picture:
    """The grey, upright picture, reduced so that its longest side is at most ``max_side``; ``name`` is for messages."""
    pixels, (width, height) = _decode(data, "L", name, max_side, options)
    return Picture(pixels, width, height)


def decode_with_thumbnail(data: bytes, *, name: str, max_side: int, options: ImageOptions = _DEFAULTS) -> Picture:
    """The same with a thumbnail, unless the file has shades of grey alone."""
    reader = _reader(data, name)
    with _pillow(name, "decode"):
        image = reader(BytesIO(data))
        grey = image.mode in GREY
        pixels, (width, height) = _decode_image(image, "L", name, max_side, options)
        if grey:
            return Picture(pixels, width, height)
        if isinstance(image, JpegImageFile):  # which is decoded at the size that is wanted
            thumbnail = _decode_image(reader(BytesIO(data)), "RGB", name, THUMBNAIL, options)[0]
        else:
            thumbnail = _thumbnail(image)
    return Picture(pixels, width, height, thumbnail)


def _thumbnail(image: Image.Image) -> Bytes:
    """Of a loaded picture. Some of its pixels will do, which keeps memory as small as without a thumbnail."""
    some = image.resize(_fit(image.size, 4 * THUMBNAIL), Image.Resampling.NEAREST)
    return np.array(_shrink(_flatten(some, "RGB"), _fit(some.size, THUMBNAIL)))


def decode_rgb(data: bytes, *, name: str, max_side: int, options: ImageOptions = _DEFAULTS) -> Bytes:
    """The same picture in colour, for display: (rows, columns, 3)."""
    return _decode(data, "RGB", name, max_side, options)[0]


def stored_size(data: bytes, *, name: str) -> tuple[int, int]:
    """Width and height as the header has them, before the picture is turned upright. Decodes nothing, so it is safe
    for any size."""
    with _pillow(name, "read the size of"):
        return _reader(data, name)(BytesIO(data)).size


def size_of(data: bytes, *, name: str, options: ImageOptions = _DEFAULTS) -> tuple[int, int]:
    """Width and height of the full-size upright picture."""
    reader = _reader(data, name)
    with _pillow(name, "read the size of"):
        image = reader(BytesIO(data))
        width, height = image.size
        if isinstance(image, PngImageFile):
            _require_bounded((width, height), name, options)  # to find its orientation Pillow decodes it
        upright = isinstance(image, TiffImageFile) or _orientation(image) < 5  # Pillow gives TIFF's upright size
        return (width, height) if upright else (height, width)


@contextmanager
def _pillow(name: str, doing: str) -> Iterator[None]:
    """Whatever Pillow raises becomes an ImageError, and its warnings are silenced."""
    try:
        with _quiet:
            yield
    except ImageError:
        raise
    except Image.DecompressionBombError as error:  # WebP alone compares with Pillow's own limit before we can
        raise ImageSizeError(f"{name!r} has too many pixels ({error}); reduce the picture") from error
    except Exception as error:  # a damaged file makes Pillow raise nearly everything
        raise ImageError(
            f"cannot {doing} {name!r} ({type(error).__name__}: {error}); "
            "it is damaged, incomplete or of a rare kind: copy it again or convert it"
        ) from error


def _require_bounded(size: tuple[int, int], name: str, options: ImageOptions) -> None:
    if size[0] * size[1] > options.max_pixels:
        raise ImageSizeError(
            f"{name!r} has {size[0]} × {size[1]} pixels, more than max_pixels = {options.max_pixels}; "
            "reduce the picture or raise the option"
        )


def from_array(array: npt.ArrayLike, *, max_side: int) -> Picture:
    """A picture, with a thumbnail, from pixels: (rows, columns) grey, or (rows, columns, 3 or 4) RGB(A)."""
    wanted = "pass (rows, columns) or (rows, columns, 3 or 4) of uint8, uint16, bool, or float in [0, 1]"
    try:
        values = np.asarray(array)
    except Exception as error:  # an object's own __array__ may raise anything
        raise ImageError(f"not an array ({error}); {wanted}") from error
    if values.size == 0 or not (values.ndim == 2 or (values.ndim == 3 and values.shape[2] in (3, 4))):
        raise ImageError(f"cannot take an array of shape {values.shape} as a picture; {wanted}")
    if values.dtype.kind not in "buf" or (values.dtype.kind == "u" and values.dtype.itemsize > 2):
        raise ImageError(f"cannot take an array of {values.dtype} as a picture; {wanted}")
    if values.dtype.kind == "f" and not (values.min() >= 0 and values.max() <= 1):  # false for NaN too
        raise ImageError(f"float values run from {values.min()} to {values.max()}; {wanted}")
    image = Image.fromarray(_to_bytes(values))
    pixels = np.array(_shrink(_flatten(image, "L"), _fit(image.size, max_side)))
    return Picture(pixels, *image.size, None if image.mode in GREY else _thumbnail(image))


def reader_fingerprint(options: ImageOptions) -> str:
    """Of what decides whether a file can be read: with another fingerprint one that was refused may be a picture."""
    extras = {package: find_spec(package) is not None for package in ("pillow_heif", "rawpy")}
    return fingerprint(options, {"resight": __version__, "pillow": PIL.__version__, **extras})


def is_picture_name(path: str | os.PathLike[str]) -> bool:
    """Whether the extension, in any case, is that of a format resight reads."""
    return Path(path).suffix.lower() in EXTENSIONS


class _Tiff(TiffImageFile):
    """Leaves out Pillow's comparison with its own process-wide limit: ImageOptions.max_pixels was checked before."""

    def load_prepare(self) -> None:
        if self._im is None:
            self.im = Image.new(self.mode, self._tile_size).im
        ImageFile.ImageFile.load_prepare(self)


_Opener = Callable[[BytesIO], Image.Image]
_OPENERS: dict[bytes, _Opener] = {  # by the first bytes of the content
    b"\xff\xd8\xff": JpegImageFile,  # also of MPO, whose first frame it reads
    b"\x89PNG\r\n\x1a\n": PngImageFile,
    b"GIF8": GifImageFile,
    b"BM": BmpImageFile,
}


def _reader(data: bytes, name: str) -> _Opener:
    """What opens this content.

    The classes are called rather than Image.open, which refuses more than 179 megapixels whatever max_pixels says,
    and which finds HEIC only after a process-wide registration.
    """
    head = data[:16]
    for start, opener in _OPENERS.items():
        if head.startswith(start):
            return opener
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return WebPImageFile
    if _is_raw(data):
        return _needs(
            "rawpy", _raw_preview, f"{name!r} is a camera's RAW file; to read those: pip install resight[raw]"
        )
    if head[:4] in TIFF:
        return _Tiff
    if head[4:8] == b"ftyp" and head[8:12] in (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"):
        return _needs("pillow_heif", _heif, f"{name!r} is a HEIC picture; to read those: pip install resight[heif]")
    if not data:
        raise ImageError(f"{name!r} is empty; copy or download it again")
    start = data[:1024].lstrip().lower()
    known = {b"%pdf": "PDF", b"%!ps": "PostScript", b"\xc5\xd0\xd3\xc6": "EPS", b"<!do": "web page"}
    kind = "an SVG" if b"<svg" in start else f"a {known[start[:4]]}" if start[:4] in known else "an unknown kind of"
    raise ImageKindError(f"{name!r} holds {kind} file; resight reads {KINDS}: convert it")


def _needs(package: str, opener: _Opener, remedy: str) -> _Opener:
    """The opener, if the package that it imports is there."""
    try:
        import_module(package)
    except ImportError:
        raise ImageKindError(remedy) from None
    return opener


def _heif(file: BytesIO) -> Image.Image:
    from pillow_heif import HeifImageFile

    opener: _Opener = HeifImageFile  # typed, or Any where it is not installed
    return opener(file)


def _is_raw(data: bytes) -> bool:
    """Whether this is a camera's RAW file: of a kind of its own, or a TIFF that holds sensor values."""
    if data.startswith((b"FUJIFILMCCD-RAW", b"IIRO", b"IIRS", b"MMOR", b"IIU\0")) or data[4:12] == b"ftypcrx ":
        return True  # RAF, ORF, RW2, CR3
    if data[:4] not in TIFF[:2]:
        return False
    if data[8:10] == b"CR":
        return True  # CR2
    try:
        with _quiet:
            tags = ImageFileDirectory_v2(data[:8])
            file = BytesIO(data)
            file.seek(tags.next)
            tags.load(file)
            preview = tags.get(ExifTags.Base.NewSubfileType, 0) & 1 and ExifTags.Base.SubIFDs in tags
            return bool(preview or ExifTags.Base.DNGVersion in tags or tags.get(262) == COLOR_FILTER_ARRAY)
    except Exception:  # a damaged directory: who decodes the TIFF says so
        return False


def _raw_preview(file: BytesIO) -> Image.Image:
    """The picture that the camera has put beside the sensor's values, as it would come from a file of its own."""
    import rawpy

    with rawpy.imread(file) as raw:
        preview, flip = raw.extract_thumb(), raw.sizes.flip
    if isinstance(preview.data, bytes):
        return JpegImageFile(BytesIO(preview.data))  # LibRaw has written the orientation into its EXIF
    image = Image.fromarray(preview.data)
    image.getexif()[ExifTags.Base.Orientation] = {3: 3, 5: 8, 6: 6}.get(flip, 1)  # LibRaw has numbers of its own
    return image


def _decode(data: bytes, mode: str, name: str, max_side: int, options: ImageOptions) -> tuple[Bytes, tuple[int, int]]:
    reader = _reader(data, name)
    with _pillow(name, "decode"):
        return _decode_image(reader(BytesIO(data)), mode, name, max_side, options)


def _decode_image(
    image: Image.Image, mode: str, name: str, max_side: int, options: ImageOptions
) -> tuple[Bytes, tuple[int, int]]:
    """Pixels in ``mode`` and the (width, height) of the full-size upright picture."""
    full, box = image.size, None  # (width, height); the part to keep
    _require_bounded(full, name, options)
    if isinstance(image, JpegImageFile):
        # The decoder itself reduces by 2, 4 or 8, to no less than asked for, and skips colour for "L". The box
        # is the exact part that holds the picture: without it, up to 7 rows of padding would shift positions.
        draft = image.draft(mode, _fit(full, max_side))
        box = draft and draft[1]
    image.load()
    if box is None:
        full = image.size  # TIFF turns upright by itself
    orientation = _orientation(image)
    image = _shrink(_flatten(image, mode), _fit(full, max_side), box)
    if orientation in _TURN:
        image = image.transpose(_TURN[orientation])
    return np.array(image), full if orientation < 5 else (full[1], full[0])


def _orientation(image: Image.Image) -> int:
    try:
        orientation = int(image.getexif().get(ExifTags.Base.Orientation, 1))
        return orientation if orientation in _TURN else 1
    except Exception:  # broken EXIF says nothing about the pixels, which are fine
        return 1


def _flatten(image: Image.Image, mode: str) -> Image.Image:
    """Any picture as "L" or "RGB", on white where it is transparent."""
    if image.mode[0] in "IF":  # Pillow's own conversion would clip these at 255
        values = np.asarray(image)
        if isinstance(image, TiffImageFile) and image.tag_v2.get(ExifTags.Base.BitsPerSample) == (12,):
            values = values << 4
        image = Image.fromarray(_to_bytes(values))
    elif image.has_transparency_data:
        image = (image.convert("LA") if image.mode == "La" else image).convert("RGBA")  # La has no direct way
        canvas = Image.new(mode, image.size, "white")
        canvas.paste(image.convert(mode), mask=image.getchannel("A"))
        return canvas
    return image if image.mode == mode else image.convert(mode)


def _to_bytes(values: npt.NDArray[Any]) -> Bytes:
    """Any depth as 8 bits; the module's docstring gives the rule."""
    if values.dtype == np.uint8:
        return values
    if values.dtype.kind == "b":
        return values.astype(np.uint8) * np.uint8(255)
    if values.dtype.kind == "u":
        return ((values.astype(np.uint32) * 255 + 32895) >> 16).astype(np.uint8)  # round(value / 257), exactly
    scaled = values.astype(np.float64)
    finite = scaled[np.isfinite(scaled)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if values.dtype.kind == "f" and low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    scaled = np.nan_to_num(scaled, nan=low, posinf=high, neginf=low)
    return np.rint((scaled - low) * (255 / (high - low or 1.0))).astype(np.uint8)


def _fit(size: tuple[int, int], max_side: int) -> tuple[int, int]:
    """``size`` reduced to ``max_side``, never enlarged, never to nothing."""
    ratio = min(1.0, max_side / max(size))
    return max(1, round(size[0] * ratio)), max(1, round(size[1] * ratio))


def _shrink(
    image: Image.Image, size: tuple[int, int], box: tuple[float, float, float, float] | None = None
) -> Image.Image:
    if image.size == size and box in (None, (0, 0, *size)):
        return image
    # A gap of 3 lets a cheap box filter do the first, coarse part; the difference from pure Lanczos is not visible.
    return image.resize(size, Image.Resampling.LANCZOS, box=box, reducing_gap=3.0)


class _Quiet:
    """Silences Pillow's warnings about odd metadata while at least one thread decodes.

    warnings.catch_warnings alone is not for threads: two that overlap would leave the filter of the first in place.
    """

    def __init__(self) -> None:
        self._lock, self._depth = threading.Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._saved = warnings.catch_warnings()
                self._saved.__enter__()
                warnings.filterwarnings("ignore", module=r"(PIL|pillow_heif)\.")
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._saved.__exit__(None, None, None)


_quiet = _Quiet()
