"""Experiments: what is registered, and small ones run on pictures made here."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from resight.cli import app
from resight.errors import UsageError
from resight.evaluation import experiments
from resight.evaluation.datasets import DATASETS
from resight.evaluation.experiments import (
    EXPERIMENTS,
    READY,
    Experiment,
    Learnt,
    Published,
    Trial,
    burst09,
    cdm10,
    named,
    run,
)
from resight.evaluation.experiments.outcome import CAUTION
from resight.evaluation.experiments.run import FOLDERS
from resight.evaluation.measures import Truth, score
from resight.features import DETECTORS
from resight.options import HammingOptions
from resight.recipes import RECIPES
from resight.store import open_snapshot
from resight.vocabulary import Vocabulary

from ..support.pictures import texture, write

PAPERS = {"CDM-10", "DRE-12", "BURST-09", "LEARN-14", "CDM-07"}
PRINTED = Published(paper="CDM-10", place="table I #1", dataset="N-S", measure="ns", value=2.9, note="1000 words")

TINY = Experiment(
    name="tiny",
    question="Does it run?",
    paper="CDM-10",
    table="table I",
    finding="it does",
    conditions="10200 pictures",
    differences=("pictures made here",),
    datasets=("ukbench", "holidays"),
    rows=(
        Trial(
            label="L1, independent",
            recipe=RECIPES["bow-l1"],
            vocabulary=Learnt(words=16, on="distractors"),
            published=(PRINTED,),
        ),
        Trial(label="L2, independent", recipe=RECIPES["bow-l2"], vocabulary=Learnt(words=16, on="distractors")),
        Trial(label="L1, itself", recipe=RECIPES["bow-l1"], vocabulary=Learnt(words=32, on="itself")),
    ),
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three objects in four pictures each, in the layout of UKbench, and four others."""
    for folder in ("ukbench", "distractors"):
        (tmp_path / "data" / folder).mkdir(parents=True)
    for number in range(12):
        noise = np.random.default_rng(number).integers(0, 12, (160, 160), dtype=np.uint8)
        pixels = texture(number // 4, size=160) // 2 + noise
        write(tmp_path / "data" / "ukbench" / f"ukbench{number:05}.png", pixels)
    for number in range(4):
        write(tmp_path / "data" / "distractors" / f"{number}.png", texture(100 + number, size=160))
    return tmp_path / "data"


def every_file(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def defined() -> Iterator[Experiment]:
    """The experiments in the files of the package, whether or not they are registered."""
    for module in pkgutil.iter_modules(experiments.__path__):
        values = vars(import_module(f"{experiments.__name__}.{module.name}")).values()
        yield from (value for value in values if isinstance(value, Experiment))


def test_every_experiment_is_registered_under_its_name() -> None:
    assert {e.name for e in defined()} == EXPERIMENTS.keys()
    assert all(name == e.name and named(name) is e for name, e in EXPERIMENTS.items())
    assert {"vocabulary-size", "norm", "descriptors", "clustering-set"} <= EXPERIMENTS.keys()
    assert {"burst-functions", "burst-components", "burst-distractors"} <= EXPERIMENTS.keys()


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS.keys())
def test_every_experiment_is_complete(experiment: Experiment) -> None:
    assert experiment.question.endswith("?")
    assert experiment.paper in PAPERS
    assert experiment.table
    assert experiment.finding
    assert experiment.conditions
    assert experiment.differences
    assert set(experiment.datasets) <= FOLDERS.keys() <= DATASETS.keys()
    assert len(experiment.rows) >= 2
    assert len({row.label for row in experiment.rows}) == len(experiment.rows)
    systems = {(repr(row.recipe), row.vocabulary) for row in experiment.rows}
    assert len(systems) == len(experiment.rows)
    for published in (p for row in experiment.rows for p in row.published):
        assert published.paper in PAPERS
        assert published.place
        assert published.dataset
        score([["a"]], [Truth(frozenset("a"))], [published.measure], database=1)  # raises if it is not known


def test_the_two_papers_print_the_same() -> None:
    """CDM-07 table 1 has EER = N-S / 4 for the same systems, and table 2 the same ANR: a check on the reading."""
    eer = {1000: 0.724, 10000: 0.774, 20000: 0.781, 30000: 0.784}
    assert {words: round(4 * value, 2) for words, value in eer.items()} == {
        words: value for (source, words), (_, value, _, _) in cdm10.TABLE_I.items() if source == "corel"
    }
    assert round(4 * 0.669, 2) == cdm10.TABLE_III["corel", 30000, "L2"][1]
    l1 = [value for (_, _, norm), (_, value) in cdm10.TABLE_II.items() if norm == "L1"]
    assert l1 == [0.0522, 0.0476, 0.0468, 0.0416, 0.0321, 0.0240]
    assert cdm10.table_1("corel", 1000) == (replace(PRINTED, note=""),)
    assert cdm10.table_1("N-S", 20000) == ()


def test_the_two_tables_of_burst_09_print_the_same() -> None:
    """Table 2 #1 and table 3 #4 are one system: a check on the reading of the damaged table."""
    assert burst09.TABLE_3[4][2:] == burst09.TABLE_2["none"]
    for row, (kentucky, ns, *_) in burst09.TABLE_3.items():  # mAP and N-S / 4 are near each other on this set
        assert [n / 4 for n in ns] == pytest.approx(kentucky, abs=0.04), row
    assert {p.value for p in burst09.table_3(8)["MA"]} == {0.930, 3.64, 0.685, 0.848}
    assert [p.place for p in burst09.table_2("root-share")["SA"]] == ["table 2 #4", "table 2 #4"]


def test_rows_of_burst_09_differ_as_their_labels_say() -> None:
    scoring = {row.label: row.recipe.scoring for row in EXPERIMENTS["burst-components"].rows}
    for assignment in ("SA", "MA"):
        weights, intra = scoring[f"weights, {assignment}"], scoring[f"weights, intra, {assignment}"]
        assert weights == HammingOptions(sigma=16, threshold=24, intra="none", inter=False)
        assert isinstance(weights, HammingOptions)
        assert isinstance(intra, HammingOptions)
        assert scoring[f"weights, MMR, {assignment}"] == replace(weights, closest_only=True)
        assert intra == replace(weights, intra="root-share")
        assert scoring[f"weights, intra, inter, {assignment}"] == replace(intra, inter=True)
    for row in EXPERIMENTS["burst-components"].rows[:-1]:
        assert row.recipe.assign.neighbours == (1 if row.label.endswith("SA") else 10)
        assert bool(row.recipe.verify.shortlist) == ("SP" in row.label)
        assert not row.recipe.expand.results


def test_papers_are_repeated_with_dog_keypoints_and_words_of_these() -> None:
    """Whatever the default detector is: what was published of these experiments stays comparable."""
    for name, experiment in EXPERIMENTS.items():
        kinds = {(row.recipe.features.detector, row.vocabulary.features.detector) for row in experiment.rows}
        both = {("hessian-affine", "hessian-affine")} if name == "detectors" else set()
        assert kinds == {("sift", "sift")} | both, name


def test_ready_is_what_is_in_the_wheel() -> None:
    assert {Vocabulary.ready(detector).words for detector in DETECTORS} == {READY.words}


def test_samples_are_bounded() -> None:
    assert Learnt(words=1000, on="itself").options.sample == 40_000
    assert Learnt(words=20_000, on="itself").options.sample == 400_000


def test_vocabularies_of_other_kinds_are_learnt(data: Path, tmp_path: Path) -> None:
    kinds = {
        "tree": Learnt(words=16, on="distractors", branching=4),
        "PCA": Learnt(words=16, on="distractors", pca=8),
        "three": Learnt(words=16, on="distractors", vocabularies=3),
    }
    rows = tuple(Trial(label=label, recipe=RECIPES["bow-l1"], vocabulary=kind) for label, kind in kinds.items())
    outcome = run(replace(TINY, rows=rows), data=data, cache=tmp_path / "cache")
    assert all(figures["ukbench"]["ns"] > 3.0 for figures in outcome.figures.values())  # near copies; chance is 2
    learnt = [Vocabulary.load(path) for path in (tmp_path / "cache" / "vocabularies").iterdir()]
    assert {(v.words, v.tree is None, v.reduction is None) for v in learnt} == {
        (16, False, True),
        (16, True, False),
        (48, True, True),
    }
    assert len(list((tmp_path / "cache" / "indexes").glob("*.resight"))) == 3


def test_variants_differ_as_their_labels_say() -> None:
    rows = {row.label: row for row in EXPERIMENTS["cdm-variants"].rows}
    tree, reduced = rows["hierarchical, 10000 words, CDM"], rows["PCA, no CDM"]
    assert (tree.vocabulary.words, tree.vocabulary.branching) == (10_000, 10)
    assert [(p.place, p.value, p.note) for p in tree.published] == [("table III #1", 3.41, "")]
    assert reduced.vocabulary == replace(rows["L1, no CDM"].vocabulary, pca=36)
    assert [(p.place, p.value, p.note) for p in reduced.published] == [("table III #3", 3.01, "30000 words")]


def test_table_4_continues_table_1() -> None:
    """One vocabulary is no aggregation: the first rows are those of table I. More vocabularies or words never lose."""
    for (count, words), values in cdm10.TABLE_IV.items():
        if count == 1:
            assert values == (cdm10.TABLE_I["N-S", words][1], cdm10.TABLE_I["N-S", words][3])
        for other in ((3, words), (5, words), (9, words), (19, words), (count, 30000)):
            if other > (count, words):
                assert all(more >= less for more, less in zip(cdm10.TABLE_IV[other], values, strict=True))


def test_aggregation_differs_as_its_labels_say() -> None:
    rows = {row.label: row for row in EXPERIMENTS["cdm-aggregation"].rows}
    assert len(rows) == 2 * (3 + 2)
    with_cdm, without = rows["3 × 10000 words, CDM"], rows["3 × 10000 words, no CDM"]
    assert with_cdm.vocabulary == without.vocabulary == Learnt(words=10_000, on="itself", vocabularies=3)
    assert (with_cdm.recipe.context.method, without.recipe.context.method) == ("cdm", "none")
    assert [(p.place, p.value) for p in with_cdm.published] == [("table IV #5", 3.63)]
    assert [p.value for p in without.published] == [3.20]


def test_aggregation_runs(data: Path, tmp_path: Path) -> None:
    """Its rows with few words: an index for each number of vocabularies, and context terms for each vocabulary."""
    small = tuple(
        replace(row, vocabulary=replace(row.vocabulary, words=16), recipe=replace(row.recipe, context=context))
        for row in EXPERIMENTS["cdm-aggregation"].rows[:4]
        for context in [replace(row.recipe.context, neighbours=3)]
    )
    experiment = replace(EXPERIMENTS["cdm-aggregation"], rows=small)
    outcome = run(experiment, data=data, cache=tmp_path / "cache")
    assert all(figures["ukbench"]["ns"] > 3.0 for figures in outcome.figures.values())  # near copies; chance is 2
    indexes = [open_snapshot(path) for path in (tmp_path / "cache" / "indexes").glob("*.resight")]
    assert sorted(len(snapshot.manifest.contexts) for snapshot in indexes) == [1, 3]
    before = every_file(tmp_path / "cache")
    assert run(experiment, data=data, cache=tmp_path / "cache").figures == outcome.figures
    assert every_file(tmp_path / "cache") == before
    for snapshot in indexes:
        snapshot.close()


def test_unknown_name_lists_the_known() -> None:
    with pytest.raises(UsageError, match=r"unknown experiment 'nrom'; known: .*norm.*descriptors"):
        named("nrom")
    result = CliRunner().invoke(app, ["experiment", "nrom"])
    assert result.exit_code == 2
    assert "vocabulary-size" in result.stderr


def test_a_run_has_ours_and_theirs_and_is_not_repeated(data: Path, tmp_path: Path) -> None:
    outcome = run(TINY, data=data, cache=tmp_path / "cache")
    titles, rows = outcome.table()
    assert titles == ["", "CDM-10: N-S ns", "ours: ukbench ns"]
    assert [row[:2] for row in rows] == [
        ["L1, independent", "2.90 (#1, 1000 words)"],
        ["L2, independent", "–"],
        ["L1, itself", "–"],
    ]
    scores = [float(row[2]) for row in rows]
    assert all(1.0 <= s <= 4.0 for s in scores)
    assert max(scores) > 3.0  # near copies of three very different pictures; chance is 2
    assert outcome.trained_on == ("distractors (4 pictures)", "ukbench (12 pictures)")
    assert "searched: ukbench 12 pictures, 12 queries" in outcome.differences()
    assert outcome.notes == (f"holidays was left out: no folder {data / 'holidays'}",)
    assert outcome.skipped == ()

    before = every_file(tmp_path / "cache")
    vocabularies = sorted(path.name.rsplit("-", 1)[0] for path in before if path.parent.name == "vocabularies")
    assert vocabularies == ["distractors-16", "ukbench-32"]  # two rows share the first
    again = run(TINY, data=data, cache=tmp_path / "cache")
    assert every_file(tmp_path / "cache") == before
    assert again.figures == outcome.figures

    write(data / "distractors" / "0.png", texture(7, size=160))
    run(TINY, data=data, cache=tmp_path / "cache")
    after = every_file(tmp_path / "cache")
    assert before.items() <= after.items()
    assert len(list((tmp_path / "cache" / "vocabularies").iterdir())) == 3


def test_a_row_without_enough_descriptors_stays_empty(data: Path, tmp_path: Path) -> None:
    large = Trial(label="large", recipe=RECIPES["bow-l1"], vocabulary=Learnt(words=500_000, on="distractors"))
    outcome = run(replace(TINY, rows=(TINY.rows[0], large)), data=data, cache=tmp_path / "cache", limit=4)
    _, rows = outcome.table()
    assert rows[0][-1] != "–"
    assert rows[1] == ["large", "–", "–"]
    assert "no vocabulary of 500000 words from distractors" in outcome.notes[1]
    assert outcome.trained_on == ("distractors (4 pictures)",)
    assert len(outcome.datasets[0].images) == 4


def test_the_ready_vocabulary_is_not_learnt_and_distractors_are_searched(data: Path, tmp_path: Path) -> None:
    row = Trial(label="cosine", recipe=RECIPES["bow-cosine"], vocabulary=READY)
    experiment = replace(TINY, rows=(row,), distractors=(0, 3))
    outcome = run(experiment, data=data, cache=tmp_path / "cache")
    assert [(d.name, len(d.images), len(d.queries)) for d in outcome.datasets] == [
        ("ukbench", 12, 12),
        ("ukbench+3", 15, 12),
    ]
    assert outcome.table()[0] == ["", "ours: ukbench ns", "ours: ukbench+3 ns"]
    assert f"vocabularies learnt on: {Vocabulary.ready().description['source']}" in outcome.differences()
    assert not (tmp_path / "cache" / "vocabularies").exists()
    assert all(found["ns"] > 3.0 for found in outcome.figures["cosine"].values())  # near copies; chance is 2
    assert outcome.as_dict()["rows"][0]["vocabulary"] == "ready"

    few = run(replace(experiment, distractors=(9,)), data=data, cache=tmp_path / "cache", limit=4)
    assert [len(d.images) for d in few.datasets] == [8]


def test_pictures_that_cannot_be_read_are_named(data: Path, tmp_path: Path) -> None:
    (data / "distractors" / "1.png").write_bytes(b"no picture")
    outcome = run(replace(TINY, rows=TINY.rows[:2]), data=data, cache=tmp_path / "cache", limit=4)
    assert len(outcome.skipped) == 1
    assert "1.png" in outcome.skipped[0]


def test_missing_folders_are_named(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none of the folders ukbench, holidays; give --data or set"):
        run(TINY, data=tmp_path / "nowhere", cache=tmp_path / "cache")
    for path in (data / "distractors").iterdir():
        path.unlink()
    with pytest.raises(UsageError, match="distractors' has no pictures to learn vocabularies from"):
        run(TINY, data=data, cache=tmp_path / "cache")


def test_the_command(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = CliRunner().invoke(app, ["experiment"])
    assert listed.exit_code == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == list(EXPERIMENTS)
    assert json.loads(CliRunner().invoke(app, ["experiment", "--json"]).stdout).keys() == EXPERIMENTS.keys()

    monkeypatch.setitem(EXPERIMENTS, "tiny", TINY)
    monkeypatch.setenv("RESIGHT_DATA", str(data))
    options = ["--cache", str(tmp_path / "cache"), "--limit", "8", "--processes", "1"]
    shown = CliRunner().invoke(app, ["experiment", "tiny", *options])
    assert shown.exit_code == 0, shown.output
    for text in ("2.90 (#1, 1000 words)", "ours: ukbench ns", "CDM-10 has: 10200 pictures", CAUTION):
        assert text in shown.stdout
    assert "ours differ: searched: ukbench 8 pictures" in shown.stdout

    given = CliRunner().invoke(app, ["experiment", "tiny", *options, "--json", "--data", str(data)])
    values = json.loads(given.stdout)
    assert values["rows"][0]["published"] == [PRINTED.as_dict()]
    assert values["rows"][1]["published"] == []
    assert set(values["rows"][2]["ours"]["ukbench"]) >= {"ns", "map", "anr"}
    assert values["caution"] == CAUTION
    assert values["datasets"] == {"ukbench": {"images": 8, "queries": 8}}
