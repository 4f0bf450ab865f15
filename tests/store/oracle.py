"""The four measures once more, from dictionaries and the formulas alone: slow, and sharing no code with resight."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from resight.store import Entry
from resight.types import Words


def scores(entries: Mapping[str, Entry], query: Words, measure: str) -> dict[str, float]:
    """The score of every picture that has one above 0."""
    counts = {key: Counter(e.words.word.tolist()) for key, e in entries.items()}
    asked = Counter(query.word.tolist())
    df = Counter(word for count in counts.values() for word in count)
    idf = {word: math.log((len(entries) + 1) / max(df[word], 1)) for word in {*df, *asked}}
    found = {}
    for key, count in counts.items():
        if measure == "l1":
            value = _minimum(_weigh(asked, idf), _weigh(count, idf))
        elif measure == "l2":
            value = _dot(_weigh(asked, idf), _weigh(count, idf))
        elif measure == "cosine":
            value = sum(idf[w] ** 2 * asked[w] * count[w] for w in asked) / (_length(asked) * _length(count) or 1)
        else:
            value = _hamming(query, entries[key].words, idf) / (_length(count) or 1)
        if value > 0:
            found[key] = value
    return found


def _weigh(counts: Mapping[int, int], idf: Mapping[int, float]) -> dict[int, float]:
    return {word: count * idf[word] for word, count in counts.items()}


def _length(vector: Mapping[int, float]) -> float:
    return math.sqrt(sum(v * v for v in vector.values()))


def _dot(a: Mapping[int, float], b: Mapping[int, float]) -> float:
    return sum(a[w] * b.get(w, 0) for w in a) / (_length(a) * _length(b) or 1)


def _minimum(a: Mapping[int, float], b: Mapping[int, float]) -> float:
    of_a, of_b = sum(a.values()), sum(b.values())
    return sum(min(a[w] / of_a, b[w] / of_b) for w in a if w in b) if of_a and of_b else 0.0


def _hamming(query: Words, picture: Words, idf: Mapping[int, float]) -> float:
    total = 0.0
    for word, signature in zip(query.word.tolist(), query.signature.tolist(), strict=True):
        for other, theirs in zip(picture.word.tolist(), picture.signature.tolist(), strict=True):
            bits = (signature ^ theirs).bit_count()
            if word == other and bits <= 24:
                total += idf[word] ** 2 * math.exp(-(bits**2) / 16**2)
    return total
