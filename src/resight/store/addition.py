"""New pictures → a segment that may stand beside those of a commit: by cluster, and with terms, as those are."""

from __future__ import annotations

from contextlib import closing

from ..context import Reference, Visit, name_of
from ..errors import UsageError
from ..options import ContextOptions
from ..scoring import Query
from ..types import Float32
from .disk import Disk
from .entry import Entry
from .manifest import LEARNT, FileRecord, SegmentRecord
from .segment import Arranged, Segment, read_whole, with_terms, write
from .snapshot import Snapshot


class References:
    """The reference sets of contexts: read when they are needed, and kept as long as the index has them."""

    def __init__(self) -> None:
        self._known: dict[FileRecord, Reference] = {}

    def get(self, base: Snapshot, context: str) -> Reference:
        files = base.manifest.contexts
        file = files[context]
        if file not in self._known:
            self._known = {other: known for other, known in self._known.items() if other in files.values()}
            self._known[file] = Reference.from_bytes(read_whole(base.folder / file.name, file))
        return self._known[file]


def write_addition(
    base: Snapshot, name: str, entries: list[Entry], *, references: References, disk: Disk
) -> SegmentRecord:
    """These entries as segment ``name`` for the commit after ``base``; no manifest names it yet."""
    manifest, clusters, arranged = base.manifest, base.clusters, None
    if clusters:
        placed = clusters.place(entry.words.within(base.spans[0]).word for entry in entries)
        order, arranged = Arranged.by(placed, len(clusters.entries))
        entries = [entries[i] for i in order.tolist()]
    record = write(base.folder, name, entries, words=base.settings.words, disk=disk, arranged=arranged)
    terms = {}
    for context in manifest.contexts:
        terms[context] = _terms(base, references.get(base, context), entries, base.spans[name_of(context)[1]])
    if similarity := base.similarity:
        with closing(Segment(base.folder, record, codes=base.settings.codes)) as written:
            terms[LEARNT] = written.alone(similarity)
    return with_terms(base.folder, record, terms, manifest.commit + 1, disk)


def _terms(base: Snapshot, reference: Reference, entries: list[Entry], span: range) -> Float32:
    pictures = [Query(entry.words.within(span), entry.geometry) for entry in entries]
    return reference.terms_of(pictures, clusters_to_visit(base, reference.context))


def clusters_to_visit(snapshot: Snapshot, context: ContextOptions) -> Visit | None:
    """The clusters in which a picture's neighbours are looked for; None: in all."""
    if not context.probe:
        return None
    clusters = snapshot.clusters
    if clusters is None or snapshot.settings.vocabularies > 1:
        raise UsageError(
            "context.probe looks for neighbours in the clusters of an index with one vocabulary; "
            "make them with `resight index --clusters`, or leave context.probe at 0"
        )
    return lambda words: clusters.visit(words.word, context.probe).clusters
