"""All measures once more, from dictionaries and the formulas alone: slow, and sharing no code with resight."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping

from resight.scoring import Query
from resight.store import Entry
from resight.types import Words

from ..scoring.reference import hamming_scores
from .support import RECIPES_ASKED, WORDS, asked


def scores(
    entries: Mapping[str, Entry], query: Words, measure: str, visited: Collection[str] | None = None
) -> dict[str, float]:
    """The score of every picture that has one above 0, and is visited, if those that are are given."""
    visited = entries.keys() if visited is None else visited
    if measure not in ("l1", "l2", "cosine"):
        return _hamming(entries, query, measure, visited)
    counts = {key: Counter(e.words.word.tolist()) for key, e in entries.items()}
    wanted = Counter(query.word.tolist())
    idf = _idf(entries)
    found = {}
    for key, count in counts.items():
        if measure == "l1":
            value = _minimum(_weigh(wanted, idf), _weigh(count, idf))
        elif measure == "l2":
            value = _dot(_weigh(wanted, idf), _weigh(count, idf))
        else:
            value = sum(idf[w] ** 2 * wanted[w] * count[w] for w in wanted) / (_length(wanted) * _length(count) or 1)
        if value > 0 and key in visited:
            found[key] = value
    return found


def _idf(entries: Mapping[str, Entry]) -> list[float]:
    df = Counter(word for entry in entries.values() for word in set(entry.words.word.tolist()))
    return [math.log((len(entries) + 1) / max(df[word], 1)) for word in range(WORDS)]


def _weigh(counts: Mapping[int, int], idf: list[float]) -> dict[int, float]:
    return {word: count * idf[word] for word, count in counts.items()}


def _length(vector: Mapping[int, float]) -> float:
    return math.sqrt(sum(v * v for v in vector.values()))


def _dot(a: Mapping[int, float], b: Mapping[int, float]) -> float:
    return sum(a[w] * b.get(w, 0) for w in a) / (_length(a) * _length(b) or 1)


def _minimum(a: Mapping[int, float], b: Mapping[int, float]) -> float:
    of_a, of_b = sum(a.values()), sum(b.values())
    return sum(min(a[w] / of_a, b[w] / of_b) for w in a if w in b) if of_a and of_b else 0.0


def _hamming(entries: Mapping[str, Entry], query: Words, measure: str, visited: Collection[str]) -> dict[str, float]:
    pictures = [Query(entry.words, entry.geometry) for entry in entries.values()]
    found = hamming_scores(
        asked(query),
        pictures,
        alive=[key in visited for key in entries],
        idf=_idf(entries),
        options=RECIPES_ASKED[measure].scoring,
    )
    return {key: value for key, value in zip(entries, found, strict=True) if value > 0}
