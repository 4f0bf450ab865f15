"""The command line as a user meets it: output, JSON, exit codes, interruptions."""

from __future__ import annotations

import gc
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.table import Table
from typer.testing import CliRunner

from resight import Index, learn
from resight.cli import app, output, printable
from resight.cli.app import FIRST, loading
from resight.recipes import RECIPES
from resight.store import Writer
from resight.vocabulary import Vocabulary

from ..support.commands import PROGRAM, run, run_json
from ..support.pictures import striped, texture, write
from ..support.quantised import similarity


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each test finds four pictures; what ``resight index`` makes of them there, and copies to begin with."""
    place = tmp_path_factory.mktemp("cli")
    (place / "kept").mkdir()
    for seed in range(4):
        write(place / "kept" / f"{seed}.png", texture(seed))
    shutil.copytree(place / "kept", place / "pictures")
    run("index", place / "pictures", "--into", place / "i.resight", "--processes", 1)
    return place


@pytest.fixture
def pictures(place: Path) -> Path:
    """Four pictures, always at the same place, as if no test had been there."""
    shutil.rmtree(place / "pictures")
    return shutil.copytree(place / "kept", place / "pictures")


@pytest.fixture
def index(place: Path, pictures: Path, tmp_path: Path) -> Path:
    """The index of the pictures, for one test alone."""
    return shutil.copytree(place / "i.resight", tmp_path / "i.resight")


def test_three_commands_with_the_default_index(pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RESIGHT_INDEX", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert "4 added, 0 updated, 0 unchanged, 0 skipped" in run("index", pictures, "--processes", 1)
    found = run("search", pictures / "2.png", "--top", 1)
    assert "2.png" in found
    assert "3.png" not in found
    assert (tmp_path / "data/resight/pictures.resight/manifest").exists()
    assert "pictures     4" in run("info")
    assert re.search(r"^features     \d+ with affine shape, hessian-affine$", run("info"), re.MULTILINE)


def test_hits_that_links_lead_to_count_as_found(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as made:
        for key, pixels in striped().items():
            made.add(pixels, key=key)
        made.commit()
        made.learn.links()
    said = {r: run("search", tmp_path / "i.resight", "--key", "a.png", "--recipe", r) for r in ("verified", "linked")}
    assert said["verified"].startswith("a.png: 1 found")
    assert said["linked"].startswith("a.png: 2 found")


def test_index_reports_what_it_did(pictures: Path, tmp_path: Path) -> None:
    into = tmp_path / "i.resight"
    options = ("--into", into, "--processes", 1)
    assert run_json("index", pictures, *options)["added"] == 4
    (pictures / "1.png").write_bytes(b"no picture")
    write(pictures / "2.png", texture(9))
    (pictures / "empty.jpg").touch()
    second = run_json("index", pictures, *options, code=1)
    assert (second["added"], second["updated"], second["unchanged"], second["pictures"]) == (0, 1, 2, 4)
    assert [Path(s["key"]).name for s in second["skipped"]] == ["1.png", "empty.jpg"]
    write(pictures / "2.png", texture(10))
    assert "pictures/s" not in run("index", pictures, *options), "most of the time went into unchanged ones"
    assert "empty" in second["skipped"][1]["reason"]


def test_a_folder_of_non_pictures(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.txt").write_text("nothing to see")
    summary = run_json("index", tmp_path / "notes", "--into", tmp_path / "i.resight", code=1)
    assert (summary["added"], summary["pictures"]) == (0, 0)
    assert (
        run_json("search", tmp_path / "i.resight", write(tmp_path / "q.png", texture(1)), code=1)["results"][0]["hits"]
        == []
    )


@pytest.mark.parametrize("name", ["ü ñ 漢字.png", "two\nlines.png", "a?b#c%20.png", os.fsdecode(b"bytes\xff.png")])
def test_strange_names(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, texture(1))
    index = tmp_path / "ï ? #.resight"
    assert "holds 1 picture\n" in run("index", tmp_path, "--into", index, "--relative-to", tmp_path, "--processes", 1)
    assert "is sound: 1 picture, " in run("check", index)
    assert run_json("search", index, tmp_path / name)["results"][0]["hits"][0]["key"] == name
    shown = run("search", index, tmp_path / name)
    assert printable(name) in shown.replace("\n", "")
    assert run_json("remove", index, name)["pictures"] == 0


def test_remove_check_merge(pictures: Path, index: Path) -> None:
    assert run_json("remove", index, pictures / "0.png", "unknown", code=1) == {
        "index": str(index), "removed": [str(pictures / "0.png")], "unknown": ["unknown"], "dry_run": False,
        "pictures": 3,
    }  # fmt: skip
    assert run_json("check", index)["problems"] == []
    merged = run_json("merge", index)
    assert merged["size"] < merged["size_before"]
    assert "is sound: 3 pictures" in run("check", index)


def test_clusters(pictures: Path, index: Path) -> None:
    ask = ("search", index, pictures / "2.png", "--top", 1)
    assert "make them with `resight index --clusters`" in run_json(*ask, "--probe", 1, code=2)["error"]
    assert run_json("index", "--into", index, "--clusters", 2)["pictures"] == 4
    assert "clusters     2" in run("info", index)
    for recipe in ("expanded", "bow-l1"):
        assert "2.png" in run(*ask, "--probe", 1, "--recipe", recipe)
    write(pictures / "later.png", texture(30))
    commit = run_json("info", index)["commit"]
    assert run_json("index", pictures, "--into", index, "--clusters", 2, "--processes", 1, "--no-link")["added"] == 1
    assert run_json("info", index)["commit"] == commit + 1, "there are such clusters already"
    run("context", index, "--recipe", "context-l1", "--set", "context.probe=1")
    assert len(run_json("info", index)["contexts"]) == 1
    run("index", "--into", index, "--clusters", 3, "--set", "clusters.kind=random")
    facts = run_json("info", index)
    assert (facts["clusters"], facts["contexts"]) == (3, [])
    run("index", "--into", index, "--clusters", 0)
    assert run_json("info", index)["clusters"] == 0


def test_a_similarity_that_an_index_keeps(pictures: Path, index: Path) -> None:
    ask = ("search", index, pictures / "2.png", "--top", 1, "--recipe", "learnt")
    assert "there is no learnt similarity here; learn one with `resight learn`" in run_json(*ask, code=2)["error"]
    assert run_json("info", index)["similarity"] is None
    assert "similarity   " not in run("info", index)
    with Writer(index) as writer:
        kept = similarity(Vocabulary.ready().words)
        learn.keep_similarity(writer, kept)
    assert run_json("info", index)["similarity"] == kept.fingerprint
    assert f"similarity   {kept.fingerprint}" in run("info", index)
    assert "2.png" in run(*ask)
    assert "is sound: 4 pictures" in run("check", index)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([], "give folders or picture files to index, --features, or --clusters"),
        (["--set", "clusters.sample=2"], "options of clusters need --clusters"),
        (["--clusters", 2, "--set", "clusters.count=3"], "contradict each other"),
        (["--clusters", 2, "--set", "clusters.probe=3"], "resight search --probe"),
        (["--clusters", 2, "--set", "clusters.scored=3"], "clusters.scored is a matter of searching"),
        (["--clusters", 0, "--set", "clusters.sample=2"], "clusters.sample is used only where clusters.count is at"),
        (["--clusters", 9], "4 pictures cannot make 9 clusters; take fewer, or add pictures first"),
    ],
)
def test_clusters_that_are_refused(words: list[object], error: str, index: Path) -> None:
    assert error in run_json("index", "--into", index, *words, code=2)["error"]
    assert run_json("info", index)["clusters"] == 0


def test_a_similarity_is_learnt_used_and_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(3):
        for view in range(2):
            crop = texture(seed, size=260)[30 * view : 30 * view + 200, 20 * view : 20 * view + 200]
            write(tmp_path / f"{seed}-{view}.png", crop)
    into = tmp_path / "i.resight"
    run("index", tmp_path, "--into", into, "--processes", 1)
    ask = ("search", into, tmp_path / "1-0.png", "--recipe", "learnt")
    assert "`resight learn`" in run_json(*ask, code=2)["error"]
    monkeypatch.chdir(tmp_path)  # from here on paths in the file can be short
    file = tmp_path / "groups.tsv"
    file.write_text("".join(f"{seed}-{view}.png\tthing {seed}\n" for seed in range(3) for view in range(2)))
    brief = ("--set", "learning.word_groups=2", "--set", "learning.rounds=20")
    learnt = run_json("learn", into, "--groups", file, *brief)
    assert (learnt["groups"], learnt["queries"], learnt["others"]) == (3, 6, 0)
    assert {tried["word_groups"] for tried in learnt["tried"]} == {1, 2}
    assert run_json("info", into)["similarity"] == learnt["similarity"]
    assert [hit["key"] for hit in run_json(*ask)["results"][0]["hits"]][:2] == [
        str(tmp_path / f"1-{v}.png") for v in range(2)
    ]
    shown = run("learn", into, "--from-verified", *brief)
    assert "learnt from 6 pictures in 3 groups, and 0 others" in shown
    assert "in cross-validation" in shown
    assert run_json("learn", into, "--forget")["forgotten"]
    assert "nothing to forget" in run("learn", into, "--forget")
    run(*ask, code=2)
    assert not list(tmp_path.glob("*.learning*"))


@pytest.mark.parametrize("words", [(), ("--forget", "--from-verified"), ("--groups", "x", "--from-verified")])
def test_one_way_to_learn(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert "give one of --groups" in run_json("learn", tmp_path / "i.resight", *words, code=2)["error"]


def test_context_is_learnt_used_and_forgotten(pictures: Path, tmp_path: Path) -> None:
    into = tmp_path / "i.resight"
    run("index", pictures, "--into", into, "--processes", 1)
    ask = ("search", into, pictures / "2.png", "--recipe", "context-l1", "--top", 1)
    other = (*ask, "--set", "context.neighbours=2", "--set", "scoring.measure=l2")
    for words in (ask, other):  # the remedy is a command that can be run
        _, remedy, _ = run_json(*words, code=2)["error"].split("`")
        run(*shlex.split(remedy)[1:])
        assert "2.png" in run(*words)
    run("context", into, "--recipe", "context-l1", "--forget")
    run(*remedy.split()[1:], "--forget")
    learnt = run_json("context", into, "--recipe", "context-l1")
    assert (learnt["pictures"], learnt["references"]) == (4, 4)
    assert learnt["spreads"] == sorted(learnt["spreads"], reverse=True)
    assert "4 pictures measured against 4; neighbourhoods differ by" in run("context", into, "--recipe", "context")
    assert "2.png" in run(*ask)
    assert "contexts     context-l1, context" in run("info", into)
    write(pictures / "later.png", texture(30))
    run("index", pictures, "--into", into, "--processes", 1)
    assert "later.png" in run("search", into, pictures / "later.png", "--recipe", "context-l1", "--top", 1)
    assert run_json("context", into, "--recipe", "context-l1", "--forget")["forgotten"]
    assert "nothing to forget" in run("context", into, "--recipe", "context-l1", "--forget")
    run(*ask, code=2)
    assert "this recipe has no context" in run_json("context", into, "--recipe", "burst", code=2)["error"]
    own = ("context", into, "--recipe", "burst", "--set", "context.method=nicdm", "--set", "context.neighbours=2")
    assert run_json(*own)["references"] == 5
    own = run_json("info", into)["contexts"][1]
    assert own.startswith("own recipe, ")
    assert run_json("context", into, "--forget", "--recipe", own.removeprefix("own recipe, "))["forgotten"]
    assert run_json("info", into)["contexts"] == ["context"]


def test_damage_is_exit_code_3(pictures: Path, index: Path) -> None:
    file = next(index.glob("segments/*/signature.npy"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert "signature.npy" in run_json("check", index, code=3)["problems"][0]
    assert run_json("search", index, pictures / "0.png", code=3)["kind"] == "IndexDamagedError"


TABLE = """
from rich.table import Table
from resight.cli.app import app, command
from resight.cli.output import say_table

@command
def show() -> int:
    say_table(Table("a", "b"))
    return 0

app(["show"])
"""


def test_output_that_nobody_reads_is_exit_code_141(index: Path) -> None:
    """Whatever the command has found, and whoever prints it; also an error."""
    next(index.glob("segments/*/signature.npy")).write_bytes(b"damaged")
    said = ([*PROGRAM, "check", index, "--json"], [*PROGRAM, "search", index, "--json"], [*PROGRAM, "recipes"])
    for words in (*said, [sys.executable, "-c", TABLE]):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([str(word) for word in words], stdout=writing, stderr=subprocess.PIPE, check=False)
        os.close(writing)
        assert (done.returncode, done.stderr) == (141, b"")


def test_region_recipe_and_settings(pictures: Path, tmp_path: Path) -> None:
    index = tmp_path / "i.resight"
    run("index", pictures, "--into", index, "--processes", 1, "--set", "features.max_features=300")
    assert run_json("info", index)["settings"]["features"]["max_features"] == 300
    whole, part = (
        run_json("search", index, pictures / "0.png", *more)["results"][0] for more in ((), ("--region", "50,50,90,90"))
    )
    assert part["query_features"] < whole["query_features"]
    region = part["hits"][0]["region"]
    assert 50 <= region["x"] <= 140
    assert (
        run_json("search", index, pictures / "0.png", "--recipe", "bow-l2")["results"][0]["hits"][0]["inliers"] is None
    )
    for wrong, error in {
        ("--region", "1,2,3"): "a region is four numbers",
        ("--recipe", "magic"): "unknown recipe 'magic'",
        ("--set", "scoring.sgima=3"): "the measure hamming has no option 'sgima'; it has closest_only, idf_power, ",
        ("--set", "scoring.beta=3"): "the measure hamming has no option 'beta' (an option of negative); it has ",
        ("--set", "scoring.measure=best"): "unknown measure 'best'; known: asymmetric, burst, ",
        ("--recipe", "bow-l1", "--set", "verify.tolerance=0.1"): "used only where verify.shortlist is at least 1",
        ("--set", "clusters.count=3"): "clusters.count is a matter of indexing: resight index --clusters",
        ("--set", "scoring.sigma=much"): "option 'sigma' must be float, not 'much'",
        ("--set", "sigma=3"): "write STAGE.OPTION=VALUE",
        ("--set", "features.max_side=3"): "with one of the stages assign, scoring, ",
    }.items():
        assert error in run_json("search", index, pictures / "0.png", *wrong, code=2)["error"]
    other = ("--set", "scoring.beta=3", "--set", "scoring.measure=negative")
    assert run_json("search", index, pictures / "0.png", *other)["results"][0]["hits"][0]["key"].endswith("0.png")
    run("index", pictures, "--into", index, "--set", "features.max_features=200", code=2)


def test_key_together_confidence_timings_and_drawing(
    pictures: Path, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sheet = tmp_path / "sheet.png"
    write(pictures / "copy.png", texture(0))
    run("index", pictures, "--into", index, "--processes", 1)
    (by_key,) = run_json("search", index, "--key", pictures / "0.png", "--timings", "--draw", sheet)["results"]
    assert by_key["hits"][0]["key"] == str(pictures / "copy.png")
    assert set(by_key["timings"]) == {"features", "score", "verify", "links"}
    assert sheet.stat().st_size > 1000
    (both,) = run_json("search", index, pictures / "1.png", pictures / "2.png", "--together")["results"]
    assert {hit["key"] for hit in both["hits"][:2]} == {str(pictures / "1.png"), str(pictures / "2.png")}
    (sure,) = run_json("search", index, pictures / "1.png", "--min-confidence", 0.5)["results"]
    assert [hit["key"] for hit in sure["hits"]] == [str(pictures / "1.png")]
    assert "sure" in run("search", index, pictures / "1.png", "--timings")
    for wrong in (("--key", "nobody"), (), (pictures / "1.png", pictures / "2.png", "--draw", sheet)):
        assert run_json("search", index, *wrong, code=2)["error"]
    assert (
        "no picture with the key 'nobody' is indexed; give a key or path as search results"
        in run_json("search", index, "--key", "nobody", code=2)["error"]
    )
    monkeypatch.chdir(pictures)
    assert " copy.png" in run("search", index, "--key", "0.png")  # a path as it is printed is a key
    assert run_json("remove", index, "copy.png")["removed"] == [str(pictures / "copy.png")]


def test_what_cannot_be_drawn_is_refused_before_the_search(pictures: Path, tmp_path: Path) -> None:
    index = tmp_path / "i.resight"
    with Index.create(index) as target:
        target.add(texture(0), key="pixels")
        target.add(pictures / "1.png")
    (pictures / "1.png").unlink()
    ask = ("search", index, pictures / "2.png", "--draw")
    for words, error in {
        (*ask, tmp_path / "sheet.gif"): "none of .png, .jpg, .jpeg",
        (*ask, tmp_path / "no/sheet.png"): "make it first",
        (*ask, tmp_path): "is a folder",
        ("search", index, "--key", "pixels", "--draw", tmp_path / "s.png"): "was not indexed from a file",
        ("search", index, "--key", pictures / "1.png", "--draw", tmp_path / "s.png"): "cannot read",
    }.items():
        code = 1 if error == "cannot read" else 2
        assert error in run_json(*words, code=code)["error"]
        assert run(*words, code=code) == "", "a result was shown first"


def test_hits_of_no_confidence_are_left_out(pictures: Path, tmp_path: Path) -> None:
    index = tmp_path / "i.resight"
    for seed in range(4, 8):
        write(pictures / f"{seed}.png", texture(seed, size=96))  # with few features to share
    run("index", pictures, "--into", index, "--processes", 1)
    ask = ("search", index, pictures / "1.png")
    (whole,) = run_json(*ask)["results"]
    unlikely = [Path(hit["key"]).name for hit in whole["hits"] if hit["confidence"] < 0.005]
    shown, everything = run(*ask), run(*ask, "--all")
    assert 1 < len(unlikely) < len(whole["hits"])
    assert f"1 found, {len(whole['hits']) - 1} weak candidates" in shown
    assert f"{len(unlikely)} candidates of 0% are not listed; see all with --all" in shown
    assert "--all" not in everything
    for hit in whole["hits"]:
        name = Path(hit["key"]).name
        assert (name in shown, name in everything) == (name not in unlikely, True)
    unverified = run(*ask, "--recipe", "bow-l1")
    assert f"{len(whole['hits'])} candidates, none checked by geometry (" in unverified
    assert unverified.count(".png") == len(whole["hits"]) + 1, "without confidence all are listed"
    assert "found" not in unverified
    assert "1 candidate, not checked by geometry" in run(*ask, "--recipe", "bow-l1", "--top", 1)


def test_wrong_usage_is_exit_code_2(tmp_path: Path) -> None:
    run("search", code=2)
    run("search", tmp_path / "missing.resight", tmp_path / "q.png", code=2)
    run("info", tmp_path / "missing.resight", code=2)
    run("index", code=2)
    run("search", tmp_path / "missing.resight", code=2)


def test_several_queries_one_of_them_bad(pictures: Path, index: Path) -> None:
    results = run_json("search", index, pictures / "0.png", pictures / "nothing.png", code=1)["results"]
    assert results[0]["hits"][0]["key"] == str(pictures / "0.png")
    assert "nothing.png" in results[1]["error"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--recipe", "learnt"), "resight learn"),
        (("--recipe", "context"), "resight context"),
        (("--recipe", "knn"), "resight index --recipe"),
        (("--probe", 1), "resight index --clusters"),
        (("--probe", 1, "--set", "clusters.probe=2"), "--probe 1 and --set clusters.probe=2 contradict each other"),
    ],
)
def test_what_no_query_can_be_asked_is_said_once(
    words: tuple[object, ...], message: str, pictures: Path, index: Path
) -> None:
    assert message in run_json("search", index, pictures / "0.png", pictures / "1.png", *words, code=2)["error"]


def test_train_makes_a_vocabulary_for_a_new_index(pictures: Path, tmp_path: Path) -> None:
    words = ("--words", 40, "--out", tmp_path / "own.npz", "--processes", 1)
    facts = run_json("train", pictures, *words)
    assert (facts["words"], facts["pictures"]) == (40, 4)
    index = tmp_path / "i.resight"
    run("index", pictures, "--into", index, "--vocabulary", tmp_path / "own.npz", "--processes", 1)
    assert run_json("info", index)["vocabulary"] == facts["fingerprint"]
    assert run_json("search", index, pictures / "3.png")["results"][0]["hits"][0]["key"] == str(pictures / "3.png")
    run(
        "train",
        pictures,
        "--words",
        40,
        "--out",
        tmp_path / "other.npz",
        "--processes",
        1,
        "--set",
        "vocabulary.seed=2",
    )
    run("index", pictures, "--into", index, "--vocabulary", tmp_path / "other.npz", code=2)
    run("train", pictures, "--words", 900000, "--out", tmp_path / "big.npz", "--processes", 1, code=2)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("branching=4",), 64),
        (("pca=12",), 64),
        (("branching=4", "pca=12"), 64),
        (("vocabularies=3", "sample=600"), 3 * 64),
    ],
)
def test_train_other_kinds_of_vocabularies(
    pictures: Path, tmp_path: Path, settings: tuple[str, ...], words: int
) -> None:
    """A tree, reduced words, several vocabularies: an index made with them finds what is in it."""
    chosen = [word for setting in settings for word in ("--set", f"vocabulary.{setting}")]
    own, index = tmp_path / "own.npz", tmp_path / "i.resight"
    facts = run_json("train", pictures, "--words", 64, "--out", own, "--processes", 1, *chosen)
    assert facts["words"] == words
    run("index", pictures, "--into", index, "--vocabulary", own, "--processes", 1)
    assert run_json("info", index)["vocabulary"] == facts["fingerprint"]
    for recipe in ("bow-l1", "bow-l2", "verified"):
        for asked in (pictures / "3.png", pictures / "1.png"):
            hits = run_json("search", index, asked, "--recipe", recipe)["results"][0]["hits"]
            assert hits[0]["key"] == str(asked)
    by_key = run_json("search", index, "--key", pictures / "2.png", "--recipe", "bow-l1")["results"][0]["hits"]
    assert {hit["key"] for hit in by_key} == {str(pictures / f"{other}.png") for other in (0, 1, 3)}
    assert run_json("check", index)["problems"] == []


def test_several_vocabularies(pictures: Path, tmp_path: Path) -> None:
    """From training to a search with context: nothing but one option tells that there are three."""
    own, index = tmp_path / "own.npz", tmp_path / "i.resight"
    options = ("--words", 64, "--vocabularies", 3, "--processes", 1, "--set", "vocabulary.sample=600")
    assert "192 words in 3 vocabularies" in run("train", pictures, "--out", own, *options)
    again = run_json("train", pictures, "--out", own, *options, "--set", "vocabulary.vocabularies=3")
    assert (again["words"], again["vocabularies"]) == (192, 3)
    run("index", pictures, "--into", index, "--vocabulary", own, "--processes", 1)
    facts = run_json("info", index)
    assert (facts["words"], facts["vocabularies"]) == (192, 3)
    assert "vocabulary   3 × 64 words" in run("info", index)
    assert run_json("check", index)["features"] == facts["features"]
    learnt = run_json("context", index, "--recipe", "context-l1", "--set", "context.neighbours=2")
    assert (learnt["pictures"], learnt["references"]) == (4, 4)
    assert "4 pictures measured against 4; neighbourhoods differ by" in run("context", index, "--recipe", "context-l1")
    assert "contexts     own recipe, " in run("info", index)
    for words in ((), ("--set", "aggregate.quantile=1"), ("--recipe", "context-l1"), ("--recipe", "bow-l1")):
        hits = run_json("search", index, pictures / "3.png", *words)["results"][0]["hits"]
        assert (hits[0]["key"], hits[0]["score"]) == (str(pictures / "3.png"), 1.0)
    whole, stored = (
        run_json("search", index, *words, "--recipe", "bow-l1")["results"][0]["query_features"]
        for words in ((pictures / "1.png",), ("--key", pictures / "1.png"))
    )
    assert whole == stored
    assert run_json("context", index, "--recipe", "context-l1", "--forget")["forgotten"]
    assert len(run_json("info", index)["contexts"]) == 1
    assert (
        "'quantile' must be at least 0.0 and at most 1.0"
        in run_json("search", index, pictures / "3.png", "--set", "aggregate.quantile=2", code=2)["error"]
    )


@pytest.mark.parametrize("name", ["words", "vocabularies"])
def test_train_options_that_contradict_each_other(pictures: Path, tmp_path: Path, name: str) -> None:
    words = ("train", pictures, "--out", tmp_path / "v.npz", f"--{name}", 3, "--set", f"vocabulary.{name}=2")
    assert run_json(*words, code=2)["error"] == f"--{name} 3 and --set vocabulary.{name}=2 contradict each other"


def test_train_says_what_does_not_go_together(pictures: Path, tmp_path: Path) -> None:
    def refused(*settings: str, words: int = 60) -> str:
        chosen = [word for setting in settings for word in ("--set", f"vocabulary.{setting}")]
        options = ("--words", words, "--out", tmp_path / "v.npz", "--processes", 1)
        return str(run_json("train", pictures, *options, *chosen, code=2)["error"])

    assert "not 60; the nearest is 64" in refused("branching=4")
    assert "cannot be one of 2 vocabularies" in refused("branching=4", "vocabularies=2", words=64)
    assert "cannot be reduced to 200" in refused("pca=200", "sample=100")


def test_train_says_when_a_tree_has_fewer_words(pictures: Path, tmp_path: Path) -> None:
    settings = ("--set", "vocabulary.branching=10", "--set", "vocabulary.sample=100", "--processes", 1)
    words = ["train", pictures, "--words", 100, "--out", tmp_path / "v.npz", *settings]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0
    assert "not 100 words: some nodes of the tree had fewer than 10 descriptors" in result.stderr


def test_help_does_not_load_the_heavy_libraries() -> None:
    script = (
        "import sys; from typer.testing import CliRunner; from resight.cli import app\n"
        "result = CliRunner().invoke(app, ['--help']); assert result.exit_code == 0\n"
        "print([m for m in ('numpy', 'cv2', 'faiss', 'numba', 'PIL', 'sqlite3') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_help_begins_with_what_most_people_need() -> None:
    words = [sys.executable, "-m", "resight", "--help"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split("Commands:\n")[1]
    assert [line.split()[0] for line in shown.splitlines()][: len(FIRST)] == FIRST


@pytest.mark.parametrize("processes", [1, 2])
def test_ctrl_c_keeps_what_was_done(tmp_path: Path, processes: int) -> None:
    """On a terminal, once the bar shows a rate: what was seen so far is committed, and the next run does the rest."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    write(folder / "0.png", texture(0, size=48))
    for number in range(1, 400):
        shutil.copy(folder / "0.png", folder / f"{number:03d}.png")
    index = tmp_path / "i.resight"
    terminal, its_side = pty.openpty()
    words = ["index", str(folder), "--into", str(index), "--processes", str(processes)]
    child = subprocess.Popen([*PROGRAM, *words], stderr=its_side, stdout=subprocess.DEVNULL, start_new_session=True)
    os.close(its_side)
    shown = b""
    while b"/s" not in shown:  # the bar has shown a rate: pictures are being done
        shown += os.read(terminal, 4096)
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: all processes get it
    while True:
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # the child has closed its side
            break
    assert child.wait(timeout=60) == 1
    assert "interrupted" in shown.decode(errors="replace")
    done = run_json("info", index)["pictures"]
    assert 0 < done < 400
    assert run_json("check", index)["problems"] == []
    again = run_json("index", folder, "--into", index, "--processes", 1, "--no-link")
    assert (again["unchanged"], again["added"]) == (done, 400 - done)


def test_overlapping_roots_are_walked_once(pictures: Path, tmp_path: Path) -> None:
    options = ("--into", tmp_path / "i.resight", "--processes", 1)
    assert run_json("index", pictures, pictures / "0.png", pictures, *options)["added"] == 4


def test_nothing_is_begun_that_cannot_end(pictures: Path, tmp_path: Path) -> None:
    into = ("--into", tmp_path / "i.resight")
    assert "detector" in run_json("index", pictures, *into, "--set", "features.detector=magic", code=2)["error"]
    assert "not inside" in run_json("index", pictures, tmp_path, *into, "--relative-to", pictures, code=2)["error"]
    assert "does not exist" in run_json("index", tmp_path / "nowhere", *into, code=2)["error"]
    assert not (tmp_path / "i.resight").exists()
    assert "no folder" in run_json("train", pictures, "--out", tmp_path / "no/v.npz", "--words", 20, code=2)["error"]
    assert "is a folder" in run_json("train", pictures, "--out", pictures, "--words", 20, code=2)["error"]
    (tmp_path / "v.toml").mkdir()
    words = ("train", pictures, "--out", tmp_path / "v.npz", "--held-out", pictures)
    assert "v.toml is a folder" in run_json(*words, code=2)["error"]


def test_the_index_comes_first(pictures: Path, index: Path) -> None:
    assert "first" in run_json("search", pictures / "0.png", index, code=2)["error"]
    assert "give the path of a picture in it" in run_json("search", index, pictures, code=1)["error"]
    run("remove", index, code=2)


def test_an_unrelated_query_finds_nothing(index: Path, tmp_path: Path) -> None:
    assert ": 0 found" in run("search", index, write(tmp_path / "q.png", texture(77)), code=1)


def test_names_that_the_terminal_cannot_show(tmp_path: Path) -> None:
    write(tmp_path / "日本.png", texture(1))
    index = tmp_path / "i.resight"
    run("index", tmp_path, "--into", index, "--processes", 1)
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    for words in (["search", str(index), str(tmp_path / "日本.png")], ["merge", str(index)]):
        done = subprocess.run([*PROGRAM, *words], capture_output=True, env=environment, check=True)
        assert b"Traceback" not in done.stderr


def test_recipes_are_listed() -> None:
    assert list(run_json("recipes")) == list(RECIPES)
    shown = run("recipes")
    assert "(default)" in shown
    assert len({line.index(r.description) for line, r in zip(shown.splitlines(), RECIPES.values(), strict=True)}) == 1


def test_tables_are_not_cut_off_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(*(f"column {number}" for number in range(20)))
    table.add_row(*(f"{number}-{'x' * 50}" for number in range(20)))
    output.say_table(table)
    shown = capsys.readouterr().out
    assert all(f"{number}-{'x' * 50}" in shown for number in range(20))


def test_progress_without_a_terminal_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "_lines", output._Lines())
    assert list(output.progress(range(3), total=3, text="doing")) == [0, 1, 2]
    assert capsys.readouterr().err == "", "it took no time"

    def said(line: str) -> bool:
        deadline = time.monotonic() + 60
        while line not in capsys.readouterr().err.splitlines():
            assert time.monotonic() < deadline
        return True

    monkeypatch.setattr(output, "EVERY", 0.01)
    for item in output.progress(range(2), total=2, text="doing", idle=lambda item: item == 0):
        assert said("doing: 0 of 1" if item else "doing: 0 of 2")  # while an item takes its time


def test_evaluate_prints_a_table_and_json(tmp_path: Path) -> None:
    folder = tmp_path / "holidays"
    folder.mkdir()
    for number in (100000, 100001, 100100, 100101, 100102):
        whole, shift = texture(number // 100, size=280), 15 * (number % 100)
        write(folder / f"{number}.jpg", whole[shift : shift + 220, shift : shift + 220])
    words = ("evaluate", "holidays", folder, "--recipe", "hamming", "--recipe", "bow-l1", "--cache", tmp_path / "cache")
    found = run_json(*words, "--processes", 1)
    assert (found["dataset"], found["images"], found["queries"]) == ("holidays", 5, 2)
    assert [row["recipe"] for row in found["rows"]] == ["hamming", "bow-l1"]
    assert found["rows"][0]["measures"]["map"] == 1
    assert found["rows"][0]["bytes_per_image"] > 0
    assert "hamming" in run(*words, "--processes", 1)
    assert "gt" in run_json("evaluate", "oxford", folder, code=2)["error"]
    (tmp_path / "hamming.toml").write_text('base = "bow-l1"')
    twice = run_json(*words, "--recipe", tmp_path / "hamming.toml", code=2)["error"]
    assert "two recipes are named 'hamming'" in twice
    run("evaluate", "holidays", code=2)


def test_garbage_is_collected_again_after_loading() -> None:
    with loading():
        assert not gc.isenabled()
    assert gc.isenabled()
