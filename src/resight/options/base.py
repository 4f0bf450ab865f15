"""What options are: frozen, keyword-only dataclasses whose names, types and ranges are checked at construction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Self, TypeVar, get_type_hints

from ..errors import OptionError, UsageError


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What another option must be for this one to have any effect: one of some values, or at least so much."""

    option: str  # STAGE.OPTION
    among: tuple[str | int, ...] = ()
    least: int = 0

    def fits(self, value: str | int) -> bool:
        return value in self.among if self.among else int(value) >= self.least

    def __str__(self) -> str:
        values = " or ".join(map(str, self.among)) if self.among else f"at least {self.least}"
        return f"{self.option} is {values}"


def option(
    default: Any,
    *,
    least: float | None = None,
    most: float | None = None,
    among: tuple[str, ...] | None = None,
    used_if: Needs | None = None,
) -> Any:
    """A field whose value must lie in [least, most], or be one of a few words; used_if: see ``require_used``."""
    return field(default=default, metadata={"least": least, "most": most, "among": among, "used_if": used_if})


@dataclass(frozen=True, kw_only=True)
class Options:
    """What all stages' options share: names, types and ranges are checked once, at construction."""

    stage: ClassVar[str]  # name of the table in a TOML file

    def __new__(cls, *_: object, **values: object) -> Self:
        """Python's own TypeError would not say which options there are."""
        require_known(cls, values)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def unknown(cls, name: str) -> str:
        """Why there is no option of this name, and which there are."""
        return f"unknown option {name!r} for {cls.stage}; known: {', '.join(sorted(names(cls)))}"


AnyOptions = TypeVar("AnyOptions", bound=Options)


_known_types: dict[type[Options], dict[str, Any]] = {}


def _types(kind: type[Options]) -> dict[str, Any]:
    """The types of the options, by name. Python resolves them anew whenever it is asked: that takes most of a check."""
    if kind not in _known_types:
        _known_types[kind] = get_type_hints(kind)
    return _known_types[kind]


def check(options: Options) -> None:
    """Raise OptionError where a value has the wrong type or is out of range."""
    hints = _types(type(options))
    for f in fields(options):
        value, kind = getattr(options, f.name), hints[f.name]
        if kind is float and type(value) is int:
            object.__setattr__(options, f.name, float(value))
        elif type(value) is not kind:
            raise OptionError(f"option {f.name!r} must be {kind.__name__}, not {value!r}")
        least, most, among = (f.metadata.get(bound) for bound in ("least", "most", "among"))
        if among and value not in among:
            raise OptionError(f"option {f.name!r} must be one of {', '.join(among)}, not {value!r}")
        if (least is not None and not value >= least) or (most is not None and not value <= most):
            bounds = " and ".join(
                text for text, bound in ((f"at least {least}", least), (f"at most {most}", most)) if bound is not None
            )
            raise OptionError(f"option {f.name!r} must be {bounds}, not {value!r}")


def names(kind: type[Options]) -> set[str]:
    """The options of a stage, or of a measure."""
    return {f.name for f in fields(kind)}


def require_known(kind: type[Options], given: Iterable[str]) -> None:
    """Raise OptionError for a name that is no option; it lists those that are."""
    for name in given:
        if name not in names(kind):
            raise OptionError(kind.unknown(name))


def require_used(stage: str, given: Iterable[str], chosen: Mapping[str, Options]) -> None:
    """Raise OptionError for one of these options if it has no effect with the options chosen, which are by stage."""
    for name in given:
        needs = _needs(chosen[stage], name)
        while needs:  # what it needs may itself have no effect
            owner, _, switch = needs.option.partition(".")
            value = getattr(chosen[owner], switch)
            if not needs.fits(value):
                raise OptionError(f"{stage}.{name} is used only where {needs}; here it is {value}")
            needs = _needs(chosen[owner], switch)


def _needs(options: Options, name: str) -> Needs | None:
    found: Needs | None = next(f.metadata["used_if"] for f in fields(options) if f.name == name)
    return found


def from_dict(kind: type[AnyOptions], values: dict[str, Any]) -> AnyOptions:
    """Build options from plain values; unknown keys are an error that lists the known ones."""
    return kind(**values)


def to_dict(options: Options) -> dict[str, Any]:
    """The plain values, ready for JSON or TOML."""
    return asdict(options)


def differing(options: AnyOptions, other: AnyOptions) -> list[str]:
    """The options whose values differ, by name."""
    return [f.name for f in fields(options) if getattr(options, f.name) != getattr(other, f.name)]


def parse_value(kind: type[Options], name: str, text: str) -> Any:
    """A command-line string as the type that the option wants."""
    require_known(kind, [name])
    wanted = _types(kind)[name]
    try:
        return {"true": True, "false": False}[text] if wanted is bool else wanted(text)
    except (ValueError, KeyError):
        what = "true or false" if wanted is bool else wanted.__name__
        raise OptionError(f"option {name!r} must be {what}, not {text!r}") from None


def parse_region(text: str) -> tuple[float, float, float, float]:
    """x, y, width and height, from "X,Y,W,H"."""
    try:
        x, y, width, height = (float(number) for number in text.split(","))
    except ValueError:
        raise UsageError(f"a region is four numbers X,Y,W,H, not {text!r}") from None
    return x, y, width, height


def fingerprint(*options: Options | dict[str, Any]) -> str:
    """A short name for these values: equal options have equal fingerprints, on any machine."""
    plain = [o if isinstance(o, dict) else {o.stage: to_dict(o)} for o in options]
    return hashlib.blake2b(json.dumps(plain, sort_keys=True).encode(), digest_size=8).hexdigest()
