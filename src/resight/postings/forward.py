"""Inverted lists → a forward index: what each picture consists of, one after the other; and back, for some pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from .._numba import kernel
from ..types import Bytes, Int32, Int64, UInt32, UInt64, Words
from .lists import Lists, frozen


@dataclass(frozen=True, slots=True)
class Forward:
    """Some pictures' features, each with its word, by word: those of the i-th are rows starts[i] … starts[i + 1]."""

    words: int  # of the vocabulary
    starts: Int64
    word: Int32
    signature: UInt64
    geometry: npt.NDArray[Any]
    code: Bytes  # (m, c) as in lists

    def pictures(self) -> Iterator[tuple[Words, npt.NDArray[Any]]]:
        for first, last in pairwise(self.starts.tolist()):
            feature = np.arange(last - first, dtype=np.int32)
            yield Words(feature, self.word[first:last], self.signature[first:last]), self.geometry[first:last]

    def lists(self, pictures: Int64, word: Int32, *columns: str) -> tuple[Int32, Lists]:
        """The lists of these words (of each one list, which is at the place returned) over these pictures alone.

        Pictures are counted as they are given. Columns that are not asked for are empty, except "image".
        """
        wanted = np.zeros(self.words, np.uint8)
        wanted[word] = 1
        slot_of = np.cumsum(wanted, dtype=np.uint32) - np.uint32(1)
        begin, end = self.starts[pictures], self.starts[pictures + 1]
        row, ends = np.empty(int((end - begin).sum()) + 1, np.int64), np.zeros(len(pictures), np.int64)
        row = row[: find_words(self.word, begin, end, wanted, row, ends)]
        counts = np.zeros(int(wanted.sum()) + 1, np.int64)
        count_slots(self.word, row, slot_of, counts)
        offsets = np.cumsum(counts)
        by_word, image = np.empty(len(row), np.int64), np.empty(len(row), np.uint32)
        sort_by_word(self.word, row, ends, slot_of, offsets[:-1].copy(), by_word, image)
        signature, geometry, code = (
            by_word if column in columns else by_word[:0] for column in ("signature", "geometry", "code")
        )
        taken = self.signature[signature], self.geometry[geometry], self.code[code]
        return slot_of[word].astype(np.int32), frozen(offsets, image, *taken)


def forward(lists: Lists, *, pictures: int, size: int) -> Iterator[tuple[int, Forward]]:
    """What the pictures consist of, ``size`` of them at a time, with the number of the first.

    Lists are ordered by picture, so each of them is read on from where the last block ended: once, in all.
    """
    cursor = lists.offsets[:-1].copy()
    for begin in range(0, pictures, size):
        yield begin, _block(lists, cursor, begin, min(begin + size, pictures))


def whole_forward(lists: Lists, *, pictures: int) -> Forward:
    """What all pictures consist of."""
    return _block(lists, lists.offsets[:-1].copy(), 0, pictures)


def _block(lists: Lists, cursor: Int64, begin: int, end: int) -> Forward:
    """Of the pictures begin … end, to whose first postings the cursors point."""
    starts = np.zeros(end - begin + 1, np.int64)
    _count_pictures(lists.offsets, lists.image, cursor, begin, end, starts)
    starts = np.cumsum(starts)
    word, posting = np.zeros(starts[-1], np.int32), np.zeros(starts[-1], np.int64)
    _turn_round(lists.offsets, lists.image, cursor, begin, end, starts[:-1].copy(), word, posting)
    word.setflags(write=False)  # as a stored one is
    return Forward(lists.words, starts, word, lists.signature[posting], lists.geometry[posting], lists.code[posting])


@kernel
def _count_pictures(offsets: Int64, image: UInt32, cursor: Int64, begin: int, end: int, counts: Int64) -> None:
    """counts[1 + i] = how many postings, from the cursors on, the i-th picture has."""
    for w in range(len(cursor)):
        p = cursor[w]
        while p < offsets[w + 1] and image[p] < end:
            counts[1 + image[p] - begin] += 1
            p += 1


@kernel
def _turn_round(
    offsets: Int64, image: UInt32, cursor: Int64, begin: int, end: int, place: Int64, word: Int32, posting: Int64
) -> None:
    """Write word and number of each posting at its picture's place, which moves on, as the cursors do."""
    for w in range(len(cursor)):
        while cursor[w] < offsets[w + 1] and image[cursor[w]] < end:
            i = image[cursor[w]] - begin
            word[place[i]], posting[place[i]] = w, cursor[w]
            place[i] += 1
            cursor[w] += 1


@kernel
def find_words(word: Int32, begin: Int64, end: Int64, wanted: Bytes, row: Int64, ends: Int64) -> int:
    """Write the rows, of begin[i] … end[i] of each picture, whose words are wanted; how many there are.

    ends[i] is where in them those of picture i end. There must be room for one more than all rows.
    """
    found = np.uint64(0)
    for i in range(len(begin)):
        for r in range(np.uint64(begin[i]), np.uint64(end[i])):
            row[found] = r
            found += np.uint64(wanted[np.uint32(word[r])])  # without a branch, which would often be mispredicted
        ends[i] = found
    return int(found)


@kernel
def count_slots(word: Int32, row: Int64, slot_of: UInt32, counts: Int64) -> None:
    """counts[1 + slot] += 1 for the word of each row."""
    for r in row:
        counts[slot_of[np.uint32(word[r])] + np.uint32(1)] += 1


@kernel
def sort_by_word(
    word: Int32, row: Int64, ends: Int64, slot_of: UInt32, place: Int64, by_word: Int64, image: UInt32
) -> None:
    """Write rows and the numbers of their pictures at the place of their word's slot, which moves on."""
    at = np.uint64(0)
    for i in range(len(ends)):
        while at < np.uint64(ends[i]):
            slot = slot_of[np.uint32(word[row[at]])]
            to = np.uint64(place[slot])
            by_word[to], image[to] = row[at], i
            place[slot] = to + np.uint64(1)
            at += np.uint64(1)
