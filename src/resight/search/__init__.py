"""From questions to hits."""

from .candidates import Candidate
from .opinions import Opinion, at_one_scale, mean_scores, opinion
from .pipeline import compare, evidence, insist_on_searchable, missing, rank, search
from .question import Question, question, stored_question
from .shelf import Asking, Letter, Shelf
from .shelves import OneShelf, Searchers, Shelves, deal

__all__ = [
    "Asking",
    "Candidate",
    "Letter",
    "OneShelf",
    "Opinion",
    "Question",
    "Searchers",
    "Shelf",
    "Shelves",
    "at_one_scale",
    "compare",
    "deal",
    "evidence",
    "insist_on_searchable",
    "mean_scores",
    "missing",
    "opinion",
    "question",
    "rank",
    "search",
    "stored_question",
]
