"""New pictures → a segment that may stand beside those of a commit."""

from __future__ import annotations

from contextlib import closing

from ..clusters import by_cluster
from ..context import Reference, name_of
from ..scoring import Query
from ..types import Float32
from ..vocabulary import spans
from .context import visiting
from .disk import Disk
from .entry import Entry
from .manifest import LEARNT, SegmentRecord
from .segment import Segment, read_whole, with_terms, write
from .snapshot import Snapshot

References = dict[str, Reference]  # of contexts, as they were needed


def write_addition(
    base: Snapshot, name: str, entries: list[Entry], *, words: int, known: References, disk: Disk
) -> SegmentRecord:
    """These entries as segment ``name`` for the commit after ``base``; no manifest names it yet.

    By cluster if the base has any, and with all terms that its segments have.
    """
    manifest, clusters, bounds = base.manifest, base.clusters, None
    each = spans(words, manifest.vocabularies)
    if clusters:
        cluster = clusters.assign(entry.words.within(each[0]).word for entry in entries)
        order, bounds = by_cluster(cluster, len(clusters.entries))
        entries = [entries[i] for i in order.tolist()]
    record = write(base.folder, name, entries, words=words, disk=disk, bounds=bounds)
    terms = {}
    for context in manifest.contexts:
        reference, span = reference_of(base, context, known), each[name_of(context)[1]]
        terms[context] = _terms(base, reference, entries, span)
    if similarity := base.similarity:
        with closing(Segment(base.folder, record, codes=manifest.codes)) as written:
            terms[LEARNT] = written.alone(similarity)
    return with_terms(base.folder, record, terms, manifest.commit + 1, disk)


def _terms(base: Snapshot, reference: Reference, entries: list[Entry], span: range) -> Float32:
    pictures = [Query(entry.words.within(span), entry.geometry) for entry in entries]
    return reference.terms_of(pictures, visiting(base, reference.context))


def reference_of(base: Snapshot, context: str, known: References) -> Reference:
    """The reference set of a context, read unless it is known."""
    if context not in known:
        file = base.manifest.contexts[context]
        known[context] = Reference.from_bytes(read_whole(base.folder / file.name, file))
    return known[context]
