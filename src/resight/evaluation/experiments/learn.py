"""Training pictures → vocabularies, each learnt once.

A file is named after everything that decides its content: options of features and vocabulary, and the content of the
training pictures. So a rerun loads it, and a changed picture or option never meets an old one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...errors import VocabularyError
from ...options import FeatureOptions, fingerprint
from ...vocabulary import Vocabulary, sample, train
from ..cache import Extracted, FeatureCache, Wanted, read
from ..runner import Progress, silent
from .experiment import Learnt


class Lesson(NamedTuple):
    """What was learnt from one training set."""

    vocabularies: dict[Learnt, Vocabulary]
    problems: list[str]  # why the others could not be learnt
    skipped: list[str]  # training pictures that could not be read, with the reason


@dataclass(frozen=True, kw_only=True)
class Learner:
    """Where caches live (those of ``Runner``, and vocabularies/), and how work is done."""

    cache: Path
    processes: int = 1
    progress: Progress = silent

    def learn(self, name: str, pictures: Sequence[Path], wanted: Sequence[Learnt]) -> Lesson:
        """The vocabularies from these pictures; some may need more descriptors than there are."""
        kinds = dict.fromkeys(one.features for one in wanted)
        extracted = {features: self._extract(name, pictures, features) for features in kinds}
        found = {features: [e for e in some if e.file] for features, some in extracted.items()}
        skipped = dict.fromkeys(e.problem for some in extracted.values() for e in some if e.problem)
        learnt: dict[Learnt, Vocabulary] = {}
        problems: list[str] = []
        for one in self.progress(wanted, total=len(wanted), text=f"{name}: vocabularies"):
            file = self._file(name, one, found[one.features])
            try:
                if not file.exists():
                    _learn(file, name, one, found[one.features])
            except VocabularyError as error:
                problems.append(f"no vocabulary of {one.words} words from {name}: {error}")
            else:
                learnt[one] = Vocabulary.load(file)
        return Lesson(learnt, problems, list(skipped))

    def _extract(self, name: str, pictures: Sequence[Path], features: FeatureOptions) -> list[Extracted]:
        wanted = [Wanted(path) for path in pictures]
        found = FeatureCache(self.cache / "features", features).extract(wanted, processes=self.processes)
        return list(self.progress(found, total=len(wanted), text=f"{name}: features to learn from"))

    def _file(self, name: str, one: Learnt, found: list[Extracted]) -> Path:
        identity = fingerprint(one.features, one.options, {"pictures": [e.content.hex() for e in found]})
        return self.cache / "vocabularies" / f"{name}-{one.words}-{identity}.npz"


def _learn(file: Path, name: str, one: Learnt, found: list[Extracted]) -> None:
    sets = (read(e.file).descriptors for e in found if e.file)
    options = one.options
    descriptors = sample(sets, size=options.vocabularies * options.sample, seed=options.seed)
    source = f"{name} ({len(found)} pictures)"
    vocabulary = train(descriptors, options=options, source=source, features=one.features)
    file.parent.mkdir(parents=True, exist_ok=True)
    vocabulary.save(file)
