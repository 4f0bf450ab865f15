"""Making and filling indexes."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from ..options import ClusterOptions, FeatureOptions, ImageOptions, IndexingOptions, Options, StoreOptions
from ..recipes import recipe as named_recipe
from ..urls import Place, as_place
from .app import NAMES_SHOWN, AsJson, GivenFeatures, Processes, Set, command, default_index
from .arguments import ENGINE, RAY_ADDRESS, build, given_features, parse_settings, take_in
from .output import patience, printable, progress, say_json, stoppable

if TYPE_CHECKING:
    from ..index import Index
    from ..interop import FeatureFile


@command
def index(
    pictures: Annotated[
        list[str] | None,
        typer.Argument(help="Folders, with all below them, and picture files; or their URLs.", show_default=False),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(
            metavar="INDEX",
            help="The index, a folder or a URL; a new one is made. Default: $RESIGHT_INDEX or your data folder.",
        ),
    ] = None,
    relative_to: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Name pictures by their paths from this folder or URL."),
    ] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="A vocabulary made by `resight train`, for a new index.")
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(help="Make a new index for this recipe; only a few recipes need one of their own."),
    ] = None,
    clusters: Annotated[
        int | None,
        typer.Option(min=0, help="Group the pictures into this many clusters, for `resight search --probe`; 0: none."),
    ] = None,
    features: GivenFeatures = None,
    images: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="With --features: the folder of the pictures that it names.")
    ] = None,
    processes: Processes = None,
    engine: ENGINE = "local",
    ray_address: RAY_ADDRESS = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> int:
    """Add pictures to an index. Unchanged pictures are skipped, changed ones updated.

    With --engine ray one commit at the end adds all of them. If it is interrupted, the same command resumes it.
    """
    from ..engine import engine_named
    from ..folders import find_pictures
    from ..ingest import file_key
    from ..interop import add_all

    place = as_place(into) if into else default_index()
    changed = parse_settings(settings, FeatureOptions, IndexingOptions, ImageOptions, StoreOptions, ClusterOptions)
    clustering = _clustering(changed, clusters)
    if not (pictures or features or clustering):
        raise UsageError(
            "give folders or picture files to index, --features, or --clusters to group what an index holds"
        )
    if features and (pictures or relative_to or changed[FeatureOptions]):
        raise UsageError("--features stands for pictures, their keys and settings of features; give it without these")
    for root in pictures or [] if relative_to else []:
        file_key(root, relative_to)  # one that lies outside is refused before any work
    paths: list[Place] = list(find_pictures(pictures or []))
    total = len(paths)
    worker = engine_named(engine, processes=processes, address=ray_address, jobs=total)
    started = time.monotonic()
    added = updated = unchanged = 0
    skipped: list[tuple[str, str]] = []
    given = given_features(features, images)
    with given as file, _opened(place, changed, recipe, vocabulary, file) as target, stoppable() as stop:
        target.images, target.store = build(ImageOptions, changed), build(StoreOptions, changed)
        if file:
            total, outcomes = len(file.names), add_all(target, file, images=images)
        else:
            outcomes = target.add_files(paths, relative_to=relative_to, engine=worker)
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
            (own or Vocabulary.ready(file.detector)).require_descriptors(file.dimension, file.kind)
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
    clusters = target.snapshot.clusters
    if not anew and (clusters.options == wanted if clusters else not wanted.count):
        return
    with patience("putting the pictures into clusters …"):
        target.learn.clusters(wanted)
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
