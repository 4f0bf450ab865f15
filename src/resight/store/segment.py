"""A segment: some pictures' lists, statistics and facts in a folder that never changes once it has its name."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import merge
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import array_of, arrays_of
from ..clusters import Placed, by_cluster
from ..postings import GEOMETRY, SHAPED, Forward, Lists, build, count, forward, frozen, of_picture
from ..scoring import Similarity
from ..types import Bytes, Float32, Int8, Int32, Int64, UInt32, Words
from . import table
from .checked import CheckedFile, block_count, block_sums, damaged, map_bytes, unreadable
from .disk import Disk
from .entry import Entry, encode_text
from .links import SegmentLinks
from .manifest import LINKS, TERMS, FileRecord, SegmentRecord

FOLDER = "segments"
SUMS = "sums.npy"
BLOCK = 2048  # pictures whose features are read back at a time

# Arrays of a segment, by file name. Lists are mapped and checked as they are used; the rest is read at opening. Where
# features have shape, geometry is SHAPED.
LISTS: dict[str, npt.DTypeLike] = {"image.npy": "<u4", "signature.npy": "<u8", "geometry.npy": GEOMETRY}
COUNTS: dict[str, npt.DTypeLike] = {"offsets.npy": "<i8", "df.npy": "<u4", "squared.npy": "<i8"}
FILES = (*LISTS, *COUNTS, table.NAME)
CODE = "code.npy"  # a list too, where something is kept of descriptors: rows of as many bytes as the manifest says
# Where pictures are ordered by cluster: the first picture of each; each picture's code on the principal axes; and the
# forward index, where the lists' columns come again, picture by picture, in rows forward-start[i] … of picture i.
BOUNDS, AXES, STARTS, FORWARD = "bounds.npy", "axes.npy", "forward-start.npy", "forward-"


class Arranged(NamedTuple):
    """Pictures in the order of their clusters."""

    bounds: Int64  # where each cluster begins; last, how many pictures there are
    code: Int8  # (n, d) of each picture, on the principal axes

    @classmethod
    def by(cls, placed: Placed, count: int) -> tuple[Int64, Arranged]:
        """The order to put so placed pictures in, into ``count`` clusters, and what is kept of them then."""
        order, bounds = by_cluster(placed.cluster, count)
        return order, cls(bounds, placed.code[order])


@dataclass(frozen=True, slots=True)
class Dead:
    """Pictures removed from a segment since it was written, and what they counted for."""

    ordinals: UInt32
    df: Int64  # (K,) how many of them have each word

    def to_bytes(self) -> bytes:
        buffer = io.BytesIO()
        words = np.flatnonzero(self.df)
        np.savez(buffer, ordinals=self.ordinals, words=words.astype(np.uint32), df=self.df[words].astype(np.uint32))
        return buffer.getvalue()


def write(
    folder: Path, name: str, entries: Sequence[Entry], *, words: int, disk: Disk, arranged: Arranged | None = None
) -> SegmentRecord:
    """Store these entries as segment ``name``: on disk, synced, under its final name; not yet in any manifest.

    arranged: if the entries come in the order of clusters.
    """
    temporary = start_folder(folder, name, disk)
    lists = build([(e.words, e.geometry) for e in entries], words=words)
    arrays: tuple[npt.NDArray[Any], ...] = (lists.image, lists.signature, lists.geometry)
    for file, array in zip(LISTS, arrays, strict=True):
        disk.save_array(temporary / file, array)
    if lists.code.shape[1]:
        disk.save_array(temporary / CODE, lists.code.reshape(-1))
    rows = (table.Row.of(ordinal, entry) for ordinal, entry in enumerate(entries))
    return finish_folder(folder, name, lists, pictures=len(entries), rows=rows, disk=disk, arranged=arranged)


def start_folder(folder: Path, name: str, disk: Disk) -> Path:
    temporary = folder / FOLDER / f"{name}.new"
    disk.remove(temporary)
    disk.make_folder(temporary)
    return temporary


def finish_folder(
    folder: Path,
    name: str,
    lists: Lists,
    *,
    pictures: int,
    rows: Iterable[table.Row],
    disk: Disk,
    arranged: Arranged | None = None,
) -> SegmentRecord:
    """The lists are written: add counts, facts and checksums, make all of it durable, and give it its final name."""
    temporary = folder / FOLDER / f"{name}.new"
    df, _, _, squared = count(lists, np.ones(pictures, np.bool_))
    for file, array in zip(COUNTS, (lists.offsets, df, squared), strict=True):
        disk.save_array(temporary / file, array.astype(COUNTS[file]))
    table.write(temporary / table.NAME, rows, disk)
    codes = lists.code.shape[1]
    files = [*FILES, *([CODE] if codes else [])]
    if arranged:
        files += _write_arranged(temporary, lists, arranged, disk)
    sums = np.concatenate([block_sums(map_bytes(temporary / file)) for file in files])
    buffer = io.BytesIO()
    np.save(buffer, sums)
    disk.write(temporary / SUMS, buffer.getvalue())
    for file in (*files, SUMS):
        disk.sync(temporary / file)
    disk.sync(temporary)
    record = SegmentRecord(
        name=name,
        pictures=pictures,
        features=len(lists.image),
        files={file: (temporary / file).stat().st_size for file in files},
        sums=FileRecord(SUMS, len(buffer.getvalue()), zlib.crc32(buffer.getvalue())),
        shapes=lists.geometry.dtype == SHAPED,
    )
    disk.rename(temporary, folder / FOLDER / name)
    disk.sync(folder / FOLDER)
    Segment(folder, record, codes=codes).close()  # a segment that cannot be opened must not be committed
    return record


def _write_arranged(folder: Path, lists: Lists, arranged: Arranged, disk: Disk) -> list[str]:
    """The names of the files that were written. Memory: that of some pictures at a time."""
    pictures, rows, codes = len(arranged.code), len(lists.image), lists.code.shape[1]
    disk.save_array(folder / BOUNDS, arranged.bounds.astype("<i8"))
    disk.save_array(folder / AXES, arranged.code.reshape(-1))
    kinds, several = _forward_kinds(lists.geometry.dtype, codes), {"code": codes}  # of which there are as many a row
    columns = {
        column: disk.create_array(folder / f"{FORWARD}{column}.npy", kind=kind, rows=rows * several.get(column, 1))
        for column, kind in kinds.items()
    }
    starts, at = [np.zeros(1, np.int64)], 0
    for _, block in forward(lists, pictures=pictures, size=BLOCK):
        starts.append(at + block.starts[1:])
        end = at + len(block.word)
        for column, array in columns.items():
            size = several.get(column, 1)
            array[at * size : end * size] = getattr(block, column).reshape(-1)
        at = end
    for array in columns.values():
        if isinstance(array, np.memmap):
            array.flush()
    disk.save_array(folder / STARTS, np.concatenate(starts).astype("<i8"))
    return [BOUNDS, AXES, STARTS, *(f"{FORWARD}{column}.npy" for column in kinds)]


def _forward_kinds(geometry: npt.DTypeLike, codes: int) -> dict[str, npt.DTypeLike]:
    """The columns of a forward index."""
    kinds: dict[str, npt.DTypeLike] = {"word": "<i4", "signature": "<u8", "geometry": geometry}
    return kinds | ({"code": "|u1"} if codes else {})


def write_beside(folder: Path, name: str, file: str, data: bytes, disk: Disk) -> FileRecord:
    """Store what is known of a segment's pictures since it was written: removals, terms."""
    path = folder / FOLDER / name / file
    disk.write(path, data)
    disk.sync(path)
    disk.sync(path.parent)
    return FileRecord(file, len(data), zlib.crc32(data))


def with_terms(
    folder: Path, record: SegmentRecord, terms: dict[str, Float32], number: int, disk: Disk
) -> SegmentRecord:
    """The record with these terms, which are written beside the segment for commit ``number``."""
    files = {
        f"{TERMS}{name}": write_beside(
            folder, record.name, f"{TERMS}{name}-{number:08d}.npy", terms_to_bytes(values), disk
        )
        for name, values in terms.items()
    }
    return replace(record, optional={**record.optional, **files})


def with_links(folder: Path, record: SegmentRecord, links: SegmentLinks, number: int, disk: Disk) -> SegmentRecord:
    """The record with these links, which are written beside the segment for commit ``number``."""
    file = write_beside(folder, record.name, f"{LINKS}-{number:08d}.npz", links.to_bytes(), disk)
    return replace(record, optional={**record.optional, LINKS: file})


def terms_to_bytes(terms: Float32) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, terms.astype("<f4"))
    return buffer.getvalue()


def read_whole(path: Path, record: FileRecord) -> bytes:
    """A small file, checked."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None
    if len(data) != record.size or zlib.crc32(data) != record.crc:
        raise damaged(path, "wrong size or checksum")
    return data


class Segment:
    """An opened segment. Holds its files open, so it stays readable after a merge has removed them."""

    def __init__(self, folder: Path, record: SegmentRecord, *, codes: int) -> None:
        self.record, self.folder, self.codes = record, folder / FOLDER / record.name, codes
        sums = array_of(read_whole(self.folder / SUMS, record.sums))
        self.files: dict[str, CheckedFile] = {}
        start = 0
        for file, size in record.files.items():
            stop = start + block_count(size)
            self.files[file] = CheckedFile(self.folder / file, size=size, sums=sums[start:stop])
            start = stop
        if (CODE in self.files) != bool(codes):
            raise damaged(self.folder, f"{'with' if CODE in self.files else 'without'} {CODE}, of {codes} bytes each")
        self.kinds = LISTS | ({"geometry.npy": SHAPED} if record.shapes else {})  # of the lists
        kinds = self.kinds | COUNTS | ({CODE: "|u1"} if codes else {})
        arrays = {file: self.files[file].array(kind) for file, kind in kinds.items()}
        for file in COUNTS:
            self.files[file].check()
        self._starts = {file: start for file, (_, start) in arrays.items()}
        offsets, image, signature, geometry = (arrays[file][0] for file in ("offsets.npy", *LISTS))
        code = arrays[CODE][0] if codes else None
        if code is not None and len(code) != len(image) * codes:
            raise damaged(self.folder / CODE, f"{len(code)} bytes for {len(image)} features, not {codes} each")
        code = None if code is None else code.reshape(len(image), codes)
        self._lists = frozen(offsets, image, signature, geometry, code)
        self._df, self.squared = arrays["df.npy"][0], arrays["squared.npy"][0]
        self.bounds: Int64 | None = None
        if BOUNDS in self.files:
            self.files[BOUNDS].check()
            self.bounds = self.files[BOUNDS].array("<i8")[0]
        self._dead_data = record.dead and read_whole(self.folder / record.dead.name, record.dead)
        self.terms = {name: self._read_terms(file) for name, file in record.terms.items()}
        self._links_data = self._opened(record.optional.get(LINKS))
        self.table = table.Table(self.files[table.NAME])

    def _opened(self, file: FileRecord | None) -> Bytes | None:
        """A file beside the segment, mapped and not yet checked."""
        if file is None:
            return None
        try:
            return map_bytes(self.folder / file.name)
        except OSError as error:
            raise unreadable(self.folder / file.name, error) from None

    @cached_property
    def links(self) -> SegmentLinks | None:
        """What its pictures have found, if links were looked for."""
        file, data = self.record.optional.get(LINKS), self._links_data
        if file is None or data is None:
            return None
        if len(data) != file.size or zlib.crc32(data.data) != file.crc:
            raise damaged(self.folder / file.name, "wrong size or checksum")
        links = SegmentLinks.from_bytes(data.tobytes())
        if len(links.ids) != self.record.pictures:
            raise damaged(self.folder / file.name, f"{len(links.ids)} pictures, not {self.record.pictures}")
        return links

    def _read_terms(self, file: FileRecord) -> Float32:
        terms = array_of(read_whole(self.folder / file.name, file))
        if terms.shape != (self.record.pictures,):
            raise damaged(self.folder / file.name, f"{terms.shape} terms for {self.record.pictures} pictures")
        return np.asarray(terms, np.float32)

    @property
    def words(self) -> int:
        return self._lists.words

    @cached_property
    def dead(self) -> Dead:
        df = np.zeros(self.words, np.int64)
        if not self._dead_data:
            return Dead(np.zeros(0, np.uint32), df)
        with arrays_of(self._dead_data) as arrays:
            df[arrays["words"]] = arrays["df"]
            return Dead(arrays["ordinals"], df)

    @cached_property
    def alive(self) -> npt.NDArray[np.bool_]:
        alive = np.ones(self.record.pictures, np.bool_)
        alive[self.dead.ordinals] = False
        return alive

    @property
    def df(self) -> Int64:
        """How many living pictures have each word."""
        return self._df.astype(np.int64) - self.dead.df

    def lists(self, words: Int32 | None, *columns: str) -> Lists:
        """The lists, once those of these words (None: of all) are checked in these columns.

        Where nothing is kept of descriptors, the column "code" is there all the same, with no bytes.
        """
        for file in (f"{column}.npy" for column in columns):
            if file == CODE and not self.codes:
                continue
            if words is None:
                self.files[file].check()
            else:
                self._check_rows(file, self._lists.offsets[words], self._lists.offsets[words + 1])
        return self._lists

    @property
    def has_forward(self) -> bool:
        """Whether some of its pictures can be scored alone; not in clusters made by an early version."""
        return AXES in self.files

    @property
    def cluster(self) -> Int64:
        """Of each picture, where they are ordered by cluster."""
        assert self.bounds is not None
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))

    @cached_property
    def placed(self) -> Placed | None:
        """Where its pictures are among the clusters, if that is known."""
        if self.bounds is None or not self.has_forward:
            return None
        self.files[AXES].check()
        return Placed(self.cluster, self.files[AXES].array("|i1")[0].reshape(self.record.pictures, -1))

    def forward(self, pictures: Int64, *columns: str) -> Forward:
        """The forward index, once these pictures are checked, in words and these columns."""
        index, starts = self._forward
        for column in {"word", *columns} & starts.keys():
            start, size = starts[column]
            file = self.files[f"{FORWARD}{column}.npy"]
            file.check_ranges(start + index.starts[pictures] * size, start + index.starts[pictures + 1] * size)
        return index

    @cached_property
    def _forward(self) -> tuple[Forward, dict[str, tuple[int, int]]]:
        """All of it, not yet checked but for where pictures start; of each column the first byte and those of a row."""
        self.files[STARTS].check()
        rows, kinds = len(self._lists.image), _forward_kinds(self.kinds["geometry.npy"], self.codes)
        arrays = {column: self.files[f"{FORWARD}{column}.npy"].array(kind) for column, kind in kinds.items()}
        columns = {column: array for column, (array, _) in arrays.items()}
        code = columns.pop("code", np.zeros(0, np.uint8)).reshape(rows, self.codes)
        sizes = {column: array.itemsize for column, array in columns.items()} | {"code": self.codes}
        starts = self.files[STARTS].array("<i8")[0]
        return Forward(self.words, starts, **columns, code=code), {
            column: (start, sizes[column]) for column, (_, start) in arrays.items()
        }

    def geometry(self, postings: Int64) -> npt.NDArray[Any]:
        """Geometry codes of these postings, checked."""
        self._check_rows("geometry.npy", postings, postings + 1)
        return self._lists.geometry[postings]

    def postings(self, row: table.Row) -> tuple[Int64, Int64]:
        """(words, postings) of one picture's features, by word. The first time, all of a list is read and checked."""
        self.files["image.npy"].check()
        try:
            return of_picture(self._lists, row.ordinal, row.features)
        except ValueError as error:
            raise damaged(self.folder, str(error)) from None

    def picture(self, row: table.Row) -> tuple[Words, npt.NDArray[Any]]:
        """The words, with what is kept of descriptors, and geometry codes of one picture's features, checked."""
        word, posting = self.postings(row)
        self._check_rows("signature.npy", posting, posting + 1)
        code = None
        if self.codes:
            self._check_rows(CODE, posting, posting + 1)
            code = self._lists.code[posting]
        feature, signature = np.arange(row.features, dtype=np.int32), self._lists.signature[posting]
        return Words(feature, word.astype(np.int32), signature, code), self.geometry(posting)

    def blocks(self, span: range) -> Iterator[tuple[int, list[tuple[Words, npt.NDArray[Any]]]]]:
        """What all pictures have of these words, counted from 0 on, with geometry codes; some at a time, checked.

        With the first one's ordinal; without what is kept of descriptors.
        """
        lists = self.lists(None, "image", "signature", "geometry").within(span)
        for begin, block in forward(lists, pictures=self.record.pictures, size=BLOCK):
            yield begin, list(block.pictures())

    def alone(self, similarity: Similarity) -> Float32:
        """What each picture scores against an empty query; of checked lists."""
        return similarity.alone(self.lists(None, "image"), self.record.pictures)

    def all_lists(self) -> Lists:
        """The lists with every byte checked, for merging and checking."""
        return self.lists(None, "image", "signature", "geometry", "code")

    def _check_rows(self, file: str, start: Int64, stop: Int64) -> None:
        filled = stop > start
        base, size = self._starts[file], self.codes if file == CODE else np.dtype(self.kinds[file]).itemsize
        self.files[file].check_ranges(base + start[filled] * size, base + stop[filled] * size)

    def close(self) -> None:
        self.table.close()


def living_by_key(segments: Iterable[Segment], after: str | None = None) -> Iterator[table.Row]:
    """The living pictures of all whose keys follow this one (None: all), in the order of their keys."""

    def living(segment: Segment) -> Iterator[table.Row]:
        return (row for row in segment.table.by_key(after) if segment.alive[row.ordinal])

    return merge(*map(living, segments), key=lambda row: encode_text(row.key))
