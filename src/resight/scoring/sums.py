"""Counts over the pictures that are here → counts over all of a collection, of which some may lie elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from ..types import Float32, Int64


class Sums(Protocol):
    """What a measure asks when it has counted the parts that it was given."""

    def total(self, name: str, counts: Iterable[Int64]) -> Int64:
        """The sum of what was counted in each part here, and of the same in all that lie elsewhere."""

    def peak(self, name: str, values: Float32) -> Float32:
        """Place by place the largest value, here and elsewhere."""

    def within(self, scope: str) -> Self:
        """The same for names that have a meaning of their own there."""

    def with_imagined(self) -> Self:
        """The same where the last part is no part of the collection: it counts once, not wherever it is imagined."""


class AllHere:
    """For a collection that lies in one place."""

    def total(self, name: str, counts: Iterable[Int64]) -> Int64:
        return np.asarray(sum(counts), np.int64)

    def peak(self, name: str, values: Float32) -> Float32:
        return values

    def within(self, scope: str) -> AllHere:
        return self

    def with_imagined(self) -> AllHere:
        return self


HERE = AllHere()


class Wanted(NamedTuple):
    """What must be known of all places before work can go on, and what there is of it here."""

    name: str
    mine: npt.NDArray[Any]
    peak: bool  # the largest is wanted, not the sum
    lasting: bool  # known once, it stays true for the whole life of a commit


class NotAllHereError(Exception):
    """Raised to whoever can ask elsewhere; the same work, started again, then goes further."""

    def __init__(self, wanted: Wanted) -> None:
        super().__init__(wanted.name)
        self.wanted = wanted


@dataclass(frozen=True)
class Spread:
    """For a collection of which parts lie elsewhere."""

    known: Mapping[str, npt.NDArray[Any]]  # of all places, by name; grows as it is told
    lasting: bool
    scope: str = ""
    imagined: bool = False

    def total(self, name: str, counts: Iterable[Int64]) -> Int64:
        if not self.imagined:
            return self._known(name, counts)
        *here, last = counts
        return self._known(name, here) + last

    def _known(self, name: str, counts: Iterable[Int64]) -> Int64:
        if (known := self.known.get(self.scope + name)) is not None:
            return known  # nothing is counted again, if the counts are still to be made
        raise NotAllHereError(Wanted(self.scope + name, np.asarray(sum(counts)), peak=False, lasting=self.lasting))

    def peak(self, name: str, values: Float32) -> Float32:
        if (known := self.known.get(self.scope + name)) is None:
            raise NotAllHereError(Wanted(self.scope + name, values, peak=True, lasting=self.lasting))
        return known

    def within(self, scope: str) -> Spread:
        return replace(self, scope=f"{self.scope}{scope} ")

    def with_imagined(self) -> Spread:
        return replace(self, imagined=True)
