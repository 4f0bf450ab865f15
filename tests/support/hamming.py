"""The Hamming measure with all its weights once more: plain loops over features and the formulas of BURST-09.

Slow, and without code of resight.scoring: only the bins and priors of weak geometry, which are choices, are from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, floor, log, sqrt

from resight.options import HammingOptions
from resight.scoring import Query
from resight.scoring.voting import SIZE_PRIOR, SIZES, TURN_PRIOR, TURNS


@dataclass(frozen=True)
class Feature:
    """A descriptor in one word. With multiple assignment each word makes a descriptor of its own (§4.2)."""

    word: int
    signature: int
    scale: int  # twentieths of an octave below the picture's longest side
    angle: int  # 256ths of a turn


@dataclass
class Match:
    mine: Feature
    theirs: Feature
    bits: int
    score: float


def features_of(picture: Query) -> list[Feature]:
    words, codes = picture.words, picture.geometry
    return [
        Feature(int(word), int(signature), int(codes["scale"][owner]), int(codes["angle"][owner]))
        for owner, word, signature in zip(words.feature, words.word, words.signature, strict=True)
    ]


def hamming_scores(
    query: Query, pictures: Sequence[Query], *, alive: Sequence[bool], idf: Sequence[float], options: HammingOptions
) -> list[float]:
    """One score for each picture, 0 for those that are not alive."""
    shown = [features_of(picture) for picture in pictures]
    matches: list[list[Match]] = [[] for _ in pictures]
    for mine in features_of(query):
        found = {b: _in_one_picture(mine, shown[b], idf, options) for b in range(len(pictures)) if alive[b]}
        total = sum(match.score for those in found.values() for match in those)  # eq. 5
        for b, those in found.items():
            for match in those:
                if options.inter and total:
                    match.score *= sqrt(match.score / total)  # eq. 6
                matches[b].append(match)
    added = [_agreeing(m) if options.weak_geometry else sum(match.score for match in m) for m in matches]
    return [score / _norm(features) if features else 0.0 for score, features in zip(added, shown, strict=True)]


def _in_one_picture(
    mine: Feature, picture: list[Feature], idf: Sequence[float], options: HammingOptions
) -> list[Match]:
    """The matches m(i, b, j) of a query descriptor in one picture, tamed within it."""
    same_word = [theirs for theirs in picture if theirs.word == mine.word]
    found = []
    for theirs in same_word:
        bits = (mine.signature ^ theirs.signature).bit_count()
        if bits <= options.threshold:
            score = idf[mine.word] ** options.idf_power * exp(-(bits**2) / options.sigma**2)  # eq. 1 and 2
            score *= (2 ** (5 - mine.scale / 20)) ** options.size_power  # 5 octaves below the longest side count as 1
            found.append(Match(mine, theirs, bits, score))
    if options.closest_only and found:  # §4.1; of equally close ones the first
        found = [min(found, key=lambda match: match.bits)]
    total = sum(match.score for match in found)  # eq. 3
    for match in found:
        match.score *= _intra(options.intra, match.score / total if total else 0.0, len(same_word))
    return found


def _intra(form: str, share: float, occurrences: int) -> float:
    """Table 2; root-share is eq. 4."""
    return {
        "none": 1.0,
        "count": 1 / occurrences,
        "root-count": 1 / sqrt(occurrences),
        "root-share": sqrt(share),
        "log-share": log(1 + share),
    }[form]


def _agreeing(matches: list[Match]) -> float:
    """The lesser of what agrees on a turn and what agrees on a change of size."""
    turns, sizes = [0.0] * TURNS, [0.0] * SIZES
    for match in matches:
        turn = floor((match.theirs.angle - match.mine.angle) * 360 / 256 / 22.5 + 0.5)
        larger = floor((match.mine.scale - match.theirs.scale) / 10 + 0.5)  # half octaves
        turns[turn % TURNS] += match.score
        sizes[min(max(larger + SIZES // 2, 0), SIZES - 1)] += match.score
    around = [turns[t - 1] + turns[t] + turns[(t + 1) % TURNS] for t in range(TURNS)]
    beside = [sum(sizes[max(s - 1, 0) : s + 2]) for s in range(SIZES)]
    return min(
        max(float(TURN_PRIOR[t]) * around[t] for t in range(TURNS)),
        max(float(SIZE_PRIOR[s]) * beside[s] for s in range(SIZES)),
    )


def _norm(features: list[Feature]) -> float:
    """L2 norm of the word counts."""
    words = [feature.word for feature in features]
    return sqrt(sum(words.count(word) ** 2 for word in set(words)))
