"""Scenes made of points, views of them, and files as other programs write them."""

from __future__ import annotations

import importlib.util
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
WIDTH, HEIGHT = 640, 480
VIEWS = 3


def views(scene: int, *, dimension: int, points: int = 120) -> dict[str, dict[str, Array]]:
    """Views of one scene as hloc would store them: turned, up to 1.6 times as large, descriptors a little noisy."""
    rng = np.random.default_rng((scene, dimension))
    xy, words = rng.uniform(-150, 150, (points, 2)), rng.standard_normal((points, dimension))
    scale, angle = rng.uniform(2, 20, points), rng.uniform(0, 2 * np.pi, points)
    found = {}
    for view in range(VIEWS):
        turn, size = rng.uniform(0, 2 * np.pi), rng.uniform(1, 1.6)
        c, s = size * np.cos(turn), size * np.sin(turn)
        seen = words + 0.15 * rng.standard_normal(words.shape)
        found[f"scene{scene}/view{view}.jpg"] = {
            "keypoints": (xy @ np.array([[c, s], [-s, c]]) + [WIDTH / 2, HEIGHT / 2]).astype(np.float32),
            "descriptors": (seen / np.linalg.norm(seen, axis=1, keepdims=True)).T.astype(np.float16),
            "scales": (scale * size).astype(np.float16),
            "oris": np.rad2deg((angle + turn) % (2 * np.pi)).astype(np.float32),
            "image_size": np.array([WIDTH, HEIGHT]),
        }
    return found


def without(pictures: Mapping[str, Mapping[str, Array]], *columns: str) -> dict[str, dict[str, Array]]:
    return {name: {c: v for c, v in values.items() if c not in columns} for name, values in pictures.items()}


def write_hdf5(path: Path, pictures: Mapping[str, Mapping[str, Any]]) -> Path:
    h5py = pytest.importorskip("h5py", reason="needs h5py: pip install resight[interop]")
    with h5py.File(path, "w", libver="latest") as file:
        for name, values in pictures.items():
            group = file.create_group(name)
            for column, array in values.items():
                group[column] = array
    return path


def write_database(path: Path, pictures: Mapping[str, tuple[Array, Array]]) -> Path:
    """Keypoints and descriptors of pictures, in the tables that COLMAP has had from the beginning."""
    with sqlite3.connect(path) as database:
        for table in (
            "cameras (camera_id INTEGER PRIMARY KEY, model INTEGER, width INTEGER, height INTEGER, params BLOB)",
            "images (image_id INTEGER PRIMARY KEY, name TEXT UNIQUE, camera_id INTEGER)",
            "keypoints (image_id INTEGER PRIMARY KEY, rows INTEGER, cols INTEGER, data BLOB)",
            "descriptors (image_id INTEGER PRIMARY KEY, rows INTEGER, cols INTEGER, data BLOB)",
        ):
            database.execute(f"CREATE TABLE {table}")
        database.execute("INSERT INTO cameras VALUES (1, 2, ?, ?, NULL)", (WIDTH, HEIGHT))
        for number, (name, tables) in enumerate(pictures.items(), 1):
            database.execute("INSERT INTO images VALUES (?, ?, 1)", (number, name))
            for table, array in zip(("keypoints", "descriptors"), tables, strict=True):
                row = (number, *array.shape, array.tobytes())
                database.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", row)
    database.close()
    return path


def run_pycolmap(script: str, *words: object) -> str:
    """What a script prints, run by itself: pycolmap brings libraries that those in this process do not get on with."""
    if importlib.util.find_spec("pycolmap") is None:
        pytest.skip("needs pycolmap: pip install resight[bench]")
    quiet = "import sys, numpy as np, pycolmap\npycolmap.logging.minloglevel = int(pycolmap.logging.ERROR.value)\n"
    command = [sys.executable, "-c", quiet + script, *map(str, words)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
