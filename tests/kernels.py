"""Compile what ``resight.warm`` leaves to those who need it: kernels that change an index, and that learn.

``make test`` runs this before the tests. They begin in several processes at once, each of which would compile these.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from resight.learning_to_rank import examples, learn
from resight.options import LearnOptions, VocabularyOptions
from resight.vocabulary.approximate import approximate_k_means

from .failure.scenarios import SCENARIOS, answers
from .support.stored import QuickDisk
from .support.things import all_asked, lists_of, things
from .support.vocabularies import root_sift_like


def change_indexes() -> None:
    with tempfile.TemporaryDirectory() as place:
        for number, scenario in enumerate(SCENARIOS.values()):
            folder = Path(place, str(number))
            scenario.prepare(folder)
            scenario.act(folder, QuickDisk())
            answers(folder)


def learn_similarity() -> None:
    pictures, options = things(8, each=4, k=50, seed=0), LearnOptions(word_groups=1, rounds=1)
    lists, (asked, thing) = lists_of(pictures, 50), all_asked(pictures, 4)
    counts = np.diff(lists.offsets)
    learn(examples(lists, asked, thing, pictures=len(pictures), counts=counts, options=options), options)


def train() -> None:
    descriptors, options = root_sift_like(200, 0), VocabularyOptions(words=20, iterations=1)
    approximate_k_means(descriptors, 20, options=options)
    approximate_k_means(descriptors.astype(np.float32), 20, options=options)


if __name__ == "__main__":
    change_indexes()
    learn_similarity()
    train()
