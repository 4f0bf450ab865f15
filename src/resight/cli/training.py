"""Making vocabularies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import EngineError, FeatureFileError, UsageError
from ..options import FeatureOptions, ImageOptions, VocabularyOptions
from ..urls import Place
from ..wording import count
from .app import NAMES_SHOWN, AsJson, GivenFeatures, Processes, Set, command
from .arguments import ENGINE, RAY_ADDRESS, build, given_features, parse_settings, require_writable_file, take_in
from .fitting import FITTED, USUAL, show_fit, wanted_fitting
from .output import counting, printable, progress, say_json

if TYPE_CHECKING:
    from ..engine import Engine
    from ..interop import FeatureFile
    from ..vocabulary.approximate import Across


@command
def train(
    out: Annotated[Path, typer.Option(help="The vocabulary file to write.")],
    pictures: Annotated[
        list[str] | None,
        typer.Argument(help="Folders and picture files to learn from, or their URLs.", show_default=False),
    ] = None,
    words: Annotated[int | None, typer.Option(min=1, help="Visual words in each vocabulary.")] = None,
    vocabularies: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Independent vocabularies; a search combines their rankings. Each adds the time of one. Default: 1.",
        ),
    ] = None,
    held_out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Other pictures, one folder for each thing that they show: fit a recipe's λ (scoring.mixture) on "
            "them, and write it as a TOML file beside the vocabulary.",
        ),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"Whose λ to fit: {', '.join(FITTED)}. Default: {USUAL}."),
    ] = None,
    features: GivenFeatures = None,
    processes: Processes = None,
    engine: ENGINE = "local",
    ray_address: RAY_ADDRESS = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> int:
    """Make a vocabulary from your own pictures or features, for `resight index --vocabulary`."""
    from ..engine import engine_named
    from ..folders import find_pictures
    from ..machine import processors
    from ..vocabulary import rounds, sample
    from ..vocabulary import train as train_vocabulary
    from ..vocabulary.approximate import in_threads

    worker = engine_named(engine, processes=processes, address=ray_address)
    changed = parse_settings(settings, FeatureOptions, ImageOptions, VocabularyOptions)
    take_in(changed, VocabularyOptions, "words", ("--words", words))
    take_in(changed, VocabularyOptions, "vocabularies", ("--vocabularies", vocabularies))
    options, images = build(VocabularyOptions, changed), build(ImageOptions, changed)
    if bool(pictures) == bool(features):
        raise UsageError("give pictures to learn from, or --features; one of the two")
    if features and (held_out or changed[FeatureOptions]):
        raise UsageError("--features stands for pictures; give it without --held-out and settings of features")
    require_writable_file(out)
    paths: list[Place] = list(find_pictures(pictures or []))
    kind = build(FeatureOptions, changed)
    fitting = wanted_fitting(
        held_out, recipe, vocabulary=options, features=kind, learning=[p for p in paths if isinstance(p, Path)], out=out
    )
    skipped: list[str] = []
    with given_features(features) as file:
        if file:
            kind, total, found = FeatureOptions(detector=file.detector), len(file.names), _given_descriptors(file)
        else:
            total, found = len(paths), _descriptors(paths, kind, images, worker)
        readable = _readable(progress(found, total=total, text="reading"), skipped)
        rows = sample(readable, size=options.vocabularies * options.sample, seed=options.seed)
    wanted = options.vocabularies * options.words
    typer.echo(f"training {count(wanted, 'word')} on {count(len(rows), 'descriptor')} …", err=True)
    read = total - len(skipped)
    roots = pictures or [str(features)]
    source = f"{count(read)} of {', '.join(sorted({PurePath(root).name for root in roots}))}"
    across = _across(worker) if worker.across_machines else in_threads
    with counting(rounds(options), text="rounds") as done:
        vocabulary = train_vocabulary(rows, options=options, source=source, features=kind, done=done, across=across)
    vocabulary.save(out)
    facts: dict[str, Any] = {
        "vocabulary": str(out), "fingerprint": vocabulary.fingerprint, "words": vocabulary.words,
        "vocabularies": vocabulary.vocabularies, "descriptors": len(rows), "pictures": read, "skipped": skipped,
    }  # fmt: skip
    _tell_trained(facts, options, as_json=as_json)
    if fitting:
        facts["fitted"] = fitting.fit(vocabulary, images=images, processes=processes or processors())
        skipped = skipped + facts["fitted"]["skipped"]
        if not as_json:
            show_fit(facts["fitted"])
    if as_json:
        say_json(facts)
    for reason in skipped[:NAMES_SHOWN]:
        typer.echo(f"skipped {printable(reason)}", err=True)
    return 1 if skipped else 0


def _descriptors(paths: list[Place], features: FeatureOptions, images: ImageOptions, engine: Engine) -> Iterator[Any]:
    """Those of each picture, or why it could not be read."""
    from ..ingest import DescriberPlan

    return engine.run(DescriberPlan(features, images), paths, on_crash=lambda path: f"{path}: the decoder crashed")


def _across(engine: Engine) -> Across:
    """Rounds of k-means on an engine."""

    def died(job: Any) -> Any:
        raise EngineError("workers die while they look for words; see their messages, or give them more memory")

    return lambda plan, jobs: engine.run(plan, jobs, on_crash=died)


def _given_descriptors(file: FeatureFile) -> Iterator[Any]:
    """The same, from a file."""
    for name in file.names:
        try:
            yield file.read(name).descriptors
        except FeatureFileError as error:
            yield str(error)


def _readable(results: Iterable[Any], skipped: list[str]) -> Iterator[Any]:
    """Descriptors alone; the reasons are added to ``skipped``."""
    for result in results:
        if isinstance(result, str):
            skipped.append(result)
        else:
            yield result


def _tell_trained(facts: dict[str, Any], options: VocabularyOptions, *, as_json: bool) -> None:
    """What became of the words that were asked for; with JSON, only what is wrong with them."""
    words, wanted = facts["words"], options.vocabularies * options.words
    if not as_json:
        several = f" in {facts['vocabularies']} vocabularies" if facts["vocabularies"] > 1 else ""
        typer.echo(
            f"{printable(facts['vocabulary'])}: {count(words, 'word')}{several} "
            f"from {count(facts['descriptors'], 'descriptor')} of {count(facts['pictures'])}"
        )
    if words < wanted:
        typer.echo(
            f"not {wanted} words: some nodes of the tree had fewer than {options.branching} descriptors to split",
            err=True,
        )
