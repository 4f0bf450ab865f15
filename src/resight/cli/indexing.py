"""Making and filling indexes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from ..options import ClusterOptions, FeatureOptions, ImageOptions, IndexingOptions, Options, StoreOptions
from ..recipes import recipe as named_recipe
from ..urls import Place, as_place
from .app import AsJson, GivenFeatures, Processes, Set, command, default_index
from .arguments import ENGINE, RAY_ADDRESS, build, given_features, parse_settings, take_in
from .folders import AllowEmpty, Exclude, Include, Into, RelativeTo, Tally
from .output import counting, patience, progress, stoppable

if TYPE_CHECKING:
    from ..index import Index
    from ..interop import FeatureFile


@command
def index(
    pictures: Annotated[
        list[str] | None,
        typer.Argument(help="Folders, with all below them, and picture files; or their URLs.", show_default=False),
    ] = None,
    into: Into = None,
    relative_to: RelativeTo = None,
    include: Include = None,
    exclude: Exclude = None,
    sync: Annotated[
        bool,
        typer.Option(
            "--sync",
            help="Also drop pictures whose files are gone from the folders, or are left out by a pattern.",
        ),
    ] = False,
    allow_empty: AllowEmpty = False,
    retry_bad: Annotated[
        bool, typer.Option("--retry-bad", help="Try files again that could not be read before and have not changed.")
    ] = False,
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
    link: Annotated[
        bool | None,
        typer.Option(
            help="Let new pictures look for others of the same thing, as `resight link` does. "
            "Default: in an index that has links, or at most 50,000 pictures."
        ),
    ] = None,
    processes: Processes = None,
    engine: ENGINE = "local",
    ray_address: RAY_ADDRESS = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> int:
    """Add pictures to an index. Unchanged pictures are skipped, changed ones updated.

    A file that was moved within the folders keeps its metadata. One that cannot be read is named once, and tried again
    when it has changed.

    With --engine ray one commit at the end adds all of them. If it is interrupted, the same command resumes it.
    """
    from ..engine import engine_named
    from ..folders import list_pictures
    from ..images import KINDS
    from ..ingest import file_key
    from ..interop import add_all
    from ..learn import keeps_links

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
    listing = list_pictures(pictures or [], include=include or (), exclude=exclude or ())
    if (sync and not listing.folders) or (allow_empty and not sync):
        raise UsageError("--sync drops pictures that are gone from folders: give one; --allow-empty goes with --sync")
    total = len(listing.pictures)
    worker = engine_named(engine, processes=processes, address=ray_address, jobs=total)
    tally = Tally(listing)
    given = given_features(features, images)
    with given as file, _opened(place, changed, recipe, vocabulary, file) as target, stoppable() as stop:
        target.images, target.store = build(ImageOptions, changed), build(StoreOptions, changed)
        if file:
            total, outcomes = len(file.names), add_all(target, file, images=images)
        else:
            tally.changes = changes = target.changes(listing, allow_empty=allow_empty) if listing.folders else None
            outcomes = target.add_files(
                listing.pictures, relative_to=relative_to, engine=worker, changes=changes, retry_bad=retry_bad
            )
        for outcome in progress(outcomes, total=total, text="indexing", idle=lambda one: one.unchanged):
            tally.count(outcome)
            if stop.wanted:
                break
        if sync and not stop.wanted:  # after the new ones: until those are committed, metadata is in the old ones alone
            tally.drop(target)
        target.commit()
        if clustering and not stop.wanted:
            _cluster(target, clustering, anew=not (pictures or features))
        if (keeps_links(target.snapshot) if link is None else link) and not stop.wanted:
            with counting(target.snapshot.unlinked, text="linking") as done:
                target.learn.links(done=done, stop=lambda: stop.wanted)
        now = len(target)
    tally.tell(place, pictures=now, interrupted=stop.wanted, as_json=as_json)
    nothing = bool(pictures) and total == 0 and not tally.dropped
    if nothing:
        typer.echo(f"no pictures found; resight reads {KINDS} files", err=True)
    return 1 if tally.skipped or (sync and tally.empty) or stop.wanted or nothing else 0


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
    if searched := {"probe", "scored"} & given.keys():
        raise UsageError(f"clusters.{min(searched)} is a matter of searching: resight search --probe")
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
