"""Recipes × dataset → figures: extract once, index once per kind of feature, then ask every query with every recipe."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from ..analyse import make_entry
from ..errors import UsageError
from ..options import FeatureOptions, fingerprint, to_dict
from ..recipes import Recipe
from ..search import search
from ..store import Snapshot, Writer, create, index_size, open_snapshot
from ..vocabulary import Assigner, Vocabulary
from .cache import Extracted, FeatureCache, Wanted, read
from .datasets import Dataset
from .measures import precision_recall, score
from .results import Evaluation, Row

T = TypeVar("T")
COMMIT_EVERY = 500
EXTRA_MEASURES = ("map", "recall@1")  # shown for every dataset, beside its own


class Progress(Protocol):
    """Passes items on and shows how far they are."""

    def __call__(self, items: Iterable[T], *, total: int, text: str) -> Iterator[T]: ...


def silent(items: Iterable[T], *, total: int, text: str) -> Iterator[T]:
    """Shows nothing."""
    yield from items


@dataclass(frozen=True, kw_only=True)
class Runner:
    """Where caches live, and how work is done."""

    cache: Path
    vocabulary: Vocabulary
    processes: int = 1
    progress: Progress = silent

    def evaluate(self, dataset: Dataset, recipes: Mapping[str, Recipe]) -> Evaluation:
        """Every recipe on the dataset."""
        started = time.perf_counter()
        by_features: dict[FeatureOptions, dict[str, Recipe]] = {}
        for name, recipe in recipes.items():
            by_features.setdefault(recipe.features, {})[name] = recipe
        rows: dict[str, Row] = {}
        skipped: list[str] = []
        for features, some in by_features.items():
            pictures, queries = self._extract(dataset, features)
            skipped += [e.problem for e in (*pictures.values(), *queries.values()) if e.problem]
            with self._index(dataset, features, pictures) as snapshot:
                assigner = Assigner(self.vocabulary)
                for name, recipe in some.items():
                    rows[name] = self._ask(name, recipe, dataset, snapshot, assigner, queries)
        return Evaluation(
            dataset=dataset,
            rows=tuple(rows[name] for name in recipes),
            trained_on=str(self.vocabulary.description.get("source", "unknown")),
            skipped=tuple(dict.fromkeys(skipped)),
            seconds=time.perf_counter() - started,
            peak_memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        )

    def _extract(self, dataset: Dataset, features: FeatureOptions) -> tuple[dict[str, Extracted], dict[str, Extracted]]:
        """The features of the pictures, by key, and of the queries, by name."""
        pictures = [Wanted(path) for _, path in dataset.images]
        queries = [Wanted(query.path, query.region) for query in dataset.queries]
        wanted = list(dict.fromkeys([*pictures, *queries]))
        found = FeatureCache(self.cache / "features", features).extract(wanted, processes=self.processes)
        shown = self.progress(found, total=len(wanted), text=f"{dataset.name}: features")
        extracted = dict(zip(wanted, shown, strict=True))
        by_key = {key: extracted[w] for (key, _), w in zip(dataset.images, pictures, strict=True)}
        return by_key, {q.name: extracted[w] for q, w in zip(dataset.queries, queries, strict=True)}

    def _index(self, dataset: Dataset, features: FeatureOptions, pictures: dict[str, Extracted]) -> Snapshot:
        """An index of these pictures, made or finished if need be."""
        content = {key: e.content.hex() for key, e in pictures.items() if e.file}
        identity = fingerprint(features, {"vocabulary": self.vocabulary.fingerprint, "pictures": content})
        folder = self.cache / "indexes" / f"{dataset.name}-{identity}.resight"
        if not (folder / "manifest").exists():
            create(folder, self.vocabulary, {"features": to_dict(features)})
        snapshot = open_snapshot(folder)
        if snapshot.pictures == len(content) and len(snapshot.segments) <= 1:
            return snapshot
        with closing(snapshot):
            known = {row.key for row in snapshot.rows()}
        assigner = Assigner(self.vocabulary)
        missing = [key for key in content if key not in known]
        with Writer(folder) as writer:
            for key in self.progress(missing, total=len(missing), text=f"{dataset.name}: indexing"):
                file = pictures[key].file
                assert file is not None
                found = read(file)
                writer.add(make_entry(found, assigner, key=key, content=pictures[key].content, path=None, metadata={}))
                if writer.pending >= COMMIT_EVERY:
                    writer.commit()
            writer.merge()
        return open_snapshot(folder)

    def _ask(
        self,
        name: str,
        recipe: Recipe,
        dataset: Dataset,
        snapshot: Snapshot,
        assigner: Assigner,
        queries: dict[str, Extracted],
    ) -> Row:
        rankings: list[tuple[str, ...]] = []
        seconds = 0.0
        for query in self.progress(dataset.queries, total=len(dataset.queries), text=f"{dataset.name}: {name}"):
            file = queries[query.name].file
            if file is None:
                rankings.append(())  # an unreadable query finds nothing; it is listed as skipped
                continue
            features = read(file)
            start = time.perf_counter()
            result = search(snapshot, assigner, features, top=snapshot.pictures, recipe=recipe)
            seconds += time.perf_counter() - start
            rankings.append(tuple(hit.key for hit in result.hits))
        truths = [query.truth for query in dataset.queries]
        names = tuple(dict.fromkeys((*dataset.measures, *EXTRA_MEASURES)))
        scores = score(rankings, truths, names, database=len(dataset.images))
        return Row(
            recipe=name,
            means=scores.means,
            per_query=scores.per_query,
            rankings=tuple(rankings),
            precision_recall=precision_recall(rankings, truths),
            query_ms=1000 * seconds / len(rankings),
            bytes_per_image=(index_size(snapshot.manifest) - snapshot.manifest.vocabulary.size) / len(dataset.images),
        )


def parse_sets(words: list[str]) -> list[tuple[str, Path]]:
    """`NAME PATH NAME PATH …` as the command line gives them."""
    if not words or len(words) % 2:
        raise UsageError("give each dataset as a name and a folder: resight evaluate ukbench PATH [holidays PATH …]")
    return [(words[i], Path(words[i + 1])) for i in range(0, len(words), 2)]
