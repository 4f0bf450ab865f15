"""A trained vocabulary: centroids, and what turns a descriptor into a Hamming signature. Saved as one .npz file."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import VocabularyError
from ..types import Bytes, Float32

SIGNATURE_BITS = 64
KINDS = (("uint8", "int8", "int16"), ("float32",) * 3)  # of centroids, projection and medians


@dataclass(frozen=True)
class Vocabulary:
    """K visual words over d-dimensional descriptors.

    For byte descriptors (SIFT kinds) all three arrays hold integers, so words and signatures are exact on any machine.
    """

    centroids: Bytes | Float32  # (K, d), same type as the descriptors
    projection: npt.NDArray[Any]  # (64, d) int8, or float32 for float descriptors
    medians: npt.NDArray[Any]  # (K, 64) int16 or float32: bit b is set where projection_b · x > median_b of the word
    description: dict[str, Any]  # how it was trained: options, counts, source

    @property
    def words(self) -> int:
        return len(self.centroids)

    @property
    def dimension(self) -> int:
        return int(self.centroids.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """Equal content, equal fingerprint; the description does not count."""
        digest = hashlib.blake2b(digest_size=16)
        for array in (self.centroids, self.projection, self.medians):
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def to_bytes(self) -> bytes:
        buffer = io.BytesIO()
        text = np.frombuffer(json.dumps(self.description, sort_keys=True).encode(), dtype=np.uint8)
        np.savez(buffer, centroids=self.centroids, projection=self.projection, medians=self.medians, description=text)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes, *, name: str) -> Vocabulary:
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                vocabulary = cls(
                    centroids=arrays["centroids"],
                    projection=arrays["projection"],
                    medians=arrays["medians"],
                    description=json.loads(arrays["description"].tobytes()),
                )
        except Exception as error:  # damaged archives make zipfile, zlib and numpy raise errors of all kinds
            raise VocabularyError(
                f"{name} is not a resight vocabulary ({error}); make one with `resight train`"
            ) from None
        if not vocabulary._fits_together():
            raise VocabularyError(f"{name} has arrays that do not fit together; make it again with `resight train`")
        return vocabulary

    def _fits_together(self) -> bool:
        kinds = tuple(array.dtype.name for array in (self.centroids, self.projection, self.medians))
        if kinds not in KINDS or self.centroids.ndim != 2 or 0 in self.centroids.shape:
            return False
        k, d = self.centroids.shape
        shapes = self.projection.shape, self.medians.shape
        return shapes == ((SIGNATURE_BITS, d), (k, SIGNATURE_BITS)) and isinstance(self.description, dict)

    def save(self, path: Path) -> None:
        """Write the file, or leave what was there: never half of it."""
        new = path.with_name(f"{path.name}.new")
        new.write_bytes(self.to_bytes())
        new.replace(path)

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
    def ready(cls) -> Vocabulary:
        """The vocabulary shipped with the package."""
        data = resources.files("resight.vocabulary").joinpath("ready", "vocabulary.npz").read_bytes()
        return cls.from_bytes(data, name="the ready vocabulary")
