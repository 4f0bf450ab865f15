"""Read a pickle of plain data without running anything that is in it. The only place that imports pickle.

A pickle is a program: it may name any function of any module and call it. Here a name is looked up in a short table
of stand-ins or refused. Lists, dicts, text and numbers need no names; of numpy, arrays and scalars are understood, and
even for them numpy's own functions are not called: a stand-in takes their bytes and makes a list.
"""

from __future__ import annotations

import pickle
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from .dataset import DatasetError


class _Sealed:
    """A pickle can set the state of whatever it names; the stand-ins do not let it."""

    def __setstate__(self, state: Any) -> None:
        raise ValueError("unexpected state")


class _Kind(_Sealed):
    """Instead of numpy.dtype."""

    def __init__(self, code: Any, *_: Any) -> None:
        self.code, self.order = str(code), "<"

    def __setstate__(self, state: Any) -> None:
        self.order = ">" if state[1] == ">" else "<"

    def values(self, raw: Any) -> list[Any]:
        if not re.fullmatch(r"[biufSU]\d+", self.code):
            raise ValueError(f"arrays of {self.code!r} are not plain data")
        data = raw.encode("latin-1") if isinstance(raw, str) else bytes(raw)  # text: written by Python 2
        values: list[Any] = np.frombuffer(data, np.dtype(self.order + self.code)).tolist()
        return values


class _Array(list[Any]):
    """Instead of numpy.ndarray: its values in a flat list."""

    def __init__(self, *_: Any) -> None:
        super().__init__()

    def __setstate__(self, state: Any) -> None:
        _, _, kind, _, raw = state  # version, shape, dtype, order, bytes
        self[:] = raw if isinstance(raw, list) else kind.values(raw)


class _FromBuffer(_Sealed):
    """Instead of numpy's _frombuffer (protocol 5)."""

    def __new__(cls, raw: Any, kind: _Kind, *_: Any) -> Any:
        return kind.values(raw)


class _Scalar(_Sealed):
    """Instead of numpy's scalar."""

    def __new__(cls, kind: _Kind, raw: Any) -> Any:
        return kind.values(raw)[0]


class _Encode(_Sealed):
    """Instead of _codecs.encode, with which old protocols write bytes."""

    def __new__(cls, text: str, codec: str) -> Any:
        return text.encode({"latin1": "latin-1"}[codec])


class _NoBytes(_Sealed):
    """Instead of bytes, which old protocols call for an empty one."""

    def __new__(cls) -> Any:
        return b""


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy.core.multiarray", "scalar"): _Scalar,
    ("numpy.core.numeric", "_frombuffer"): _FromBuffer,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Kind,
    ("_codecs", "encode"): _Encode,
    ("builtins", "bytes"): _NoBytes,
    ("__builtin__", "bytes"): _NoBytes,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module.replace("numpy._core", "numpy.core"), name]
        except KeyError:
            raise DatasetError(f"it asks for {module}.{name}, which plain data does not need") from None


def read_plain_pickle(path: Path) -> Any:
    """The content of a pickle file, arrays as flat lists; DatasetError if it holds anything but plain data."""
    try:
        return _Unpickler(BytesIO(path.read_bytes()), encoding="latin-1").load()
    except Exception as error:  # a damaged or hostile pickle raises nearly everything
        raise DatasetError(
            f"refused to read {str(path)!r} ({error}); get the file from its authors, or convert it to JSON"
        ) from error
