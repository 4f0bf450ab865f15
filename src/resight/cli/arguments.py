"""Reading what the user typed."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ..engine import ENGINES
from ..errors import OptionError, UsageError
from ..options import ClusterOptions, Options, ScoringOptions, measure_options, parse_value, require_used
from ..recipes import STAGES, Recipe, change
from ..recipes import recipe as named_recipe
from ..urls import Place, absolute, as_place
from .app import MANIFEST, default_index

if TYPE_CHECKING:
    from ..index import Index
    from ..interop import FeatureFile

AnyOptions = TypeVar("AnyOptions", bound=Options)

ENGINE = Annotated[str, typer.Option("--engine", metavar="NAME", help=f"Where to do the work: {' or '.join(ENGINES)}.")]
RAY_ADDRESS = Annotated[
    str | None,
    typer.Option(
        "--ray-address",
        metavar="ADDRESS",
        help="With --engine ray: the cluster, as HOST:PORT or `auto`. Default: start one on this machine.",
    ),
]

# What can be chosen anew for each search: all but what an index is made with.
SEARCHING = [kind for stage, kind in STAGES.items() if stage not in ("features", "indexing")]


def split_index(words: list[str]) -> tuple[Place, list[str]]:
    """The index is the first word if it looks like one, else the default."""
    if late := [word for word in words[1:] if looks_like_index(word)]:
        raise UsageError(f"name one index, and name it first, before the others: {late[0]!r}")
    if words and looks_like_index(words[0]):
        return as_place(words[0]), words[1:]
    return default_index(), words


def looks_like_index(word: str) -> bool:
    return word.rstrip("/").endswith(".resight") or os.path.isfile(os.path.join(word, MANIFEST))


def stored_key(target: Index, given: str) -> str | None:
    """The key that a picture is indexed by, given as it is or as a path, as results show it; None if there is none."""
    return next((key for key in (given, absolute(given)) if key in target), None)


def parse_settings(settings: list[str] | None, *kinds: type[Options]) -> dict[type[Options], dict[str, Any]]:
    """`--set stage.option=value` words, by stage."""
    by_stage = {kind.stage: kind for kind in kinds}
    parsed: dict[type[Options], dict[str, Any]] = {kind: {} for kind in kinds}
    for setting in settings or []:
        name, equals, value = setting.partition("=")
        stage, _, option = name.partition(".")
        if stage not in by_stage or not equals:
            raise OptionError(
                f"cannot read {setting!r}; write STAGE.OPTION=VALUE with one of the stages {', '.join(by_stage)}"
            )
        parsed[by_stage[stage]][option] = parse_value(by_stage[stage], option, value)
    return parsed


def take_in(
    changed: dict[type[Options], dict[str, Any]], kind: type[Options], option: str, given: tuple[str, int | str | None]
) -> None:
    """An option of its own, such as (--words, 1000), which may stand beside settings but not contradict them."""
    name, value = given
    if value is not None and changed[kind].setdefault(option, value) != value:
        settled = f"--set {kind.stage}.{option}={changed[kind][option]}"
        raise UsageError(f"{name} {value} and {settled} contradict each other")


def require_writable_file(out: Path) -> None:
    """Raise UsageError, before any work is done, for what cannot be written as a file."""
    folder = out.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder} to write {out.name} into; make it first")
    if out.is_dir():
        raise UsageError(f"{out} is a folder; name a file to write")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"you may not write into the folder {folder}; choose another for {out.name}")


def given_features(path: Path | None, images: Path | None = None) -> AbstractContextManager[FeatureFile | None]:
    """The file that --features names, if it was given."""
    from ..interop import open_features

    if path:
        return open_features(path, images=images)
    if images:
        raise UsageError("--images says where the pictures are that --features names; give both")
    return nullcontext()


def build(kind: type[AnyOptions], changed: dict[type[Options], dict[str, Any]]) -> AnyOptions:
    """The options of a stage of its own, which none of another stage's matter to."""
    made = kind(**changed[kind])
    require_used(kind.stage, changed[kind], {kind.stage: made})
    return made


def chosen_recipe(name: str, settings: list[str] | None, *, probe: int | None = None) -> Recipe:
    """A named recipe with some options changed."""
    chosen = named_recipe(name)
    measure = _last_set("scoring.measure", settings) or chosen.scoring.measure
    kinds = [measure_options(measure) if kind is ScoringOptions else kind for kind in SEARCHING]
    changed = parse_settings(settings, *kinds)
    take_in(changed, ClusterOptions, "probe", ("--probe", probe))
    if indexed := changed[ClusterOptions].keys() - {"probe", "scored"}:
        raise OptionError(f"clusters.{min(indexed)} is a matter of indexing: resight index --clusters")
    return change(chosen, {kind.stage: values for kind, values in changed.items()})


def _last_set(name: str, settings: list[str] | None) -> str | None:
    """What an option is set to, if it is."""
    values = [value for key, _, value in (setting.partition("=") for setting in settings or []) if key == name]
    return values[-1] if values else None
