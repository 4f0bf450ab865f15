"""Make codebooks for the words of the ready vocabulary, from the descriptors that it was made from.

    python tools/make_codebooks.py PICTURES

Writes src/resight/vocabulary/ready/codebooks.npz (`make vocabulary`). The words stay as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from resight import images
from resight.analyse import features_of
from resight.options import FeatureOptions, ImageOptions, VocabularyOptions, from_dict
from resight.types import Bytes, Float32
from resight.vocabulary import Vocabulary
from resight.vocabulary.codes import MOST_LEARNT_FROM, learn_codebooks
from resight.vocabulary.nearest import flat_index
from resight.vocabulary.train import sample

TARGET = Path(__file__).parents[1] / "src" / "resight" / "vocabulary" / "ready" / "codebooks.npz"
CODES = 8  # bytes (DRE-12)


def make(pictures: list[Path], target: Path) -> None:
    vocabulary = Vocabulary.ready()
    features = from_dict(FeatureOptions, vocabulary.description["features"])
    options = from_dict(VocabularyOptions, {**vocabulary.description["options"], "codes": CODES})
    drawn = sample(_descriptors(pictures, features), size=options.sample, seed=options.seed)[:MOST_LEARNT_FROM]
    values = drawn.astype(np.float32)
    _, word = flat_index(vocabulary.centroids).search(values, 1)
    codebooks = learn_codebooks(values, vocabulary.centroids[word[:, 0]], options=options, whole=True)
    np.savez_compressed(target, codebooks=codebooks)


def _descriptors(pictures: list[Path], features: FeatureOptions) -> Iterator[Bytes | Float32]:
    options = ImageOptions()
    for path in images.find_pictures(pictures):
        data = images.read_bytes(path, options=options)
        yield features_of(data, name=str(path), features=features, images_options=options).descriptors


if __name__ == "__main__":
    make([Path(folder) for folder in sys.argv[1:]], TARGET)
