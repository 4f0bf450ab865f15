"""The pictures that context terms are measured against, kept as they were, so that later ones get theirs alike.

Adding or removing pictures changes no other picture's term (CDM-10 §III-E): all are measured against the same reference
set, with the same idf, whatever becomes of the collection.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import arrays_of
from ..machine import processors
from ..options import ContextOptions, ScoringOptions, from_dict, scoring_options, to_dict
from ..postings import build, frozen
from ..scoring import CollectionStatistics, Query, Scope, SegmentView, collection_statistics
from ..types import Float32
from .neighbours import Visit, distances_of, nearest, without_copies
from .terms import FLOOR, METHODS, Terms


@dataclass(frozen=True)
class Reference:
    """A fixed set of pictures with their context terms."""

    segment: SegmentView
    collection: CollectionStatistics  # with the idf of the index, when the terms were learnt
    terms: Terms
    scoring: ScoringOptions
    context: ContextOptions

    @classmethod
    def learn(
        cls,
        segment: SegmentView,
        collection: CollectionStatistics,
        *,
        scoring: ScoringOptions,
        context: ContextOptions,
        visit: Visit | None = None,
        done: Callable[[int], None] | None = None,
    ) -> Reference:
        """Compute the terms of all pictures among themselves; ``done`` hears how many more were compared."""
        whole = context.method == "sinkhorn" or not context.kept
        kept = segment.pictures if whole else max(context.kept, context.neighbours)
        near = nearest(segment, collection, kept=kept, scoring=scoring, visit=visit, done=done)
        return cls(segment, collection, METHODS[context.method](near, context), scoring, context)

    def terms_of(self, pictures: Sequence[Query], visit: Visit | None = None) -> Float32:
        """The terms of other pictures, each of whose features has one word."""
        with ThreadPoolExecutor(processors()) as pool:
            terms = pool.map(lambda picture: self._term_of(picture, visit), pictures)
            return np.fromiter(terms, np.float32, len(pictures))

    def _term_of(self, picture: Query, visit: Visit | None) -> float:
        """What makes its neighbourhood as wide as all others are; who its neighbours are does not depend on it."""
        radius, delta = self.terms.radius, self.terms.delta
        if not radius:
            return 1.0
        lists = build([(picture.words, picture.geometry)], words=len(self.collection.idf))
        visited = self.segment.pictures_in(visit(picture.words)) if visit else np.arange(self.segment.pictures)
        # Together, as if it were one of them: density ratios depend on all that there is.
        segments = [self.segment.only(visited) if visit else self.segment, SegmentView.of(lists, pictures=1)]
        theirs, own = distances_of(picture, segments, Scope(self.scoring, self.collection))
        row = np.full(self.segment.pictures, np.inf)
        row[visited] = without_copies(theirs, float(own[0]), self.scoring)
        if self.context.method == "sinkhorn":
            row[np.isinf(row)] = self.terms.far
            total = float((row**2 * delta**2).sum())
            return float(np.sqrt(radius / total)) if total else 1.0
        if self.context.method == "cdm":
            row *= delta
        near = np.sort(row)[: self.context.neighbours]
        near = near[np.isfinite(near)]
        if not len(near):
            return 1.0
        ratio = radius / max(near.mean(), FLOOR * radius)
        return float(ratio**self.context.alpha if self.context.method == "nicdm" else ratio)

    def to_bytes(self) -> bytes:
        buffer, lists = io.BytesIO(), self.segment.read(None, "image", "signature", "geometry")
        signature, geometry = lists.signature, lists.geometry
        if self.scoring.measure != "hamming":  # bags of words need neither, and zeros take no room
            signature, geometry = np.zeros_like(signature), np.zeros_like(geometry)
        numbers = {"radius": self.terms.radius, "far": self.terms.far}
        description = {"scoring": to_dict(self.scoring), "context": to_dict(self.context), **numbers}
        bounds: dict[str, Any] = {} if self.segment.bounds is None else {"bounds": self.segment.bounds}
        np.savez_compressed(
            buffer,
            **bounds,
            offsets=lists.offsets,
            image=lists.image,
            signature=signature,
            geometry=geometry,
            idf=self.collection.idf,
            delta=self.terms.delta,
            description=np.frombuffer(json.dumps(description).encode(), np.uint8),
        )
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Reference:
        with arrays_of(data) as arrays:
            lists = frozen(*(arrays[name] for name in ("offsets", "image", "signature", "geometry")))
            described = json.loads(arrays["description"].tobytes())
            pictures, bounds = len(arrays["delta"]), arrays.get("bounds")
            segment = SegmentView.of(lists, pictures=pictures, bounds=bounds)
            terms = Terms(arrays["delta"], described["radius"], described["far"])
            scoring = scoring_options(**described["scoring"])
            collection = collection_statistics([segment], scoring, idf=arrays["idf"])
        return cls(segment, collection, terms, scoring, from_dict(ContextOptions, described["context"]))
