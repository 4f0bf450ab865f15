"""Datasets from made-up folders of one-byte files, and, where the shared pictures are at hand, from the real ones."""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resight.errors import UsageError
from resight.evaluation.datasets import DATASETS, DatasetError, Query, load
from resight.evaluation.datasets.plain_pickle import read_plain_pickle
from resight.evaluation.measures import score
from resight.types import Region

from ..conftest import DATA

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no real pictures at {DATA}; set RESIGHT_DATA")


def touch(root: Path, names: Iterable[str]) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return root


def ukbench(root: Path, count: int, folder: str = "") -> Path:
    return touch(root, (f"{folder}ukbench{i:05}.jpg" for i in range(count)))


def by_name(queries: Iterable[Query]) -> dict[str, Query]:
    return {query.name: query for query in queries}


def test_unknown_names_and_missing_folders(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="unknown dataset 'oxfrod'; known: ukbench, holidays, oxford"):
        load("oxfrod", tmp_path)
    for name in DATASETS:
        with pytest.raises(DatasetError, match="is not a folder"):
            load(name, tmp_path / "nowhere")
        with pytest.raises(DatasetError):
            load(name, tmp_path)  # empty
    assert issubclass(DatasetError, UsageError)


@pytest.mark.parametrize("folder", ["", "full/", "images/"])
def test_ukbench(tmp_path: Path, folder: str) -> None:
    dataset = load("ukbench", touch(ukbench(tmp_path, 8, folder), ["cover.jpg", "readme.txt"]))
    assert [key for key, _ in dataset.images] == [f"{folder}ukbench{i:05}.jpg" for i in range(8)]
    assert dataset.images[3][1] == tmp_path / f"{folder}ukbench00003.jpg"
    assert len(dataset.queries) == 8
    query = dataset.queries[5]
    assert query.truth.relevant == {f"{folder}ukbench{i:05}.jpg" for i in (4, 5, 6, 7)}
    assert (query.key, query.in_database, query.exclude_self) == (f"{folder}ukbench00005.jpg", True, False)
    assert dataset.measures[0] == "ns"


def test_ukbench_that_is_incomplete(tmp_path: Path) -> None:
    ukbench(tmp_path, 30)
    with pytest.raises(DatasetError, match=r"lacks 2 file.*ukbench00030.jpg, ukbench00031.jpg;"):
        load("ukbench", tmp_path)
    ukbench(tmp_path, 32)
    for i in range(7):
        (tmp_path / f"ukbench{i:05}.jpg").unlink()
    with pytest.raises(DatasetError, match=r"lacks 7 file.*ukbench00000.jpg, .*ukbench00004.jpg, …;"):
        load("ukbench", tmp_path)


def test_the_same_picture_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="have the same name"):
        load("ukbench", touch(ukbench(tmp_path, 4), ["ukbench00002.png"]))


def test_holidays(tmp_path: Path) -> None:
    names = ["100000.jpg", "100001.jpg", "100002.jpg", "100100.jpg", "100101.jpg"]
    dataset = load("holidays", touch(tmp_path, (f"jpg/{name}" for name in names)))
    assert [query.key for query in dataset.queries] == ["jpg/100000.jpg", "jpg/100100.jpg"]
    first = dataset.queries[0]
    assert first.truth.relevant == {"jpg/100001.jpg", "jpg/100002.jpg"}
    assert first.exclude_self
    # Itself first, then right, wrong, right: as "axb".
    ranking = ["jpg/100000.jpg", "jpg/100001.jpg", "jpg/100101.jpg", "jpg/100002.jpg"]
    assert score([ranking], [first.truth], ["map"], database=5).means["map"] == pytest.approx(19 / 24)


def test_holidays_that_is_incomplete(tmp_path: Path) -> None:
    touch(tmp_path, ["100000.jpg", "100001.jpg", "100101.jpg", "100200.jpg"])
    with pytest.raises(DatasetError, match=r"lacks 2 file.*: 100100.jpg, 100201.jpg;"):
        load("holidays", tmp_path)


def oxford(root: Path, prefix: str = "oxc1_") -> Path:
    """Two landmarks' worth of the original layout."""
    touch(
        root, (f"images/{name}.jpg" for name in ("hall_1", "hall_2", "hall_3", "hall_4", "tower_1", "tower_2", "sky"))
    )
    truth = root / "gt_files"
    truth.mkdir()
    for name, parts in {
        "hall_1": (f"{prefix}hall_1 10.5 20 110.5 70", "hall_1\n", "hall_2\n", "hall_3\nhall_4\n"),
        "tower_1": (f"{prefix}tower_1 0 0 5 6\n", "tower_1\ntower_2\n", "", "\n"),
    }.items():
        for part, text in zip(("query", "good", "ok", "junk"), parts, strict=True):
            (truth / f"{name}_{part}.txt").write_text(text)
    return root


@pytest.mark.parametrize(("name", "prefix"), [("oxford", "oxc1_"), ("paris", "")])
def test_oxford_in_its_original_layout(tmp_path: Path, name: str, prefix: str) -> None:
    dataset = load(name, oxford(tmp_path, prefix))
    assert dataset.name == name
    assert len(dataset.images) == 7
    hall, tower = dataset.queries
    assert (hall.name, hall.key) == ("hall_1", "images/hall_1.jpg")
    assert hall.region == Region(10.5, 20, 100, 50)
    assert hall.truth.relevant == {"images/hall_1.jpg", "images/hall_2.jpg"}
    assert hall.truth.junk == {"images/hall_3.jpg", "images/hall_4.jpg"}
    assert not hall.exclude_self
    assert tower.truth.junk == set()
    assert dataset.measures[0] == "map"


def test_oxford_as_json_is_the_same(tmp_path: Path) -> None:
    text = load("oxford", oxford(tmp_path))
    shutil.rmtree(tmp_path / "gt_files")
    hall = {"image": "hall_1", "bbox": [10.5, 20, 110.5, 70], "good": ["hall_1"], "ok": ["hall_2"]}
    tower = {"image": "tower_1", "bbox": [0, 0, 5, 6], "good": ["tower_1", "tower_2"], "ok": [], "junk": []}
    answers = {"tower_1": tower, "hall_1": hall | {"junk": ["hall_3", "hall_4"]}}
    (tmp_path / "gt.json").write_text(json.dumps(answers))
    assert load("oxford", tmp_path) == text
    for wrong in ({"hall_1": hall}, [hall], {"hall_1": hall | {"junk": [["hall_3"]]}}, {"hall_1": tower | {"ok": "x"}}):
        (tmp_path / "gt.json").write_text(json.dumps(wrong))
        with pytest.raises(DatasetError, match="must have image, bbox, good, ok, junk"):
            load("oxford", tmp_path)
    for box in ([1, 2, 3], [5, 0, 5, 9], "abcd", [0, 0, float("inf"), 1], None):
        (tmp_path / "gt.json").write_text(json.dumps({"tower_1": tower | {"bbox": box}}))
        with pytest.raises(DatasetError, match="box of 'tower_1'"):
            load("oxford", tmp_path)
    (tmp_path / "gt.json").write_text("{")
    with pytest.raises(DatasetError, match="is not JSON"):
        load("oxford", tmp_path)


def test_oxford_that_is_incomplete(tmp_path: Path) -> None:
    oxford(tmp_path)
    (tmp_path / "images/hall_1.jpg").unlink()
    (tmp_path / "images/hall_4.jpg").unlink()
    with pytest.raises(DatasetError, match=r"lacks 2 file.*: hall_1.jpg, hall_4.jpg;"):
        load("oxford", tmp_path)
    (tmp_path / "gt_files/hall_1_ok.txt").unlink()
    with pytest.raises(DatasetError, match=r"gt_files' lacks 1 file.*: hall_1_ok.txt;"):
        load("oxford", tmp_path)
    shutil.rmtree(tmp_path / "gt_files")
    with pytest.raises(DatasetError, match=r"must hold gt.json or one folder .* found: none"):
        load("oxford", tmp_path)


REVISITED: dict[str, Any] = {
    "imlist": ["a", "b", "c", "d", "e"],
    "qimlist": ["q", "r"],
    "gnd": [
        {"bbx": [1.0, 2.0, 11.0, 22.0], "easy": [0], "hard": [1, 2], "junk": [3]},
        {"bbx": [0.0, 0.0, 4.0, 4.0], "easy": [], "hard": [4], "junk": []},
    ],
}


def revisited(root: Path) -> Path:
    return touch(root, (f"jpg/{name}.jpg" for name in "abcdeqrz"))  # z is in no list


def with_arrays(content: dict[str, Any]) -> dict[str, Any]:
    """As numpy would have it: arrays of numbers, and scalars."""
    gnd = [
        {"bbx": np.array(g["bbx"]), **{k: np.array(g[k], np.int64) for k in ("easy", "junk")}} for g in content["gnd"]
    ]
    hard = [[np.int64(i) for i in g["hard"]] for g in content["gnd"]]
    return content | {"gnd": [g | {"hard": h} for g, h in zip(gnd, hard, strict=True)]}


@pytest.mark.parametrize(
    ("name", "relevant", "junk", "asked"),
    [
        ("revisited-easy", "a", "bcd", "q"),
        ("revisited-medium", "abc", "d", "qr"),
        ("revisited", "abc", "d", "qr"),
        ("revisited-hard", "bc", "ad", "qr"),
    ],
)
def test_revisited_protocols(tmp_path: Path, name: str, relevant: str, junk: str, asked: str) -> None:
    (revisited(tmp_path) / "gnd_roxford5k.json").write_text(json.dumps(REVISITED))
    dataset = load(name, tmp_path)
    assert [key for key, _ in dataset.images] == [f"jpg/{n}.jpg" for n in "abcde"]
    assert "".join(query.name for query in dataset.queries) == asked  # r has no easy answer
    query = dataset.queries[0]
    assert query.truth.relevant == {f"jpg/{n}.jpg" for n in relevant}
    assert query.truth.junk == {f"jpg/{n}.jpg" for n in junk}
    assert query.region == Region(1, 2, 10, 20)
    assert not query.in_database
    assert query.path == tmp_path / "jpg/q.jpg"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("content", [REVISITED, with_arrays(REVISITED)], ids=["lists", "arrays"])
def test_revisited_pickles_are_the_same(tmp_path: Path, protocol: int, content: dict[str, Any]) -> None:
    revisited(tmp_path)
    (tmp_path / "gnd_roxford5k.json").write_text(json.dumps(REVISITED))
    wanted = load("revisited", tmp_path)
    (tmp_path / "gnd_roxford5k.json").unlink()
    (tmp_path / "gnd_roxford5k.pkl").write_bytes(pickle.dumps(content, protocol))
    assert load("revisited", tmp_path) == wanted


def test_a_pickle_as_old_numpy_and_python_wrote_it(tmp_path: Path) -> None:
    new = pickle.dumps({"v": np.array([1, 258], ">i4"), "w": np.array(["a", "bc"])}, 2)
    path = tmp_path / "old.pkl"
    path.write_bytes(new.replace(b"numpy._core.multiarray", b"numpy.core.multiarray"))
    assert read_plain_pickle(path) == {"v": [1, 258], "w": ["a", "bc"]}
    python2 = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR(I1\n(I2\n"
        b"tcnumpy\ndtype\n(S'u1'\nI0\nI1\ntR(I3\nS'|'\nNNNI-1\nI-1\nI0\ntbI00\nS'\\x01\\xff'\ntb."
    )
    path.write_bytes(python2)
    assert read_plain_pickle(path) == [1, 255]


class Hostile:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def test_a_hostile_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    revisited(tmp_path)
    mark = tmp_path / "executed"
    for payload in (
        Hostile(os.system, f"touch {mark}"),
        Hostile(open, str(mark), "w"),
        Hostile(eval, f"open({str(mark)!r}, 'w')"),
        Hostile(io.FileIO, str(mark), "w"),
        Hostile(np.load, str(mark)),
        Hostile(getattr, "x", "format"),
    ):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            data = pickle.dumps(REVISITED | {"extra": payload}, protocol)
            (tmp_path / "gnd_roxford5k.pkl").write_bytes(data)
            with pytest.raises(DatasetError, match=r"refused to read .* which plain data does not need"):
                load("revisited", tmp_path)
    assert not mark.exists()
    pickle.loads(pickle.dumps(Hostile(os.system, f"touch {mark}")))
    assert mark.exists()  # so the payload does work


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04",
        pickle.dumps(REVISITED)[:-20],
        b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(S'O8'\ntRS'xxxxxxxx'\ntR.",  # a pointer from bytes
        b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(S'i4,O'\ntRS'xxxxxxxxxxxx'\ntR.",
        b"cnumpy\nndarray\n}S'__init__'\nNsb.",  # sets an attribute of a stand-in
        b"c_codecs\nencode\n}S'x'\nI1\nsb.",
        b"c_codecs\nencode\n(S'x'\nS'rot13'\ntR.",
        b"c__builtin__\nbytes\n(I1000000\ntR.",
        b"cnumpy.core.multiarray\nscalar.__class__\n.",
    ],
)
def test_damaged_or_odd_pickles_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(data)
    with pytest.raises(DatasetError, match="refused to read"):
        read_plain_pickle(path)


@pytest.mark.parametrize(
    "content",
    [
        [],
        REVISITED | {"imlist": [1, 2, 3, 4, 5]},
        REVISITED | {"qimlist": ["q"]},
        REVISITED | {"imlist": ["a"]},
        REVISITED | {"gnd": [REVISITED["gnd"][0] | {"easy": [-1]}, REVISITED["gnd"][1]]},
        REVISITED | {"gnd": [REVISITED["gnd"][0] | {"easy": [0.5]}, REVISITED["gnd"][1]]},
        {"imlist": [], "qimlist": []},
    ],
)
def test_what_is_not_revisited_ground_truth(tmp_path: Path, content: Any) -> None:
    (revisited(tmp_path) / "gnd_x.json").write_text(json.dumps(content))
    with pytest.raises(DatasetError, match="is not revisited ground truth"):
        load("revisited", tmp_path)


def test_revisited_that_is_incomplete(tmp_path: Path) -> None:
    revisited(tmp_path)
    with pytest.raises(DatasetError, match="found: none"):
        load("revisited", tmp_path)
    (tmp_path / "gnd_roxford5k.json").write_text(json.dumps(REVISITED))
    (tmp_path / "jpg/q.jpg").unlink()
    (tmp_path / "jpg/b.jpg").unlink()
    with pytest.raises(DatasetError, match=r"lacks 2 file.*: b.jpg, q.jpg;"):
        load("revisited", tmp_path)
    touch(tmp_path, ["gnd_rparis6k.pkl"])
    with pytest.raises(DatasetError, match=r"found: gnd_roxford5k.json, gnd_rparis6k.pkl"):
        load("revisited", tmp_path)


def test_groups(tmp_path: Path) -> None:
    touch(tmp_path, ["bar/2.jpg", "bar/1.png", "street/deep/1.jpg", "street/2.jpg", "street/3.jpg", "alone/1.jpg"])
    dataset = load("groups", tmp_path)
    assert [key for key, _ in dataset.images][:3] == ["alone/1.jpg", "bar/1.png", "bar/2.jpg"]
    assert len(dataset.queries) == 5
    query = by_name(dataset.queries)["street/2.jpg"]
    assert query.truth.relevant == {"street/deep/1.jpg", "street/3.jpg"}
    assert query.exclude_self
    assert dataset.measures[0] == "anr"
    with pytest.raises(DatasetError, match=r"1 picture\(s\) in no group: stray.jpg"):
        load("groups", touch(tmp_path, ["stray.jpg"]))
    with pytest.raises(DatasetError, match="no folder with two or more pictures"):
        load("groups", touch(tmp_path / "bar2", ["a/1.jpg", "b/1.jpg"]))


def test_pairs_in_folders(tmp_path: Path) -> None:
    touch(tmp_path, ["query/1.jpg", "query/2.jpg", "reference/1.png", "reference/2.jpg", "reference/3.jpg"])
    dataset = load("pairs", tmp_path)
    assert [key for key, _ in dataset.images] == ["reference/1.png", "reference/2.jpg", "reference/3.jpg"]
    assert {q.key: set(q.truth.relevant) for q in dataset.queries} == {
        "query/1.jpg": {"reference/1.png"},
        "query/2.jpg": {"reference/2.jpg"},
    }
    assert not any(q.in_database or q.exclude_self for q in dataset.queries)
    assert dataset.measures[0] == "recall@1"
    touch(tmp_path, ["query/7.jpg", "query/8.jpg"])
    with pytest.raises(DatasetError, match=r"reference' lacks 2 file.*: 7.\*, 8.\*;"):
        load("pairs", tmp_path)
    shutil.rmtree(tmp_path / "reference")
    with pytest.raises(DatasetError, match="must hold folders query and reference"):
        load("pairs", tmp_path)


def test_smvs_has_a_folder_for_each_phone(tmp_path: Path) -> None:
    touch(tmp_path, [f"{folder}/00{i}.jpg" for folder in ("Canon", "Droid", "Reference") for i in (1, 2)])
    dataset = load("smvs", tmp_path)
    assert [q.key for q in dataset.queries] == ["Canon/001.jpg", "Canon/002.jpg", "Droid/001.jpg", "Droid/002.jpg"]
    assert len(dataset.images) == 2


def test_pairs_in_a_table(tmp_path: Path) -> None:
    touch(tmp_path, ["a.jpg", "b.jpg", "c.jpg", "d.jpg"])
    table = tmp_path / "pairs.tsv"
    table.write_text("a.jpg\tb.jpg\n\na.jpg\t./c.jpg\r\nb.jpg\tc.jpg\n")
    dataset = load("pairs", tmp_path)
    assert [key for key, _ in dataset.images] == ["b.jpg", "c.jpg"]
    a, b = dataset.queries
    assert (set(a.truth.relevant), a.in_database, a.exclude_self) == ({"b.jpg", "c.jpg"}, False, False)
    assert (set(b.truth.relevant), b.in_database, b.exclude_self) == ({"c.jpg"}, True, True)
    for line in ("a.jpg b.jpg", "a.jpg\tb.jpg\tc.jpg", "a.jpg\t/etc/hosts", "../a.jpg\tb.jpg", "a.jpg\t"):
        table.write_text(f"a.jpg\tb.jpg\n{line}\n")
        with pytest.raises(DatasetError, match="line 2"):
            load("pairs", tmp_path)
    table.write_text("a.jpg\tx.jpg\ny.jpg\tb.jpg\n")
    with pytest.raises(DatasetError, match=r"lacks 2 file.*: x.jpg, y.jpg;"):
        load("pairs", tmp_path)


def test_limit_keeps_whole_groups(tmp_path: Path) -> None:
    ukbench(tmp_path, 16)
    for limit, pictures in ((4, 4), (11, 8), (12, 12), (99, 16)):
        dataset = load("ukbench", tmp_path, limit=limit)
        assert len(dataset.images) == len(dataset.queries) == pictures
    with pytest.raises(DatasetError, match="limit 3 is too small for ukbench: its first query needs 4"):
        load("ukbench", tmp_path, limit=3)


def test_limit_fills_up_with_pictures_no_query_is_about(tmp_path: Path) -> None:
    dataset = load("oxford", oxford(tmp_path), limit=5)  # hall_1 to hall_4, and one more place
    assert [query.name for query in dataset.queries] == ["hall_1"]
    assert [Path(key).stem for key, _ in dataset.images] == ["hall_1", "hall_2", "hall_3", "hall_4", "sky"]


def test_distractors(tmp_path: Path) -> None:
    sets, others = ukbench(tmp_path / "set", 4), touch(tmp_path / "others", ["b.jpg", "a/c.png", "readme.txt"])
    more = touch(tmp_path / "more", ["b.jpg"])
    dataset = load("ukbench", sets, limit=4, distractors=[others, more])
    keys = [key for key, _ in dataset.images]
    assert keys[4:] == ["distractors/others/b.jpg", "distractors/others/a/c.png", "distractors/more/b.jpg"]
    assert dataset.images[5][1] == others / "a/c.png"
    assert dataset.queries == load("ukbench", sets).queries
    with pytest.raises(DatasetError, match="is a picture of the dataset"):
        load("ukbench", sets, distractors=[tmp_path])
    with pytest.raises(DatasetError, match="no pictures below"):
        load("ukbench", sets, distractors=[touch(tmp_path / "none", ["a.txt"])])
    with pytest.raises(DatasetError, match="is not a folder"):
        load("ukbench", sets, distractors=[others / "b.jpg"])
    with pytest.raises(DatasetError, match=r"2 pictures have the key 'distractors/others/b.jpg'"):
        load("ukbench", sets, distractors=[others, touch(tmp_path / "x/others", ["b.jpg"])])


def test_a_query_picture_is_no_distractor(tmp_path: Path) -> None:
    touch(tmp_path, ["query/1.jpg", "reference/1.jpg"])
    with pytest.raises(DatasetError, match="is a picture of the dataset"):
        load("pairs", tmp_path, distractors=[tmp_path / "query"])


@needs_data
@pytest.mark.parametrize(
    ("name", "folder", "images", "queries"),
    [
        ("ukbench", "ukbench", 1000, 1000),
        ("holidays", "holidays", 405, 150),
        ("oxford", "oxford_dev", 584, 30),
        ("pairs", "smvs_dvd", 100, 100),
    ],
)
def test_real_sets(name: str, folder: str, images: int, queries: int) -> None:
    dataset = load(name, DATA / folder)
    assert (len(dataset.images), len(dataset.queries)) == (images, queries)
    assert all(path.is_file() for _, path in dataset.images)
    # What finds everything scores the most that the headline allows.
    rankings = [sorted(query.truth.relevant) for query in dataset.queries]
    best = score(rankings, [query.truth for query in dataset.queries], dataset.measures, database=images)
    assert best.means[dataset.measures[0]] == (4.0 if name == "ukbench" else 1.0)


@needs_data
def test_real_groups_and_distractors() -> None:
    dataset = load("ukbench", DATA / "ukbench", limit=400, distractors=[DATA / "distractors"])
    assert len(dataset.images) == 400 + 1400
    assert len({query.truth.relevant for query in dataset.queries}) == 100
    assert len({query.truth.relevant for query in load("ukbench", DATA / "ukbench").queries}) == 250
    landmarks = {query.truth.relevant for query in load("oxford", DATA / "oxford_dev").queries}
    assert len(landmarks) == 6
