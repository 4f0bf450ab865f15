"""A small collection, and a server for those who only read it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import pytest

from resight import Index
from resight.server import Collection

from ..support.pictures import texture, write
from .served import PATIENCE, Served, serving


@dataclass(frozen=True)
class Place:
    """The index, and the folder of its pictures."""

    index: Path
    folder: Path


def fill(folder: Path) -> Place:
    """Five textures, a part of the first, and one without a file."""
    pictures = folder / "pictures"
    pictures.mkdir()
    place = folder / "small.resight"
    with Index.create(place) as index:
        for seed in range(5):
            index.add(write(pictures / f"t{seed}.png", texture(seed)), key=f"t{seed}.png", metadata={"seed": seed})
        index.add(write(pictures / "part.png", texture(0)[20:200, 30:220]), key="part.png")
        index.add(texture(7), key="pixels")
    return Place(place, pictures)


class Held(Collection):
    """Works only once it is let go."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.go_on = threading.Event()

    def search(self, *args: Any, **options: Any) -> Any:
        assert self.go_on.wait(PATIENCE)
        return super().search(*args, **options)

    def duplicates(self, **options: Any) -> Any:
        assert self.go_on.wait(PATIENCE)
        return super().duplicates(**options)


@pytest.fixture
def held(small: Place) -> Iterator[Held]:
    """Only for reading."""
    collection = Held(small.index)
    yield collection
    collection.close()


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return fill(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="session")
def served(small: Place) -> Iterator[Served]:
    """Only for reading."""
    collection = Collection(small.index)
    collection.warm()
    with serving(collection) as running:
        yield running
    collection.close()


@pytest.fixture(scope="module")
def changing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """For tests that write. They leave what others rely upon: t0.png to t4.png."""
    collection = Collection(fill(tmp_path_factory.mktemp("changing")).index)
    with serving(collection) as running:
        yield running
    collection.close()


def png(seed: int, size: int = 240) -> bytes:
    _, data = cv2.imencode(".png", texture(seed, size))
    return bytes(data)
