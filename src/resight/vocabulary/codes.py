"""Descriptors → product-quantiser codes and back (IVFADC, Jégou et al. 2011).

What a descriptor differs by from its word is cut into m parts of equal length, and each part is replaced by the number
of the nearest of 256 entries of a codebook: m bytes. For byte descriptors words and codebooks are integers, and so are
all distances.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import VocabularyError
from ..options import VocabularyOptions
from ..types import Bytes, Float32, Int32
from .k_means import k_means
from .vocabulary import CODEBOOK, Vocabulary

MOST_LEARNT_FROM = 100_000  # descriptors; 400 for each entry of a codebook


def learn_codebooks(
    values: Bytes | Float32, words: npt.NDArray[Any], *, options: VocabularyOptions, whole: bool
) -> npt.NDArray[Any]:
    """(m, 256, d / m) from descriptors, which come in random order, and the centroid of each one's word.

    int16 where descriptors are whole numbers, else float32.
    """
    require_codes(values, options.codes)
    rest = values[:MOST_LEARNT_FROM].astype(np.float32) - words[:MOST_LEARNT_FROM].astype(np.float32)
    parts = (np.ascontiguousarray(part) for part in np.split(rest, options.codes, axis=1))
    found = np.stack([k_means(part, CODEBOOK, options=options, whole=False) for part in parts])
    return np.rint(found).astype(np.int16) if whole else found


def require_codes(values: Bytes | Float32, m: int) -> None:
    """Raise unless codes of m bytes can be learnt from these descriptors."""
    count, d = values.shape
    if d % m:
        possible = ", ".join(str(n) for n in range(1, 65) if d % n == 0)
        raise VocabularyError(
            f"descriptors of {d} dimensions cannot be cut into {m} equal parts; "
            f"set vocabulary.codes to one of {possible}"
        )
    if count < CODEBOOK:
        raise VocabularyError(
            f"{count} descriptors cannot make codebooks of {CODEBOOK} entries; give more pictures, or no codes"
        )


def encode(vocabulary: Vocabulary, values: Bytes | Float32, word: Int32) -> Bytes:
    """(n, m) codes of descriptors (n, d) with these words; of equally near entries the first."""
    codebooks = _codebooks(vocabulary)
    rest = values.astype(np.float32) - vocabulary.centroids[word]
    found = np.empty((len(values), len(codebooks)), np.uint8)
    for i, part in enumerate(np.split(rest, len(codebooks), axis=1)):
        entries = codebooks[i].astype(np.float32)
        # ‖x − e‖² without ‖x‖², which is the same for all: below 2^22 for byte descriptors, so exact in float32
        found[:, i] = np.argmin((entries**2).sum(axis=1) - 2 * part @ entries.T, axis=1)
    return found


def decode(vocabulary: Vocabulary, code: Bytes, word: Int32) -> Float32:
    """(n, d) descriptors that codes (n, m) of features with these words stand for."""
    codebooks = _codebooks(vocabulary)
    parts = codebooks[np.arange(len(codebooks)), code]  # (n, m, d / m)
    rest = parts.reshape(len(code), vocabulary.dimension)
    return vocabulary.centroids[word].astype(np.float32) + rest.astype(np.float32)


def kept_bytes(vocabulary: Vocabulary, keep: str) -> int:
    """How many bytes are kept of a descriptor with this ``indexing.keep``."""
    if keep == "nothing":
        return 0
    return len(_codebooks(vocabulary)) if keep == "codes" else vocabulary.dimension * vocabulary.kind.itemsize


def kept(vocabulary: Vocabulary, descriptors: Bytes | Float32, word: Int32, *, keep: str) -> Bytes:
    """(n, ``kept_bytes``) what is kept of descriptors of features with these words."""
    if keep == "codes":
        return encode(vocabulary, descriptors, word)
    return np.ascontiguousarray(descriptors, dtype=vocabulary.kind.newbyteorder("<")).view(np.uint8)


def restored(vocabulary: Vocabulary, code: Bytes, word: Int32, *, keep: str) -> Bytes | Float32:
    """(n, d) descriptors from what was kept of them."""
    if keep == "codes":
        return decode(vocabulary, code, word)
    return np.ascontiguousarray(code).view(vocabulary.kind.newbyteorder("<"))


def _codebooks(vocabulary: Vocabulary) -> npt.NDArray[Any]:
    if vocabulary.codebooks is None:
        raise VocabularyError(
            "this vocabulary cannot make codes; train one with `resight train --set vocabulary.codes=8`, "
            "or use the ready one"
        )
    return vocabulary.codebooks
