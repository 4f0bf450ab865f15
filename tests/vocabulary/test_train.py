"""Training: the sample, the words and the medians, and the same answer every time."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from resight._faiss import load
from resight.errors import VocabularyError
from resight.options import VocabularyOptions
from resight.vocabulary import Assigner, Vocabulary, sample, train

Array = npt.NDArray[Any]


def numbered_sets(sizes: list[int]) -> list[Array]:
    """Descriptors that say which row of all they are."""
    rows = np.arange(sum(sizes), dtype=np.float32)[:, None] * np.ones((1, 3), np.float32)
    return np.split(rows, np.cumsum(sizes)[:-1])


def drawn(sets: Any, *, size: int, seed: int) -> list[int]:
    return [int(row[0]) for row in sample(sets, size=size, seed=seed)]


# --- the sample


def test_sample_is_a_part_without_repetition() -> None:
    chosen = drawn(numbered_sets([5, 0, 200, 1, 94]), size=50, seed=3)
    assert len(chosen) == len(set(chosen)) == 50
    assert set(chosen) <= set(range(300))


def test_a_small_set_is_taken_whole() -> None:
    assert sorted(drawn(numbered_sets([3, 4]), size=100, seed=0)) == list(range(7))
    assert sorted(drawn(numbered_sets([3, 4]), size=7, seed=0)) == list(range(7))


@pytest.mark.parametrize("sizes", [[1000], [1] * 40 + [960], [10] * 100, [400, 0, 590, 10]])
def test_sample_is_uniform(sizes: list[int]) -> None:
    """Each of 1000 rows is drawn by about a tenth of 250 seeds, wherever it lies: χ² on 999 degrees of freedom."""
    draws, sets = 250, numbered_sets(sizes)
    counts = np.zeros(1000)
    for seed in range(draws):
        counts[drawn(sets, size=100, seed=seed)] += 1
    assert counts.sum() == draws * 100
    variance = draws * 0.1 * 0.9
    chi_squared = ((counts - draws * 0.1) ** 2).sum() / variance
    assert abs(chi_squared - 1000) < 4 * np.sqrt(2 * 1000)
    first, last = counts[:100].sum(), counts[-100:].sum()
    assert abs(first - last) < 4 * np.sqrt(2 * 100 * variance)


def test_sample_depends_on_seed_and_sets_and_not_on_its_size() -> None:
    """Sizes only cut: trimming on the way (small sizes) or at the end (large ones) gives the head of the same order."""
    sets = numbered_sets([30, 70, 1, 0, 200, 99])
    whole = drawn(sets, size=400, seed=5)
    for size in (1, 10, 60, 150, 399):
        assert drawn(sets, size=size, seed=5) == whole[:size]
    assert drawn(iter(sets), size=60, seed=5) == whole[:60]
    assert drawn(sets, size=60, seed=6) != whole[:60]


def test_sample_holds_two_samples_and_one_set() -> None:
    """However many sets come by, memory stays: ≤ 2 samples + 1 set held, twice that while they are joined."""
    row_bytes, size, per_set = 128, 2000, 500

    def sets(count: int) -> Iterator[Array]:
        rng = np.random.default_rng(0)
        yield from (rng.integers(0, 256, (per_set, row_bytes), dtype=np.uint8) for _ in range(count))

    tracemalloc.start()
    try:
        peaks = []
        for count in (50, 200):
            tracemalloc.reset_peak()
            assert len(sample(sets(count), size=size, seed=0)) == size
            peaks.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
    held = (2 * size + 2 * per_set) * (row_bytes + 8 + 8)  # priorities and their order are 8 bytes each
    assert max(peaks) < 2 * held + 500_000
    assert peaks[1] < 1.1 * peaks[0]
    assert 200 * per_set * row_bytes > 4 * max(peaks)  # all sets together would not have fitted


@pytest.mark.parametrize("sets", [[], [np.zeros((0, 128), np.uint8)] * 3])
def test_sample_of_nothing(sets: list[Array]) -> None:
    with pytest.raises(VocabularyError, match="no descriptors to train on"):
        sample(sets, size=10, seed=0)


# --- words


def clusters(centres: Array, per_cluster: int, *, spread: float, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    rows = np.repeat(centres, per_cluster, axis=0) + spread * rng.standard_normal(
        (len(centres) * per_cluster, centres.shape[1])
    )
    order = rng.permutation(len(rows))
    result: Array = np.clip(np.rint(rows), 0, 255).astype(np.uint8)[order]
    return result


CENTRES = np.random.default_rng(9).integers(40, 200, (6, 128)).astype(float)


def options(**values: Any) -> VocabularyOptions:
    return VocabularyOptions(**{"words": 6, "iterations": 10, "seed": 1, **values})


@pytest.mark.parametrize("seed", range(5))
def test_two_clusters_are_found(seed: int) -> None:
    made = clusters(CENTRES[:2], 200, spread=6, seed=seed)
    centroids = train(made, options=options(words=2, seed=seed), source="test").centroids.astype(float)
    gaps = np.linalg.norm(CENTRES[:2, None] - centroids[None], axis=2)
    assert sorted(gaps.argmin(axis=1).tolist()) == [0, 1]
    # The mean of 200 rows of spread 6 is off by 0.42 in each of 128 components, rounding adds 0.29: about 5.8 in all.
    assert gaps.min(axis=1).max() < 9


def test_each_cluster_has_words_and_each_word_a_cluster() -> None:
    made = clusters(CENTRES, 200, spread=6, seed=0)
    centroids = train(made, options=options(words=60), source="test").centroids.astype(float)
    gaps = np.linalg.norm(CENTRES[:, None] - centroids[None], axis=2)
    assert np.linalg.norm(CENTRES[0] - CENTRES[1]) > 400
    assert gaps.min(axis=0).max() < 6 * np.sqrt(128) * 1.2  # a word is no farther out than a member
    assert gaps.min(axis=1).max() < 40


def test_a_single_word_is_the_mean() -> None:
    made = clusters(CENTRES, 50, spread=10, seed=1)
    centroid = train(made, options=options(words=1), source="test").centroids[0]
    assert np.abs(centroid - made.astype(float).mean(axis=0)).max() <= 0.51


def test_each_word_is_the_mean_of_its_members() -> None:
    """What k-means converges to, checked from outside."""
    made = clusters(CENTRES, 100, spread=25, seed=2)
    vocabulary = train(made, options=options(words=10, iterations=60), source="test")
    word = Assigner(vocabulary).assign(made).word
    for w in range(10):
        assert np.abs(vocabulary.centroids[w] - made[word == w].astype(float).mean(axis=0)).mean() < 0.5


def arrays(vocabulary: Vocabulary) -> tuple[bytes, ...]:
    return tuple(a.tobytes() for a in (vocabulary.centroids, vocabulary.projection, vocabulary.medians))


@pytest.fixture
def faiss_threads() -> Iterator[Any]:
    faiss = load()
    before = faiss.omp_get_max_threads()
    yield faiss.omp_set_num_threads
    faiss.omp_set_num_threads(before)


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_training_repeats_with_any_number_of_threads(kind: type, faiss_threads: Any) -> None:
    made: Array = clusters(CENTRES, 300, spread=40, seed=3).astype(kind)
    results = []
    for threads in (1, 2, 1):
        faiss_threads(threads)
        results.append(arrays(train(made, options=options(words=50), source="test")))
    assert results[0] == results[2]
    assert results[0] == results[1]
    other = arrays(train(made, options=options(words=50, seed=2), source="test"))
    assert all(a != b for a, b in zip(other, results[0], strict=True))  # the seed reaches all three arrays


def test_too_few_descriptors() -> None:
    with pytest.raises(VocabularyError, match="5 descriptors cannot make 6 words; give more pictures or fewer words"):
        train(np.zeros((5, 128), np.uint8), options=options(), source="test")


def test_equal_descriptors_train_without_fuss() -> None:
    vocabulary = train(np.full((50, 128), 45, np.uint8), options=options(words=4), source="test")
    assert vocabulary.words == 4
    assert len(Assigner(vocabulary).assign(np.full((3, 128), 45, np.uint8))) == 3


def test_description_says_how_it_was_trained() -> None:
    made = clusters(CENTRES, 20, spread=6, seed=0)
    description = train(made, options=options(words=3, seed=7), source="six clusters").description
    assert description["descriptors"] == 120
    assert description["source"] == "six clusters"
    assert (description["options"]["words"], description["options"]["seed"]) == (3, 7)


# --- signatures


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_each_bit_is_set_for_half_of_a_words_descriptors(kind: type) -> None:
    made: Array = clusters(CENTRES, 400, spread=20, seed=4).astype(kind)
    vocabulary = train(made, options=options(words=6), source="test")
    words = Assigner(vocabulary).assign(made)
    bits = np.unpackbits(words.signature.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    for word in range(6):
        members = bits[words.word == word]
        assert len(members) >= 8
        # At most the middle value, and values equal to it, are off: a few of hundreds.
        assert np.abs(members.mean(axis=0) - 0.5).max() < 0.02


def test_projection_rows_are_orthogonal() -> None:
    for dimension in (32, 128, 256):
        made = np.random.default_rng(0).random((40, dimension)).astype(np.float32)
        rows = train(made, options=options(words=2), source="test").projection
        assert rows.shape == (64, dimension)
        block = rows[: min(dimension, 64)].astype(float)
        assert block @ block.T == pytest.approx(np.eye(len(block)), abs=1e-5)
