"""From questions to hits."""

from .candidates import Candidate, Opinion, at_one_scale, mean_scores, opinion, shortlist, verify_all
from .pipeline import compare, evidence, insist_on_searchable, missing, rank, search
from .question import Question, question, stored_question

__all__ = [
    "Candidate",
    "Opinion",
    "Question",
    "at_one_scale",
    "compare",
    "evidence",
    "insist_on_searchable",
    "mean_scores",
    "missing",
    "opinion",
    "question",
    "rank",
    "search",
    "shortlist",
    "stored_question",
    "verify_all",
]
