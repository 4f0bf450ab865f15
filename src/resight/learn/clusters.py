"""An index → clusters of its pictures. With several vocabularies they are put into clusters by the first."""

from __future__ import annotations

from ..clusters import SEED, Clusters
from ..errors import UsageError
from ..options import ClusterOptions
from ..store import References, Snapshot, Writer
from ..store.manifest import CLUSTERS, CONTEXT
from .sample import sample_pictures


def learn_clusters(writer: Writer, options: ClusterOptions) -> None:
    """Commit, then rewrite all pictures as one segment, ordered by newly learnt clusters; count 0 removes clustering.

    Drops context terms learnt with ``probe``, since they depend on the old clusters.
    """
    writer.commit()
    snapshot, references = writer.snapshot, References()
    outdated = {name for name in snapshot.manifest.contexts if references.get(snapshot, name).context.probe}
    files: dict[str, bytes | None] = {CLUSTERS: None, **dict.fromkeys(f"{CONTEXT}{name}" for name in outdated)}
    clusters = _clusters(snapshot, options) if options.count else None
    if clusters:
        files[CLUSTERS] = clusters.to_bytes()
    writer.arrange(clusters, files)


def _clusters(snapshot: Snapshot, options: ClusterOptions) -> Clusters:
    """From some pictures of the index, the same ones however they are spread over segments."""
    if not snapshot.pictures:
        raise UsageError(f"{snapshot.folder} has no pictures yet, so there are no clusters to find; add some first")
    if options.sample < options.count:
        raise UsageError(
            f"{options.count} clusters cannot be learnt from a sample of {options.sample} pictures; "
            f"take clusters.sample={options.count} or more, or fewer clusters"
        )
    span = snapshot.spans[0]
    pictures = sample_pictures(snapshot, options.sample, SEED, span)
    return Clusters.learn([p.words.word for p in pictures], idf=snapshot.idf[span.start : span.stop], options=options)
