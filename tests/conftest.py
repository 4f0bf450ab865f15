"""Fixtures that several test folders share."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from resight.demo.collection import Collection, build
from resight.index import Index

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")


@dataclass(frozen=True)
class Demo:
    """The demo collection, indexed with relative keys."""

    folder: Path
    collection: Collection
    index: Path


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """Made once per process: tests that use it carry ``@pytest.mark.xdist_group("demo")`` and only read it."""
    folder = tmp_path_factory.mktemp("demo")
    collection = build(folder)
    with Index.create(folder / "demo.resight") as index:
        outcomes = list(index.add_files(collection.pictures, relative_to=folder / "pictures"))
    assert not [o for o in outcomes if o.skipped]
    return Demo(folder, collection, folder / "demo.resight")
