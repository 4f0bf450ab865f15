"""Arrays from the bytes of .npy and .npz files, one thread at a time; and products of small matrices.

numpy reads their heads with ``ast.literal_eval``. In CPython 3.11 two threads that are in it at once can fail with
"SystemError: AST constructor recursion depth mismatch" (python/cpython issue 106905).
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from .types import Float64

READING = threading.RLock()  # while a head is read


@contextmanager
def arrays_of(data: bytes) -> Iterator[Mapping[str, npt.NDArray[Any]]]:
    """The arrays of a .npz file by name, each read when it is asked for. What numpy says of damage is raised."""
    with READING, np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        yield arrays


def array_of(data: bytes) -> npt.NDArray[Any]:
    """The array of a .npy file."""
    with READING:
        return np.asarray(np.load(io.BytesIO(data), allow_pickle=False))


def products(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Float64:
    """(…, 2, 2) of many pairs of 2 × 2 matrices; numpy's own product takes several times as long for so small ones."""
    product = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for i in range(2):
        for j in range(2):
            product[..., i, j] = a[..., i, 0] * b[..., 0, j] + a[..., i, 1] * b[..., 1, j]
    return product
