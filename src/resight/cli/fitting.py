"""What `resight train --held-out` adds: λ of a recipe's density-ratio scores (DRE-12), fitted to the new vocabulary."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import UsageError
from ..options import FeatureOptions, ImageOptions, VocabularyOptions, to_dict
from ..recipes import RECIPES, Recipe, write
from ..wording import count
from .arguments import require_writable_file
from .output import printable, progress, say_table

if TYPE_CHECKING:
    from ..evaluation.datasets import Dataset
    from ..vocabulary import Vocabulary

USUAL = "density"
FITTED = [name for name, recipe in RECIPES.items() if recipe.scoring.ratio_mixture is not None]


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """What is to be fitted, on which pictures, and where the fitted recipe goes."""

    base: str
    recipe: Recipe
    mixture: float  # the recipe's own λ
    dataset: Dataset
    out: Path

    def fit(self, vocabulary: Vocabulary, *, images: ImageOptions, processes: int) -> dict[str, Any]:
        """Fit λ and write the recipe; what was found, as plain values."""
        from ..evaluation.fitting import best, fit_mixture
        from ..evaluation.runner import Runner

        with tempfile.TemporaryDirectory(prefix="resight-") as folder:
            runner = Runner(
                cache=Path(folder), vocabulary=vocabulary, processes=processes, progress=progress, images=images
            )
            found = fit_mixture(runner, self.dataset, self.recipe)
        if not any(found.figures.values()):
            raise UsageError(
                f"λ was not fitted, since no picture in {self.dataset.root} was found by another of its group "
                f"({len(found.skipped)} could not be read); the vocabulary is written, and can be used as it is"
            )
        mixture = best(found.figures, self.mixture)
        pictures = len(self.dataset.images) - len(found.skipped)
        description = (
            f"as {self.base}, λ fitted on {count(pictures)} of {self.dataset.root.name} "
            f"(mAP {found.figures[mixture]:.3f}), for vocabulary {vocabulary.fingerprint}"
        )
        # λ even where it is the base's: a later base may have another.
        changed = {"scoring": {"mixture": mixture}, "features": self._own_features()}
        write(self.out, base=self.base, description=printable(description), changed=changed)
        return {
            "recipe": str(self.out), "base": self.base, "mixture": mixture, "pictures": pictures,
            "queries": len(self.dataset.queries), "skipped": list(found.skipped),
            "figures": [{"mixture": each, "map": value} for each, value in found.figures.items()],
        }  # fmt: skip

    def _own_features(self) -> dict[str, Any]:
        """What the vocabulary was learnt with, where that is not the base's."""
        usual = to_dict(RECIPES[self.base].features)
        return {name: value for name, value in to_dict(self.recipe.features).items() if value != usual[name]}


def wanted_fitting(
    held_out: Path | None,
    name: str | None,
    *,
    vocabulary: VocabularyOptions,
    features: FeatureOptions,
    learning: Iterable[Path],
    out: Path,
) -> Fitting | None:
    """The fitting that is asked for, if any is. What cannot work is refused here, before any work is done."""
    if held_out is None:
        if name is not None:
            raise UsageError("--recipe says whose λ is to be fitted: also give --held-out, the pictures to fit it on")
        return None
    base = name or USUAL
    mixture = RECIPES[base].scoring.ratio_mixture if base in RECIPES else None
    if mixture is None:
        raise UsageError(f"{base!r} has no λ that could be fitted; recipes that have: {', '.join(FITTED)}")
    recipe = replace(RECIPES[base], features=features)
    if recipe.indexing.keep == "codes" and not vocabulary.codes:
        raise UsageError(f"the recipe {base} keeps codes of descriptors; add --set vocabulary.codes=8")
    if out.suffix.lower() == ".toml":
        raise UsageError(f"{out} would be both vocabulary and fitted recipe; name the vocabulary {out.stem}.npz")
    fitted = out.with_suffix(".toml")
    require_writable_file(fitted)
    return Fitting(base=base, recipe=recipe, mixture=mixture, dataset=_held_out(held_out, learning), out=fitted)


def _held_out(folder: Path, learning: Iterable[Path]) -> Dataset:
    from ..evaluation.datasets import load

    dataset = replace(load("groups", folder), name="held-out")
    learnt = {path.resolve() for path in learning}
    if both := [path for _, path in dataset.images if path.resolve() in learnt]:
        raise UsageError(
            f"{count(len(both))} to learn from would also be held out, such as {both[0]}; "
            "a fit on them would say little about other pictures: take them out of one of the two"
        )
    return dataset


def show_fit(fitted: dict[str, Any]) -> None:
    """A table of λ × mAP, and where the recipe is."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("λ", "mAP"):
        table.add_column(title, justify="right")
    table.add_column("")
    for each in fitted["figures"]:
        chosen = "best" if each["mixture"] == fitted["mixture"] else ""
        table.add_row(f"{each['mixture']:g}", f"{each['map']:.4f}", chosen)
    say_table(table)
    typer.echo(
        f"{printable(fitted['recipe'])}: {fitted['base']} with λ = {fitted['mixture']:g}, fitted on "
        f"{count(fitted['pictures'])}"
    )
