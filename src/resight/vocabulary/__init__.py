"""Descriptors → words: train, assign, Hamming signatures; ``ready/`` holds the vocabulary shipped in the wheel."""

from . import codes
from .assign import Assigner
from .k_means import k_means
from .train import rounds, sample, train
from .vocabulary import Vocabulary, spans

__all__ = ["Assigner", "Vocabulary", "codes", "k_means", "rounds", "sample", "spans", "train"]
