"""The file of a vocabulary: it comes back as it was, and nothing but VocabularyError comes from a bad one."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resight.errors import UsageError, VocabularyError
from resight.features import DETECTORS
from resight.options import GIVEN, GIVEN_POINTS, FeatureOptions
from resight.vocabulary import Vocabulary

from ..support.vocabularies import READY


@pytest.fixture
def vocabulary() -> Vocabulary:
    rng = np.random.default_rng(0)
    return Vocabulary(
        centroids=rng.integers(0, 256, (5, 16), dtype=np.uint8),
        projection=rng.integers(-60, 61, (64, 16)).astype(np.int8),
        medians=rng.integers(-3000, 3000, (5, 64)).astype(np.int16),
        description={"source": "Bäume", "options": {"words": 5}},
    )


def archive(vocabulary: Vocabulary, **changed: Any) -> bytes:
    """A vocabulary's file with some arrays changed, or left out (None)."""
    arrays = {
        "centroids": vocabulary.centroids,
        "projection": vocabulary.projection,
        "medians": vocabulary.medians,
        "description": np.frombuffer(b"{}", np.uint8),
        **changed,
    }
    buffer = io.BytesIO()
    np.savez(buffer, **{name: array for name, array in arrays.items() if array is not None})
    return buffer.getvalue()


def refused(data: bytes) -> str:
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.from_bytes(data, name="some.npz")
    assert str(caught.value).startswith("some.npz ")
    assert "resight train" in str(caught.value)
    return str(caught.value)


def test_round_trip(vocabulary: Vocabulary, tmp_path: Path) -> None:
    vocabulary.save(tmp_path / "v.npz")
    back = Vocabulary.load(tmp_path / "v.npz")
    for name in ("centroids", "projection", "medians"):
        before, after = getattr(vocabulary, name), getattr(back, name)
        assert before.dtype == after.dtype
        assert np.array_equal(before, after)
    assert back.description == vocabulary.description
    assert back.fingerprint == vocabulary.fingerprint
    assert (back.words, back.dimension) == (5, 16)


def test_fingerprint_changes_with_any_array(vocabulary: Vocabulary) -> None:
    seen = {vocabulary.fingerprint}
    for name in ("centroids", "projection", "medians"):
        for index in ((0, 0), (-1, -1)):
            changed = getattr(vocabulary, name).copy()
            changed[index] += 1
            seen.add(replace(vocabulary, **{name: changed}).fingerprint)
    assert len(seen) == 7


def test_fingerprint_sees_type_and_shape(vocabulary: Vocabulary) -> None:
    assert replace(vocabulary, medians=vocabulary.medians.view(np.uint16)).fingerprint != vocabulary.fingerprint
    assert replace(vocabulary, centroids=vocabulary.centroids.reshape(10, 8)).fingerprint != vocabulary.fingerprint


def test_fingerprint_ignores_description_and_memory_layout(vocabulary: Vocabulary) -> None:
    assert replace(vocabulary, description={}).fingerprint == vocabulary.fingerprint
    strided = vocabulary.centroids.copy(order="F")
    assert replace(vocabulary, centroids=strided).fingerprint == vocabulary.fingerprint


@pytest.mark.parametrize("detector", DETECTORS)
def test_the_ready_vocabularies_load(detector: str) -> None:
    ready = Vocabulary.ready(detector)
    assert ready.fingerprint == READY[detector]  # indexes name it
    assert ready.cells  # every process looks into the same ones, and none has to find them
    assert ready.description["features"]["detector"] == detector
    assert ready.dimension == 128
    assert ready.centroids.dtype == np.uint8
    assert ready.words == 16_384


def test_which_vocabulary_is_ready_for_what() -> None:
    assert Vocabulary.ready().fingerprint == READY[FeatureOptions().detector]
    assert {Vocabulary.ready(name).fingerprint for name in (GIVEN, GIVEN_POINTS)} == {READY["sift"]}
    with pytest.raises(
        VocabularyError, match=r"for 'surf' features; make one with `resight train .* features\.detector=surf"
    ):
        Vocabulary.ready("surf")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=r"cannot read vocabulary .*nothing\.npz: No such file"):
        Vocabulary.load(tmp_path / "nothing.npz")
    with pytest.raises(VocabularyError, match="Is a directory"):
        Vocabulary.load(tmp_path)


@pytest.mark.parametrize("data", [b"", b"x", b"garbage" * 100, b"PK\x03\x04" + b"\0" * 60, b"\x93NUMPY\x01\x00"])
def test_garbage(data: bytes) -> None:
    assert "is not a resight vocabulary" in refused(data)


def test_a_single_array_is_no_vocabulary() -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros((5, 16), np.uint8))
    refused(buffer.getvalue())


def test_truncated_at_every_length(vocabulary: Vocabulary) -> None:
    data = vocabulary.to_bytes()
    for length in [*range(0, len(data), 41), len(data) - 1]:
        refused(data[:length])


def test_damaged_bytes_are_refused_or_harmless(vocabulary: Vocabulary) -> None:
    """One byte changed anywhere: VocabularyError, or (where the archive ignores the byte) the same vocabulary."""
    data, rng = vocabulary.to_bytes(), np.random.default_rng(0)
    outcomes = []
    for position in rng.choice(len(data), 600, replace=False):
        damaged = bytearray(data)
        damaged[position] ^= int(rng.integers(1, 256))
        try:
            assert Vocabulary.from_bytes(bytes(damaged), name="x").fingerprint == vocabulary.fingerprint
            outcomes.append("harmless")
        except VocabularyError:
            outcomes.append("refused")
    assert outcomes.count("refused") > 450


@pytest.mark.parametrize(
    "changed",
    [
        {"centroids": None},
        {"description": None},
        {"description": np.frombuffer(b"{not json", np.uint8)},
        {"description": np.frombuffer(b"[1]", np.uint8)},
        {"description": np.frombuffer(b"\xff\xfe", np.uint8)},
        {"centroids": np.zeros(16, np.uint8)},
        {"centroids": np.zeros((0, 16), np.uint8), "medians": np.zeros((0, 64), np.int16)},
        {"centroids": np.zeros((5, 16))},
        {"centroids": np.zeros((5, 16), np.float32)},  # float words, but a projection for bytes
        {"centroids": np.zeros((6, 16), np.uint8)},
        {"projection": np.zeros((64, 15), np.int8)},
        {"projection": np.zeros((63, 16), np.int8)},
        {"medians": np.zeros((5, 63), np.int16)},
        {"medians": np.zeros((5, 64), "U3")},
        {"projection": np.zeros(64, np.int8)},
        {"inner": np.zeros((1, 16), np.uint8)},  # half a tree
        {"first": np.array([1, 6, 6, 6, 6, 6, 6])},
        {"vocabularies": np.array(0)},
        {"vocabularies": np.array(-5)},
        {"vocabularies": np.array(2)},  # of 5 words
        {"vocabularies": np.array([5])},
        {"vocabularies": np.array(5.0)},
    ],
)
def test_arrays_that_do_not_fit(vocabulary: Vocabulary, changed: dict[str, Any]) -> None:
    refused(archive(vocabulary, **changed))


def test_the_unchanged_archive_is_accepted(vocabulary: Vocabulary) -> None:
    """So that the refusals above are due to the change."""
    assert Vocabulary.from_bytes(archive(vocabulary), name="x").fingerprint == vocabulary.fingerprint
    tree = {"inner": np.zeros((1, 16), np.uint8), "first": np.array([1, 6, 6, 6, 6, 6, 6])}
    for more in (tree, {"vocabularies": np.array(5)}):
        assert Vocabulary.from_bytes(archive(vocabulary, **more), name="x").fingerprint != vocabulary.fingerprint


class Trap:
    """Unpickling this makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["centroids", "projection", "medians", "description"])
def test_pickles_are_never_executed(vocabulary: Vocabulary, name: str, tmp_path: Path) -> None:
    sprung = tmp_path / "sprung"
    data = archive(vocabulary, **{name: np.array([Trap(sprung)] * 5, dtype=object)})
    refused(data)
    assert not sprung.exists()
    with np.load(io.BytesIO(data), allow_pickle=True) as arrays:
        arrays[name]  # the trap is a trap
    assert sprung.exists()


def test_a_bare_pickle_is_never_executed(vocabulary: Vocabulary, tmp_path: Path) -> None:
    sprung = tmp_path / "sprung"
    data = archive(vocabulary, centroids=np.array([Trap(sprung)], dtype=object))
    with zipfile.ZipFile(io.BytesIO(data)) as members:
        array = members.read("centroids.npy")
    refused(array)  # an .npy file with a pickle
    refused(array[array.index(b"\x80") :])  # the pickle alone
    assert not sprung.exists()


def test_a_vocabulary_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "v.npz").mkdir()
    with pytest.raises(UsageError, match=r"cannot write .*v.npz.*; name another file"):
        Vocabulary.ready().save(tmp_path / "v.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["v.npz"]
