"""Options: every bad value is refused with a message that helps, and fingerprints tell values apart."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resight.cli.arguments import chosen_recipe
from resight.errors import OptionError, UsageError
from resight.options import (
    MEASURE_OPTIONS,
    AssignOptions,
    FeatureOptions,
    HammingOptions,
    L1Options,
    NegativeOptions,
    Options,
    ScoringOptions,
    VerifyOptions,
    VocabularyOptions,
    fingerprint,
    from_dict,
    names,
    parse_value,
    scoring_options,
    to_dict,
)
from resight.recipes import RECIPES, STAGES, Recipe, change, recipe
from resight.scoring import MEASURES

STAGE_KINDS = [kind for kind in Options.__subclasses__() if kind is not ScoringOptions]
KINDS = [*STAGE_KINDS, *MEASURE_OPTIONS.values()]
OF_MEASURES = set().union(*map(names, MEASURE_OPTIONS.values()))


def refusal(making: Callable[[], object], what: object) -> str:
    """What is said when options are refused, as these must be."""
    try:
        making()
    except OptionError as error:
        return str(error)
    pytest.fail(f"not refused: {what}")


def metadata_of(kind: type[Options], name: str) -> Any:
    return next(f for f in dataclasses.fields(kind) if f.name == name).metadata


def other_value(kind: type[Options], name: str) -> Any:
    """A value the option accepts and does not have by default."""
    if (kind, name) == (VocabularyOptions, "branching"):
        return 2
    default, metadata = getattr(kind(), name), metadata_of(kind, name)
    if isinstance(default, bool):
        return not default
    if metadata["among"]:
        return next(word for word in metadata["among"] if word != default)
    if isinstance(default, str):
        return default + "x"
    if isinstance(default, float) and metadata["most"] is not None and default + 1 > metadata["most"]:
        return default / 2 if default else 0.25
    return default + 1


def test_all_stages_are_found() -> None:
    stages = {kind.stage for kind in STAGE_KINDS}
    assert stages >= {"images", "features", "vocabulary", "assign", "verify", "store"}
    assert len(stages) == len(STAGE_KINDS)


def test_every_measure_has_options_and_all_options_a_measure() -> None:
    assert MEASURES.keys() == MEASURE_OPTIONS.keys()
    for name, measure in MEASURES.items():
        assert measure.options is MEASURE_OPTIONS[name]
        assert measure.options().measure == name
        assert scoring_options(name) == measure.options()


@pytest.mark.parametrize("kind", KINDS)
def test_dict_round_trip(kind: type[Options]) -> None:
    for name in names(kind) - {"measure"}:
        changed = from_dict(kind, {name: other_value(kind, name)})
        assert changed != kind(), name
        assert from_dict(kind, to_dict(changed)) == changed
        assert to_dict(changed)[name] == other_value(kind, name)


@pytest.mark.parametrize("measure", MEASURES)
def test_plain_values_of_scoring_name_the_measure(measure: str) -> None:
    plain = to_dict(scoring_options(measure))
    assert plain["measure"] == measure
    assert scoring_options(**plain) == scoring_options(measure)


@pytest.mark.parametrize("kind", STAGE_KINDS)
def test_unknown_keys_list_the_known_ones(kind: type[Options]) -> None:
    known = ", ".join(sorted(f.name for f in dataclasses.fields(kind)))
    for key in ("colour", "stage", ""):
        with pytest.raises(OptionError) as caught:
            from_dict(kind, {key: 1})
        assert str(caught.value) == f"unknown option {key!r} for {kind.stage}; known: {known}"
        with pytest.raises(OptionError):
            kind(**{key: 1})


def test_positional_arguments_are_refused() -> None:
    with pytest.raises(TypeError):
        FeatureOptions("sift")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (FeatureOptions, {"max_side": 800.0}, "option 'max_side' must be int, not 800.0"),
        (FeatureOptions, {"max_side": "800"}, "option 'max_side' must be int, not '800'"),
        (FeatureOptions, {"max_side": True}, "option 'max_side' must be int, not True"),
        (FeatureOptions, {"detector": None}, "option 'detector' must be str, not None"),
        (FeatureOptions, {"contrast": "0.1"}, "option 'contrast' must be float, not '0.1'"),
        (FeatureOptions, {"max_side": 15}, "option 'max_side' must be at least 16 and at most 65535, not 15"),
        (FeatureOptions, {"max_side": 65536}, "option 'max_side' must be at least 16 and at most 65535, not 65536"),
        (FeatureOptions, {"contrast": math.nan}, "option 'contrast' must be at least 0.0 and at most 1.0, not nan"),
        (AssignOptions, {"ratio": 0.99}, "option 'ratio' must be at least 1.0, not 0.99"),
        (AssignOptions, {"neighbours": 0}, "option 'neighbours' must be at least 1 and at most 100, not 0"),
        (HammingOptions, {"sigma": math.nan}, "option 'sigma' must be at least 0.1, not nan"),
        (HammingOptions, {"threshold": 65}, "option 'threshold' must be at least 0 and at most 64, not 65"),
        (HammingOptions, {"inter": 1}, "option 'inter' must be bool, not 1"),
        (HammingOptions, {"inter": "true"}, "option 'inter' must be bool, not 'true'"),
        (
            HammingOptions,
            {"intra": "half"},
            "option 'intra' must be one of none, count, root-count, root-share, log-share, not 'half'",
        ),
        (HammingOptions, {"intra": None}, "option 'intra' must be str, not None"),
        (VerifyOptions, {"shortlist": -1}, "option 'shortlist' must be at least 0, not -1"),
        (VocabularyOptions, {"words": 0}, "option 'words' must be at least 1 and at most 1000000, not 0"),
    ],
)
def test_wrong_values(kind: type[Options], values: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        from_dict(kind, values)
    assert str(caught.value) == message
    assert isinstance(caught.value, UsageError)


def test_bounds_belong_to_the_range() -> None:
    assert FeatureOptions(max_side=16).max_side == 16
    assert FeatureOptions(max_side=65535).max_side == 65535


@pytest.mark.parametrize("kind", KINDS)
def test_every_numeric_range_is_enforced(kind: type[Options]) -> None:
    for name in names(kind) - {"measure"}:
        metadata = metadata_of(kind, name)
        for bound, step in ((metadata["least"], -1), (metadata["most"], 1)):
            if bound is not None:
                wrong = {name: bound + step}
                assert f"'{name}'" in refusal(lambda wrong=wrong: from_dict(kind, wrong), wrong)  # type: ignore[misc]
                assert getattr(from_dict(kind, {name: bound}), name) == bound, name


@pytest.mark.parametrize("kind", KINDS)
def test_every_choice_of_words_is_enforced(kind: type[Options]) -> None:
    for name in names(kind) - {"measure"}:
        among = metadata_of(kind, name)["among"] or ()
        for word in among:
            assert getattr(from_dict(kind, {name: word}), name) == word, name
        for word in ("", *(word.upper() for word in among), *(word + " " for word in among)) if among else ():
            wrong = {name: word}
            said = refusal(lambda wrong=wrong: from_dict(kind, wrong), wrong)  # type: ignore[misc]
            assert said == f"option '{name}' must be one of {', '.join(among)}, not {word!r}"


def test_some_options_are_a_choice_of_words() -> None:
    assert metadata_of(HammingOptions, "intra")["among"]


def test_whole_numbers_become_floats() -> None:
    made = AssignOptions(ratio=2)
    assert isinstance(made.ratio, float)
    assert made == AssignOptions(ratio=2.0)
    assert fingerprint(made) == fingerprint(AssignOptions(ratio=2.0))


def test_options_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        FeatureOptions().max_side = 9  # type: ignore[misc]


def test_parse_value() -> None:
    assert parse_value(FeatureOptions, "max_side", "800") == 800
    assert parse_value(FeatureOptions, "contrast", "0.5") == 0.5
    assert parse_value(FeatureOptions, "detector", "sift") == "sift"
    with pytest.raises(OptionError, match=r"option 'max_side' must be int, not '8\.5'"):
        parse_value(FeatureOptions, "max_side", "8.5")
    with pytest.raises(OptionError, match="option 'contrast' must be float, not ''"):
        parse_value(FeatureOptions, "contrast", "")


def test_parse_value_of_a_choice() -> None:
    assert parse_value(HammingOptions, "inter", "true") is True
    assert parse_value(HammingOptions, "inter", "false") is False
    for text in ("True", "1", "yes", ""):
        with pytest.raises(OptionError, match=f"option 'inter' must be true or false, not '{text}'"):
            parse_value(HammingOptions, "inter", text)
    assert parse_value(HammingOptions, "intra", "count") == "count"


@pytest.mark.parametrize("name", ["maxside", "stage", ""])
def test_parse_value_of_an_unknown_option(name: str) -> None:
    with pytest.raises(OptionError, match=f"unknown option '{name}' for features; known: contrast, detector, max_"):
        parse_value(FeatureOptions, name, "3")


def test_fingerprint_is_the_same_on_every_machine() -> None:
    values = {"neighbours": 10, "ratio": 1.5, "climb": 0}
    # b2sum -l 64 of [{"assign": {"climb": 0, "neighbours": 10, "ratio": 1.5}}]
    assert fingerprint({"assign": values}) == "cb4c60e6afea9500"
    assert fingerprint(from_dict(AssignOptions, values)) == "cb4c60e6afea9500"


@pytest.mark.parametrize("kind", KINDS)
def test_fingerprint_changes_with_each_field(kind: type[Options]) -> None:
    for name in names(kind) - {"measure"}:
        assert fingerprint(from_dict(kind, {name: other_value(kind, name)})) != fingerprint(kind()), name


def test_fingerprint_sees_stage_and_order() -> None:
    assert fingerprint(AssignOptions(), VerifyOptions()) != fingerprint(AssignOptions())
    assert fingerprint({"a": {"n": 1}}) != fingerprint({"b": {"n": 1}})
    assert len({fingerprint(kind()) for kind in KINDS}) == len(KINDS)


# --- options of measures


@pytest.mark.parametrize("measure", MEASURE_OPTIONS)
def test_an_option_of_another_measure_is_refused(measure: str, tmp_path: Path) -> None:
    """From Python, in a TOML file and by --set; the message names the measure, its options, and whose option it is."""
    for name in sorted(OF_MEASURES - names(MEASURE_OPTIONS[measure])):
        refused_in_every_way(measure, name, tmp_path / f"{name}.toml")


def refused_in_every_way(measure: str, name: str, toml: Path) -> None:
    owners = [other for other, kind in MEASURE_OPTIONS.items() if name in names(kind)]
    own = ", ".join(sorted(names(MEASURE_OPTIONS[measure]) - {"measure"})) or "no options"
    message = f"the measure {measure} has no option {name!r} (an option of {', '.join(owners)}); it has {own}"
    value = getattr(MEASURE_OPTIONS[owners[0]](), name)
    toml.write_text(f'[scoring]\nmeasure = "{measure}"\n{name} = {json.dumps(value)}\n')
    setting = f"scoring.{name}={str(value).lower() if isinstance(value, bool) else value}"
    refusals: list[Callable[[], object]] = [
        lambda: MEASURE_OPTIONS[measure](**{name: value}),
        lambda: scoring_options(measure, **{name: value}),
        lambda: dataclasses.replace(scoring_options(measure), **{name: value}),
        lambda: chosen_recipe("burst", [f"scoring.measure={measure}", setting]),
        lambda: chosen_recipe("burst", [setting, f"scoring.measure={measure}"]),
    ]
    for refused in refusals:
        assert refusal(refused, (measure, name)) == message
    assert refusal(lambda: recipe(str(toml)), toml) == f"{message} (in {toml})"


@pytest.mark.parametrize("measure", MEASURES)
def test_an_option_that_no_measure_has(measure: str) -> None:
    with pytest.raises(OptionError, match=f"^the measure {measure} has no option 'colour'; it has "):
        scoring_options(measure, colour=1)


def test_options_are_of_one_measure() -> None:
    assert HammingOptions(measure="hamming") == HammingOptions()
    with pytest.raises(OptionError, match="option 'measure' must be one of hamming, not 'l1'"):
        HammingOptions(measure="l1")
    with pytest.raises(OptionError, match="unknown measure 'best'; known: asymmetric, burst, "):
        scoring_options("best")
    with pytest.raises(TypeError, match="take the class of a measure"):
        ScoringOptions(measure="l1")


def test_another_measure_starts_from_its_defaults() -> None:
    assert change(RECIPES["density-hamming"], {"scoring": {"measure": "l1"}}).scoring == L1Options()
    chosen = change(RECIPES["hamming"], {"scoring": {"measure": "negative", "beta": 3}})
    assert chosen.scoring == NegativeOptions(beta=3)
    same = change(RECIPES["hamming"], {"scoring": {"measure": "hamming", "sigma": 3}}).scoring
    assert same == HammingOptions(intra="none", weak_geometry=False, sigma=3)


# --- options without effect

NEIGHBOURS = "context.method is nicdm or cdm"


@pytest.mark.parametrize(
    ("base", "settings", "needs"),
    [
        ("burst", ["scoring.mixture=0.1"], "scoring.weights is density; here it is idf"),
        ("burst", ["scoring.mixture=0.1", "scoring.weights=fixed"], "scoring.weights is density; here it is fixed"),
        ("density-hamming", ["scoring.sigma=9"], "scoring.weights is idf; here it is density"),
        ("knn", ["scoring.mixture=0.1", "scoring.weights=idf"], "scoring.weights is density; here it is idf"),
        ("burst", ["context.neighbours=5"], f"{NEIGHBOURS}; here it is none"),
        ("burst", ["context.references=5"], "context.method is nicdm or cdm or sinkhorn; here it is none"),
        ("context", ["context.epsilon=0.1", "context.method=nicdm"], "context.method is cdm; here it is nicdm"),
        ("context", ["context.kept=0", "context.method=sinkhorn"], f"{NEIGHBOURS}; here it is sinkhorn"),
        ("burst", ["verify.tolerance=0.1"], "verify.shortlist is at least 1; here it is 0"),
        ("expanded", ["verify.threshold=20", "verify.shortlist=0"], "verify.shortlist is at least 1; here it is 0"),
        ("burst", ["expand.results=3"], "verify.shortlist is at least 1; here it is 0"),
        ("burst", ["expand.kind=union"], "verify.shortlist is at least 1; here it is 0"),
        ("verified", ["expand.kind=union"], "expand.results is at least 1; here it is 0"),
        ("bow-l1", ["assign.ratio=2"], "assign.neighbours is at least 2; here it is 1"),
        ("expanded", ["assign.neighbours=2", "assign.climb=1"], "assign.climb is 0; here it is 1"),
    ],
)
def test_an_option_without_effect_is_refused(base: str, settings: list[str], needs: str, tmp_path: Path) -> None:
    option = settings[0].partition("=")[0]
    toml = tmp_path / "mine.toml"
    toml.write_text("\n".join([f'base = "{base}"', *(quoted(setting) for setting in settings)]))
    with pytest.raises(OptionError) as by_set:
        chosen_recipe(base, settings)
    with pytest.raises(OptionError) as by_toml:
        recipe(str(toml))
    assert str(by_set.value) == f"{option} is used only where {needs}"
    assert str(by_toml.value) == f"{option} is used only where {needs} (in {toml})"


def quoted(setting: str) -> str:
    """A setting as a line of TOML."""
    name, _, value = setting.partition("=")
    return f'{name} = "{value}"' if value.isalpha() else setting


def test_the_same_options_are_accepted_where_they_are_used() -> None:
    for base, settings in {
        "density-hamming": ["scoring.mixture=0.1"],
        "burst": ["scoring.sigma=9", "context.neighbours=5", "context.method=cdm"],
        "hamming": ["verify.tolerance=0.1", "verify.shortlist=9", "expand.kind=union"],
        "bow-l1": ["assign.ratio=2", "assign.neighbours=2"],
    }.items():
        assert chosen_recipe(base, settings) != RECIPES[base]


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_option_needs_exists(kind: type[Options]) -> None:
    for name in names(kind):
        if needs := metadata_of(kind, name)["used_if"]:
            stage, _, other = needs.option.partition(".")
            owner = kind if stage == kind.stage else STAGES[stage]
            among = metadata_of(owner, other)["among"] or needs.among
            assert other in names(owner)
            assert {*needs.among} <= {*among}
            assert bool(needs.among) != bool(needs.least)


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_sets_only_what_it_uses(name: str) -> None:
    chosen: Recipe = RECIPES[name]
    plain = Recipe(description="")
    for stage in STAGES:
        options, usual = getattr(chosen, stage), getattr(plain, stage)
        usual = usual if type(usual) is type(options) else type(options)()
        given = {key: value for key, value in to_dict(options).items() if value != to_dict(usual)[key]}
        assert change(chosen, {stage: given}) == chosen


def test_clusters_are_made_when_pictures_are_indexed() -> None:
    for option in ("count=8", "kind=random", "sample=9"):
        with pytest.raises(OptionError, match=f"clusters.{option.partition('=')[0]} is a matter of indexing"):
            chosen_recipe("expanded", [f"clusters.{option}"])
    assert chosen_recipe("expanded", ["clusters.probe=2"]).clusters.probe == 2


def test_upright_is_an_option_of_one_detector() -> None:
    assert FeatureOptions(upright=True).upright
    with pytest.raises(OptionError, match="upright is an option of the detector hessian-affine, not of sift"):
        FeatureOptions(detector="sift", upright=True)
