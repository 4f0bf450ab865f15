"""An evaluation from folder to figures, its caches, and the recipes that drive it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resight.errors import ImageError, OptionError, UsageError, VocabularyError
from resight.evaluation.datasets import Dataset, load
from resight.evaluation.runner import Runner, parse_sets
from resight.features import extract
from resight.images import from_array
from resight.index import Index
from resight.options import FeatureOptions, HammingOptions, IndexingOptions, Options, VocabularyOptions, to_dict
from resight.recipes import DEFAULT, RECIPES, STAGES, recipe
from resight.recipes import write as write_recipe
from resight.store import read_manifest
from resight.vocabulary import Vocabulary, train

from ..support.pictures import texture, write


@pytest.fixture(scope="module")
def words() -> Vocabulary:
    """A small vocabulary of textures that are in no dataset."""
    pictures = (from_array(texture(seed), max_side=400) for seed in (90, 91, 92))
    found = [extract(picture, options=FeatureOptions()).descriptors.astype(np.uint8) for picture in pictures]
    return train(np.concatenate(found), options=VocabularyOptions(words=64, iterations=4, codes=8), source="textures")


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    """UKbench's layout: three objects, four views (crops) each."""
    folder = tmp_path / "ukbench"
    folder.mkdir()
    for number in range(12):
        whole, shift = texture(number // 4, size=280, grain=20), 10 * (number % 4)
        write(folder / f"ukbench{number:05d}.jpg", whole[shift : shift + 220, shift : shift + 220])
    return load("ukbench", folder)


def test_figures_equal_those_of_searching_by_hand(dataset: Dataset, words: Vocabulary, tmp_path: Path) -> None:
    recipes = {name: recipe for name, recipe in RECIPES.items() if name != "learnt"}
    found = Runner(cache=tmp_path / "cache", vocabulary=words).evaluate(dataset, recipes)
    assert [row.recipe for row in found.rows] == list(recipes)
    assert found.trained_on == "textures"
    for row in found.rows:
        chosen = RECIPES[row.recipe]
        folder = tmp_path / f"{chosen.indexing.words}-{chosen.indexing.keep}.resight"
        if not folder.exists():
            with Index.create(folder, vocabulary=words, indexing=chosen.indexing) as new:
                for key, path in dataset.images:
                    new.add(path, key=key)
        with Index.open(folder) as index:
            if chosen.context.method != "none":
                index.learn.context(chosen)
            if chosen.links.steps:
                index.learn.links()
            by_hand = tuple(
                tuple(hit.key for hit in index.search(query.path, top=12, recipe=chosen).hits)
                for query in dataset.queries
            )
            assert row.rankings == by_hand
            truths = [query.truth.relevant for query in dataset.queries]
            right = [sum(key in t for key in ranked[:4]) for t, ranked in zip(truths, by_hand, strict=True)]
            assert row.means["ns"] == pytest.approx(sum(right) / 12)
    assert found.rows[0].means["ns"] == 4
    assert list(found.rows[0].means) == ["ns", "map", "eer", "anr", "reversibility", "never-seen", "most-returned"]


def test_what_has_to_be_learnt_first_is_refused(dataset: Dataset, words: Vocabulary, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="learn-splits"):
        Runner(cache=tmp_path / "cache", vocabulary=words).evaluate(dataset, {"learnt": RECIPES["learnt"]})


def test_a_second_run_extracts_and_indexes_nothing(dataset: Dataset, words: Vocabulary, tmp_path: Path) -> None:
    cache = tmp_path / "cache"

    def times() -> dict[Path, int]:
        return {p: p.stat().st_mtime_ns for p in cache.rglob("*") if p.is_file()}

    chosen = {"hamming": RECIPES["hamming"]}
    first = Runner(cache=cache, vocabulary=words).evaluate(dataset, chosen)
    before = times()
    assert len([p for p in before if p.suffix == ".npz" and p.parent.parent.parent.name == "features"]) == 12
    second = Runner(cache=cache, vocabulary=words).evaluate(dataset, {**chosen, "bow-l1": RECIPES["bow-l1"]})
    assert times() == before
    assert second.rows[0].rankings == first.rows[0].rankings
    write(dataset.images[0][1], texture(50))  # other content: its features are extracted, and the index made, anew
    Runner(cache=cache, vocabulary=words).evaluate(dataset, chosen)
    assert before.items() < times().items()


def test_an_interrupted_run_goes_on(dataset: Dataset, words: Vocabulary, tmp_path: Path) -> None:
    def stop_after(count: int) -> Runner:
        def progress(items, *, total, text):  # type: ignore[no-untyped-def]
            for number, item in enumerate(items):
                if "indexing" in text and number == count:
                    raise KeyboardInterrupt
                yield item

        return Runner(cache=tmp_path / "cache", vocabulary=words, progress=progress)

    chosen = {"hamming": RECIPES["hamming"]}
    with pytest.raises(KeyboardInterrupt):
        stop_after(5).evaluate(dataset, chosen)
    whole = Runner(cache=tmp_path / "other", vocabulary=words).evaluate(dataset, chosen)
    assert stop_after(99).evaluate(dataset, chosen).rows[0].rankings == whole.rows[0].rankings


@pytest.mark.parametrize("keep", ["codes", "descriptors"])
def test_what_is_kept_is_part_of_an_index_and_changes_no_figures(
    keep: str, dataset: Dataset, words: Vocabulary, tmp_path: Path
) -> None:
    plain = RECIPES["burst"]
    recipes = {"plain": plain, keep: replace(plain, indexing=IndexingOptions(keep=keep))}
    found = Runner(cache=tmp_path / "cache", vocabulary=words).evaluate(dataset, recipes)
    assert found.rows[0].rankings == found.rows[1].rankings
    assert found.rows[1].bytes_per_image > found.rows[0].bytes_per_image
    kept = sorted(read_manifest(folder).settings.codes for folder in (tmp_path / "cache" / "indexes").iterdir())
    assert kept == [0, 8 if keep == "codes" else 128]


def test_codes_of_the_ready_vocabulary_need_not_be_asked_for(
    dataset: Dataset, words: Vocabulary, tmp_path: Path
) -> None:
    indexing, ready = IndexingOptions(keep="codes"), Vocabulary.ready(codes=True)
    prepared = Runner(cache=tmp_path / "cache").prepare(dataset, FeatureOptions(), indexing)
    assert read_manifest(prepared.index).vocabulary_fingerprint == ready.fingerprint
    other = Runner(cache=tmp_path / "cache", vocabulary=replace(words, codebooks=None))
    with pytest.raises(VocabularyError, match="cannot make codes; train one with"):
        other.prepare(dataset, FeatureOptions(), indexing)


def test_unreadable_pictures_are_named_and_cost_only_themselves(
    dataset: Dataset, words: Vocabulary, tmp_path: Path
) -> None:
    dataset.images[5][1].write_bytes(b"not a picture")
    found = Runner(cache=tmp_path / "cache", vocabulary=words).evaluate(dataset, {"hamming": RECIPES["hamming"]})
    assert len(found.skipped) == 1
    assert "ukbench00005" in found.skipped[0]
    assert found.rows[0].rankings[5] == ()
    assert found.rows[0].per_query["ns"][0] == 4


def test_a_damaged_cache_file_is_named(dataset: Dataset, words: Vocabulary, tmp_path: Path) -> None:
    runner, chosen = Runner(cache=tmp_path / "cache", vocabulary=words), {"hamming": RECIPES["hamming"]}
    runner.evaluate(dataset, chosen)
    file = next((tmp_path / "cache/features").rglob("*.npz"))
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ImageError, match=f"{file.name}.*delete it"):
        runner.evaluate(dataset, chosen)


def test_recipes_from_toml(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('description = "Mine"\nbase = "hamming"\n[scoring]\nsigma = 12.0\n[features]\nmax_features = 500\n')
    mine = recipe(str(file))
    assert (mine.description, mine.features.max_features) == ("Mine", 500)
    assert mine.scoring == HammingOptions(intra="none", weak_geometry=False, sigma=12.0)
    assert mine.verify.shortlist == 0  # from the base
    for text, message in (
        ("[scoring]\nsgima = 1.0", "the measure hamming has no option 'sgima'; it has closest_only, idf_power, "),
        ("[magic]\na = 1", "known: base, description, features, indexing, assign"),
        ("base = 'nothing'", "unknown recipe 'nothing'"),
        ("not toml", "cannot read"),
        ("[scoring]\nsigma = 'much'", "must be float"),
    ):
        file.write_text(text)
        with pytest.raises(OptionError, match=message):
            recipe(str(file))
    with pytest.raises(OptionError, match="cannot read"):
        recipe(str(tmp_path / "missing.toml"))


def set_in(options: Options, base: Options) -> dict[str, Any]:
    """What is not as in the base, or by default where the measure is another."""
    usual = to_dict(base if type(base) is type(options) else type(options)())
    changed = {name: value for name, value in to_dict(options).items() if value != usual[name]}
    return changed if type(base) is type(options) else {"measure": to_dict(options)["measure"], **changed}


@pytest.mark.parametrize("name", RECIPES)
def test_a_written_recipe_is_read_as_it_was(name: str, tmp_path: Path) -> None:
    description = 'a "quoted" \\ λ,\n\tlines and \x7f \x00 😀'
    stages = {stage: set_in(getattr(RECIPES[name], stage), getattr(RECIPES[DEFAULT], stage)) for stage in STAGES}
    write_recipe(tmp_path / "mine.toml", base=DEFAULT, description=description, changed=stages)
    assert recipe(str(tmp_path / "mine.toml")) == replace(RECIPES[name], description=description)


def test_a_written_recipe_replaces_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("an older one")
    changed = {"scoring": {"mixture": 0.0003, "inter": True}}
    write_recipe(file, base="density-hamming", description="mine", changed=changed)
    assert file.read_text() == (
        'base = "density-hamming"\ndescription = "mine"\n\n[scoring]\nmixture = 0.0003\ninter = true\n'
    )
    assert [p.name for p in tmp_path.iterdir()] == ["mine.toml"]


def test_datasets_are_given_as_pairs() -> None:
    assert parse_sets(["ukbench", "a", "holidays", "b"]) == [("ukbench", Path("a")), ("holidays", Path("b"))]
    for wrong in ([], ["ukbench"], ["ukbench", "a", "holidays"]):
        with pytest.raises(UsageError, match="name and a folder"):
            parse_sets(wrong)
