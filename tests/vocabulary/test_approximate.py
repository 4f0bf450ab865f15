"""Approximate k-means: as good as exact k-means, the same every time, no word without a use; and its stored cells."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from resight.errors import VocabularyError
from resight.options import AssignOptions, VocabularyOptions
from resight.vocabulary import Assigner, Vocabulary, approximate, k_means, rounds, train
from resight.vocabulary.approximate import approximate_k_means, in_threads, nearest_words
from resight.vocabulary.nearest import LARGE_CELL, LEAST_PROBED, Cells, CellSearch

from ..support.vocabularies import byte_vocabulary, root_sift_like, squared_distances

Array = npt.NDArray[Any]
WORDS = 12 * LARGE_CELL  # as many cells, of which 10 are looked into
LARGE = VocabularyOptions(words=WORDS, iterations=4)
GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(scope="module")
def made() -> Array:
    return root_sift_like(20_000, seed=0)


@pytest.fixture(scope="module")
def vocabulary(made: Array) -> Vocabulary:
    return train(made, options=LARGE, source="test", exact_up_to=WORDS - 1)


def distortion(descriptors: Array, words: Array) -> float:
    """The mean squared distance from the nearest word, found exactly."""
    values, centres = descriptors.astype(np.float64), words.astype(np.float64)
    squared = (values**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2 * values @ centres.T
    return float(squared.min(axis=1).mean())


# --- words


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_words_are_as_good_as_exact_ones(made: Array, kind: type) -> None:
    """Within 1 %. Two seeds of exact k-means differ by 0.2 %, and words that never moved are 60 % worse."""
    descriptors: Array = made.astype(kind)
    words, _ = approximate_k_means(descriptors, WORDS, options=LARGE)
    exact = k_means(made.astype(np.float32), WORDS, options=LARGE, whole=kind == np.uint8)
    assert (words.shape, words.dtype) == ((WORDS, 128), np.dtype(kind))
    shown = made[::10]
    assert distortion(shown, words) == pytest.approx(distortion(shown, exact), rel=0.01)
    assert distortion(shown, made[:WORDS]) > 1.5 * distortion(shown, words)


def test_each_round_of_two_words_equals_plain_k_means() -> None:
    """One cell holds both words, so that the search is exact: Lloyd's algorithm, step by step, rounded to bytes."""
    made = root_sift_like(300, seed=1)
    for iterations in (1, 2, 5):
        found, _ = approximate_k_means(made, 2, options=VocabularyOptions(iterations=iterations, seed=3))
        words = made[np.random.default_rng(3).choice(300, 2, replace=False)]
        for _ in range(iterations):
            word = squared_distances(made, words).argmin(axis=1)
            words = np.stack([np.rint(made[word == w].mean(axis=0)) for w in (0, 1)])
        assert np.array_equal(found, words)


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_means_equal_brute_force(kind: type) -> None:
    """With all words in use but the last, which is put elsewhere."""
    rng = np.random.default_rng(0)
    descriptors: Array = root_sift_like(400, seed=4).astype(kind)
    words, word = descriptors[:31].copy(), np.concatenate([np.arange(30), rng.integers(0, 30, 370)])
    new = approximate._means(descriptors, words, word, rng.random(400).astype(np.float32))
    for w in range(30):
        mean = np.array([sum(float(row[d]) for row in descriptors[word == w]) for d in range(128)]) / (word == w).sum()
        assert np.array_equal(new[w], np.rint(mean) if kind == np.uint8 else mean.astype(np.float32))
    assert np.array_equal(words, descriptors[:31])  # the old ones stay


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_the_same_with_any_number_of_threads(made: Array, kind: type) -> None:
    descriptors: Array = made[:12_000].astype(kind)
    options = replace(LARGE, words=1000, iterations=2)
    results = [
        approximate_k_means(descriptors, 1000, options=options, across=partial(in_threads, threads=n))
        for n in (1, 2, 5)
    ]
    for words, cells in results[1:]:
        assert words.tobytes() == results[0][0].tobytes()
        assert cells.cell.tobytes() == results[0][1].cell.tobytes()
    other, _ = approximate_k_means(descriptors, 1000, options=replace(options, seed=2))
    assert other.tobytes() != results[0][0].tobytes()


def test_a_word_without_descriptors_takes_the_farthest_of_the_widest() -> None:
    line = np.array([[0], [2], [3], [7], [100], [100], [110]], np.uint8)
    words, word = np.array([[3], [9], [104], [9]], np.uint8), np.array([0, 0, 0, 0, 2, 2, 2])
    squared = np.array([9, 1, 0, 16, 16, 16, 36], np.float32)
    new = approximate._means(line, words, word, squared)
    assert new.tolist() == [[3], [110], [103], [7]]


def test_more_words_than_different_descriptors() -> None:
    made = np.repeat(root_sift_like(5, seed=2), 20, axis=0)
    words, cells = approximate_k_means(made, 50, options=VocabularyOptions(iterations=6))
    assert {row.tobytes() for row in words} == {row.tobytes() for row in made}
    squared, _ = nearest_words(made, words, cells)
    assert not squared.any()


# --- training


def test_only_large_vocabularies_have_cells(made: Array, vocabulary: Vocabulary) -> None:
    assert vocabulary.cells is not None
    assert len(vocabulary.cells.centres) == WORDS // LARGE_CELL
    few = made[:2000]
    options = VocabularyOptions(words=100, iterations=2)
    exact, same, large = (train(few, options=options, source="", exact_up_to=n) for n in (32_768, 100, 99))
    assert exact.fingerprint == same.fingerprint
    assert exact.cells is None
    assert large.cells is not None
    assert train(few, options=replace(options, words=64, branching=4), source="", exact_up_to=1).cells is None


def test_each_bit_is_set_for_half_of_a_words_descriptors(made: Array) -> None:
    vocabulary = train(made, options=replace(LARGE, words=20), source="test", exact_up_to=10)
    words = Assigner(vocabulary).assign(made)
    bits = np.unpackbits(words.signature.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    for word in range(20):
        members = bits[words.word == word]
        assert np.abs(members.mean(axis=0) - 0.5).max() < 0.02 + 1 / len(members)


@pytest.mark.parametrize(
    ("more", "count"), [({}, 3), ({"vocabularies": 2, "sample": 1000}, 6), ({"words": 64, "branching": 4}, 1)]
)
def test_rounds_are_heard_of(made: Array, more: dict[str, Any], count: int) -> None:
    options = VocabularyOptions(**{"words": 50, "iterations": 3, **more})
    assert rounds(options) == count
    for exact_up_to in (10, 100):
        heard: list[int] = []
        train(made[:2000], options=options, source="", exact_up_to=exact_up_to, done=heard.append)
        assert heard == [1] * count


# --- stored cells


def test_words_are_found_in_stored_cells(made: Array, vocabulary: Vocabulary) -> None:
    descriptors = root_sift_like(500, seed=5)
    truth = squared_distances(descriptors, vocabulary.centroids)
    words = Assigner(vocabulary).assign(descriptors)
    assert np.mean(truth[np.arange(500), words.word] == truth.min(axis=1)) >= 0.95
    three = Assigner(vocabulary).assign_query(descriptors, options=AssignOptions(neighbours=3, ratio=100))
    assert np.mean(truth[three.feature, three.word].reshape(500, 3) == np.sort(truth, axis=1)[:, :3]) >= 0.95


def test_stored_cells_decide_what_is_found() -> None:
    """Words are put into the cell that is farthest from them: among thirty cells, eleven are looked into."""
    words = root_sift_like(300, seed=6)
    right = Cells.around(words[:30], words)
    farthest = squared_distances(words, words[:30]).argmax(axis=1).astype(np.int32)
    values = words.astype(np.float32)
    assert np.array_equal(CellSearch(words, right).search(values, 1)[1][:, 0], np.arange(300))
    assert np.all(CellSearch(words, Cells(words[:30], farthest)).search(values, 1)[0] > 0)


def test_all_cells_together_are_exact() -> None:
    words, descriptors = root_sift_like(700, seed=7), root_sift_like(50, seed=8)
    search = CellSearch(words, Cells.around(words[:LEAST_PROBED], words))
    truth = squared_distances(descriptors, words)
    for neighbours in (1, 4):
        squared, found = search.search(descriptors.astype(np.float32), neighbours)
        assert np.array_equal(squared, np.sort(truth, axis=1)[:, :neighbours])
        assert np.array_equal(np.take_along_axis(truth, found, axis=1), squared)


def test_round_trip(vocabulary: Vocabulary, made: Array) -> None:
    back = Vocabulary.from_bytes(vocabulary.to_bytes(), name="x")
    assert vocabulary.cells is not None
    assert back.cells is not None
    for name in ("centres", "cell"):
        before, after = getattr(vocabulary.cells, name), getattr(back.cells, name)
        assert before.dtype == after.dtype
        assert np.array_equal(before, after)
    assert back.fingerprint == vocabulary.fingerprint
    assert np.array_equal(Assigner(back).assign(made[:100]).word, Assigner(vocabulary).assign(made[:100]).word)


def test_each_of_several_vocabularies_has_its_cells(made: Array) -> None:
    both = train(made, options=replace(LARGE, words=600, vocabularies=2, sample=10_000), source="", exact_up_to=599)
    assert both.cells is not None
    for number, cells in enumerate(both.cells.split(2)):
        one = train(
            made[10_000 * number : 10_000 * (number + 1)],
            options=replace(LARGE, words=600, seed=LARGE.seed + number),
            source="",
            exact_up_to=599,
        )
        assert one.cells is not None
        assert np.array_equal(one.cells.centres, cells.centres)
        assert np.array_equal(one.cells.cell, cells.cell)
        assert np.array_equal(one.centroids, both.centroids[600 * number : 600 * (number + 1)])
    words = Assigner(Vocabulary.from_bytes(both.to_bytes(), name="x")).assign(made[:50]).word
    assert np.array_equal(words // 600, np.tile([0, 1], 50))


def with_cells() -> Vocabulary:
    words = root_sift_like(40, seed=9)
    return replace(byte_vocabulary(words), cells=Cells.around(words[:4], words))


def test_cells_are_part_of_the_fingerprint() -> None:
    """Which words are found depends on them."""
    vocabulary = with_cells()
    assert vocabulary.cells is not None
    moved = Cells(vocabulary.cells.centres, (vocabulary.cells.cell + 1) % 4)
    other = replace(vocabulary, cells=moved)
    assert len({v.fingerprint for v in (vocabulary, other, replace(vocabulary, cells=None))}) == 3


@pytest.mark.parametrize(
    "changed",
    [
        {"centres": np.zeros((4, 127), np.uint8)},
        {"centres": np.zeros((3, 128), np.uint8)},  # a word is in the fourth
        {"centres": np.zeros((0, 128), np.uint8)},
        {"centres": np.zeros((4, 128), np.float32)},
        {"centres": np.zeros(4, np.uint8)},
        {"cell": np.zeros(39, np.int32)},
        {"cell": np.zeros(40, np.int64)},
        {"cell": np.zeros((40, 1), np.int32)},
        {"cell": np.full(40, -1, np.int32)},
        {"cell": np.full(40, 4, np.int32)},
    ],
)
def test_bad_cells_are_refused(changed: dict[str, Array]) -> None:
    vocabulary = with_cells()
    assert vocabulary.cells is not None
    Vocabulary.from_bytes(vocabulary.to_bytes(), name="x")
    bad = replace(vocabulary, cells=replace(vocabulary.cells, **changed)).to_bytes()
    with pytest.raises(VocabularyError, match="x has arrays that do not fit together"):
        Vocabulary.from_bytes(bad, name="x")


@pytest.mark.parametrize("vocabularies", [2, 40])
def test_cells_of_one_vocabulary_are_not_those_of_several(vocabularies: int) -> None:
    bad = replace(with_cells(), vocabularies=vocabularies).to_bytes()
    with pytest.raises(VocabularyError, match="do not fit together"):
        Vocabulary.from_bytes(bad, name="x")


@pytest.mark.parametrize("folder", sorted(GOLDEN.glob("format-*")), ids=lambda path: path.name)
def test_old_files_are_read_and_would_be_written_as_they_are(folder: Path) -> None:
    data = (folder / "vocabulary.npz").read_bytes()
    vocabulary = Vocabulary.from_bytes(data, name="old")
    assert vocabulary.cells is None
    assert vocabulary.to_bytes() == data
