"""The report of small evaluations made by hand, with pictures made here."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import cv2
import numpy as np
import pytest
from matplotlib.figure import Figure

from resight.cli.evaluating import report_writer
from resight.errors import UsageError
from resight.evaluation.datasets.dataset import Dataset, Query
from resight.evaluation.measures import Truth, precision_recall, score
from resight.evaluation.neighbourhoods import diagnose, first_of, returned
from resight.evaluation.report import plots, write_report
from resight.evaluation.report.plots import interval
from resight.evaluation.results import Evaluation, Row
from resight.types import Region

ODD = "<b>&\"'.png"
VOID = {"meta", "img"}


def picture(path: Path, *, width: int = 40, height: int = 30) -> Path:
    pixels = np.random.default_rng(len(path.name)).integers(0, 255, (height, width, 3), np.uint8)
    path.write_bytes(cv2.imencode(".png", pixels)[1].tobytes())
    return path


def make_dataset(root: Path, names: Sequence[str], truths: Mapping[str, Truth], *, measures: Sequence[str]) -> Dataset:
    root.mkdir(exist_ok=True)
    paths = {name: picture(root / name) for name in names}
    queries = tuple(Query(name=f"find {n}", key=n, path=paths[n], truth=truth) for n, truth in truths.items())
    return Dataset(name=root.name, root=root, images=tuple(paths.items()), queries=queries, measures=tuple(measures))


def evaluate(dataset: Dataset, answers: Mapping[str, Sequence[Sequence[str]]]) -> Evaluation:
    """What the runner would have found had recipes given these rankings."""
    truths, rows = [query.truth for query in dataset.queries], []
    for number, (recipe, rankings) in enumerate(answers.items(), 1):
        scores = score(rankings, truths, dataset.measures, database=len(dataset.images))
        rows.append(
            Row(
                recipe=recipe,
                means=scores.means,
                per_query=scores.per_query,
                rankings=tuple(tuple(ranking) for ranking in rankings),
                precision_recall=precision_recall(rankings, truths),
                reliability=np.zeros((0, 2)) if number > 1 else np.array([[0.95, 1.0], [0.05, 0.0]] * 12),
                query_ms=12.34 * number,
                bytes_per_image=12345.6 * number,
            )
        )
    return Evaluation(
        dataset=dataset, rows=tuple(rows), trained_on="7 trees", skipped=(), seconds=75, peak_memory=300 << 20
    )


def render(folder: Path, *evaluations: Evaluation) -> str:
    return write_report(evaluations, folder / "out" / "deep").read_text(encoding="utf-8")


def framed(page: str) -> list[tuple[str, str, str]]:
    """(kind of frame, words below, key) of every picture of the strips."""
    return re.findall(r'<li class="(\w+)">.*?<b>(.*?)</b> <span class="key">(.*?)</span>', page)


@pytest.fixture
def letters(tmp_path: Path) -> Evaluation:
    """Pictures a … j; a and b belong together with j, and c is neither right nor wrong for b."""
    truths = {"a": Truth(frozenset("abj")), "b": Truth(frozenset("aj"), frozenset("bc"))}
    dataset = make_dataset(tmp_path / "letters", "abcdefghij", truths, measures=("map", "ns", "anr", "recall@1"))
    return evaluate(dataset, {"good": ["abjcdefghi", "bajcdefghi"], "bad": ["adbefghij", "cdbaefghi"]})


class Reader(HTMLParser):
    """Checks that tags are balanced, and collects addresses and table heads."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "srcset")]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        assert tag != "img" or "alt" in dict(attrs)
        assert tag != "th" or "scope" in dict(attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def test_one_file_that_needs_no_other(tmp_path: Path, letters: Evaluation) -> None:
    page = render(tmp_path, letters, letters)
    assert [p.name for p in (tmp_path / "out" / "deep").iterdir()] == ["index.html"]
    assert "http://" not in page
    assert "https://" not in page
    assert "@import" not in page
    assert set(re.findall(r"url\((.)", page)) <= {"#"}
    reader = Reader(page)
    assert reader.open == []
    assert not {"script", "link", "iframe", "object"} & set(reader.tags)
    assert all(a.startswith(("data:image/jpeg;base64,", "#")) for a in reader.addresses)
    assert {a[1:] for a in reader.addresses if a.startswith("#")} <= set(reader.ids)
    first, second = re.findall(r'<section id="set-\d">(.*?)</section>', page, re.DOTALL)
    assert first == second  # nothing in it depends on when or how often it is made


def test_every_recipe_and_every_figure_appears(tmp_path: Path, letters: Evaluation) -> None:
    page = render(tmp_path, letters)
    text = re.sub(r"<[^>]*>", " ", page)
    for row in letters.rows:
        assert re.search(f'<th scope="row">{row.recipe}</th>', page)
        for measure, value in row.means.items():
            assert re.search(f'<th scope="col">{measure}</th>', page)
            assert f"{value:.3f}" in text
        assert f"{row.query_ms:.1f}" in text
        assert f"{row.bytes_per_image:,.0f}" in text
    for fact in ("7 trees", "1 min 15 s", "300 MiB"):
        assert fact in text
    assert page.count('<svg class="plot"') == 4
    assert "Summary" not in page


def test_the_best_of_each_column_is_marked(tmp_path: Path, letters: Evaluation) -> None:
    first, second = letters.rows
    alike = replace(letters, rows=(first, replace(second, query_ms=1, bytes_per_image=first.bytes_per_image)))
    good, bad = re.findall(r'<tr><th scope="row">\w+</th>(.*?)</tr>', render(tmp_path, alike))
    marked = [["★" in cell for cell in line.split("</td>")[:-1]] for line in (good, bad)]
    # map, ns, anr (lower is better), recall@1, time, bytes (equal: none is best)
    assert marked == [[True, True, True, True, False, False], [False, False, False, False, True, False]]


def test_right_wrong_and_junk_are_framed(tmp_path: Path, letters: Evaluation) -> None:
    page = render(tmp_path, replace(letters, rows=letters.rows[::-1]))  # strips are of the first recipe: "bad"
    kinds = framed(page)
    second = [("query", "query", "b"), ("junk", "– not counted", "c"), ("wrong", "1 ✗ wrong", "d")]
    second += [("junk", "– the query itself", "b"), ("right", "2 ✓ right", "a"), ("wrong", "3 ✗ wrong", "e")]
    second += [("wrong", "4 ✗ wrong", "f"), ("missed", "first missed: not returned", "j")]
    first = [("query", "query", "a"), ("right", "1 ✓ right", "a"), ("wrong", "2 ✗ wrong", "d")]
    first += [("right", "3 ✓ right", "b"), ("wrong", "4 ✗ wrong", "e"), ("wrong", "5 ✗ wrong", "f")]
    first += [("wrong", "6 ✗ wrong", "g"), ("missed", "first missed: rank 9", "j")]
    assert kinds == second + first  # the worst first
    assert page.index("find b") < page.index("find a")
    assert page.count("data:image/jpeg") == len(kinds)


def test_a_perfect_answer_misses_nothing(tmp_path: Path, letters: Evaluation) -> None:
    assert {kind for kind, _, _ in framed(render(tmp_path, letters))} == {"query", "right", "wrong", "junk"}


def test_only_the_worst_queries_are_shown(tmp_path: Path) -> None:
    names = [f"{i}.png" for i in range(12)]
    truths = {name: Truth(frozenset({name})) for name in names}
    dataset = make_dataset(tmp_path / "many", names, truths, measures=("anr",))
    rankings = []
    for i, name in enumerate(names):
        others = [n for n in names if n != name]
        rankings.append([*others[:i], name, *others[i:]])  # query i is found at rank i + 1
    page = render(tmp_path, evaluate(dataset, {"one": rankings}))
    assert re.findall(r"<h4>find (\d+)", page) == [str(i) for i in range(11, 3, -1)]
    assert page.count(" ★") == 1  # only that of the caption: one recipe is not the best of anything


def test_names_are_escaped(tmp_path: Path) -> None:
    truths = {ODD: Truth(frozenset({"b.png"}), frozenset({ODD}))}
    dataset = make_dataset(tmp_path / "<i>&", [ODD, "b.png"], truths, measures=("map",))
    found = evaluate(dataset, {'<u>$x_"&': [[ODD, "b.png"]], "猫$": [["b.png"]]})
    page = render(tmp_path, replace(found, trained_on="<s>", skipped=("<em>",)))
    for raw in ("<b>&", "<i>", "<u>", "<s>", "<em>"):
        assert raw not in page
    assert "&lt;b&gt;&amp;&quot;&#x27;.png" in page
    assert '<th scope="row">&lt;u&gt;$x_&quot;&amp;</th>' in page
    assert '<th scope="row">猫$</th>' in page
    assert Reader(page).open == []


def test_keys_that_are_no_text(tmp_path: Path) -> None:
    key = os.fsdecode(b"caf\xe9\n.png")
    truths = {key: Truth(frozenset({key}))}
    dataset = make_dataset(tmp_path / "bytes", [key, "b.png"], truths, measures=("map",))
    page = render(tmp_path, evaluate(dataset, {"\udce9": [[key]]}))
    assert "caf\\udce9\\n.png" in page
    assert page.count("data:image/jpeg") == 2


def test_unreadable_pictures_become_placeholders(tmp_path: Path, letters: Evaluation) -> None:
    (tmp_path / "letters" / "a").write_bytes(b"no picture")
    (tmp_path / "letters" / "j").unlink()
    page = render(tmp_path, replace(letters, skipped=("'a' holds an unknown kind of file",)))
    assert page.count(">cannot be read</span>") == 5  # a: the query, found twice; j: found twice
    assert "1 skipped" in page
    assert re.search(r'aria-label="1 ✓ right: a"><span class="unreadable" title="[^"]*unknown kind of file', page)


def test_a_query_that_found_nothing(tmp_path: Path, letters: Evaluation) -> None:
    found = evaluate(letters.dataset, {"none": [(), ()]})
    page = render(tmp_path, replace(found, rows=(replace(found.rows[0], query_ms=0.0),)))
    assert page.count("nothing was returned") == 2
    assert [kind for kind, _, _ in framed(page)] == ["query", "missed"] * 2


def test_the_region_of_a_query_is_drawn_in_full_size_pixels(tmp_path: Path) -> None:
    dataset = make_dataset(tmp_path / "boxes", ["a", "b"], {"a": Truth(frozenset("b"))}, measures=("map",))
    picture(tmp_path / "boxes" / "a", width=800, height=600)
    query = replace(dataset.queries[0], region=Region(10, 20.5, 300, 400))
    page = render(tmp_path, evaluate(replace(dataset, queries=(query,)), {"one": ["b"]}))
    assert '<svg class="region" viewBox="0 0 800 600"><rect x="10" y="20.5" width="300" height="400"/></svg>' in page
    assert page.count('class="region"') == 1
    assert 'width="160" height="120"' in page  # the thumbnail


def test_several_datasets_are_summed_up(tmp_path: Path, letters: Evaluation) -> None:
    other = make_dataset(tmp_path / "other", ["x", "y"], {"x": Truth(frozenset("y"))}, measures=("anr", "map"))
    page = render(tmp_path, letters, evaluate(other, {"bad": ["y"], "third": ["xy"]}))
    summary = page[page.index("Summary") : page.index('id="set-1"')]
    assert re.findall('<th scope="col">(.*?)</th>', summary) == ["recipe", "letters: map", "other: anr"]
    cells = [re.findall("<td.*?>(.*?)</td>", line) for line in re.findall("<tr><th scope=.row.*?</tr>", summary)]
    values = [[re.sub(" <.*", "", cell) for cell in line] for line in cells]
    assert values == [["1.000", "–"], [f"{letters.rows[1].means['map']:.3f}", "0.000"], ["–", "0.500"]]
    assert ["★" in "".join(line) for line in cells] == [True, True, False]
    assert 'id="set-2"' in page


def test_the_interval_is_that_of_the_mean() -> None:
    assert interval(np.full(9, 0.25)) == (0.25, 0.25)
    low, high = interval(np.repeat([0.0, 1.0], 200))  # the mean of 400 coins: 0.5 ± 1.96 · 0.5 / √400
    assert low == pytest.approx(0.451, abs=0.008)
    assert high == pytest.approx(0.549, abs=0.008)
    assert interval(np.arange(30.0)) == interval(np.arange(30.0))


def test_a_folder_that_cannot_be_written(tmp_path: Path, letters: Evaluation) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(UsageError, match=r"cannot write .*index\.html.*; name another folder"):
        render(tmp_path, letters)


def test_how_often_pictures_are_returned(tmp_path: Path, letters: Evaluation) -> None:
    """Drawn where every picture was a query, with one line for each recipe."""
    assert "How often pictures are returned" not in render(tmp_path, letters)
    names = [*"abcd"]
    dataset = make_dataset(tmp_path / "all", names, {n: Truth(frozenset(n)) for n in names}, measures=("map",))
    found = evaluate(dataset, {"star": ["ab", "ba", "ca", "da"], "ring": ["ab", "bc", "cd", "da"]})
    near = [first_of(names, row.rankings) for row in found.rows]
    rows = [replace(row, means=row.means | diagnose(n)) for row, n in zip(found.rows, near, strict=True)]
    page = render(tmp_path, replace(found, rows=tuple(rows)))
    assert page.count("How often pictures are returned") == 1
    assert "others: star at most 3, ring at most 1" in page
    axes = Figure().add_subplot()
    plots.draw_returned(axes, [(row.recipe, returned(n)) for row, n in zip(rows, near, strict=True)])
    drawn = {str(line.get_label()): np.asarray(line.get_ydata()).tolist() for line in axes.lines[:2]}
    assert drawn == {"star": [3, 1, 0, 0], "ring": [1, 1, 1, 1]}
    assert axes.get_ylim()[0] < 0  # what is never seen is drawn as well


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    assert report_writer() is write_report
    for name in [n for n in sys.modules if n.startswith("resight.evaluation.report")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"needs matplotlib.*pip install resight\[report\]"):
        report_writer()


def test_reliability_by_tenths_of_confidence() -> None:
    sure = np.array([[0.92, 1.0]] * 9 + [[1.0, 0.0]])
    half = np.array([[0.5, 1.0]] * 5 + [[0.58, 0.0]] * 5)
    few = np.array([[0.1, 1.0]] * 9)
    confidence, right = plots.reliability_bins(np.concatenate([sure, few, half]))
    assert confidence == pytest.approx([0.54, 0.928])
    assert right == pytest.approx([0.5, 0.9])
    assert [len(values) for values in plots.reliability_bins(np.zeros((0, 2)))] == [0, 0]
