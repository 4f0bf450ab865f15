"""A trained vocabulary: centroids, and what turns a descriptor into a Hamming signature. Saved as one .npz file."""

from __future__ import annotations

import hashlib
import io
import json
import operator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import arrays_of
from ..errors import VocabularyError
from ..machine import whole_file
from ..options import GIVEN, GIVEN_POINTS, FeatureOptions
from ..types import Bytes, Float32
from .nearest import Cells
from .tree import Tree

SIGNATURE_BITS = 64
CODEBOOK = 256  # entries: what a byte can tell apart
ALWAYS = ("centroids", "projection", "medians")
KINDS = (("uint8", "int8", "int16"), ("float32",) * 3)  # of these
REDUCED_KINDS = (("float32", "int8", "int16"), ("float32",) * 3)


def spans(words: int, vocabularies: int) -> list[range]:
    """The words of each of several vocabularies, which have equally many, one after the other."""
    each = words // vocabularies
    return [range(v * each, (v + 1) * each) for v in range(vocabularies)]


@dataclass(frozen=True)
class Vocabulary:
    """K visual words over d-dimensional descriptors, found among all of them or by a tree.

    Words may lie in a space of fewer dimensions, p, and may belong to several vocabularies of equal size, one after the
    other; otherwise p = d and there is one.
    For byte descriptors (SIFT kinds) the arrays hold integers, so words and signatures are exact on any machine. With a
    reduction that is true of signatures alone.
    """

    centroids: Bytes | Float32  # (K, p), same type as the descriptors unless they are reduced
    projection: npt.NDArray[Any]  # (64, d) int8, or float32 for float descriptors
    medians: npt.NDArray[Any]  # (K, 64) int16 or float32: bit b is set where projection_b · x > median_b of the word
    description: dict[str, Any]  # how it was trained: options, counts, source
    tree: Tree | None = None  # above the words
    # (p, d): descriptor x is compared as reduction · x. PCA's mean is left out, for it does not change distances.
    reduction: Float32 | None = None
    vocabularies: int = 1
    # (m, 256, d / m) int16 or float32: part i of a descriptor is its word's plus one of codebook i (see codes.py)
    codebooks: npt.NDArray[Any] | None = None
    cells: Cells | None = None  # that words are looked for in; None: every word is compared, or there is a tree

    @property
    def words(self) -> int:
        """Of all vocabularies."""
        return len(self.centroids)

    @property
    def dimension(self) -> int:
        """Of descriptors."""
        return int(self.projection.shape[1])

    @property
    def kind(self) -> np.dtype[Any]:
        """Of descriptors."""
        return np.dtype(np.uint8 if self.projection.dtype == np.int8 else np.float32)

    def require_descriptors(self, dimension: int, kind: np.dtype[Any]) -> None:
        """Raise VocabularyError unless its words are words of such descriptors."""
        if (dimension, kind) != (self.dimension, self.kind):
            raise VocabularyError(
                f"descriptors are {dimension} × {kind}, the vocabulary's words {self.dimension} × {self.kind}; "
                "train a vocabulary on these features with `resight train`"
            )

    @cached_property
    def fingerprint(self) -> str:
        """Equal content, equal fingerprint; the description does not count."""
        digest = hashlib.blake2b(digest_size=16)
        for name, array in self._arrays().items():
            digest.update(f"{'' if name in ALWAYS else name}{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def to_bytes(self) -> bytes:
        buffer = io.BytesIO()
        text = np.frombuffer(json.dumps(self.description, sort_keys=True).encode(), dtype=np.uint8)
        np.savez(buffer, **self._arrays(), description=text)
        return buffer.getvalue()

    def _arrays(self) -> dict[str, Any]:
        """Those that are stored, besides the description."""
        arrays = {name: getattr(self, name) for name in ALWAYS}
        if self.tree is not None:
            arrays |= {"inner": self.tree.inner, "first": self.tree.first}
        if self.reduction is not None:
            arrays["reduction"] = self.reduction
        if self.vocabularies > 1:
            arrays["vocabularies"] = np.array(self.vocabularies)
        if self.codebooks is not None:
            arrays["codebooks"] = self.codebooks
        if self.cells is not None:  # which words are found depends on them
            arrays |= {"cells": self.cells.centres, "cell": self.cells.cell}
        return arrays

    @classmethod
    def from_bytes(cls, data: bytes, *, name: str) -> Vocabulary:
        try:
            with arrays_of(data) as arrays:
                vocabulary = cls(
                    centroids=arrays["centroids"],
                    projection=arrays["projection"],
                    medians=arrays["medians"],
                    description=json.loads(arrays["description"].tobytes()),
                    tree=Tree(arrays["inner"], arrays["first"]) if {"inner", "first"} & set(arrays) else None,
                    reduction=arrays.get("reduction"),
                    vocabularies=operator.index(arrays.get("vocabularies", 1)),
                    codebooks=arrays.get("codebooks"),
                    cells=Cells(arrays["cells"], arrays["cell"]) if {"cells", "cell"} & set(arrays) else None,
                )
        except Exception as error:  # damaged archives make zipfile, zlib and numpy raise errors of all kinds
            raise VocabularyError(
                f"{name} is not a resight vocabulary ({error}); make one with `resight train`"
            ) from None
        if not vocabulary._fits_together():
            raise VocabularyError(f"{name} has arrays that do not fit together; make it again with `resight train`")
        return vocabulary

    def _fits_together(self) -> bool:
        kinds = tuple(getattr(self, name).dtype.name for name in ALWAYS)
        if kinds not in (KINDS if self.reduction is None else REDUCED_KINDS):
            return False
        if self.centroids.ndim != 2 or self.projection.ndim != 2 or 0 in self.centroids.shape:
            return False
        (k, p), d = self.centroids.shape, self.dimension
        if self.projection.shape != (SIGNATURE_BITS, d) or self.medians.shape != (k, SIGNATURE_BITS):
            return False
        return (
            isinstance(self.description, dict)
            and (p == d if self.reduction is None else _reduces(self.reduction, p, d))
            and (self.tree is None or (self.tree.fits(self.centroids) and self.vocabularies == 1))
            and self.vocabularies >= 1
            and k % self.vocabularies == 0
            and (self.codebooks is None or self._has_fitting(self.codebooks))
            and (self.cells is None or (self.tree is None and self.cells.fits(self.centroids, self.vocabularies)))
        )

    def _has_fitting(self, codebooks: npt.NDArray[Any]) -> bool:
        kind, m = np.int16 if self.kind == np.uint8 else np.float32, len(codebooks) if codebooks.ndim == 3 else 0
        fits = m > 0 and codebooks.dtype == kind and codebooks.shape == (m, CODEBOOK, self.dimension / m)
        return fits and self.reduction is None and self.vocabularies == 1

    def save(self, path: Path) -> None:
        """Write the file, or leave what was there: never half of it."""
        with whole_file(path) as new:
            new.write_bytes(self.to_bytes())

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise VocabularyError(
                f"cannot read vocabulary {path}: {error.strerror}; give a file `resight train` made"
            ) from None
        return cls.from_bytes(data, name=str(path))

    @classmethod
    def ready(cls, detector: str | None = None, *, codes: bool = False) -> Vocabulary:
        """The vocabulary shipped for this detector, or for the default one; with codebooks, if codes are wanted.

        Features of other programs, which are SIFT as a rule, have the words of our SIFT.
        """
        name = FeatureOptions().detector if detector is None else detector
        folder = resources.files("resight.vocabulary") / "ready" / ("sift" if name in (GIVEN, GIVEN_POINTS) else name)
        try:
            data = folder.joinpath("vocabulary.npz").read_bytes()
        except FileNotFoundError:
            raise VocabularyError(
                f"there is no ready vocabulary for {name!r} features; make one with `resight train PICTURES --set "
                f"features.detector={name} --out FILE`, and give it to `resight index --vocabulary FILE`"
            ) from None
        vocabulary = cls.from_bytes(data, name=f"the ready vocabulary of {name}")
        if not codes:
            return vocabulary
        with arrays_of(folder.joinpath("codebooks.npz").read_bytes()) as arrays:
            return replace(vocabulary, codebooks=arrays["codebooks"])


def _reduces(reduction: Float32, p: int, d: int) -> bool:
    return reduction.dtype == np.float32 and reduction.shape == (p, d) and p <= d
