"""Clusters of the pictures of an index. With several vocabularies pictures are put into clusters by the first."""

from __future__ import annotations

import numpy as np

from ..clusters import SEED, Clusters
from ..errors import UsageError
from ..options import ClusterOptions
from ..types import Int64
from .drawn import drawn
from .segment import Segment
from .snapshot import Snapshot


def learn_clusters(snapshot: Snapshot, options: ClusterOptions) -> Clusters:
    """From some pictures of the index, the same ones however they are spread over segments."""
    if not snapshot.pictures:
        raise UsageError(f"{snapshot.folder} has no pictures yet, so there are no clusters to find; add some first")
    if options.sample < options.count:
        raise UsageError(
            f"{options.count} clusters cannot be learnt from a sample of {options.sample} pictures; "
            f"take clusters.sample={options.count} or more, or fewer clusters"
        )
    span = snapshot.spans[0]
    pictures, idf = drawn(snapshot, options.sample, SEED, span), snapshot.idf[span.start : span.stop]
    return Clusters.learn([words.word for *_, (words, _) in pictures], idf=idf, options=options)


def assign(segment: Segment, clusters: Clusters, span: range) -> Int64:
    """The cluster of each picture of a segment."""
    found = [clusters.assign(words.word for words, _ in block) for _, block in segment.blocks(span)]
    return np.concatenate([np.zeros(0, np.int64), *found])
