"""Small collections in which pictures of one thing share words, made of nothing but words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from resight.learning_to_rank import TrainingQuery
from resight.postings import GEOMETRY, Lists, build
from resight.types import Words

Array = npt.NDArray[Any]


def shown(word: Array) -> tuple[Words, Array]:
    """A picture with these words, as lists are built from it."""
    feature = np.arange(len(word), dtype=np.int32)
    return Words(feature, word.astype(np.int32), np.zeros(len(word), np.uint64)), np.zeros(len(word), GEOMETRY)


def lists_of(pictures: Sequence[Array], k: int) -> Lists:
    return build([shown(word) for word in pictures], words=k)


def things(count: int, *, each: int, k: int, seed: int = 0, own: int = 12, noise: int = 25) -> list[Array]:
    """``each`` pictures of each thing: some of its own words, often repeated, among words that anything may have."""
    rng = np.random.default_rng(seed)
    common = rng.permutation(k)[: k // 4]  # frequent everywhere
    pictures = []
    for _ in range(count):
        mine = rng.integers(0, k, own)
        for _ in range(each):
            kept = rng.choice(mine, own * 2 // 3, replace=False)
            bursts = np.repeat(rng.choice(common, noise // 5), rng.integers(1, 6))
            pictures.append(np.concatenate([kept, rng.choice(common, noise), rng.integers(0, k, noise // 2), bursts]))
    return pictures


def all_asked(pictures: Sequence[Array], each: int) -> tuple[list[TrainingQuery], list[str]]:
    """Every picture asks for the others of its thing; and the thing that each asks for."""
    asked, thing = [], []
    for number, word in enumerate(pictures):
        first = number // each * each
        others = np.array([i for i in range(first, first + each) if i != number])
        asked.append(TrainingQuery(word.astype(np.int32), others, np.array([number])))
        thing.append(str(number // each))
    return asked, thing


def dense(word: Array, k: int, most: int) -> Array:
    return np.minimum(np.bincount(word, minlength=k), most)
