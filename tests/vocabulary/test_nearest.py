"""Search in cells against exact search, and each step of it against a plain twin."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resight.vocabulary import nearest
from resight.vocabulary.nearest import BLOCK, Cells, CellSearch
from resight.vocabulary.principal import SHARE, Principal

from ..support.vocabularies import Array, root_sift_like

seeds = st.integers(0, 10**6)


def made(kind: type[Any], count: int, dimension: int, seed: int) -> Array:
    """Descriptors whose variance falls from dimension to dimension."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((count, dimension)) * 0.9 ** np.arange(dimension)
    return np.rint(128 + 40 * values).clip(0, 255).astype(np.uint8) if kind is np.uint8 else values.astype(np.float32)


def distances(values: Array, words: Array) -> Array:
    """Squared."""
    squared: Array = ((values[:, None].astype(float) - words[None]) ** 2).sum(axis=2)
    return squared


def cells_of(words: Array, count: int, seed: int) -> Cells:
    """Words in arbitrary cells, some of which may be empty."""
    rng = np.random.default_rng(seed)
    return Cells(words[rng.choice(len(words), count)], rng.integers(0, count, len(words)).astype(np.int32))


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from([np.uint8, np.float32]),
    words=st.integers(1, 120),
    dimension=st.integers(1, 40),
    count=st.integers(1, 12),
    neighbours=st.integers(1, 15),
    seed=seeds,
)
def test_everything_compared_is_exact(
    kind: type[Any], words: int, dimension: int, count: int, neighbours: int, seed: int
) -> None:
    centroids, values = made(kind, words, dimension, seed), made(kind, 20, dimension, seed + 1)
    with patch.object(nearest, "LEAST_PROBED", 10**6), patch.object(nearest, "SPARE", 10**6):
        squared, found = CellSearch(centroids, cells_of(centroids, count, seed)).search(
            values.astype(np.float32), neighbours
        )
    truth = distances(values, centroids)
    there = min(neighbours, words)
    assert squared[:, :there] == pytest.approx(np.sort(truth, axis=1)[:, :there], rel=1e-4, abs=1e-4)
    assert np.take_along_axis(truth, found[:, :there], axis=1) == pytest.approx(squared[:, :there], rel=1e-4, abs=1e-4)
    assert np.all(np.isinf(squared[:, there:]))
    assert all(len({*row}) == there for row in found[:, :there].tolist())


@settings(max_examples=40, deadline=None)
@given(neighbours=st.integers(1, 12), probes=st.integers(1, 9), size=st.integers(1, 30), seed=seeds)
def test_bytes_do_not_depend_on_the_batch(neighbours: int, probes: int, size: int, seed: int) -> None:
    """And distances are those of the words found, nearest first, all in the cells looked into."""
    centroids, values = made(np.uint8, 200, 24, seed), made(np.uint8, 30, 24, seed + 1).astype(np.float32)
    with patch.object(nearest, "LEAST_PROBED", probes), patch.object(nearest, "SPARE", 1):
        search = CellSearch(centroids, cells_of(centroids, 9, seed)).search
        squared, found = search(values, neighbours)
        parts = [search(values[i : i + size], neighbours) for i in range(0, len(values), size)]
    assert np.array_equal(squared, np.concatenate([part[0] for part in parts]))
    assert np.array_equal(found, np.concatenate([part[1] for part in parts]))
    assert np.all(squared[:, :-1] <= squared[:, 1:])
    there = np.isfinite(squared)
    truth = np.take_along_axis(distances(values, centroids), found, axis=1)
    assert np.array_equal(squared[there], truth[there])


def test_nearest_words_are_found_mostly() -> None:
    """Where most of the variance is in few dimensions, as with SIFT."""
    centroids, values = made(np.uint8, 4000, 128, 0), made(np.uint8, 300, 128, 1)
    search = CellSearch(centroids, Cells.of(centroids))
    assert search._principal.axes.shape[1] < 40
    _, truth = nearest.flat_index(centroids).search(values.astype(np.float32), 10)
    for neighbours in (1, 10):
        found = search.search(values.astype(np.float32), neighbours)[1]
        assert (found[:, :, None] == truth[:, None, :neighbours]).any(axis=1).mean() >= 0.95


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_products_of_components_stand_for_distances(kind: type[Any]) -> None:
    words, values = made(kind, 500, 60, 2), made(kind, 40, 60, 3).astype(np.float32)
    principal = Principal.of(words)
    kept = np.var((words - principal.mean) @ principal.axes, axis=0).sum()
    unit = np.linalg.norm(principal.axes[:, 0]) ** 2
    assert SHARE <= kept / unit / np.var(words, axis=0, dtype=float).sum() <= 1.001
    products = principal.of_descriptors(values) @ principal.of_words(words).T
    mean = ((values - principal.mean) ** 2).sum(axis=1, keepdims=True)
    truth = distances(values, words)
    # What is left out are products of residuals, which have no preferred sign.
    gap = mean - 2 * products - truth
    assert abs(gap.mean()) < 0.02 * truth.mean()
    assert np.abs(gap).max() < 0.2 * truth.mean()


def test_components_of_equal_words() -> None:
    words = np.full((5, 7), 9, np.uint8)
    assert not Principal.of(words).of_words(words).any()


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(0, 9), cells=st.integers(1, 12), data=st.data(), seed=seeds)
def test_visitors(rows: int, cells: int, data: st.DataObject, seed: int) -> None:
    probes = data.draw(st.integers(1, cells))
    near = np.random.default_rng(seed).integers(0, 4, (rows, cells)).astype(np.float32)  # many are equal
    looks, visitors, starts = nearest._visitors(near, nearest._nth(near, probes), probes)
    for row in range(rows):
        greater = [c for c in range(cells) if near[row, c] >= np.sort(near[row])[-probes]]
        assert looks[row].tolist() == greater[:probes]
    for cell in range(cells):
        expected = [row for row in range(rows) if cell in looks[row]]
        assert visitors[starts[cell] : starts[cell + 1]].tolist() == expected
    assert len(starts) == cells + 1


@settings(max_examples=30, deadline=None)
@given(blocks=st.integers(0, 5), seed=seeds)
def test_note_blocks(blocks: int, seed: int) -> None:
    products = np.random.default_rng(seed).standard_normal((3, blocks * BLOCK)).astype(np.float32)
    best, held = np.full((6, 8), -np.inf, np.float32), np.array([0, 1, 0, 2, 0, 3])
    nearest._note_blocks(np.array([1, 3, 5]), products, best, held)
    assert held.tolist() == [0, 1 + blocks, 0, 2 + blocks, 0, 3 + blocks]
    for i, row in enumerate((1, 3, 5)):
        expected = [products[i, b::blocks].max() for b in range(blocks)]
        assert best[row, held[row] - blocks : held[row]].tolist() == pytest.approx(expected)
    assert np.isfinite(best).sum() == 3 * blocks


@settings(max_examples=60, deadline=None)
@given(words=st.integers(1, 60), count=st.integers(1, 8), seed=seeds)
def test_blocks_hold_the_words_of_their_cells(words: int, count: int, seed: int) -> None:
    cells = cells_of(root_sift_like(words, seed=seed), count, seed)
    order, bounds = nearest._in_blocks(cells)
    assert len(bounds) == count + 1
    for cell in range(count):
        mine = order[bounds[cell] : bounds[cell + 1]].tolist()
        expected = np.flatnonzero(cells.cell == cell).tolist()
        assert mine == expected + [-1] * (-len(expected) % BLOCK)
