"""Do the scans over inverted lists run at the speed the machine allows?

    python benchmarks/scanning.py

1. Histogram scan against scipy.sparse on the same tf-idf matrix and query, one thread. scipy as `CSR × vector`
   (all rows) and, harder, as the query's rows of the word-major matrix alone.
2. Hamming scan (XOR, popcount, threshold, weights of bursts within pictures) against the read bandwidth measured in the
   same run, one thread; and the whole measure, which then votes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numba
import numpy as np
import scipy.sparse

from resight.options import HammingOptions
from resight.postings import GEOMETRY, as_bytes, frozen
from resight.scoring import CollectionStatistics, Query, Scope, SegmentView, kernels, score_all, voting
from resight.scoring.hamming import match_weights
from resight.types import UInt64, Words

WORDS, PICTURES, FEATURES = 16_384, 10_000, 1_000
ROWS = 1_200  # of the Hamming query, each with a list in which every picture has two postings


def best_of(function: Callable[[], object], repeats: int = 9) -> float:
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


@numba.njit(cache=True, nogil=True)
def read_all(values: UInt64) -> np.uint64:
    """Touch every byte and do next to nothing: what is left is the memory."""
    a = b = c = d = np.uint64(0)
    for i in range(np.uint64(0), np.uint64(len(values) - 3), np.uint64(4)):
        a |= values[i]
        b |= values[i + np.uint64(1)]
        c |= values[i + np.uint64(2)]
        d |= values[i + np.uint64(3)]
    return a | b | c | d


def histogram() -> None:
    rng = np.random.default_rng(1)
    # Words are not equally frequent: a Zipf-like law, as in real vocabularies.
    frequency = 1 / np.arange(20, WORDS + 20) ** 0.6
    word = rng.choice(WORDS, PICTURES * FEATURES, p=frequency / frequency.sum()).astype(np.int32)
    image = np.repeat(np.arange(PICTURES, dtype=np.uint32), FEATURES)
    order = np.lexsort((image, word))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(word, minlength=WORDS))]).astype(np.int64)
    lists = frozen(offsets, image[order], np.zeros(0, np.uint64), np.zeros(0, GEOMETRY))
    counts = scipy.sparse.csr_matrix(
        (np.ones(len(word), np.float32), (image, word)), shape=(PICTURES, WORDS), dtype=np.float32
    )
    by_word = counts.T.tocsr()
    query = np.unique(word[:FEATURES])
    value = rng.random(len(query), dtype=np.float32)
    dense = np.zeros(WORDS, np.float32)
    dense[query] = value
    scores = np.zeros(PICTURES, np.float32)

    def ours() -> None:
        scores[:] = 0
        kernels.scan_product(query, value, lists.offsets, lists.image, scores)

    ours()
    assert np.allclose(scores, counts @ dense, rtol=1e-4)
    norms = np.full(PICTURES, 1 / FEATURES, np.float32)
    idf = np.ones(len(query), np.float32)

    def ours_minimum() -> None:
        scores[:] = 0
        kernels.scan_minimum(query, value, idf, norms, lists.offsets, lists.image, scores)

    mine, minimum = best_of(ours), best_of(ours_minimum)
    csr = best_of(lambda: counts @ dense)
    rows = best_of(lambda: value @ by_word[query])
    postings = int((offsets[query + 1] - offsets[query]).sum())
    rate = postings / mine / 1e6
    print(f"histogram scan: {postings} postings of {len(query)} words in {mine * 1e3:.2f} ms, {rate:.0f} M/s")
    print(f"  L1 scan {minimum * 1e3:.2f} ms")
    print(
        f"  scipy CSR × vector {csr * 1e3:.2f} ms: ours is {csr / mine:.1f} times as fast (L1 scan {csr / minimum:.1f})"
    )
    print(f"  scipy, the query's rows alone {rows * 1e3:.2f} ms: ours is {rows / mine:.1f} times as fast")


@numba.njit(cache=True, nogil=True)
def all_matches(rows: voting.Rows, lists: voting.Listed, rule: voting.Rule, found: voting.Found) -> np.uint64:
    """Find them and do nothing with them; how many."""
    count = np.uint64(0)
    for row in range(len(rows.word)):
        count += voting.row_matches(row, rows, lists, rule, found)
    return count


def hamming() -> None:
    rng = np.random.default_rng(2)
    postings = 2 * PICTURES * ROWS
    lists = frozen(
        offsets=np.arange(0, postings + 1, 2 * PICTURES),
        image=np.tile(np.repeat(np.arange(PICTURES, dtype=np.uint32), 2), ROWS),
        signature=rng.integers(0, 2**64, postings, dtype=np.uint64),
        geometry=np.zeros(0, GEOMETRY),
    )
    rows = np.arange(ROWS, dtype=np.int32)
    query = Query(Words(rows, rows, rng.integers(0, 2**64, ROWS, dtype=np.uint64)), np.zeros(ROWS, GEOMETRY))
    alive = np.ones(PICTURES, np.bool_)
    segment = SegmentView(read=lambda words, *columns: lists, squared=np.full(PICTURES, 4 * ROWS), alive=alive)
    statistics = CollectionStatistics(PICTURES, np.ones(ROWS, np.float32))
    listed = voting.Listed(lists.offsets, lists.image, lists.signature, as_bytes(lists.geometry), alive, 0, PICTURES)
    codes = np.zeros(ROWS, np.uint8)
    asked = voting.Rows(rows, query.words.signature, np.ones(ROWS, np.float32), codes, codes)
    room = 2 * PICTURES + 1
    read = lists.signature.nbytes / best_of(lambda: read_all(lists.signature)) / 1e9
    for threshold in (8, 16, 24):
        options = HammingOptions(threshold=threshold, intra="root-share", inter=False, weak_geometry=False)
        rule = voting.Rule(match_weights(options), threshold, False, voting.ROOT_SHARE)
        found = voting.Found(np.zeros(room, np.uint64), np.zeros(room, np.float32))

        def scan(rule: voting.Rule = rule, found: voting.Found = found) -> np.uint64:
            return all_matches(asked, listed, rule, found)

        scanned, whole = best_of(scan), best_of(partial(score_all, query, [segment], Scope(options, statistics)))
        speed = lists.signature.nbytes / scanned / 1e9
        print(
            f"Hamming scan, threshold {threshold} ({scan() / postings:.2%} match and are weighed): "
            f"{postings / scanned / 1e6:.0f} M signatures/s, {speed:.1f} GB/s of signatures "
            f"= {speed / read:.0%} of the read bandwidth of {read:.1f} GB/s; "
            f"with votes {postings / whole / 1e6:.0f} M signatures/s"
        )


if __name__ == "__main__":
    histogram()
    hamming()
