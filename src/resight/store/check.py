"""Is the index what was written? Every byte against its checksum, then every count against the lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path

import numpy as np

from ..errors import IndexDamagedError, UsageError, VocabularyError
from ..postings import count, forward
from ..scoring import Similarity
from ..types import Int64
from ..vocabulary.codes import kept_bytes
from . import lock
from . import manifest as manifests
from .links import SegmentLinks
from .manifest import LEARNT, OPTIONAL, Manifest, SegmentRecord
from .segment import BLOCK, BOUNDS, FOLDER, Segment, living_by_key, read_whole
from .shards import FOLDER as SHARDS
from .snapshot import read_vocabulary


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What was looked at, and what is wrong with it."""

    pictures: int
    features: int
    size: int  # bytes of all files the manifest names
    problems: tuple[str, ...]


def check(folder: Path) -> CheckReport:
    """Read everything. A damaged manifest raises IndexDamagedError; all other damage is listed in the report."""
    manifest = manifests.read(folder)
    while (report := _check(folder, manifest)).problems:
        # A merge may have removed a segment meanwhile: then there is a newer manifest.
        newer = manifests.read(folder)
        if newer.commit == manifest.commit:
            break
        manifest = newer
    return report


def _check(folder: Path, manifest: Manifest) -> CheckReport:
    problems = list(_vocabulary_problems(folder, manifest))
    similarity = _similarity(folder, manifest)
    with ExitStack() as stack:
        sound: list[Segment] = []
        for record in manifest.segments:
            try:
                segment = stack.enter_context(closing(Segment(folder, record, codes=manifest.settings.codes)))
            except IndexDamagedError as error:
                problems.append(str(error))
                continue
            if found := list(_segment_problems(segment, record, similarity)):
                problems += found
            else:
                sound.append(segment)
        problems += _key_problems(sound)
    if len({record.shapes for record in manifest.segments}) > 1:
        problems.append("features have affine shape in some segments and none in others")
    problems += _optional_problems(folder, manifest)
    problems += _unknown_files(folder, manifest)
    return CheckReport(manifest.pictures, manifest.features, index_size(manifest), tuple(problems))


def index_size(manifest: Manifest) -> int:
    """Bytes of all files the manifest names."""
    optional = [manifest.optional, *(record.optional for record in manifest.segments)]
    sizes = (file.size for files in optional for file in files.values())
    return segments_size(manifest) + manifest.vocabulary.size + sum(sizes)


def segments_size(manifest: Manifest) -> int:
    """Bytes of the lists, statistics and facts, without optional files."""
    return sum(
        sum(record.files.values()) + record.sums.size + (record.dead.size if record.dead else 0)
        for record in manifest.segments
    )


def _vocabulary_problems(folder: Path, manifest: Manifest) -> Iterator[str]:
    try:
        vocabulary = read_vocabulary(folder, manifest)
    except (IndexDamagedError, VocabularyError) as error:
        yield str(error)
        return
    if vocabulary.fingerprint != manifest.vocabulary_fingerprint:
        yield f"the vocabulary is {vocabulary.fingerprint}, the index was made with {manifest.vocabulary_fingerprint}"
    settings = manifest.settings
    if (vocabulary.words, vocabulary.vocabularies) != (settings.words, settings.vocabularies):
        yield (
            f"{vocabulary.words} words in {vocabulary.vocabularies} vocabularies, {settings.words} in "
            f"{settings.vocabularies} recorded"
        )
    try:
        kept = kept_bytes(vocabulary, settings.indexing.keep)
    except VocabularyError as error:
        yield str(error)
        return
    if kept != settings.codes:
        yield f"{kept} bytes are kept of each descriptor, {settings.codes} recorded"


def _similarity(folder: Path, manifest: Manifest) -> Similarity | None:
    """To compare terms with; None also if it is damaged, which ``_optional_problems`` says."""
    try:
        file = manifest.similarity
        return Similarity.from_bytes(read_whole(folder / file.name, file)) if file else None
    except IndexDamagedError:
        return None


def _optional_problems(folder: Path, manifest: Manifest) -> Iterator[str]:
    for file in manifest.optional.values():
        try:
            read_whole(folder / file.name, file)
        except IndexDamagedError as error:
            yield str(error)
    for name in manifest.terms:
        for record in manifest.segments:
            if name not in record.terms:
                yield f"segment {record.name} has no terms named {name}"
    for record in manifest.segments:
        if (BOUNDS in record.files) != bool(manifest.clusters):
            yield f"segment {record.name} is {'not ' if manifest.clusters else ''}ordered by cluster"


def _segment_problems(segment: Segment, record: SegmentRecord, similarity: Similarity | None) -> Iterator[str]:
    sound = True
    for file in segment.files.values():
        try:
            file.check()
        except IndexDamagedError as error:
            sound = False
            yield str(error)
    if sound:  # counts of damaged lists would only repeat the message
        found = _count_problems(segment, record, similarity)
        yield from (f"segment {record.name}: {problem}" for problem in found)


def _count_problems(segment: Segment, record: SegmentRecord, similarity: Similarity | None) -> Iterator[str]:
    lists = segment.all_lists()
    if len(lists.image) != record.features or lists.offsets[0] != 0 or lists.offsets[-1] != record.features:
        yield f"{len(lists.image)} postings, offsets up to {lists.offsets[-1]}, {record.features} features recorded"
        return
    if np.any(np.diff(lists.offsets) < 0) or (len(lists.image) and lists.image.max() >= record.pictures):
        yield "offsets or picture numbers out of range"
        return
    df, _, length, squared = count(lists, np.ones(record.pictures, np.bool_))
    dead_df, _, dead_length, _ = count(lists, ~segment.alive)
    if not np.array_equal(df - dead_df, segment.df):
        yield "document frequencies differ from the lists"
    if not np.array_equal(squared, segment.squared):
        yield "picture norms differ from the lists"
    yield from _row_problems(segment, length)
    if record.dead_pictures != int((~segment.alive).sum()) or record.dead_features != int(dead_length.sum()):
        yield "the count of removed pictures is wrong"
    if segment.bounds is not None:
        yield from _cluster_problems(segment, segment.bounds)
    if similarity and LEARNT in segment.terms:
        yield from _alone_problems(segment, similarity)
    yield from _link_problems(segment)
    if (verdict := segment.table.integrity()) != "ok":
        yield f"SQLite says {verdict}"


def _row_problems(segment: Segment, length: Int64) -> Iterator[str]:
    """Of the facts of pictures; length: how many features of each are in the lists."""
    miscounted, sizeless = 0, list[str]()
    for place, (row, features) in enumerate(zip_longest(segment.table.all(), map(int, length))):
        if row is None or features is None or row.ordinal != place:
            yield f"the rows are not those of {len(length)} pictures: number {place} is missing, or one too many"
            return
        miscounted += row.features != features
        if not (isinstance(row.width, int) and isinstance(row.height, int)):
            sizeless.append(row.key)
    if miscounted:
        yield f"feature counts of {miscounted} pictures differ from the lists"
    if sizeless:
        yield f"{len(sizeless)} pictures have a size that is no number, such as {sizeless[0]!r}; add them again"


def _key_problems(segments: Sequence[Segment]) -> Iterator[str]:
    """Keys that several segments have. Rows are read some at a time, in the order of keys."""
    if twice := sum(one.key == other.key for one, other in pairwise(living_by_key(segments))):
        yield f"{twice} keys are alive in another segment too"


def _cluster_problems(segment: Segment, bounds: Int64) -> Iterator[str]:
    if bounds[0] != 0 or bounds[-1] != segment.record.pictures or np.any(np.diff(bounds) < 0):
        yield f"clusters do not share out the {segment.record.pictures} pictures"
    elif segment.has_forward:
        yield from _forward_problems(segment)


def _forward_problems(segment: Segment) -> Iterator[str]:
    """Of the forward index, against the lists."""
    pictures, rows = segment.record.pictures, segment.record.features
    if segment.placed is None or len(segment.placed.code) != pictures:
        yield f"codes are not those of {pictures} pictures"
    stored, columns = segment.forward(np.zeros(0, np.int64)), ("word", "signature", "geometry", "code")
    if len(stored.starts) != pictures + 1 or any(len(getattr(stored, column)) != rows for column in columns):
        yield f"the forward index is not that of {rows} features of {pictures} pictures"
        return
    for begin, block in forward(segment.all_lists(), pictures=pictures, size=BLOCK):
        first = int(stored.starts[begin])
        mine, last = slice(begin, begin + len(block.starts)), first + len(block.word)
        same = np.array_equal(stored.starts[mine], first + block.starts)
        if not same or any(
            not np.array_equal(getattr(stored, column)[first:last], getattr(block, column)) for column in columns
        ):
            yield "the forward index differs from the lists"
            return


def _alone_problems(segment: Segment, similarity: Similarity) -> Iterator[str]:
    try:
        similarity.require_fit(segment.words)
    except UsageError as error:
        yield str(error)
    else:
        if not np.array_equal(segment.alone(similarity), segment.terms[LEARNT]):
            yield "terms of the similarity differ from the lists"


def _link_problems(segment: Segment) -> Iterator[str]:
    try:
        links = segment.links
    except IndexDamagedError as error:
        yield f"{error}; or drop it with `resight link --forget`"
        return
    if links and links.counts.sum() != len(links.links):
        yield f"{len(links.links)} links, {links.counts.sum()} recorded"
    if links and not np.array_equal(links.ids, SegmentLinks.none(segment.table.all()).ids):
        yield "links are those of other pictures"


def _unknown_files(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Leftovers of a crash are harmless and swept by the next writer; anything else should not be here."""
    known = {manifests.NAME, f"{manifests.NAME}.new", manifest.vocabulary.name, lock.NAME, FOLDER, OPTIONAL, SHARDS}
    for path in sorted(folder.iterdir()):
        if path.name not in known and not path.name.startswith("."):  # a file manager's .DS_Store does no harm
            yield f"{path} does not belong to the index; move it away"
