"""λ of density-ratio scores: which one is best, and that fitting asks what an evaluation would."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from resight.evaluation.datasets import load
from resight.evaluation.fitting import MIXTURES, best, fit_mixture, with_mixture
from resight.evaluation.runner import Runner
from resight.features import extract
from resight.images import from_array
from resight.options import DensityOptions, FeatureOptions, ImageOptions, KnnOptions, VocabularyOptions
from resight.recipes import RECIPES
from resight.vocabulary import train

from ..support.pictures import texture, write


@pytest.mark.parametrize(
    ("figures", "default", "expected"),
    [
        ({0.01: 0.3, 0.06: 0.5, 0.1: 0.4}, 0.01, 0.06),
        ({0.01: 0.5, 0.06: 0.4, 0.1: 0.5}, 0.06, 0.1),  # a tie: nearest in ratio
        ({0.01: 0.5, 0.03: 0.2, 0.1: 0.5}, 0.02, 0.01),  # 1:2 is nearer than 1:5
        ({0.003: 0.5, 0.01: 0.2, 0.6: 0.5}, 0.05, 0.6),  # 0.003 is nearer in difference
        ({0.01: 0.5, 0.06: 0.5 - 1e-10, 0.1: 0.5}, 0.06, 0.06),  # as good as equal
        ({0.01: 0.5, 0.06: 0.5 - 1e-8, 0.1: 0.2}, 0.06, 0.01),  # a little worse is worse
        ({0.01: 0.0, 0.06: 0.0}, 0.06, 0.06),
        ({0.3: 0.2}, 0.06, 0.3),
    ],
)
def test_the_best_is_nearest_to_the_default_among_equals(
    figures: dict[float, float], default: float, expected: float
) -> None:
    assert best(figures, default) == expected


def test_the_grid() -> None:
    assert len(MIXTURES) == 10
    assert list(MIXTURES) == sorted(MIXTURES)
    assert (MIXTURES[0], MIXTURES[-1]) == (0.0003, 0.6)
    assert {0.006, 0.06, 0.1} <= set(MIXTURES)
    assert max(np.diff(np.log10(MIXTURES))) < 0.53


def test_figures_are_those_of_an_evaluation(tmp_path: Path) -> None:
    """With few words λ matters: not all figures are the same, and each is what the recipe with that λ gets."""
    held = tmp_path / "held"
    for group in range(4):
        (held / str(group)).mkdir(parents=True)
        for view in range(3):
            whole = texture(group, size=280)
            write(held / str(group) / f"{view}.png", whole[14 * view : 14 * view + 200, 20 * view : 20 * view + 160])
    (held / "3" / "broken.jpg").write_bytes(b"no picture")
    pictures = (from_array(texture(seed), max_side=400) for seed in (90, 91))
    rows = np.concatenate([extract(p, options=FeatureOptions()).descriptors.astype(np.uint8) for p in pictures])
    vocabulary = train(rows, options=VocabularyOptions(words=12, iterations=2), source="textures")
    dataset, recipe = load("groups", held), RECIPES["density"]
    fit = fit_mixture(Runner(cache=tmp_path / "fit", vocabulary=vocabulary), dataset, recipe)
    assert len(fit.skipped) == 1
    assert "broken.jpg" in fit.skipped[0]
    assert tuple(fit.figures) == MIXTURES
    assert len(set(fit.figures.values())) > 1
    for mixture in (0.0003, 0.06, 0.6):
        alone = Runner(cache=tmp_path / "alone", vocabulary=vocabulary).evaluate(
            dataset, {"alone": replace(recipe, scoring=DensityOptions(mixture=mixture))}
        )
        assert fit.figures[mixture] == alone.rows[0].means["map"]
    indexes = list((tmp_path / "fit" / "indexes").iterdir())
    assert len(indexes) == 1, "all λ share one index"


def test_only_the_mixture_changes() -> None:
    changed = with_mixture(RECIPES["knn"], 0.3)
    assert changed.scoring == KnnOptions(weights="density", mixture=0.3)
    assert with_mixture(changed, 0.006) == RECIPES["knn"]


def test_a_runner_reads_pictures_as_it_is_told(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "held" / "0").mkdir(parents=True, exist_ok=True)
        write(tmp_path / "held" / "0" / f"{name}.png", texture(0))
    pictures = [from_array(texture(9), max_side=400)]
    rows = np.concatenate([extract(p, options=FeatureOptions()).descriptors.astype(np.uint8) for p in pictures])
    vocabulary = train(rows, options=VocabularyOptions(words=12, iterations=2), source="textures")
    strict = Runner(cache=tmp_path / "cache", vocabulary=vocabulary, images=ImageOptions(max_pixels=100))
    skipped = strict.prepare(load("groups", tmp_path / "held"), FeatureOptions()).skipped
    assert len(set(skipped)) == 2
