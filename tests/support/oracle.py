"""All measures once more, from dictionaries and the formulas alone: slow, and sharing no code with resight."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping

from resight.options import HammingOptions, to_dict
from resight.scoring import Query
from resight.store import Entry
from resight.types import Words

from .hamming import hamming_scores
from .stored import RECIPES_ASKED, WORDS, asked, similarity, vocabulary


def scores(
    entries: Mapping[str, Entry], query: Words, measure: str, visited: Collection[str] | None = None
) -> dict[str, float]:
    """The score of every picture that has one above 0, and is visited, if those that are are given."""
    visited = entries.keys() if visited is None else visited
    return {key: value for key, value in _scores(entries, query, measure).items() if value > 0 and key in visited}


def _scores(entries: Mapping[str, Entry], query: Words, measure: str) -> dict[str, float]:
    if measure in ("density", "hamming density", "knn", "knn density"):
        return _votes(entries, query, measure)
    if measure in ("hamming", "every weight"):
        return _hamming(entries, query, measure)
    counts = {key: Counter(e.words.word.tolist()) for key, e in entries.items()}
    wanted = Counter(query.word.tolist())
    if measure in ("burst", "negative", "asymmetric", "learnt"):
        shared = {key: count for key, count in counts.items() if wanted.keys() & count.keys()}
        return {key: _against_all(wanted, count, list(counts.values()), measure) for key, count in shared.items()}
    idf = _idf(entries)
    found = {}
    for key, count in counts.items():
        if measure == "l1":
            value = _minimum(_weigh(wanted, idf), _weigh(count, idf))
        elif measure == "l2":
            value = _dot(_weigh(wanted, idf), _weigh(count, idf))
        elif measure in ("tf", "tf-idf"):
            value = sum((idf[w] if measure == "tf-idf" else 1) * wanted[w] * count[w] for w in wanted)
        elif measure == "cosine":
            value = sum(idf[w] ** 2 * wanted[w] * count[w] for w in wanted) / (_length(wanted) * _length(count) or 1)
        else:
            raise ValueError(f"no formula for the measure {measure!r} here; add it")
        found[key] = value
    return found


def _against_all(q: Counter[int], d: Counter[int], every: list[Counter[int]], measure: str) -> float:
    """The measures of LEARN-14 §2 that look at all pictures, with their usual options, and that of §3."""
    if measure == "learnt":
        more = learnt(q, d) - learnt(q, Counter())
        return 1 + more if more > 0 else 1 / (1 - more)
    options = to_dict(RECIPES_ASKED[measure].scoring)
    weight = [idf * idf for idf in _idf_of(every)]
    if measure == "burst":
        roots = [sum(math.sqrt(other[w]) for other in every) for w in range(WORDS)]
        return sum(weight[w] * q[w] * math.sqrt(math.sqrt(d[w]) / roots[w]) for w in q if d[w])
    if measure == "negative":
        away = [float(options["beta"]) * sum(other[w] for other in every) / len(every) for w in range(WORDS)]
        ours, theirs = ({w: counts[w] - away[w] for w in range(WORDS)} for counts in (q, d))
        product = sum(weight[w] * ours[w] * theirs[w] for w in range(WORDS))
        return (1 + product / (_length(ours) * _length(theirs))) / 2
    common = sum(min(q[w], other[w]) for other in every for w in q)
    factor = max(float(options["alpha"]) * sum(other.total() for other in every) / common - 1, 0)
    return 1 / (1 + (d - q).total() + factor * (q - d).total())


def learnt(q: Counter[int], d: Counter[int]) -> float:
    """LEARN-14 eq. 5, with the weights of the first similarity; counts beyond 2 are taken for 2."""
    known = similarity()
    bins = [known.pattern[min(q[w], 2), min(d[w], 2)] for w in range(WORDS)]
    return sum(float(known.weights[group, b]) for group, b in zip(known.group, bins, strict=True))


def _idf(entries: Mapping[str, Entry]) -> list[float]:
    return _idf_of([Counter(entry.words.word.tolist()) for entry in entries.values()])


def _idf_of(every: list[Counter[int]]) -> list[float]:
    df = Counter(word for counts in every for word in counts)
    return [math.log((len(every) + 1) / max(df[word], 1)) for word in range(WORDS)]


def _weigh(counts: Mapping[int, int], idf: list[float]) -> dict[int, float]:
    return {word: count * idf[word] for word, count in counts.items()}


def _length(vector: Mapping[int, float]) -> float:
    return math.sqrt(sum(v * v for v in vector.values()))


def _dot(a: Mapping[int, float], b: Mapping[int, float]) -> float:
    return sum(a[w] * b.get(w, 0) for w in a) / (_length(a) * _length(b) or 1)


def _minimum(a: Mapping[int, float], b: Mapping[int, float]) -> float:
    of_a, of_b = sum(a.values()), sum(b.values())
    return sum(min(a[w] / of_a, b[w] / of_b) for w in a if w in b) if of_a and of_b else 0.0


def _hamming(entries: Mapping[str, Entry], query: Words, measure: str) -> dict[str, float]:
    pictures = [Query(entry.words, entry.geometry) for entry in entries.values()]
    options = RECIPES_ASKED[measure].scoring
    assert isinstance(options, HammingOptions)
    found = hamming_scores(
        asked(query),
        pictures,
        alive=[True] * len(entries),
        idf=_idf(entries),
        options=options,
    )
    return {key: value for key, value in zip(entries, found, strict=True) if value > 0}


def _votes(entries: Mapping[str, Entry], query: Words, measure: str) -> dict[str, float]:
    """Features near to each of the query's, in order, vote for their pictures by density ratio or idf (DRE-12)."""
    options = to_dict(RECIPES_ASKED[measure].scoring)
    odds = options["mixture"] / (1 - options["mixture"]) * sum(len(entry.words) for entry in entries.values())
    idf, scores = _idf(entries), dict.fromkeys(entries, 0.0)
    for row, word in enumerate(query.word.tolist()):
        near = [
            (_apart(query, row, entry, other, options["measure"]), key)
            for key, entry in entries.items()
            for other in range(len(entry.words))
            if entry.words.word[other] == word
        ]
        if options["measure"] == "hamming":
            near = [pair for pair in near if pair[0] <= options["threshold"]]
        if options["measure"] == "knn" and near:
            farthest = sorted(near)[max(round(math.sqrt(len(near))), 1) - 1][0]
            near = [pair for pair in near if pair[0] <= farthest]
        for (distance, key), count in Counter(near).items():
            within = sum(1 for other, _ in near if other <= distance)
            if measure == "knn":
                scores[key] += idf[word] * count
            else:
                scores[key] += math.log(odds * count / (within * len(entries[key].words)) + 1)
    return scores


def _apart(query: Words, row: int, entry: Entry, other: int, measure: str) -> float:
    """How far a feature is from one of the query's that has the same word."""
    if measure == "density":
        return 0
    if measure == "hamming":
        return (int(query.signature[row]) ^ int(entry.words.signature[other])).bit_count()
    learnt, code = vocabulary(codes=True), entry.words.code
    assert learnt.codebooks is not None
    assert code is not None
    stands_for = [float(x) for i, c in enumerate(code[other]) for x in learnt.codebooks[i, c]]
    value, centroid = _descriptors(query)[row], learnt.centroids[int(query.word[row])].tolist()
    return math.dist(value, [c + s for c, s in zip(centroid, stands_for, strict=True)])


def _descriptors(query: Words) -> list[list[float]]:
    descriptors = asked(query).descriptors
    assert descriptors is not None
    return [[float(x) for x in row] for row in descriptors]
