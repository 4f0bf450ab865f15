"""Options: every bad value is refused with a message that helps, and fingerprints tell values apart."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from resight import options
from resight.errors import OptionError, UsageError
from resight.options import (
    AssignOptions,
    FeatureOptions,
    Options,
    ScoringOptions,
    VerifyOptions,
    VocabularyOptions,
    fingerprint,
    from_dict,
    parse_value,
    to_dict,
)

KINDS = [k for k in vars(options).values() if isinstance(k, type) and issubclass(k, Options) and k is not Options]
FIELDS = [(kind, f.name) for kind in KINDS for f in dataclasses.fields(kind)]


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
    stages = {kind.stage for kind in KINDS}
    assert stages >= {"images", "features", "vocabulary", "assign", "scoring", "verify", "store"}
    assert len(stages) == len(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_dict_round_trip(kind: type[Options]) -> None:
    for f in dataclasses.fields(kind):
        changed = from_dict(kind, {f.name: other_value(kind, f.name)})
        assert changed != kind()
        assert from_dict(kind, to_dict(changed)) == changed
        assert to_dict(changed)[f.name] == other_value(kind, f.name)


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_keys_list_the_known_ones(kind: type[Options]) -> None:
    known = ", ".join(sorted(f.name for f in dataclasses.fields(kind)))
    for key in ("colour", "stage", ""):
        with pytest.raises(OptionError) as caught:
            from_dict(kind, {key: 1})
        assert str(caught.value) == f"unknown option {key!r} for {kind.stage}; known: {known}"


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
        (ScoringOptions, {"sigma": math.nan}, "option 'sigma' must be at least 0.1, not nan"),
        (ScoringOptions, {"threshold": 65}, "option 'threshold' must be at least 0 and at most 64, not 65"),
        (ScoringOptions, {"inter": 1}, "option 'inter' must be bool, not 1"),
        (ScoringOptions, {"inter": "true"}, "option 'inter' must be bool, not 'true'"),
        (
            ScoringOptions,
            {"intra": "half"},
            "option 'intra' must be one of none, count, root-count, root-share, log-share, not 'half'",
        ),
        (ScoringOptions, {"intra": None}, "option 'intra' must be str, not None"),
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


@pytest.mark.parametrize("field", FIELDS, ids=lambda f: f"{f[0].stage}.{f[1]}")
def test_every_numeric_range_is_enforced(field: tuple[type[Options], str]) -> None:
    kind, name = field
    metadata = metadata_of(kind, name)
    for bound, step in ((metadata["least"], -1), (metadata["most"], 1)):
        if bound is not None:
            with pytest.raises(OptionError, match=f"'{name}'"):
                from_dict(kind, {name: bound + step})
            assert getattr(from_dict(kind, {name: bound}), name) == bound


@pytest.mark.parametrize("field", FIELDS, ids=lambda f: f"{f[0].stage}.{f[1]}")
def test_every_choice_of_words_is_enforced(field: tuple[type[Options], str]) -> None:
    kind, name = field
    among = metadata_of(kind, name)["among"] or ()
    for word in among:
        assert getattr(from_dict(kind, {name: word}), name) == word
    for wrong in ("", *(word.upper() for word in among), *(word + " " for word in among)):
        if among:
            with pytest.raises(OptionError, match=f"option '{name}' must be one of {', '.join(among)}, not {wrong!r}"):
                from_dict(kind, {name: wrong})


def test_some_options_are_a_choice_of_words() -> None:
    assert (ScoringOptions, "intra") in [field for field in FIELDS if metadata_of(*field)["among"]]


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
    assert parse_value(ScoringOptions, "inter", "true") is True
    assert parse_value(ScoringOptions, "inter", "false") is False
    for text in ("True", "1", "yes", ""):
        with pytest.raises(OptionError, match=f"option 'inter' must be true or false, not '{text}'"):
            parse_value(ScoringOptions, "inter", text)
    assert parse_value(ScoringOptions, "intra", "count") == "count"


@pytest.mark.parametrize("name", ["maxside", "stage", ""])
def test_parse_value_of_an_unknown_option(name: str) -> None:
    with pytest.raises(OptionError, match=f"unknown option '{name}' for features; known: contrast, detector, max_"):
        parse_value(FeatureOptions, name, "3")


def test_fingerprint_is_the_same_on_every_machine() -> None:
    values = {"contrast": 0.04, "detector": "sift", "max_features": 1500, "max_side": 1024}
    # b2sum -l 64 of [{"features": {"contrast": 0.04, "detector": "sift", "max_features": 1500, "max_side": 1024}}]
    assert fingerprint({"features": values}) == "34879f76ef8b09dd"
    assert fingerprint(from_dict(FeatureOptions, values)) == "34879f76ef8b09dd"


def test_options_that_came_later_leave_older_fingerprints_alone() -> None:
    older = {"iterations": 12, "sample": 1_000_000, "seed": 1, "words": 16_384}
    assert fingerprint(VocabularyOptions()) == fingerprint({"vocabulary": older}) == "a64c0c40bcf13990"
    assert fingerprint(VocabularyOptions(pca=36)) == fingerprint({"vocabulary": {**older, "pca": 36}})


@pytest.mark.parametrize("field", FIELDS, ids=lambda f: f"{f[0].stage}.{f[1]}")
def test_fingerprint_changes_with_each_field(field: tuple[type[Options], str]) -> None:
    kind, name = field
    assert fingerprint(from_dict(kind, {name: other_value(kind, name)})) != fingerprint(kind())


def test_fingerprint_sees_stage_and_order() -> None:
    assert fingerprint(AssignOptions(), VerifyOptions()) != fingerprint(AssignOptions())
    assert fingerprint({"a": {"n": 1}}) != fingerprint({"b": {"n": 1}})
    assert len({fingerprint(kind()) for kind in KINDS}) == len(KINDS)
