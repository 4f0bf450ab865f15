"""The one place that imports faiss, because its BLAS must be told which CPU it runs on before it loads.

The OpenBLAS inside the faiss wheel does not recognise newer CPUs and falls back to SSE3 kernels, four times slower.
``OPENBLAS_CORETYPE`` corrects that; a value set by the user is respected.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def _core_type() -> str | None:
    try:
        flags = set(Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0].split())
    except (OSError, IndexError):
        return None  # not Linux on x86: OpenBLAS decides
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"} <= flags:
        return "SkylakeX"
    return "Haswell" if {"avx2", "fma"} <= flags else None


def load() -> Any:
    """The faiss module, with fast kernels."""
    # Threads that wait must not spin: on a busy machine two spinning threads are slower than one.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    core = _core_type()
    if core:
        os.environ.setdefault("OPENBLAS_CORETYPE", core)
    import faiss

    return faiss
