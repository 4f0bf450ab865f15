"""An index, and groups of its pictures that show the same thing → a similarity learnt from them (LEARN-14)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UsageError
from ..learning_to_rank import TrainingQuery, Trial, examples, learn
from ..machine import whole_file
from ..options import LearnOptions, fingerprint
from ..postings import build
from ..scoring import Similarity
from ..store import Snapshot, Writer
from ..store.manifest import LEARNT, SIMILARITY
from ..wording import count
from .groups import Groups
from .sample import sample_pictures


@dataclass(frozen=True)
class LearntSimilarity:
    """What was learnt, and from how much."""

    similarity: Similarity
    map: float  # in cross-validation, each query ranking its rivals
    groups: int
    queries: int
    pictures: int


def learn_similarity(
    snapshot: Snapshot,
    groups: Groups,
    options: LearnOptions,
    *,
    unsure: Sequence[tuple[str, str]] = (),
    state: Path,
    report: Callable[[Trial], None] = lambda tried: None,
) -> LearntSimilarity:
    """Learn from groups of two or more pictures, and from others that are unlike them, but for pairs that are unsure.

    What has been tried stands in the file ``state``, which the caller removes once the similarity is kept: an
    interrupted run goes on from there, and ``report`` hears of what it had tried, too.
    """
    _require_one_vocabulary(snapshot)
    wanted = {name: sorted({*keys}) for name, keys in sorted(groups.items()) if len({*keys}) > 1}
    if len(wanted) < 2:
        raise UsageError(f"{len(wanted)} group(s) with two pictures or more are too few to learn from; give more")
    (span,) = snapshot.spans
    members = [key for keys in wanted.values() for key in keys]
    _require_groups(snapshot, members)
    pictures = sample_pictures(snapshot, options.pictures, options.seed, span, also=frozenset(members))
    place = {picture.key: number for number, picture in enumerate(pictures)}
    lists = build([(picture.words, picture.geometry) for picture in pictures], words=len(span))
    queries, group_of_query, doubts = [], [], _doubts(unsure, place)
    for name, keys in wanted.items():
        for key in keys:
            others = np.array([place[other] for other in keys if other != key])
            ignored = np.setdiff1d([place[key], *doubts.get(key, ())], others)
            queries.append(TrainingQuery(pictures[place[key]].words.word, others, ignored))
            group_of_query.append(name)
    word = np.arange(len(span), dtype=np.int32)
    counts = np.sum([segment.living(word) for segment in snapshot.views[0]], axis=0)
    training_set = examples(lists, queries, group_of_query, pictures=len(pictures), counts=counts, options=options)
    name = fingerprint(options, _named(snapshot, wanted, unsure))
    resumed, tried = _resumed(state, name), []

    def record(trial: Trial) -> None:
        tried.append(trial)
        _save(state, name, tried)
        report(trial)

    for trial in resumed:
        record(trial)
    found = learn(training_set, options, known=resumed, report=record)
    return LearntSimilarity(
        found.similarity(counts), found.map, groups=len(wanted), queries=len(queries), pictures=len(place)
    )


def keep_similarity(writer: Writer, similarity: Similarity) -> None:
    """Commit, then keep what was learnt for an index instead of what was before, and each picture's score alone.

    Pictures that are added later get theirs as they are added.
    """
    _require_one_vocabulary(writer.snapshot)
    similarity.require_fit(writer.manifest.settings.words)
    writer.commit()
    alone = [segment.alone(similarity) for segment in writer.snapshot.segments]
    writer.attach({SIMILARITY: similarity.to_bytes()}, terms={LEARNT: alone})


def forget_similarity(writer: Writer) -> bool:
    """Commit, then drop the learnt similarity; False if there was none."""
    writer.commit()
    known = writer.manifest.similarity is not None
    if known:
        writer.attach({SIMILARITY: None})
    return known


def _require_one_vocabulary(snapshot: Snapshot) -> None:
    if snapshot.settings.vocabularies > 1:
        raise UsageError(
            f"a similarity is of one vocabulary, {snapshot.folder} has {snapshot.settings.vocabularies}; "
            "index the pictures with one"
        )


def _doubts(unsure: Sequence[tuple[str, str]], place: Mapping[str, int]) -> dict[str, list[int]]:
    """Of each picture, the places of those that may show the same thing."""
    found: dict[str, list[int]] = {}
    for one, other in unsure:
        for key, doubtful in ((one, other), (other, one)):
            if doubtful in place:
                found.setdefault(key, []).append(place[doubtful])
    return found


def _named(snapshot: Snapshot, wanted: Groups, unsure: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """All that a run depends on besides its options."""
    manifest = snapshot.manifest
    settings = asdict(manifest.settings)
    index = {"vocabulary": manifest.vocabulary_fingerprint, "settings": settings, "commit": manifest.commit}
    return {**index, "groups": dict(wanted), "unsure": sorted({*unsure})}


def _require_groups(snapshot: Snapshot, members: Sequence[str]) -> None:
    if missing := [key for key in members if snapshot.find(key) is None]:
        raise UsageError(
            f"the groups name {count(len(missing))} that {snapshot.folder} does not hold, such as {missing[0]!r}; "
            "name pictures by the keys that `resight search --json` shows"
        )
    if len({*members}) < len(members):
        twice = Counter(members).most_common(1)[0][0]
        raise UsageError(f"{twice!r} is in more than one group; a picture can show one thing only")


def _whole(tried: Sequence[Trial]) -> list[Trial]:
    """Without the last number of groups, of which not all patterns may have been tried."""
    last = max((t.word_groups for t in tried), default=0)
    return [t for t in tried if t.word_groups < last]


def _resumed(state: Path, name: str) -> list[Trial]:
    """What an interrupted run of the same name has tried; nothing if the file is not there, or not one of ours."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        values: dict[str, Any] = json.loads(state.read_text(encoding="utf-8"))
        if values["learning"] == name:
            return _whole([Trial.from_dict(each) for each in values["tried"]])
    return []


def _save(state: Path, name: str, tried: Sequence[Trial]) -> None:
    """So that an interrupted run can go on; one that nobody interrupts needs no file, so it may be refused."""
    with suppress(UsageError), whole_file(state) as new:
        new.write_text(json.dumps({"learning": name, "tried": [t.as_dict() for t in tried]}), encoding="utf-8")
