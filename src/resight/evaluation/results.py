"""What an evaluation found: plain values for tables, JSON and the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..types import Float64
from .datasets import Dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One recipe on one dataset."""

    recipe: str
    means: dict[str, float]  # measure → mean over queries; of the whole collection for neighbourhood diagnostics
    per_query: dict[str, Float64]  # measure → one value per query, in the dataset's order
    rankings: tuple[tuple[str, ...], ...]  # keys, best first, one ranking per query
    precision_recall: Float64  # mean precision at measures.LEVELS
    reliability: Float64  # (n, 2) confidence of first results and whether they are right; empty without confidence
    query_ms: float  # mean time per query: assignment, scoring, verification; not the extraction of its features
    bytes_per_image: float  # of the index, without its vocabulary

    def as_dict(self) -> dict[str, Any]:
        return {
            "recipe": self.recipe,
            "measures": self.means,
            "query_ms": round(self.query_ms, 2),
            "bytes_per_image": round(self.bytes_per_image),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """All recipes on one dataset."""

    dataset: Dataset
    rows: tuple[Row, ...]
    trained_on: str  # what the vocabulary was learnt from
    skipped: tuple[str, ...]  # pictures that could not be read, with the reason
    seconds: float  # in all, caches included
    peak_memory: int  # bytes of this process

    def as_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset.name,
            "images": len(self.dataset.images),
            "queries": len(self.dataset.queries),
            "trained_on": self.trained_on,
            "skipped": list(self.skipped),
            "seconds": round(self.seconds, 1),
            "peak_memory": self.peak_memory,
            "rows": [row.as_dict() for row in self.rows],
        }
