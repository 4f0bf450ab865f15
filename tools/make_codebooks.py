"""Make codebooks for the words of each ready vocabulary, from the descriptors that it was made from.

    python tools/make_codebooks.py PICTURES [DETECTOR...]

Writes src/resight/vocabulary/ready/DETECTOR/codebooks.npz (`make vocabulary`), by default for every detector. The words
stay as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from resight.features import DETECTORS
from resight.folders import find_pictures
from resight.ingest import Reader
from resight.options import FeatureOptions, VocabularyOptions, from_dict
from resight.types import Bytes, Float32
from resight.vocabulary import Vocabulary
from resight.vocabulary.codes import MOST_LEARNT_FROM, learn_codebooks
from resight.vocabulary.nearest import flat_index
from resight.vocabulary.train import sample

READY = Path(__file__).parents[1] / "src" / "resight" / "vocabulary" / "ready"
CODES = 8  # bytes (DRE-12)


def make(detector: str, pictures: list[Path], target: Path) -> None:
    vocabulary = Vocabulary.ready(detector)
    features = from_dict(FeatureOptions, vocabulary.description["features"])
    options = from_dict(VocabularyOptions, {**vocabulary.description["options"], "codes": CODES})
    drawn = sample(_descriptors(pictures, features), size=options.sample, seed=options.seed)[:MOST_LEARNT_FROM]
    values = drawn.astype(np.float32)
    _, word = flat_index(vocabulary.centroids).search(values, 1)
    codebooks = learn_codebooks(values, vocabulary.centroids[word[:, 0]], options=options, whole=True)
    np.savez_compressed(target, codebooks=codebooks)


def _descriptors(pictures: list[Path], features: FeatureOptions) -> Iterator[Bytes | Float32]:
    reader = Reader(features)
    for path in find_pictures(pictures):
        yield reader.open(path, name=str(path)).features().descriptors


if __name__ == "__main__":
    for name in sys.argv[2:] or DETECTORS:
        make(name, [Path(sys.argv[1])], READY / name / "codebooks.npz")
