"""What an index keeps of descriptors, from the picture to the query that it is when it is read back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resight import Index
from resight.engine import LocalEngine
from resight.errors import OptionError, UsageError, VocabularyError
from resight.features import extract
from resight.images import from_array
from resight.options import ContextOptions, ExpandOptions, FeatureOptions, IndexingOptions, VerifyOptions
from resight.postings import encode
from resight.recipes import RECIPES, change
from resight.scoring import Query
from resight.search import SegmentGroup, quantise, stored_query
from resight.search.expand import _seen_in, _union
from resight.search.pipeline import rank
from resight.store import Snapshot, check, open_snapshot
from resight.timing import Stopwatch
from resight.types import Features
from resight.vocabulary import Assigner, Vocabulary, codes

from ..support.commands import run, run_json
from ..support.pictures import SIZE, Pixels, panorama, part, texture, wall_in_parts, write
from ..support.vocabularies import ready_in_thirds

KEEPS = ["nothing", "codes", "descriptors"]
BYTES = {"nothing": 0, "codes": 8, "descriptors": 128}
FEATURES = FeatureOptions(max_features=400)  # each is compared with each of every picture


def features(pixels: Pixels) -> Features:
    return extract(from_array(pixels, max_side=1024), options=FEATURES)


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A wall in three parts that overlap, and other pictures, with each kind of keeping; in two segments."""
    folder = tmp_path_factory.mktemp("kept")
    for keep in KEEPS:
        indexing = IndexingOptions(keep=keep)
        with Index.create(folder / f"{keep}.resight", features=FEATURES, indexing=indexing) as index:
            for key, pixels in wall_in_parts().items():
                index.add(pixels, key=key)
            index.commit()
            for seed in range(4):
                index.add(texture(50 + seed, size=SIZE), key=f"other {seed}")
    return {keep: folder / f"{keep}.resight" for keep in KEEPS}


@pytest.fixture(params=KEEPS)
def keep(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def snapshot(indexes: dict[str, Path], keep: str) -> Iterator[Snapshot]:
    with open_snapshot(indexes[keep]) as opened:
        yield opened


def asked(snapshot: Snapshot, key: str) -> Query:
    located = snapshot.locate(key)
    assert located
    return stored_query(snapshot, *located)


def test_an_index_says_what_it_keeps(indexes: dict[str, Path], keep: str) -> None:
    with Index.open(indexes[keep], indexing=IndexingOptions(keep=keep)) as index:
        assert (index.info().kept, index.info().settings.indexing.keep) == (BYTES[keep], keep)
        assert index.vocabulary.fingerprint == Vocabulary.ready(codes=keep == "codes").fingerprint
    assert check(indexes[keep]).problems == ()
    with pytest.raises(UsageError, match="make a new index for other options"):
        Index.open(indexes[keep], indexing=IndexingOptions(keep=KEEPS[KEEPS.index(keep) - 1]))


def test_a_stored_picture_asks_with_the_descriptors_it_was_indexed_with(snapshot: Snapshot, keep: str) -> None:
    """Features are known by their place and signature; exact descriptors, or those that their codes stand for."""
    found, made, vocabulary = asked(snapshot, "wall 1"), features(part(panorama(1), SIZE // 2)), snapshot.vocabulary
    words = Assigner(vocabulary).assign(made.descriptors)
    if keep == "nothing":
        assert found.known_features.descriptors.shape == (len(made), 0)
        assert found.descriptors is None
        return
    right: Any = made.descriptors
    if keep == "codes":
        right = codes.decode(vocabulary, codes.encode(vocabulary, made.descriptors, words.word), words.word)
    assert found.known_features.descriptors.dtype == right.dtype
    assert found.descriptors is found.known_features.descriptors

    def facts(words: Any, places: Features, descriptors: Any) -> list[tuple[Any, ...]]:
        place = encode(places).tolist()
        rows = zip(words.feature.tolist(), words.word.tolist(), words.signature.tolist(), strict=True)
        return sorted((word, signature, place[f], descriptors[f].tolist()) for f, word, signature in rows)

    assert facts(found.words, found.known_features, found.known_features.descriptors) == facts(words, made, right)


def test_rankings_do_not_depend_on_what_is_kept(indexes: dict[str, Path]) -> None:
    """Measures that do not look at it find the same; with it, removed and merged pictures too."""
    query = np.ascontiguousarray(panorama(1)[:, 60 : SIZE - 10])
    for recipe in ("expanded", "union", "bow-l1"):
        answers = []
        for keep in KEEPS:
            with Index.open(indexes[keep]) as index:
                by_key = index.search(key="wall 0", recipe=recipe).hits
                answers.append((index.search(query, recipe=recipe).hits, by_key))
        assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("weights", ["density", "idf", "fixed"])
@pytest.mark.parametrize("kind", ["average", "union"])
def test_nearest_descriptors_find_the_wall(indexes: dict[str, Path], keep: str, weights: str, kind: str) -> None:
    """Asked with a picture and with a stored one; verified, and asked again with what was found."""
    base = RECIPES["knn-exact" if keep == "descriptors" else "knn"]
    recipe = change(base, {"scoring": {"weights": weights}})
    recipe = replace(recipe, verify=VerifyOptions(), expand=ExpandOptions(kind=kind))
    query = np.ascontiguousarray(panorama(1)[:, 60 : SIZE - 10])
    with Index.open(indexes[keep]) as index:
        if keep == "nothing":
            with pytest.raises(UsageError, match=r"as codes, .* keeps nothing; search with another recipe"):
                index.search(query, recipe=recipe)
            with pytest.raises(UsageError, match=r"as codes, .* keeps nothing; search with another recipe"):
                index.search(key="wall 0", recipe=recipe)
            return
        assert {hit.key for hit in index.search(query, recipe=recipe).hits[:2]} == {"wall 0", "wall 1"}
        assert index.search(key="wall 0", recipe=recipe).hits[0].key == "wall 1"


def test_what_is_kept_must_be_what_the_recipe_compares(indexes: dict[str, Path]) -> None:
    query = np.ascontiguousarray(panorama(1)[:, 60 : SIZE - 10])
    for keep, recipe in (("descriptors", "knn"), ("codes", "knn-exact")):
        with Index.open(indexes[keep]) as index, pytest.raises(UsageError, match=f"keeps {keep}; search with another"):
            index.search(query, recipe=recipe)


def test_the_vocabulary_is_read_only_where_it_is_needed(snapshot: Snapshot, keep: str) -> None:
    asked(snapshot, "other 1")
    assert snapshot._vocabulary.cache_info().currsize == (keep != "nothing")


def test_a_union_has_the_descriptors_of_all(snapshot: Snapshot, keep: str) -> None:
    """Those of the query's own features as they are, then those of the results; none if the results have none."""
    recipe = replace(RECIPES["verified"], expand=ExpandOptions(kind="union"))
    made = features(np.ascontiguousarray(panorama(1)[:, 60 : SIZE - 10]))
    own = quantise(Assigner(snapshot.vocabulary), made, recipe.assign)
    candidates, _ = rank(SegmentGroup.local(snapshot), [own], count=5, recipe=recipe, watch=Stopwatch())
    found = [
        _seen_in(stored_query(snapshot, snapshot.segments[c.segment], c.row), [own], c.located, True)[0]
        for c in candidates
        if c.located
    ]
    assert len(found) >= 2
    union = _union([own, *found], recipe)
    assert (
        len(union.known_features.descriptors)
        == len(union.known_features)
        == sum(len(q.known_features) for q in (own, *found))
    )
    if keep == "nothing":
        assert union.descriptors is None
        return
    begin = 0
    for q in (own, *found):
        mine = union.known_features.descriptors[begin : begin + len(q.known_features)]
        assert np.array_equal(mine, q.known_features.descriptors)
        begin += len(q.known_features)
    assert union.words.code is None


def test_several_vocabularies_give_a_feature_its_descriptor_once(tmp_path: Path) -> None:
    thirds, indexing = ready_in_thirds(each=500), IndexingOptions(keep="descriptors")
    with Index.create(tmp_path / "i", vocabulary=thirds, features=FEATURES, indexing=indexing) as index:
        index.add(texture(3), key="a")
        index.commit()
        assert index.info().kept == 128
    with open_snapshot(tmp_path / "i") as snapshot:
        found, made = asked(snapshot, "a"), features(texture(3))
    assert len(found.known_features.descriptors) == len(made)
    rows = (sorted((*p, *d) for p, d in zip(encode(f).tolist(), f.descriptors.tolist(), strict=True))
            for f in (found.known_features, made))  # fmt: skip
    assert next(rows) == next(rows)


def test_several_processes_keep_the_same(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{seed}.png", texture(seed)) for seed in range(4)]
    kept = []
    for processes in (1, 2):
        folder = tmp_path / f"{processes}.resight"
        with Index.create(folder, indexing=IndexingOptions(keep="codes")) as index:
            assert not [o for o in index.add_files(paths, engine=LocalEngine(processes)) if o.skipped]
        with open_snapshot(folder) as snapshot:
            kept.append([asked(snapshot, str(path)).known_features.descriptors.tobytes() for path in paths])
    assert kept[0] == kept[1]
    assert len(set(kept[0])) == 4


def test_a_vocabulary_without_codebooks_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=r"cannot make codes; train one with"):
        Index.create(tmp_path / "i", vocabulary=Vocabulary.ready(), indexing=IndexingOptions(keep="codes"))
    with pytest.raises(OptionError):
        Index.create(tmp_path / "i", indexing=IndexingOptions(keep="codes", words=3))
    assert list(tmp_path.iterdir()) == []


def test_on_the_command_line(tmp_path: Path) -> None:
    """Own codes and the ready ones; what is kept is shown where something is."""
    (tmp_path / "pictures").mkdir()
    for seed in range(4):
        write(tmp_path / "pictures" / f"{seed}.png", texture(seed))
    pictures, own = tmp_path / "pictures", tmp_path / "own.npz"
    run("train", pictures, "--words", 40, "--out", own, "--processes", 1, "--set", "vocabulary.codes=16")
    for name, words, kept in (
        ("plain", (), 0),
        ("all", ("--set", "indexing.keep=descriptors"), 128),
        ("ready", ("--set", "indexing.keep=codes"), 8),
        ("own", ("--set", "indexing.keep=codes", "--vocabulary", own), 16),
    ):
        index = tmp_path / f"{name}.resight"
        run("index", pictures, "--into", index, "--processes", 1, *words)
        assert run_json("info", index)["kept"] == kept
        assert (f", {kept} bytes kept of each descriptor" in run("info", index)) == bool(kept)
        assert run_json("check", index)["problems"] == []
        hits = run_json("search", index, pictures / "3.png")["results"][0]["hits"]
        assert hits[0]["key"] == str(pictures / "3.png")
    run("index", pictures, "--into", tmp_path / "ready.resight", "--set", "indexing.keep=descriptors", code=2)


def test_no_context_for_nearest_descriptors(indexes: dict[str, Path]) -> None:
    recipe = replace(RECIPES["knn"], context=ContextOptions(method="cdm"))
    with Index.open(indexes["codes"]) as index:
        for attempt in (index.learn.context, lambda r: index.search(texture(50, size=SIZE), recipe=r)):
            with pytest.raises(UsageError, match=r"not for measure 'knn'; set context\.method=none"):
                attempt(recipe)


def test_an_index_for_a_recipe(tmp_path: Path) -> None:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for seed in range(3):
        write(pictures / f"{seed}.png", texture(seed))
    place, one = str(tmp_path / "i.resight"), ("--processes", 1)
    run("index", str(pictures), "--into", place, "--recipe", "knn", *one)
    assert run_json("info", place)["kept"] == 8
    (found,) = run_json("search", place, str(pictures / "1.png"), "--recipe", "knn")["results"]
    assert found["hits"][0]["key"].endswith("1.png")
    write(pictures / "3.png", texture(3))
    run("index", str(pictures), "--into", place, *one)  # goes on as it was made
    run("index", str(pictures), "--into", place, "--recipe", "knn", *one)
    assert run_json("info", place)["pictures"] == 4
    run("index", str(pictures), "--into", place, "--recipe", "knn-exact", code=2)
    both = str(tmp_path / "both.resight")
    run("index", str(pictures), "--into", both, "--recipe", "knn", "--set", "features.max_features=50", *one)
    made = run_json("info", both)["settings"]
    assert (made["indexing"]["keep"], made["features"]["max_features"]) == ("codes", 50)
