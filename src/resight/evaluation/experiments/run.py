"""Experiment × data folder → outcome: learn the vocabularies, then measure every row on every dataset."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...errors import UsageError
from ...folders import find_pictures
from ...vocabulary import Vocabulary
from ..datasets import Dataset, load
from ..runner import Progress, Runner, silent
from ..splits import Contents, Fitted, judge_splits
from .experiment import Experiment, Learnt, Trial
from .learn import Learner, Lesson
from .outcome import Outcome

# Dataset → its folder in the data folder.
FOLDERS = {"ukbench": "ukbench", "holidays": "holidays", "oxford": "oxford_dev", "smvs": "smvs_dvd"}
DISTRACTORS = "distractors"


def run(
    experiment: Experiment,
    *,
    data: Path,
    cache: Path,
    limit: int | None = None,
    processes: int = 1,
    progress: Progress = silent,
) -> Outcome:
    """Every row on every dataset that the data folder has.

    limit: about this many pictures of each dataset, and of the distractors. Where so few pictures do not have enough
        descriptors for a row's vocabulary, the row stays empty and the outcome says why.
    """
    started = time.perf_counter()
    datasets, absent = _load(experiment, data, limit)
    training = _training(experiment, datasets, data, limit)
    learner = Learner(cache=cache, processes=processes, progress=progress)
    lessons = {name: learner.learn(name, pictures, wanted) for name, (pictures, wanted) in training.items()}
    figures: dict[str, dict[str, dict[str, float]]] = {row.label: {} for row in experiment.rows}
    skipped = [problem for lesson in lessons.values() for problem in lesson.skipped]
    trained_on: list[str] = []
    for dataset in datasets:
        for wanted, rows in _by_vocabulary(experiment).items():
            vocabulary = _learnt(wanted, dataset, lessons)
            if vocabulary is None and wanted.on != "ready":
                continue  # one of the lessons' problems
            runner = Runner(cache=cache, vocabulary=vocabulary, processes=processes, progress=progress)
            if experiment.splits:
                found, problems = _judged(runner, dataset, rows, experiment.splits)
                skipped += problems
                trained_on.append(runner.trained_on(wanted.features))
                for label, means in found.items():
                    figures[label][dataset.name] = means
                continue
            evaluation = runner.evaluate(dataset, {row.label: row.recipe for row in rows})
            skipped += evaluation.skipped
            trained_on.append(evaluation.trained_on)
            for row in evaluation.rows:
                figures[row.recipe][dataset.name] = row.means
    return Outcome(
        experiment=experiment,
        datasets=datasets,
        trained_on=tuple(dict.fromkeys(trained_on)),
        figures=figures,
        notes=(*absent, *(problem for lesson in lessons.values() for problem in lesson.problems)),
        skipped=tuple(dict.fromkeys(skipped)),
        seconds=time.perf_counter() - started,
    )


def _judged(
    runner: Runner, dataset: Dataset, rows: Sequence[Trial], splits: int
) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Every row, fitted to one half of the dataset and measured on the other; and pictures that could not be read."""
    prepared = runner.prepare(dataset, rows[0].recipe.features)
    systems = {row.label: Fitted(row.choices or (row.recipe.scoring,), row.learning) for row in rows}
    shown = runner.progress(range(splits), total=splits, text=f"{dataset.name}: splits")
    return judge_splits(dataset, Contents.read(prepared), systems, seeds=shown), prepared.skipped


def _load(experiment: Experiment, data: Path, limit: int | None) -> tuple[tuple[Dataset, ...], list[str]]:
    """The datasets that are there, and which are not."""
    there = [name for name in experiment.datasets if (data / FOLDERS[name]).is_dir()]
    if not there:
        wanted = ", ".join(FOLDERS[name] for name in experiment.datasets)
        raise UsageError(f"{str(data)!r} has none of the folders {wanted}; give --data or set $RESIGHT_DATA")
    absent = [
        f"{name} was left out: no folder {data / FOLDERS[name]}" for name in experiment.datasets if name not in there
    ]
    datasets = (_merged(name, data, count, limit) for name in there for count in experiment.distractors)
    return tuple(datasets), absent


def _merged(name: str, data: Path, distractors: int, limit: int | None) -> Dataset:
    """The dataset; if there are to be distractors among its pictures, their number is added to its name."""
    alone = load(name, data / FOLDERS[name], limit=limit)
    if not distractors:
        return alone
    merged = load(name, data / FOLDERS[name], limit=limit, distractors=[data / DISTRACTORS])
    own = len(alone.images)
    images = merged.images[: own + min(distractors, limit or distractors)]
    return replace(merged, name=f"{name}+{len(images) - own}", images=images)


def _training(
    experiment: Experiment, datasets: Sequence[Dataset], data: Path, limit: int | None
) -> dict[str, tuple[list[Path], list[Learnt]]]:
    """Training set → its pictures, and the vocabularies to be learnt from them."""
    wanted = list(dict.fromkeys(row.vocabulary for row in experiment.rows))
    sets: dict[str, tuple[list[Path], list[Learnt]]] = {}
    if independent := [one for one in wanted if one.on == "distractors"]:
        pictures = list(find_pictures([data / DISTRACTORS])) if (data / DISTRACTORS).is_dir() else []
        if not pictures:
            raise UsageError(f"{str(data / DISTRACTORS)!r} has no pictures to learn vocabularies from; add some")
        sets[DISTRACTORS] = pictures[:limit], independent
    if own := [one for one in wanted if one.on == "itself"]:
        sets |= {dataset.name: ([path for _, path in dataset.images], own) for dataset in datasets}
    return sets


def _by_vocabulary(experiment: Experiment) -> Mapping[Learnt, list[Trial]]:
    """Vocabulary → the rows that use it; they share an index."""
    groups: dict[Learnt, list[Trial]] = {}
    for row in experiment.rows:
        groups.setdefault(row.vocabulary, []).append(row)
    return groups


def _learnt(wanted: Learnt, dataset: Dataset, lessons: Mapping[str, Lesson]) -> Vocabulary | None:
    """The vocabulary for this dataset, unless it could not be learnt, or need not be."""
    if wanted.on == "ready":
        return None
    return lessons[dataset.name if wanted.on == "itself" else DISTRACTORS].vocabularies.get(wanted)
