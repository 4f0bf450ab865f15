"""Vocabularies, and descriptors that look like real ones to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from resight.features import extract
from resight.images import from_array
from resight.options import FeatureOptions, VocabularyOptions
from resight.vocabulary import Vocabulary, train

from .pictures import Pixels

Array = npt.NDArray[Any]
# Fingerprints of the vocabularies that come with resight.
READY = {"sift": "4cc0a1816e29255d743e6b3e410870f4", "hessian-affine": "ba83a01c73798f08fb39b479ccdac1b7"}


def byte_vocabulary(centroids: Array, seed: int = 0) -> Vocabulary:
    rng = np.random.default_rng(seed)
    k, d = centroids.shape
    projection = rng.integers(-10, 11, (64, d)).astype(np.int8)
    return Vocabulary(centroids.astype(np.uint8), projection, rng.integers(-99, 99, (k, 64)).astype(np.int16), {})


def float_vocabulary(centroids: Array) -> Vocabulary:
    k, d = centroids.shape
    projection = np.random.default_rng(0).standard_normal((64, d)).astype(np.float32)
    return Vocabulary(centroids.astype(np.float32), projection, np.zeros((k, 64), np.float32), {})


def ready_in_thirds(each: int | None = None) -> Vocabulary:
    """Three vocabularies of so many words each, or of as many as there are; each word of the ready one is in one."""
    ready = Vocabulary.ready()
    words = 3 * (each or ready.words // 3)
    return replace(ready, centroids=ready.centroids[:words], medians=ready.medians[:words], vocabularies=3, cells=None)


def one_of(several: Vocabulary, number: int) -> Vocabulary:
    """One of the vocabularies, by itself."""
    each = several.words // several.vocabularies
    mine = slice(number * each, (number + 1) * each)
    return replace(several, centroids=several.centroids[mine], medians=several.medians[mine], vocabularies=1)


def learnt_from(pictures: Iterable[Pixels], *, features: FeatureOptions, words: int, vocabularies: int) -> Vocabulary:
    """From all features of these pictures, dealt to so many vocabularies of so many words each."""
    shown = (from_array(pixels, max_side=1024) for pixels in pictures)
    described = np.concatenate([extract(picture, options=features).descriptors for picture in shown])
    shuffled = np.random.default_rng(0).permutation(described)
    sample = len(shuffled) // vocabularies
    options = VocabularyOptions(words=words, vocabularies=vocabularies, sample=sample, iterations=4)
    return train(shuffled, options=options, source="test")


def squared_distances(descriptors: Array, centroids: Array) -> Array:
    """In integers, one centroid at a time."""
    rows = descriptors.astype(np.int64)
    return np.stack([((rows - c) ** 2).sum(axis=1) for c in centroids.astype(np.int64)], axis=1)


def root_sift_like(count: int, seed: int) -> Array:
    """Byte vectors of norm ≈ 512 that cluster as real descriptors do: a few latent causes, heavy-tailed."""
    rng, latent = np.random.default_rng(seed), np.random.default_rng(77)
    directions = latent.standard_normal((24, 128)) * (latent.random((24, 128)) < 0.3)
    topics = latent.standard_normal((200, 24))
    causes = topics[rng.integers(0, 200, count)] + 0.5 * rng.standard_normal((count, 24))
    raw = np.maximum(causes @ directions + 0.3 * rng.standard_normal((count, 128)), 0) + 1e-3
    shares = raw / raw.sum(axis=1, keepdims=True)
    result: Array = np.minimum(np.rint(np.sqrt(shares) * 512), 255).astype(np.uint8)
    return result


def bits_apart(a: Array, b: Array) -> Array:
    return np.array([(int(x) ^ int(y)).bit_count() for x, y in zip(a, b, strict=True)])
