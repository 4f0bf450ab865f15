"""Vocabulary trees: descent against a plain twin, growth on clusters that can be told apart, and bad trees refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from resight.errors import OptionError, VocabularyError
from resight.options import AssignOptions, VocabularyOptions
from resight.vocabulary import Assigner, Vocabulary, train
from resight.vocabulary.tree import Relatives, Tree, TreeSearch

from ..support.vocabularies import bits_apart, root_sift_like, squared_distances

Array = npt.NDArray[Any]

# A root with three children: a leaf, a node with two leaves, and a node with a leaf and a node with three.
FIRST = np.array([1, 4, 4, 6, 8, 8, 8, 8, 11, 11, 11, 11])
LEAF = np.array([0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1], bool)


def uneven(seed: int = 0) -> tuple[Array, Tree]:
    """The words of that tree, and the tree."""
    nodes = root_sift_like(11, seed=seed)
    return nodes[LEAF], Tree(nodes[~LEAF], FIRST)


def tree_vocabulary(**options: Any) -> tuple[Array, Vocabulary]:
    """Descriptors, and a tree of 4 × 4 × 4 words that was learnt from them."""
    made = root_sift_like(1500, seed=0)
    chosen = VocabularyOptions(**{"words": 64, "branching": 4, "iterations": 5, **options})
    return made, train(made, options=chosen, source="test")


def all_nodes(vocabulary: Vocabulary) -> tuple[Array, list[list[int]]]:
    """Centroids and children of every node."""
    tree = vocabulary.tree
    assert tree is not None
    children = [list(range(*pair)) for pair in zip(tree.first[:-1], tree.first[1:], strict=True)]
    words, inner = iter(vocabulary.centroids), iter(tree.inner)
    return np.array([next(inner if own else words) for own in children]).astype(float), children


def descend(vocabulary: Vocabulary, row: Array, width: int) -> list[int]:
    """The words a beam of this width finds, nearest first."""
    nodes, children = all_nodes(vocabulary)
    gaps = ((nodes - row.astype(float)) ** 2).sum(axis=1)
    leaves = [node for node, own in enumerate(children) if not own]
    beam = [0]
    while any(children[node] for node in beam):
        offered = [child for node in beam for child in (children[node] or [node])]
        beam = sorted(offered, key=lambda node: gaps[node])[:width]
    return [leaves.index(node) for node in beam]


@pytest.mark.parametrize("width", [1, 2, 3, 10])
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_descent_equals_its_twin(width: int, seed: int | None) -> None:
    if seed is None:
        _, vocabulary = tree_vocabulary()
    else:
        words, tree = uneven(seed)
        medians = np.zeros((len(words), 64), np.int16)
        vocabulary = Vocabulary(words, np.zeros((64, 128), np.int8), medians, {}, tree=tree)
        width = min(width, len(words))
    assert vocabulary.tree is not None
    queries = root_sift_like(60, seed=9)
    squared, found = TreeSearch(vocabulary.centroids, vocabulary.tree).search(queries.astype(np.float32), width)
    assert found.tolist() == [descend(vocabulary, row, width) for row in queries]
    assert np.array_equal(squared, np.take_along_axis(squared_distances(queries, vocabulary.centroids), found, axis=1))


def test_a_wide_beam_is_exact() -> None:
    made, vocabulary = tree_vocabulary()
    assert vocabulary.tree is not None
    words = vocabulary.words
    squared, found = TreeSearch(vocabulary.centroids, vocabulary.tree).search(made[:50].astype(np.float32), words + 2)
    truth = squared_distances(made[:50], vocabulary.centroids)
    assert np.array_equal(squared[:, :words], np.sort(truth, axis=1))
    assert np.array_equal(np.sort(found[:, :words], axis=1), np.tile(np.arange(words), (50, 1)))
    assert np.all(np.isinf(squared[:, words:]))


def test_the_ratio_is_one_of_distances_to_words() -> None:
    made, vocabulary = tree_vocabulary()
    words = Assigner(vocabulary).assign_query(made[:40], options=AssignOptions(neighbours=6, ratio=1.1))
    gaps = np.sqrt(squared_distances(made[:40], vocabulary.centroids))
    for row in range(40):
        beam = descend(vocabulary, made[row], 6)
        near = [word for word in beam if gaps[row, word] <= 1.1 * gaps[row, beam[0]]]
        assert words.word[words.feature == row].tolist() == near


@pytest.mark.parametrize("seed", range(4))
def test_clusters_of_clusters_are_found(seed: int) -> None:
    """Two groups of two pairs: each cluster becomes a word, and neighbours in the tree are neighbours in space."""
    rng = np.random.default_rng(seed)
    centres = np.full((1, 128), 128)
    for spread in (60, 30, 10):
        steps = rng.choice([-spread, spread], (len(centres), 1, 128)) * np.array([-1, 1])[:, None]
        centres = (centres[:, None] + steps).reshape(-1, 128)
    made = np.rint(np.repeat(centres, 40, axis=0) + rng.normal(0, 2, (320, 128))).clip(0, 255).astype(np.uint8)
    vocabulary = train(made, options=VocabularyOptions(words=8, branching=2, seed=seed), source="test")
    word = Assigner(vocabulary).assign(made).word.reshape(8, 40)
    assert np.all(word == word[:, :1])
    assert sorted(word[:, 0].tolist()) == list(range(8))
    for together in (2, 4):
        groups = (word[:, 0] // together).reshape(-1, together)
        assert np.all(groups == groups[:, :1])
    # The mean of 40 rows of spread 2 is off by 0.3, rounding adds 0.5.
    assert np.abs(vocabulary.centroids[word[:, 0]] - centres.astype(float)).max() < 2


def test_every_inner_node_is_the_mean_of_what_it_was_split_from() -> None:
    made, vocabulary = tree_vocabulary(words=16, iterations=40)
    assert vocabulary.tree is not None
    assert np.abs(vocabulary.tree.inner[0] - made.astype(float).mean(axis=0)).max() <= 0.51
    parent = Assigner(vocabulary).assign(made).word // 4
    for node in range(4):
        mean = made[parent == node].astype(float).mean(axis=0)
        assert np.abs(vocabulary.tree.inner[1 + node] - mean).mean() < 0.6


def test_a_node_with_few_descriptors_stays_a_word() -> None:
    """One cluster of 200 and one of 2: below the second there is nothing to split."""
    made = np.full((202, 128), 200, np.uint8)
    made[2:] = root_sift_like(200, seed=1)
    vocabulary = train(made, options=VocabularyOptions(words=27, branching=3), source="test")
    assert vocabulary.words == vocabulary.description["words"] < 27
    assert vocabulary.description["options"]["words"] == 27
    assert 200 in vocabulary.centroids.mean(axis=1)
    again = Vocabulary.from_bytes(vocabulary.to_bytes(), name="x")
    assert set(Assigner(again).assign(made).word.tolist()) <= set(range(again.words))


def test_signatures_are_those_of_the_words_found() -> None:
    """Medians were learnt by descent, so each bit is set for half of a word's descriptors."""
    made, vocabulary = tree_vocabulary(words=16)
    words = Assigner(vocabulary).assign(made)
    bits = np.unpackbits(words.signature.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    sizes = np.bincount(words.word, minlength=16)
    for word in np.flatnonzero(sizes >= 40):
        assert np.abs(bits[words.word == word].mean(axis=0) - 0.5).max() < 0.1
    noisy = np.clip(made + np.random.default_rng(0).normal(0, 2, made.shape), 0, 255).astype(np.uint8)
    again = Assigner(vocabulary).assign(noisy)
    same = again.word == words.word
    assert same.mean() > 0.8
    assert bits_apart(words.signature[same], again.signature[same]).mean() < 12


def test_growing_repeats_and_depends_on_the_seed() -> None:
    prints = [tree_vocabulary(seed=seed)[1].fingerprint for seed in (1, 1, 2)]
    assert prints[0] == prints[1] != prints[2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"words": 9000, "branching": 10}, "must be a power of branching, 10, not 9000; the nearest is 10000"),
        ({"words": 3, "branching": 10}, "not 3; the nearest is 10"),
        ({"words": 1_000_000, "branching": 2}, "not 1000000; the nearest is 524288"),
        ({"branching": 1}, r"'branching' must be 0 \(no tree\) or at least 2, not 1"),
        ({"words": 100, "branching": 10, "vocabularies": 2}, r"a tree \(branching 10\) cannot be one of 2 vocab"),
    ],
)
def test_options_that_make_no_tree(values: dict[str, int], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        VocabularyOptions(**values)


@pytest.mark.parametrize(("branching", "words", "levels"), [(10, 1_000_000, 6), (10, 10, 1), (2, 16384, 14)])
def test_levels(branching: int, words: int, levels: int) -> None:
    assert VocabularyOptions(words=words, branching=branching).levels == levels


# --- the file


def test_round_trip() -> None:
    made, vocabulary = tree_vocabulary()
    back = Vocabulary.from_bytes(vocabulary.to_bytes(), name="x")
    assert back.fingerprint == vocabulary.fingerprint
    assert np.array_equal(Assigner(back).assign(made).word, Assigner(vocabulary).assign(made).word)
    assert replace(vocabulary, tree=None).fingerprint != vocabulary.fingerprint


def test_fingerprint_changes_with_the_tree() -> None:
    _, vocabulary = tree_vocabulary()
    tree = vocabulary.tree
    assert tree is not None
    other = tree.inner.copy()
    other[0, 0] ^= 1
    first = tree.first.copy()
    first[-2] -= 1
    changed = [Tree(other, tree.first), Tree(tree.inner, first)]
    assert len({vocabulary.fingerprint, *(replace(vocabulary, tree=one).fingerprint for one in changed)}) == 3


def changed_first(**values: int) -> Array:
    first = FIRST.copy()
    for place, value in values.items():
        first[int(place[1:])] = value
    return first


@pytest.mark.parametrize(
    "tree",
    [
        {"first": changed_first(_0=0)},  # the root is its own child
        {"first": changed_first(_11=12)},  # more nodes than there are
        {"first": changed_first(_11=10)},  # a node without a parent
        {"first": changed_first(_1=7)},  # goes back
        {"first": changed_first(_0=1, _1=1, _2=1, _3=1, _4=1)},  # a node is its own child
        {"first": np.append(FIRST, 11)},
        {"first": FIRST[:-1]},
        {"first": FIRST[None]},
        {"first": FIRST.astype(float)},
        {"first": FIRST.astype(np.int32)},
        {"first": changed_first(_2=3)},  # the first leaf has a child: fewer leaves than words
        {"inner": np.zeros((4, 128), np.float32)},
        {"inner": np.zeros((4, 127), np.uint8)},
        {"inner": np.zeros((5, 128), np.uint8)},
        {"inner": np.zeros(4, np.uint8)},
    ],
)
def test_bad_trees_are_refused(tree: dict[str, Array]) -> None:
    words, good = uneven()
    vocabulary = Vocabulary(words, np.zeros((64, 128), np.int8), np.zeros((len(words), 64), np.int16), {}, tree=good)
    Vocabulary.from_bytes(vocabulary.to_bytes(), name="x")
    bad = replace(vocabulary, tree=replace(good, **tree)).to_bytes()
    with pytest.raises(VocabularyError, match="x has arrays that do not fit together"):
        Vocabulary.from_bytes(bad, name="x")


def test_a_tree_is_one_vocabulary() -> None:
    words, tree = uneven()
    assert len(words) == 7
    vocabulary = Vocabulary(
        words, np.zeros((64, 128), np.int8), np.zeros((7, 64), np.int16), {}, tree=tree, vocabularies=7
    )
    with pytest.raises(VocabularyError, match="do not fit together"):
        Vocabulary.from_bytes(vocabulary.to_bytes(), name="x")


@pytest.mark.parametrize(
    ("word", "climb", "levels"),
    [
        (4, 0, [{4}]),
        (4, 1, [{4}, {5, 6}]),
        (4, 2, [{4}, {5, 6}, {3}]),
        (4, 3, [{4}, {5, 6}, {3}, {0, 1, 2}]),
        (4, 9, [{4}, {5, 6}, {3}, {0, 1, 2}]),  # nothing is above the root
        (3, 1, [{3}, {4, 5, 6}]),
        (2, 1, [{2}, {1}]),
        (0, 1, [{0}, {1, 2, 3, 4, 5, 6}]),
    ],
)
def test_relatives_by_level(word: int, climb: int, levels: list[set[int]]) -> None:
    found, level = Relatives(uneven()[1]).of(word, climb)
    assert len(found) == len(set(found.tolist()))
    assert sorted(level.tolist()) == level.tolist()
    assert [set(found[level == up].tolist()) for up in range(len(levels))] == levels


def test_a_query_climbs_from_its_word() -> None:
    """Rows of a feature follow each other, its own word first, with the signature in each word's cell."""
    made, vocabulary = tree_vocabulary()
    assert vocabulary.tree
    assigner, relatives = Assigner(vocabulary), Relatives(vocabulary.tree)
    single = assigner.assign_query(made[:20], options=AssignOptions(neighbours=1))
    found = assigner.assign_query(made[:20], options=AssignOptions(climb=1))
    assert found.level is not None
    for feature, word in enumerate(single.word.tolist()):
        mine = found.rows(found.feature == feature)
        assert mine.level is not None
        assert [a.tolist() for a in (mine.word, mine.level)] == [a.tolist() for a in relatives.of(word, 1)]
        assert mine.signature[0] == single.signature[feature]
    assert len(assigner.assign_query(made[:0], options=AssignOptions(neighbours=1, climb=1))) == 0


def test_only_trees_are_climbed() -> None:
    flat = replace(tree_vocabulary()[1], tree=None)
    with pytest.raises(VocabularyError, match=r"vocabulary\.branching=10"):
        Assigner(flat).assign_query(root_sift_like(3, seed=1), options=AssignOptions(neighbours=1, climb=1))
