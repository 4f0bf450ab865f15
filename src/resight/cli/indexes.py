"""Making, filling, looking after indexes and vocabularies."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import EngineError, FeatureFileError, UsageError
from ..options import (
    ClusterOptions,
    FeatureOptions,
    ImageOptions,
    IndexingOptions,
    Options,
    StoreOptions,
    VocabularyOptions,
)
from ..recipes import recipe as named_recipe
from ..urls import Place, absolute, as_place, is_url
from .app import NAMES_SHOWN, AnIndex, AsJson, GivenFeatures, Processes, Set, command, default_index
from .arguments import ENGINE, RAY_ADDRESS, build, chosen_recipe, given_features, parse_settings, split_index, take_in
from .fitting import FITTED, USUAL, show_fit, wanted_fitting
from .output import counting, patience, printable, progress, say_json, stoppable

if TYPE_CHECKING:
    from ..analyse import Outcome
    from ..engine import Engine
    from ..index import Index
    from ..interop import FeatureFile
    from ..vocabulary.approximate import Across


@command
def index(
    pictures: Annotated[
        list[str] | None,
        typer.Argument(help="Folders (searched through) and picture files, or URLs of such.", show_default=False),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(
            metavar="INDEX",
            help="The index, a folder or a URL; made if missing. Default: $RESIGHT_INDEX or your data folder.",
        ),
    ] = None,
    relative_to: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Use paths relative to this folder or URL as keys, not absolute ones."),
    ] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="A vocabulary made by `resight train`, for a new index.")
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(help="Make a new index such that this recipe can search it; most need no index of their own."),
    ] = None,
    clusters: Annotated[
        int | None,
        typer.Option(min=0, help="Put the pictures into this many clusters, for `resight search --probe`; 0: none."),
    ] = None,
    features: GivenFeatures = None,
    images: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="With --features: where the pictures are that it names.")
    ] = None,
    processes: Processes = None,
    engine: ENGINE = "local",
    ray_address: RAY_ADDRESS = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> int:
    """Add pictures to an index. Unchanged pictures are skipped, changed ones updated.

    With --engine ray all are added by one commit at the end; the same command goes on with a build that was broken off.
    """
    from ..engine import engine_named
    from ..images import find_pictures
    from ..index import file_key
    from ..interop import add_all

    worker = engine_named(engine, processes=processes, address=ray_address)
    place = as_place(into) if into else default_index()
    changed = parse_settings(settings, FeatureOptions, IndexingOptions, ImageOptions, StoreOptions, ClusterOptions)
    clustering = _clustering(changed, clusters)
    if not (pictures or features or clustering):
        raise UsageError(
            "give folders or picture files to index, --features, or --clusters to group what an index holds"
        )
    if features and (pictures or relative_to or changed[FeatureOptions]):
        raise UsageError("--features stands for pictures, their keys and settings of features; give it without these")
    roots = list(pictures or [])
    for root in roots if relative_to else []:
        file_key(root, relative_to)  # one that lies outside is refused before any work
    total = sum(1 for _ in find_pictures(roots))
    started = time.monotonic()
    added = updated = unchanged = 0
    skipped: list[tuple[str, str]] = []
    given = given_features(features, images)
    with given as file, _opened(place, changed, recipe, vocabulary, file) as target, stoppable() as stop:
        target.images, target.store = build(ImageOptions, changed), build(StoreOptions, changed)
        if file:
            total, outcomes = len(file.names), add_all(target, file, images=images)
        else:
            outcomes = _analysed(target, find_pictures(roots), relative_to, worker, total)
        for outcome in progress(outcomes, total=total, text="indexing"):
            if outcome.skipped:
                skipped.append((outcome.key, outcome.skipped))
            elif outcome.unchanged:
                unchanged += 1
            else:
                updated += outcome.replaces
                added += not outcome.replaces
            if stop.wanted:
                break
        target.commit()
        if clustering and not stop.wanted:
            _cluster(target, clustering, anew=not (pictures or features))
        now = len(target)
    seconds = time.monotonic() - started
    _tell(
        {
            "index": str(place), "added": added, "updated": updated, "unchanged": unchanged,
            "skipped": [{"key": key, "reason": reason} for key, reason in skipped],
            "pictures": now, "interrupted": stop.wanted, "seconds": round(seconds, 3),
        },
        as_json,
    )  # fmt: skip
    if pictures and total == 0:
        typer.echo("no pictures found; resight reads JPEG, PNG, WebP, TIFF, BMP and HEIC files", err=True)
    return 1 if skipped or stop.wanted or (pictures and total == 0) else 0


def _analysed(
    target: Index, pictures: Iterable[Place], relative_to: Place | None, engine: Engine, total: int
) -> Iterator[Outcome]:
    """What becomes of picture files. On this machine what is done is committed now and then."""
    from ..engine import LocalEngine

    if isinstance(engine, LocalEngine):
        processes = min(engine.processes, max(total, 1))
        return target.add_files(pictures, relative_to=relative_to, processes=processes)
    return target.build(pictures, relative_to=relative_to, engine=engine)


def _opened(
    place: Place,
    changed: dict[type[Options], dict[str, Any]],
    recipe: str | None,
    vocabulary: Path | None,
    file: FeatureFile | None,
) -> Index:
    """The index, made if it is missing. What is asked for must be what an existing one was made with."""
    from ..index import Index
    from ..vocabulary import Vocabulary

    base = named_recipe(recipe) if recipe else None
    features, indexing = (base.features, base.indexing) if base else (None, None)
    if changed[FeatureOptions]:
        features = replace(features or FeatureOptions(), **changed[FeatureOptions])
    if changed[IndexingOptions]:
        indexing = replace(indexing or IndexingOptions(), **changed[IndexingOptions])
    own = Vocabulary.load(vocabulary) if vocabulary else None
    find = Index.open if Index.exists(place) else Index.create
    if file:
        features = FeatureOptions(detector=file.detector)
        if find == Index.create:  # before there is an index that could not hold them
            (own or Vocabulary.ready(file.detector)).insist_on(file.dimension, file.kind)
    return find(place, features=features, vocabulary=own, indexing=indexing)


def _clustering(changed: dict[type[Options], dict[str, Any]], count: int | None) -> ClusterOptions | None:
    """The clusters that are asked for, if any are."""
    take_in(changed, ClusterOptions, "count", ("--clusters", count))
    given = changed[ClusterOptions]
    if "probe" in given:
        raise UsageError("clusters.probe is a matter of searching: resight search --probe")
    if given and "count" not in given:
        raise UsageError("options of clusters need --clusters, which says how many there shall be")
    return build(ClusterOptions, changed) if given else None


def _cluster(target: Index, wanted: ClusterOptions, *, anew: bool) -> None:
    """Put the pictures into clusters, unless they are in such already and new ones are not wanted."""
    before = target.info()
    if before.clusters == wanted.count and not anew and (not wanted.count or wanted == target.clusters):
        return
    with patience("putting the pictures into clusters …"):
        target.cluster(wanted)
    if lost := [name for name in before.contexts if name not in target.info().contexts]:
        typer.echo(f"context terms learnt by the old clusters are gone: {', '.join(lost)}; learn them again", err=True)


def _tell(summary: dict[str, Any], as_json: bool) -> None:
    """What became of the pictures that were to be indexed."""
    if as_json:
        say_json(summary)
    else:
        new, seconds, skipped = summary["added"] + summary["updated"], summary["seconds"], summary["skipped"]
        rate = f", {new / seconds:.1f} pictures/s" if new and seconds else ""
        typer.echo(
            f"{summary['added']} added, {summary['updated']} updated, {summary['unchanged']} unchanged, "
            f"{len(skipped)} skipped in {seconds:.1f} s{rate}"
        )
        typer.echo(f"{printable(summary['index'])} holds {summary['pictures']} pictures")
    for one in summary["skipped"][:NAMES_SHOWN]:
        typer.echo(f"skipped {printable(one['reason'])}", err=True)
    if len(summary["skipped"]) > NAMES_SHOWN:
        typer.echo(f"… and {len(summary['skipped']) - NAMES_SHOWN} more; --json names all", err=True)
    if summary["interrupted"]:
        typer.echo("interrupted: what was done is kept; run the same command to go on", err=True)


@command
def info(place: AnIndex = None, as_json: AsJson = False) -> int:
    """Say what an index holds and how it was made."""
    from ..index import Index

    with Index.open(place or default_index()) as target:
        facts = target.info()
    if as_json:
        say_json(facts.as_dict())
        return 0
    per_picture = f" ({facts.size / facts.pictures / 1024:.1f} KiB per picture)" if facts.pictures else ""
    typer.echo(f"index        {printable(facts.path)}")
    typer.echo(f"pictures     {facts.pictures} ({facts.removed} more removed, not yet merged away)")
    kept = f", {facts.kept} bytes kept of each descriptor" if facts.kept else ""
    shape = " with affine shape" if facts.shapes else ""
    detector = facts.settings.get("features", {}).get("detector", "unknown")
    typer.echo(f"features     {facts.features}{shape}, {detector}{kept}")
    typer.echo(f"size         {facts.size / 2**20:.1f} MiB{per_picture}")
    typer.echo(f"segments     {facts.segments}, commit {facts.commit}")
    several = f"{facts.vocabularies} × " if facts.vocabularies > 1 else ""
    typer.echo(f"vocabulary   {several}{facts.words // facts.vocabularies} words, {facts.vocabulary}")
    typer.echo(f"settings     {json.dumps(facts.settings)}")
    if facts.clusters:
        typer.echo(f"clusters     {facts.clusters}")
    if facts.contexts:
        typer.echo(f"contexts     {', '.join(facts.contexts)}")
    if facts.similarity:
        typer.echo(f"similarity   {facts.similarity}")
    return 0


@command
def remove(
    keys: Annotated[list[str], typer.Argument(metavar="[INDEX] KEY...", help="Keys or paths of indexed pictures.")],
    as_json: AsJson = False,
) -> int:
    """Remove pictures from an index (the picture files stay)."""
    from ..index import Index

    place, wanted = split_index(keys)
    if not wanted:
        raise UsageError("give at least one key: resight remove [INDEX] KEY…")
    with Index.open(place) as target:
        gone = [key for key in wanted if target.remove(key) or target.remove(absolute(key))]
        target.commit()
        left = len(target)
    unknown = [key for key in wanted if key not in gone]
    if as_json:
        say_json({"index": str(place), "removed": gone, "unknown": unknown, "pictures": left})
    else:
        typer.echo(f"{len(gone)} removed; {left} pictures left")
    for key in unknown:
        typer.echo(f"not in the index: {printable(key)}", err=True)
    return 1 if unknown else 0


@command
def check(place: AnIndex = None, as_json: AsJson = False) -> int:
    """Read every byte of an index and compare it with what was written."""
    from ..store import Remote
    from ..store import check as check_index

    found = as_place(place) if place else default_index()
    report = Remote(str(found)).check() if is_url(found) else check_index(Path(found))
    if as_json:
        say_json({"index": str(found), "pictures": report.pictures, "features": report.features, "size": report.size,
                  "problems": list(report.problems)})  # fmt: skip
    elif not report.problems:
        typer.echo(
            f"{printable(str(found))} is sound: {report.pictures} pictures, {report.features} features, "
            f"{report.size} bytes"
        )
    for problem in report.problems:
        typer.echo(printable(problem), err=True)
    return 3 if report.problems else 0


@command
def merge(place: AnIndex = None, as_json: AsJson = False) -> int:
    """Rewrite an index as one segment, freeing the place of removed pictures."""
    from ..index import Index

    with Index.open(place or default_index()) as target:
        before = target.info().size
        target.merge()
        after = target.info()
    if as_json:
        say_json({"index": after.path, "size_before": before, "size": after.size, "pictures": after.pictures})
    else:
        typer.echo(f"{before / 2**20:.1f} MiB → {after.size / 2**20:.1f} MiB, {after.pictures} pictures")
    return 0


@command
def context(
    place: AnIndex = None,
    recipe: Annotated[str, typer.Option(help="A recipe with context, or a TOML file.")] = "context",
    forget: Annotated[bool, typer.Option("--forget", help="Drop what was learnt for this recipe instead.")] = False,
    settings: Set = None,
    as_json: AsJson = False,
) -> int:
    """Learn how crowded the neighbourhood of each picture is (CDM-10), for searches with this recipe.

    Pictures added later get their terms as they are added. Learn again when the collection has changed much.
    """
    from ..index import Index

    with Index.open(place or default_index()) as target:
        facts: dict[str, Any] = {"index": target.place, "pictures": len(target)}
        if forget:
            own = recipe in target.info().contexts or settings
            facts["forgotten"] = target.forget_context(chosen_recipe(recipe, settings) if own else recipe)
            text = "forgotten" if facts["forgotten"] else "there was nothing to forget"
        else:
            with counting(len(target) * target.vocabulary.vocabularies, text="comparing") as done:
                learnt = target.learn_context(chosen_recipe(recipe, settings), done=done)
            references, uncertain = len(learnt[0].terms.delta), sum(r.terms.uncertain for r in learnt)
            spreads = max((r.terms.spreads for r in learnt), key=lambda s: s[-1:])  # of the least even vocabulary
            before, after = spreads[:1], spreads[-1:]
            facts |= {"references": references, "uncertain": uncertain, "spreads": list(spreads)}
            evened = f"; neighbourhoods differ by {after[0]:.1%} instead of {before[0]:.1%}" if before else ""
            text = f"{facts['pictures']} pictures measured against {references}{evened}"
            if uncertain:
                text += f"; {uncertain} might be more exact with a larger context.kept"
    if as_json:
        say_json(facts)
    else:
        typer.echo(text)
    return 0


@command
def train(
    out: Annotated[Path, typer.Option(help="The vocabulary file to write.")],
    pictures: Annotated[
        list[str] | None,
        typer.Argument(help="Folders and picture files to learn from, or URLs of such.", show_default=False),
    ] = None,
    words: Annotated[int | None, typer.Option(min=1, help="Number of visual words, of each vocabulary.")] = None,
    vocabularies: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Independent vocabularies, whose rankings a search combines; each costs as much as one. Default: 1.",
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
        str | None, typer.Option(metavar="NAME", help=f"Whose λ: {', '.join(FITTED)}. Default: {USUAL}.")
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
    from ..images import find_pictures
    from ..machine import processors
    from ..vocabulary import rounds, sample
    from ..vocabulary import train as train_vocabulary

    worker = engine_named(engine, processes=processes, address=ray_address)
    changed = parse_settings(settings, FeatureOptions, ImageOptions, VocabularyOptions)
    take_in(changed, VocabularyOptions, "words", ("--words", words))
    take_in(changed, VocabularyOptions, "vocabularies", ("--vocabularies", vocabularies))
    options, images = build(VocabularyOptions, changed), build(ImageOptions, changed)
    if bool(pictures) == bool(features):
        raise UsageError("give pictures to learn from, or --features; one of the two")
    if features and (held_out or changed[FeatureOptions]):
        raise UsageError("--features stands for pictures; give it without --held-out and settings of features")
    if not out.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {out.absolute().parent} to write {out.name} into; make it first")
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
    typer.echo(f"training {options.vocabularies * options.words} words on {len(rows)} descriptors …", err=True)
    read = total - len(skipped)
    roots = pictures or [str(features)]
    source = f"{read} pictures of {', '.join(sorted({PurePath(root).name for root in roots}))}"
    spread: dict[str, Any] = {} if engine == "local" else {"across": _across(worker)}  # here threads are enough
    with counting(rounds(options), text="rounds") as done:
        vocabulary = train_vocabulary(rows, options=options, source=source, features=kind, done=done, **spread)
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
    from ..analyse import DescriberPlan, Job

    jobs = (Job(str(path), path) for path in paths)
    return engine.run(DescriberPlan(features, images), jobs, on_crash=lambda job: f"{job.path}: the decoder crashed")


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
    words, count, wanted = facts["words"], facts["vocabularies"], options.vocabularies * options.words
    if not as_json:
        several = f" in {count} vocabularies" if count > 1 else ""
        typer.echo(
            f"{printable(facts['vocabulary'])}: {words} words{several} from {facts['descriptors']} descriptors "
            f"of {facts['pictures']} pictures"
        )
    if words < wanted:
        typer.echo(
            f"not {wanted} words: some nodes of the tree had fewer than {options.branching} descriptors to split",
            err=True,
        )
