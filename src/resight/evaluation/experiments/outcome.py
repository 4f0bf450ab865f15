"""What an experiment found, beside what the paper printed: plain values for a table and for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..datasets import Dataset
from .experiment import Experiment, Published, Trial

DIGITS = {"ns": 2, "anr": 4, "wins": 0}  # as the papers print them; 3 for the others
CAUTION = "conditions are not equal: compare how figures change from row to row, not ours with the paper's"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Ours and theirs."""

    experiment: Experiment
    datasets: tuple[Dataset, ...]
    trained_on: tuple[str, ...]  # the vocabularies' training sets, with their numbers of pictures
    figures: dict[str, dict[str, dict[str, float]]]  # row's label → dataset → measure → mean over queries
    notes: tuple[str, ...]  # what could not be done, and why
    skipped: tuple[str, ...]  # pictures that could not be read, with the reason
    seconds: float

    def differences(self) -> list[str]:
        """Why ours are not the paper's figures, beginning with the data."""
        searched = ", ".join(f"{d.name} {len(d.images)} pictures, {len(d.queries)} queries" for d in self.datasets)
        trained = ", ".join(self.trained_on) or "nothing"
        return [f"searched: {searched}", f"vocabularies learnt on: {trained}", *self.experiment.differences]

    def columns(self) -> list[tuple[Dataset, str]]:
        """Our columns: each dataset's headline, those of its other measures that the paper printed, and splits won."""
        printed = {measure for _, _, measure in self.experiment.published_kinds()}
        wins = ("wins",) if self.experiment.splits else ()
        return [
            (d, m) for d in self.datasets for m in (*d.measures, *wins) if m in (d.measures[0], *wins) or m in printed
        ]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Titles, and the cells of each row: label, the paper's figures, ours."""
        kinds = self.experiment.published_kinds()
        columns = self.columns()
        titles = ["", *(f"{p}: {d} {m}" for p, d, m in kinds), *(f"ours: {d.name} {m}" for d, m in columns)]
        return titles, [
            [
                row.label,
                *(self._printed(row, kind) for kind in kinds),
                *(self._measured(row, d, m) for d, m in columns),
            ]
            for row in self.experiment.rows
        ]

    def as_dict(self) -> dict[str, Any]:
        experiment = self.experiment
        return {
            "experiment": experiment.name,
            "question": experiment.question,
            "paper": experiment.paper,
            "table": experiment.table,
            "finding": experiment.finding,
            "conditions": experiment.conditions,
            "differences": self.differences(),
            "caution": CAUTION,
            "datasets": {d.name: {"images": len(d.images), "queries": len(d.queries)} for d in self.datasets},
            "trained_on": list(self.trained_on),
            "rows": [
                {
                    "label": row.label,
                    "words": row.vocabulary.words,
                    "vocabulary": row.vocabulary.on,
                    "published": [p.as_dict() for p in row.published],
                    "ours": self.figures[row.label],
                }
                for row in experiment.rows
            ],
            "notes": list(self.notes),
            "skipped": list(self.skipped),
            "seconds": round(self.seconds, 1),
        }

    def _printed(self, row: Trial, kind: tuple[str, str, str]) -> str:
        """The paper's figure, with its place; a dash where there is none."""
        return "; ".join(self._cited(p) for p in row.published if (p.paper, p.dataset, p.measure) == kind) or "–"

    def _cited(self, published: Published) -> str:
        place = published.place.removeprefix(f"{self.experiment.table} ")  # the title names it
        note = f", {published.note}" if published.note else ""
        return f"{_number(published.measure, published.value)} ({place}{note})"

    def _measured(self, row: Trial, dataset: Dataset, measure: str) -> str:
        found = self.figures[row.label].get(dataset.name)
        return _number(measure, found[measure]) if found else "–"


def _number(measure: str, value: float) -> str:
    return f"{value:.{DIGITS.get(measure, 3)}f}"
