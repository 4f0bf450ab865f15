"""A vocabulary tree (Nistér and Stewénius 2006): k-means within k-means; the leaves are the words.

A descriptor goes down to the nearest child again and again, so that a word among b^l costs b · l comparisons. The word
found is often not the nearest one; several are looked for with a beam.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._numba import kernel
from ..options import VocabularyOptions
from ..types import Bytes, Float32, Int32, Int64
from .k_means import k_means
from .nearest import flat_index


@dataclass(frozen=True)
class Tree:
    """The nodes, in breadth-first order: the root is 0. Leaves are not kept here: they are the words, in that order."""

    inner: Bytes | Float32  # (N − K, d) centroids of the nodes that have children
    first: Int64  # (N + 1) the children of node i are first[i] … first[i + 1] − 1

    @property
    def leaves(self) -> npt.NDArray[np.bool_]:
        """(N) which nodes are words."""
        return np.asarray(np.diff(self.first) == 0)

    def fits(self, words: Bytes | Float32) -> bool:
        """Every node but the root is the child of one node before it, and every node has a centroid."""
        inner, first = self.inner, self.first
        if inner.dtype != words.dtype or inner.ndim != 2 or inner.shape[1] != words.shape[1]:
            return False
        nodes = len(inner) + len(words)
        if first.dtype != np.int64 or first.shape != (nodes + 1,) or first[0] != 1 or first[-1] != nodes:
            return False
        leaves = self.leaves
        own = np.arange(nodes)
        ordered = bool(np.all(first[:-1] <= first[1:]) and np.all(leaves | (first[:-1] > own)))
        return ordered and int(leaves.sum()) == len(words)


def grow(values: Float32, *, options: VocabularyOptions, whole: bool) -> tuple[Bytes | Float32, Tree]:
    """The words and the tree above them. A node with fewer descriptors than branches stays a leaf: a word."""
    branching = options.branching
    nodes = [k_means(values, 1, options=options, whole=whole)]
    children: list[int] = []  # of each node
    level = [np.arange(len(values))]  # the descriptors of each node
    for _ in range(options.levels):
        below: list[Int64] = []
        for members in level:
            children.append(branching if len(members) >= branching else 0)
            if children[-1]:
                mine = values[members]
                nodes.append(k_means(mine, branching, options=options, whole=whole))
                _, nearest = flat_index(nodes[-1]).search(mine, 1)
                below += [members[nearest[:, 0] == child] for child in range(branching)]
        level = below
    children += [0] * len(level)
    centroids, leaf = np.concatenate(nodes), np.array(children) == 0
    return centroids[leaf], Tree(centroids[~leaf], 1 + np.concatenate([[0], np.cumsum(children)]))


class TreeSearch:
    """Near words, by descent."""

    def __init__(self, words: Bytes | Float32, tree: Tree) -> None:
        leaves = tree.leaves
        self._first = tree.first
        self._nodes = np.empty((len(leaves), words.shape[1]), np.float32)
        self._nodes[leaves], self._nodes[~leaves] = words, tree.inner
        self._word = np.cumsum(leaves) - 1  # of each leaf

    def search(self, values: Float32, neighbours: int) -> tuple[Float32, Int64]:
        """Squared distances and numbers of near words of each row, nearest first; with 1 the descent is greedy.

        With more neighbours than words the rest have an infinite distance.
        """
        squared = np.full((len(values), neighbours), np.inf, np.float32)
        leaf = np.zeros((len(values), neighbours), np.int64)
        _descend(values, self._nodes, self._first, squared, leaf)
        return squared, self._word[leaf]


class Relatives:
    """Words by how many levels up a tree they share an ancestor with a word (ordered sets, DRE-12 §2.3)."""

    def __init__(self, tree: Tree) -> None:
        children, nodes = np.diff(tree.first), len(tree.first) - 1
        leaves = tree.leaves
        self._parent = np.concatenate([[0], np.repeat(np.arange(nodes), children)])
        size = leaves.astype(np.int64)  # words below each node
        for node in range(nodes - 1, 0, -1):
            size[self._parent[node]] += size[node]
        # Words are lined up so that those below any node follow each other.
        self._begin, free = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
        for node in range(1, nodes):
            parent = self._parent[node]
            self._begin[node] = free[node] = free[parent]
            free[parent] += size[node]
        self._end = self._begin + size
        self._node = np.flatnonzero(leaves)  # of each word
        self._lined_up = np.argsort(self._begin[self._node])

    def of(self, word: int, climb: int) -> tuple[Int64, Int32]:
        """The word itself and all others below its ancestor this many levels up; and how many it takes for each."""
        node = int(self._node[word])
        begin, end = self._begin[node], self._end[node]
        found, level = [np.array([word])], [np.zeros(1, np.int32)]
        for up in range(1, climb + 1):
            if node == 0:
                break
            node = int(self._parent[node])
            new = np.concatenate([self._lined_up[self._begin[node] : begin], self._lined_up[end : self._end[node]]])
            begin, end = self._begin[node], self._end[node]
            found.append(new)
            level.append(np.full(len(new), up, np.int32))
        return np.concatenate(found), np.concatenate(level)


@kernel
def _descend(values: Float32, nodes: Float32, first: Int64, squared: Float32, leaf: Int64) -> None:
    """On each level keep the nearest nodes, as many as there are columns; leaves stay until nearer nodes oust them."""
    width = squared.shape[1]
    distance, node = np.zeros(width, np.float32), np.zeros(width, np.int64)
    new_distance, new_node = np.zeros(width, np.float32), np.zeros(width, np.int64)
    for row in range(len(values)):
        held, node[0], inside = 1, 0, True
        while inside:
            inside, kept = False, 0
            for i in range(held):
                begin, end = first[node[i]], first[node[i] + 1]
                if begin == end:
                    kept = _insert(distance[i], node[i], kept, new_distance, new_node)
                for child in range(begin, end):
                    inside = True
                    kept = _insert(_squared_distance(values[row], nodes[child]), child, kept, new_distance, new_node)
            held = kept
            distance, new_distance = new_distance, distance
            node, new_node = new_node, node
        squared[row, :held], leaf[row, :held] = distance[:held], node[:held]


@kernel
def _insert(distance: np.float32, node: int, kept: int, distances: Float32, nodes: Int64) -> int:
    """Into the ``kept`` nearest ones, sorted, if there is room or it is nearer than the last; how many are kept."""
    at = kept
    if kept == len(nodes):
        at -= 1
        if distance >= distances[at]:
            return kept
    while at > 0 and distance < distances[at - 1]:
        distances[at], nodes[at] = distances[at - 1], nodes[at - 1]
        at -= 1
    distances[at], nodes[at] = distance, node
    return min(kept + 1, len(nodes))


@kernel
def _squared_distance(a: Float32, b: Float32) -> np.float32:
    total = np.float32(0)
    for i in range(len(a)):
        total += (a[i] - b[i]) * (a[i] - b[i])
    return total
