"""From questions to hits."""

from .candidates import Candidate, Opinion, at_one_scale, mean_scores, opinion, shortlist, verify_all
from .pipeline import evidence, rank, search
from .question import Question, question, stored_question

__all__ = [
    "Candidate",
    "Opinion",
    "Question",
    "at_one_scale",
    "evidence",
    "mean_scores",
    "opinion",
    "question",
    "rank",
    "search",
    "shortlist",
    "stored_question",
    "verify_all",
]
