"""From questions to hits."""

from .candidates import Candidate, mean_scores, shortlist, verify_all
from .pipeline import evidence, rank, search
from .question import Question, question, stored_question

__all__ = [
    "Candidate",
    "Question",
    "evidence",
    "mean_scores",
    "question",
    "rank",
    "search",
    "shortlist",
    "stored_question",
    "verify_all",
]
