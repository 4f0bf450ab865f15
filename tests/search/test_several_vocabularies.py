"""An index of three vocabularies finds what three indexes of one vocabulary each agree on, whatever happens to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resight import Index
from resight.context import stored_names
from resight.errors import UsageError
from resight.options import AggregateOptions, ExpandOptions, FeatureOptions, StoreOptions
from resight.recipes import RECIPES, Recipe
from resight.search import stored_query
from resight.store import Writer, check, create, open_snapshot
from resight.store import manifest as manifests
from resight.types import Region
from resight.vocabulary import Vocabulary, spans

from ..support.pictures import SIZE, Pixels, panorama, texture, wall_in_parts, write
from ..support.stored import NO_DETECTOR, QuickDisk, entry, leftovers, vocabulary
from ..support.vocabularies import learnt_from, one_of, ready_in_thirds

UNVERIFIED = ["bow-l1", "bow-l2", "bow-cosine", "bow-burst", "bow-negative", "bow-asymmetric", "hamming", "burst"]
FEATURES = FeatureOptions(max_features=150)
EACH = 50  # words


def mixed(seed: int) -> Pixels:
    """Something of two textures of a few, so that all pictures have something in common with some others."""
    first, second = (texture(number, size=160, grain=8) for number in (seed % 4, 4 + seed % 3))
    noise = np.random.default_rng(seed).integers(0, 40, first.shape, dtype=np.uint8)
    return np.asarray(first // 3 + second // 3 + noise, dtype=np.uint8)


@pytest.fixture(scope="module")
def three() -> Vocabulary:
    return learnt_from(map(mixed, range(12)), features=FEATURES, words=EACH, vocabularies=3)


class Twins:
    """An index of three vocabularies, and an index for each of them, to all of which the same happens."""

    def __init__(self, folder: Path, three: Vocabulary) -> None:
        def made(name: str, vocabulary: Vocabulary) -> Index:
            index = Index.create(folder / name, features=FEATURES, vocabulary=vocabulary)
            index.store = StoreOptions(merge_factor=1000)
            return index

        self.several = made("several.resight", three)
        self.singles = [made(f"{v}.resight", one_of(three, v)) for v in range(3)]

    def each(self, act: Callable[[Index], object]) -> None:
        for index in (self.several, *self.singles):
            act(index)

    def add(self, *seeds: int) -> None:
        def act(index: Index) -> None:
            for seed in seeds:
                index.add(mixed(seed), key=f"{seed:02d}")
            index.commit()

        self.each(act)

    def reopen(self) -> None:
        self.each(Index.close)
        self.several = Index.open(self.several.path)
        self.singles = [Index.open(index.path) for index in self.singles]

    def expected(self, recipe: Recipe, depth: int = 1000, **asked: Any) -> list[str]:
        """What the three agree on, from their scores, in plain Python."""
        ranks: list[dict[str, float]] = []
        for index in self.singles:
            scores = {hit.key: hit.score for hit in index.search(*asked.get("sources", ()), recipe=recipe, top=99,
                                                                 key=asked.get("key")).hits}  # fmt: skip
            places = {key: 1 + sum(other > score for other in scores.values()) for key, score in scores.items()}
            ranks.append({key: place for key, place in places.items() if place <= depth})
        votes = next(n for n in (1, 2, 3) if n >= 3 * recipe.aggregate.quantile)
        order = []
        for key in set().union(*ranks):
            mine = sorted(r.get(key, inf) for r in ranks)
            known = [rank for rank in mine if rank < inf]
            if mine[votes - 1] < inf:
                order.append((mine[votes - 1], 3 - len(known), sum(known), key))
        return [key for *_, key in sorted(order)]

    def agree(self, recipe: str | Recipe, *sources: Pixels, key: str | None = None) -> list[str]:
        chosen = RECIPES[recipe] if isinstance(recipe, str) else recipe
        found = [hit.key for hit in self.several.search(*sources, key=key, recipe=chosen, top=99).hits]
        assert found == self.expected(chosen, sources=sources, key=key)
        return found


@pytest.fixture
def twins(tmp_path: Path, three: Vocabulary) -> Twins:
    return Twins(tmp_path, three)


def without(*keys: str) -> Callable[[Index], None]:
    """Removes these pictures."""

    def act(index: Index) -> None:
        for key in keys:
            index.remove(key)
        index.commit()

    return act


def disagree(twins: Twins, recipe: str, source: Pixels) -> bool:
    found = [tuple(hit.key for hit in index.search(source, recipe=recipe).hits) for index in twins.singles]
    return len(set(found)) > 1


def test_a_life(twins: Twins) -> None:
    """Added in three commits, searched, removed, merged, reopened: always what three indexes agree on."""
    twins.add(*range(5))
    twins.add(5, 6)
    twins.add(*range(7, 12))
    query = mixed(20)
    assert any(disagree(twins, recipe, query) for recipe in UNVERIFIED)
    for recipe in UNVERIFIED:
        assert len(twins.agree(recipe, query)) > 6
        twins.agree(recipe, key="06")
        twins.agree(recipe, query, mixed(21), key="09")
    twins.each(without("03", "07"))
    for recipe in UNVERIFIED:
        assert not {"03", "07"} & set(twins.agree(recipe, query))
    twins.each(Index.merge)
    twins.reopen()
    for recipe in UNVERIFIED:
        twins.agree(recipe, query)
    assert check(twins.several.path).problems == ()


@pytest.mark.parametrize("recipe", ["context-l1", "context"])
def test_contexts_of_each(twins: Twins, recipe: str) -> None:
    """Learnt, used, kept by merges, given to later pictures, forgotten: all three at once."""
    twins.add(*range(6))
    twins.add(*range(6, 10))
    with pytest.raises(UsageError, match="no context terms"):
        twins.several.search(mixed(20), recipe=recipe)
    twins.each(lambda index: index.learn.context(recipe))
    assert twins.several.info().contexts == [recipe]
    names = list(open_snapshot(twins.several.path).manifest.contexts)
    assert names == stored_names(names[0].partition("-")[0], 3)
    twins.agree(recipe, mixed(20))
    twins.add(10, 11)
    twins.each(without("02"))
    twins.agree(recipe, mixed(21))
    twins.each(Index.merge)
    twins.reopen()
    assert "11" in twins.agree(recipe, mixed(11))
    assert check(twins.several.path).problems == ()
    assert leftovers(twins.several.path) == set()
    with open_snapshot(twins.several.path) as several:
        for name, index in zip(names, twins.singles, strict=True):
            with open_snapshot(index.path) as single:
                (terms,) = single.segments[0].terms.values()
                assert several.segments[0].terms[name].tolist() == terms.tolist()
    assert twins.several.learn.forget_context(recipe)
    assert not twins.several.learn.forget_context(recipe)
    assert twins.several.info().contexts == []
    assert leftovers(twins.several.path) == set()


def test_own_contexts_are_forgotten_by_name(twins: Twins) -> None:
    twins.add(*range(4))
    own = replace(RECIPES["context-l1"], context=replace(RECIPES["context-l1"].context, neighbours=2))
    references = twins.several.learn.context(own)
    assert [r.segment.pictures for r in references] == [4, 4, 4]
    twins.several.learn.context("context-l1")
    shown = twins.several.info().contexts
    assert shown[1:] == ["context-l1"]
    assert shown[0].startswith("own recipe, ")
    assert twins.several.learn.forget_context(shown[0].removeprefix("own recipe, "))
    assert twins.several.info().contexts == ["context-l1"]


@pytest.mark.parametrize("quantile", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("depth", [3, 1000])
def test_quantile_and_depth(twins: Twins, quantile: float, depth: int) -> None:
    twins.add(*range(12))
    recipe = replace(RECIPES["bow-l1"], aggregate=AggregateOptions(quantile=quantile, depth=depth))
    found = [hit.key for hit in twins.several.search(mixed(20), recipe=recipe, top=3).hits]
    assert found == twins.expected(recipe, sources=(mixed(20),), depth=depth)[:3]
    scores = [hit.score for hit in twins.several.search(mixed(20), recipe=recipe, top=3).hits]
    assert scores[0] == 1
    assert scores == sorted(scores, reverse=True)


def test_geometry_is_that_of_the_first_vocabulary(twins: Twins) -> None:
    """A match does not count three times, and confidence is judged by scores, not by places."""
    twins.add(*range(8), 16)  # 4 and 16 show the same
    for asked in ({"sources": (mixed(4),)}, {"sources": (), "key": "04"}):
        sources, key = asked["sources"], asked.get("key")
        assert isinstance(sources, tuple)
        several, first = (
            index.search(*sources, key=key, recipe="verified", top=99)  # type: ignore[arg-type]
            for index in (twins.several, twins.singles[0])
        )
        assert several.query_features == first.query_features
        known = {hit.key: hit for hit in first.hits}
        assert {hit.key for hit in several.hits if hit.inliers} >= {"16"}
        for hit in several.hits:
            assert (hit.inliers, hit.transform, hit.confidence) == (
                known[hit.key].inliers,
                known[hit.key].transform,
                known[hit.key].confidence,
            )


def test_features_are_counted_once(twins: Twins) -> None:
    twins.add(*range(4))
    twins.each(without("02"))
    several, first = (index.info() for index in (twins.several, twins.singles[0]))
    assert (several.features, several.words, several.vocabularies) == (first.features, 3 * EACH, 3)
    assert check(twins.several.path).features == first.features
    rows = [index.get("01") for index in (twins.several, twins.singles[0])]
    assert rows[0]
    assert rows[1]
    assert rows[0].features == rows[1].features == min(rows[0].features, 150)
    assert twins.several.get("02") is None


def test_also_where_a_picture_is_known_by_its_content(tmp_path: Path, three: Vocabulary) -> None:
    data = write(tmp_path / "a.png", texture(1)).read_bytes()
    with Index.create(tmp_path / "i.resight", vocabulary=three) as index:
        index.add(data, key="a")
        index.commit()
        assert index.with_content(data) == index.get("a")


def test_a_stored_picture_asks_what_it_asks_in_each(twins: Twins) -> None:
    twins.add(0, 1)
    snapshots = [open_snapshot(index.path) for index in (twins.several, *twins.singles)]

    def query(number: int) -> Any:
        located = snapshots[number].locate("01")
        assert located
        return stored_query(snapshots[number], *located)

    several = query(0)
    assert np.all(np.diff(several.words.feature) >= 0)
    for v, span in enumerate(spans(3 * EACH, 3)):
        mine, single = several.within(span), query(1 + v)
        assert len(several) == len(mine) == len(single) == len(several.features)

        def facts(q: Any) -> list[tuple[Any, ...]]:
            f, rows = q.features, zip(q.words.feature, q.words.word, q.words.signature, strict=True)
            return sorted((*f.xy[i], f.scale[i], f.angle[i], word, signature) for i, word, signature in rows)

        assert facts(mine) == facts(single)
    for snapshot in snapshots:
        snapshot.close()


# --- walls: several queries, regions, expansion


@pytest.fixture(scope="module")
def walls(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """A wall in three parts that overlap by half, and other pictures; in two segments. Each word is in one of three."""
    index = Index.create(tmp_path_factory.mktemp("walls") / "i.resight", vocabulary=ready_in_thirds())
    for key, pixels in wall_in_parts().items():
        index.add(pixels, key=key)
    index.commit()
    for seed in range(8):
        index.add(texture(50 + seed, size=SIZE), key=f"other {seed}")
    index.commit()
    return index


def test_several_pictures_and_regions(walls: Index) -> None:
    wall = panorama(1)
    ends = [np.ascontiguousarray(wall[:, a:b]) for a, b in ((20, SIZE - 10), (SIZE + 10, 2 * SIZE - 20))]
    both = walls.search(*ends, recipe="verified")
    assert {hit.key for hit in both.hits[:3]} == {"wall 0", "wall 1", "wall 2"}
    left = walls.search(key="wall 1", region=Region(0, 0, SIZE / 2 - 10, SIZE))
    assert "wall 0" in {hit.key for hit in left.hits if hit.inliers}
    assert 0 < left.query_features < walls.search(key="wall 1").query_features


@pytest.mark.parametrize("kind", ["average", "union"])
def test_expansion(walls: Index, kind: str) -> None:
    """The query ends before the third part begins; the second leads on to it."""
    query = np.ascontiguousarray(panorama(1)[:, 60 : SIZE - 10])
    recipe = replace(RECIPES["expanded"], expand=ExpandOptions(kind=kind))
    hits = walls.search(query, recipe=recipe).hits
    assert {hit.key for hit in hits[:2]} == {"wall 0", "wall 1"}
    assert hits[2].key == "wall 2"
    assert all(0 <= (hit.confidence or 0) <= 1 for hit in hits)
    assert max(hit.confidence or 0 for hit in hits if hit.key.startswith("other")) < 0.2
    assert (hits[0].confidence or 0) > 0.9


def test_an_empty_index_and_an_empty_picture(tmp_path: Path, three: Vocabulary) -> None:
    with Index.create(tmp_path / "i.resight", vocabulary=three) as index:
        for recipe in ("bow-l1", "expanded"):
            assert not index.search(texture(1), recipe=recipe).hits
            assert not index.search(texture(1), texture(2), recipe=recipe).hits
        index.add(np.full((50, 50), 128, np.uint8), key="grey")
        index.add(texture(1), key="texture")
        index.commit()
        for recipe in ("bow-l1", "expanded"):
            assert [hit.key for hit in index.search(texture(1), recipe=recipe).hits] == ["texture"]
            assert not index.search(key="grey", recipe=recipe).hits


# --- the store


def test_words_must_be_of_all_vocabularies(tmp_path: Path) -> None:
    create(tmp_path / "i", replace(vocabulary(), vocabularies=3), features=NO_DETECTOR, disk=QuickDisk())
    with (
        Writer(tmp_path / "i", disk=QuickDisk()) as writer,
        pytest.raises(UsageError, match="more words in one of this index's 3 vocabularies than in another"),
    ):
        writer.add(entry("uneven", 1))


def test_check_compares_the_number_of_vocabularies(tmp_path: Path) -> None:
    create(tmp_path / "i", replace(vocabulary(), vocabularies=3), features=NO_DETECTOR, disk=QuickDisk())
    assert check(tmp_path / "i").problems == ()
    manifest = manifests.read(tmp_path / "i")
    assert manifest.settings.vocabularies == 3
    forged = replace(manifest, settings=replace(manifest.settings, vocabularies=1))
    manifests.write(tmp_path / "i", forged, QuickDisk())
    assert check(tmp_path / "i").problems == ("12 words in 3 vocabularies, 12 in 1 recorded",)


def test_segments_do_not_matter(tmp_path: Path, three: Vocabulary) -> None:
    orders = {"one": [range(10)], "four": [range(7, 10), range(3), range(5, 7), range(3, 5)]}
    found = {}
    for name, batches in orders.items():
        with Index.create(tmp_path / f"{name}.resight", features=FEATURES, vocabulary=three) as index:
            for batch in batches:
                for seed in batch:
                    index.add(mixed(seed), key=f"{seed:02d}")
                index.commit()
            found[name] = [index.search(mixed(20), recipe=recipe).hits for recipe in (*UNVERIFIED, "expanded")]
    assert found["one"] == found["four"]
