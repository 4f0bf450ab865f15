"""Recipes × dataset → figures: extract once, index once per kind of feature, then ask every query with every recipe."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from .. import colours
from ..context import context_name, name_of
from ..engine import LocalEngine
from ..errors import EngineError, UsageError
from ..ingest import Ingester, Reader
from ..learn import keeps_links, learn_clusters, learn_context, link_pictures
from ..options import AssignOptions, ClusterOptions, FeatureOptions, ImageOptions, IndexingOptions, fingerprint
from ..recipes import Recipe
from ..scoring import Query
from ..search import SegmentGroup, quantise, search
from ..store import Writer, create, open_snapshot, read_manifest, segments_size
from ..types import Float64, Int32
from ..vocabulary import Assigner, Vocabulary
from ..vocabulary.nearest import ASSIGNMENT
from ..warm import warm
from .cache import Extracted, FeatureCache, Wanted, read
from .datasets import Dataset
from .measures import precision_recall, score
from .neighbourhoods import diagnose, first_of
from .results import Evaluation, Row

T = TypeVar("T")
COMMIT_EVERY = 500
JUDGED = 20  # first results whose confidence is compared with the truth


class Progress(Protocol):
    """Passes items on and shows how far they are."""

    def __call__(self, items: Iterable[T], *, total: int, text: str) -> Iterator[T]: ...


def silent(items: Iterable[T], *, total: int, text: str) -> Iterator[T]:
    """Shows nothing."""
    yield from items


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A dataset ready to be asked."""

    index: Path
    queries: list[Path | None]  # files with their features, in the dataset's order; None for an unreadable picture
    skipped: list[str]  # pictures that could not be read, with the reason


@dataclass(frozen=True, kw_only=True)
class Runner:
    """Where caches live, and how work is done."""

    cache: Path
    vocabulary: Vocabulary | None = None  # None: the ready one for the features
    processes: int = 1
    progress: Progress = silent
    images: ImageOptions = field(default_factory=ImageOptions)

    def evaluate(self, dataset: Dataset, recipes: Mapping[str, Recipe]) -> Evaluation:
        """Every recipe on the dataset."""
        started = time.perf_counter()
        if learnt := [name for name, recipe in recipes.items() if recipe.scoring.measure == "learnt"]:
            raise UsageError(
                f"{learnt[0]!r} needs pictures to learn from besides those that it is measured on; "
                "run `resight experiment learn-splits`"
            )
        by_index: dict[tuple[FeatureOptions, IndexingOptions, ClusterOptions], dict[str, Recipe]] = {}
        for name, recipe in recipes.items():
            clusters = recipe.clusters.learnt if recipe.clusters.count else ClusterOptions()
            by_index.setdefault((recipe.features, recipe.indexing, clusters), {})[name] = recipe
        rows: dict[str, Row] = {}
        skipped: list[str] = []
        sources: list[str] = []
        for options, some in by_index.items():
            prepared = self.prepare(dataset, *options)
            skipped += prepared.skipped
            sources.append(self.trained_on(options[0]))
            self._learn_contexts(dataset, prepared.index, some)
            self._link(dataset, prepared.index, some)
            rows |= self._ask(dataset, some, prepared.index, prepared.queries)
        return Evaluation(
            dataset=dataset,
            rows=tuple(rows[name] for name in recipes),
            trained_on=" and ".join(dict.fromkeys(sources)),
            skipped=tuple(dict.fromkeys(skipped)),
            seconds=time.perf_counter() - started,
            peak_memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        )

    def trained_on(self, features: FeatureOptions) -> str:
        """What the words of these features were learnt from."""
        return str(self._vocabulary_for(features, IndexingOptions()).description.get("source", "unknown"))

    def prepare(
        self,
        dataset: Dataset,
        features: FeatureOptions,
        indexing: IndexingOptions | None = None,
        clusters: ClusterOptions | None = None,
    ) -> Prepared:
        """The dataset indexed, and the features of its queries extracted, unless they are in the cache."""
        pictures, queries = self._extract(dataset, features)
        return Prepared(
            index=self._index(dataset, features, indexing or IndexingOptions(), clusters or ClusterOptions(), pictures),
            queries=[queries[query.name].file for query in dataset.queries],
            skipped=[e.problem for e in (*pictures.values(), *queries.values()) if e.problem],
        )

    def _extract(self, dataset: Dataset, features: FeatureOptions) -> tuple[dict[str, Extracted], dict[str, Extracted]]:
        """The features of the pictures, by key, and of the queries, by name."""
        pictures = [Wanted(path) for _, path in dataset.images]
        queries = [Wanted(query.path, query.region) for query in dataset.queries]
        wanted = list(dict.fromkeys([*pictures, *queries]))
        found = FeatureCache(self.cache / "features", features, self.images).extract(wanted, processes=self.processes)
        shown = self.progress(found, total=len(wanted), text=f"{dataset.name}: features")
        extracted = dict(zip(wanted, shown, strict=True))
        by_key = {key: extracted[w] for (key, _), w in zip(dataset.images, pictures, strict=True)}
        return by_key, {q.name: extracted[w] for q, w in zip(dataset.queries, queries, strict=True)}

    def _index(
        self,
        dataset: Dataset,
        features: FeatureOptions,
        indexing: IndexingOptions,
        clusters: ClusterOptions,
        pictures: dict[str, Extracted],
    ) -> Path:
        """An index of these pictures, made or finished if need be."""
        vocabulary = self._vocabulary_for(features, indexing)
        content = {key: e.content.hex() for key, e in pictures.items() if e.file}
        kinds = {"assignment": ASSIGNMENT, "colours": colours.KIND}
        made_by = {"vocabulary": vocabulary.fingerprint, **kinds, "pictures": content}
        identity = fingerprint(features, indexing, *([clusters] if clusters.count else []), made_by)
        folder = self.cache / "indexes" / f"{dataset.name}-{identity}.resight"
        if not (folder / "manifest").exists():
            create(folder, vocabulary, features=features, indexing=indexing)
        with open_snapshot(folder) as snapshot:
            finished = snapshot.pictures == len(content) and len(snapshot.segments) <= 1
            if finished and bool(snapshot.clusters) == bool(clusters.count):
                return folder
            known = {row.key for row in snapshot.rows()}
        ingester = Ingester(Reader(features), Assigner(vocabulary), indexing)
        missing = [key for key in content if key not in known]
        # One thread: products of a few hundred rows gain little from a second one, and lose much when it has to wait.
        with threadpool_limits(1), Writer(folder) as writer:
            for key in self.progress(missing, total=len(missing), text=f"{dataset.name}: indexing"):
                file = pictures[key].file
                assert file is not None
                writer.add(ingester.entry(read(file), key=key, content=pictures[key].content))
                if writer.pending >= COMMIT_EVERY:
                    writer.commit()
            writer.merge()
            if clusters.count:
                learn_clusters(writer, clusters)
        return folder

    def _vocabulary_for(self, features: FeatureOptions, indexing: IndexingOptions) -> Vocabulary:
        return self.vocabulary or Vocabulary.ready(features.detector, codes=indexing.keep == "codes")

    def _learn_contexts(self, dataset: Dataset, index: Path, recipes: Mapping[str, Recipe]) -> None:
        """What the recipes need to know of neighbourhoods, unless it was learnt before."""
        known = {name_of(stored)[0] for stored in read_manifest(index).contexts}
        wanted = {
            context_name(recipe.scoring, recipe.context): recipe
            for recipe in recipes.values()
            if recipe.context.method != "none"
        }
        missing = [recipe for name, recipe in wanted.items() if name not in known]
        for recipe in self.progress(missing, total=len(missing), text=f"{dataset.name}: contexts"):
            with Writer(index) as writer:
                learn_context(writer, recipe.scoring, recipe.context)

    def _link(self, dataset: Dataset, index: Path, recipes: Mapping[str, Recipe]) -> None:
        """Links, if a recipe follows any and `resight index` would find them, unless they were found before."""
        if any(recipe.verify.shortlist and recipe.links.steps for recipe in recipes.values()):
            for _ in self.progress([index], total=1, text=f"{dataset.name}: links"):
                with Writer(index) as writer:
                    if keeps_links(writer.snapshot):
                        link_pictures(writer)

    def _ask(
        self, dataset: Dataset, recipes: Mapping[str, Recipe], index: Path, files: Sequence[Path | None]
    ) -> dict[str, Row]:
        """Every query with every recipe, in several processes."""
        keys = tuple(key for key, _ in dataset.images)
        plan = AskerPlan(index, dict(recipes), keys)
        found = LocalEngine(self.processes).run(plan, files, on_crash=_crashed)
        answers = list(self.progress(found, total=len(files), text=f"{dataset.name}: queries"))
        truths = [query.truth for query in dataset.queries]
        names = measures_of(dataset)
        asked = [query.key for query in dataset.queries]
        all_asked = sorted(asked) == sorted(keys)
        manifest = read_manifest(index)
        rows = {}
        for recipe in recipes:
            rankings = tuple(tuple(keys[i] for i in answer[recipe].ranking) for answer in answers)
            scores = score(rankings, truths, names, database=len(dataset.images))
            evenness = diagnose(first_of(asked, rankings)) if all_asked else {}
            rows[recipe] = Row(
                recipe=recipe,
                means=scores.means | evenness,
                per_query=scores.per_query,
                rankings=rankings,
                precision_recall=precision_recall(rankings, truths),
                reliability=_reliability(dataset, rankings, [answer[recipe].confidence for answer in answers]),
                query_ms=1000 * sum(answer[recipe].seconds for answer in answers) / len(answers),
                bytes_per_image=segments_size(manifest) / len(dataset.images),
            )
        return rows


@dataclass(frozen=True, slots=True)
class Answer:
    """What one recipe found for one query."""

    ranking: Int32 = field(default_factory=lambda: np.zeros(0, np.int32))  # numbers of the dataset's pictures
    confidence: tuple[float, ...] = ()  # of the first JUDGED, if the recipe gives any
    seconds: float = 0.0  # for assignment, scoring and verification


@dataclass(frozen=True)
class AskerPlan:
    """What a worker process needs to answer queries; calling it makes an asker."""

    index: Path
    recipes: dict[str, Recipe]
    keys: tuple[str, ...]  # of the dataset's pictures

    def __call__(self) -> Asker:
        snapshot = open_snapshot(self.index)
        warm()
        numbers = {key: i for i, key in enumerate(self.keys)}
        return Asker(SegmentGroup.local(snapshot), Assigner(snapshot.vocabulary), self.recipes, numbers)


@dataclass(frozen=True)
class Asker:
    """A query's features → the answer of each recipe."""

    group: SegmentGroup
    assigner: Assigner
    recipes: dict[str, Recipe]
    numbers: dict[str, int]  # of the pictures, by key

    def __call__(self, file: Path | None) -> dict[str, Answer]:
        if file is None:  # an unreadable query finds nothing; it is listed as skipped
            return {name: Answer() for name in self.recipes}
        features = read(file)
        answers: dict[str, Answer] = {}
        asked: dict[AssignOptions, tuple[Query, float]] = {}  # recipes that assign alike share the words
        for name, recipe in self.recipes.items():
            start = time.perf_counter()
            if recipe.assign not in asked:
                new = quantise(self.assigner, features, recipe.assign)
                asked[recipe.assign] = new, time.perf_counter() - start
            query, seconds = asked[recipe.assign]
            start = time.perf_counter()
            result = search(self.group, [query], top=self.group.snapshot.pictures, recipe=recipe)
            seconds += time.perf_counter() - start
            ranking = np.array([self.numbers[hit.key] for hit in result.hits], np.int32)
            sure = tuple(hit.confidence for hit in result.hits[:JUDGED] if hit.confidence is not None)
            answers[name] = Answer(ranking, sure, seconds)
        return answers


def _reliability(
    dataset: Dataset, rankings: Sequence[Sequence[str]], confidences: Sequence[Sequence[float]]
) -> Float64:
    """(confidence, 1 if right else 0) of the first results of all queries; the query itself and junk do not count."""
    pairs = [
        (confidence, float(key in query.truth.relevant))
        for query, ranking, found in zip(dataset.queries, rankings, confidences, strict=True)
        for key, confidence in zip(ranking, found, strict=False)
        if key != query.key and key not in query.truth.junk
    ]
    return np.array(pairs, np.float64).reshape(-1, 2)


def measures_of(dataset: Dataset) -> tuple[str, ...]:
    """The dataset's own measures, then map and, unless each query finds itself first, recall@1."""
    finds_itself = all(query.key in query.truth.relevant for query in dataset.queries)
    return tuple(dict.fromkeys((*dataset.measures, "map", *(() if finds_itself else ("recall@1",)))))


def _crashed(file: Path | None) -> dict[str, Answer]:
    raise EngineError(f"searching with the features in {file} killed its process; please report this")


def parse_sets(words: list[str]) -> list[tuple[str, Path]]:
    """`NAME PATH NAME PATH …` as the command line gives them."""
    if not words or len(words) % 2:
        raise UsageError("give each dataset as a name and a folder: resight evaluate ukbench PATH [holidays PATH …]")
    return [(words[i], Path(words[i + 1])) for i in range(0, len(words), 2)]
