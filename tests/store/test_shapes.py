"""Ellipses are stored, checked and read back; an index has them of all pictures or of none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from resight.errors import IndexDamagedError, UsageError
from resight.postings import GEOMETRY, decode
from resight.search import stored_query
from resight.store import Entry, Writer, check, open_snapshot, segment
from resight.store import manifest as manifests

from ..support.stored import WORDS, QuickDisk, build, change, cluster, entry, learn_context, shaped


def kinds(folder: Path) -> list[bool]:
    return [record.shapes for record in manifests.read(folder).segments]


def test_pictures_come_back_with_their_shapes(tmp_path: Path) -> None:
    entries = {key: shaped(entry(key, seed)) for seed, key in enumerate("abcdef")}
    build(tmp_path / "i", [entries[key] for key in "abc"], [entries[key] for key in "def"])
    change(tmp_path / "i", remove=["b"])

    def expect(segments: int) -> None:
        assert kinds(tmp_path / "i") == segments * [True]
        with open_snapshot(tmp_path / "i") as snapshot:
            for key in "acdef":
                located = snapshot.locate(key)
                assert located
                added, found = entries[key], stored_query(snapshot, *located).known_features
                codes = added.geometry[np.argsort(added.words.word, kind="stable")]
                right = decode(codes, max(added.width, added.height))
                for each, expected in zip((found.xy, found.scale, found.angle, found.shape), right, strict=True):
                    assert each is not None
                    assert expected is not None
                    assert np.array_equal(each, expected)
        assert check(tmp_path / "i").problems == ()

    expect(2)
    change(tmp_path / "i", merge=True)
    expect(1)
    learn_context(tmp_path / "i")
    cluster(tmp_path / "i", 3)
    expect(1)


def test_a_posting_takes_two_bytes_more_and_only_then(tmp_path: Path) -> None:
    e = entry("a", 1, features=1000)
    for name, each in (("circles", e), ("ellipses", shaped(e))):
        build(tmp_path / name, [each])
    circles, ellipses = (
        manifests.read(tmp_path / name).segments[0].files["geometry.npy"] for name in ("circles", "ellipses")
    )
    assert 2000 <= ellipses - circles < 2100  # the header of the file is a little longer, too
    with open_snapshot(tmp_path / "circles") as snapshot:
        assert snapshot.segments[0].all_lists().geometry.dtype == GEOMETRY
        located = snapshot.locate("a")
        assert located
        assert stored_query(snapshot, *located).known_features.shape is None


@pytest.mark.parametrize("features", [0, 5])
@pytest.mark.parametrize("ellipses", [False, True])
def test_the_first_picture_decides(features: int, ellipses: bool, tmp_path: Path) -> None:
    def made(key: str, *, right: bool) -> Entry:
        e = entry(key, ord(key), features=features)
        return shaped(e) if ellipses == right else e

    build(tmp_path / "i")
    found, wanted = ("circles", "ellipses") if ellipses else ("ellipses", "circles")
    message = f"the features of 'x' are {found}, those of this index are {wanted}; analyse it as"
    for _ in range(2):  # in an index without pictures, and in one that has some
        with Writer(tmp_path / "i", disk=QuickDisk()) as writer:
            writer.add(made("a", right=True))
            with pytest.raises(UsageError, match=message):
                writer.add(made("x", right=False))
            writer.add(made("b", right=True))
            assert writer.commit()
    assert kinds(tmp_path / "i") == [ellipses]
    change(tmp_path / "i", remove="ab")
    change(tmp_path / "i", add=[made("x", right=False)])  # the first picture again
    assert kinds(tmp_path / "i") == [not ellipses]


def test_a_manifest_that_says_otherwise(tmp_path: Path) -> None:
    for name, e in (("circles", entry("a", 1)), ("ellipses", shaped(entry("a", 1)))):
        build(tmp_path / name, [e])
        manifest = manifests.read(tmp_path / name)
        (record,) = manifest.segments
        lie = replace(manifest, segments=(replace(record, shapes=not record.shapes),))
        manifests.write(tmp_path / name, lie, QuickDisk())
        with pytest.raises(IndexDamagedError, match=r"geometry\.npy is damaged"):
            open_snapshot(tmp_path / name)


def test_check_finds_a_mixture(tmp_path: Path) -> None:
    build(tmp_path / "i", [entry("a", 1)])
    other = segment.write(tmp_path / "i", "00000002", [shaped(entry("b", 2))], words=WORDS, disk=QuickDisk())
    manifest = manifests.read(tmp_path / "i")
    manifests.write(tmp_path / "i", manifest.next(segments=(*manifest.segments, other)), QuickDisk())
    assert check(tmp_path / "i").problems == ("features have affine shape in some segments and none in others",)
