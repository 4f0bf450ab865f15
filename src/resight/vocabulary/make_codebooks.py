"""Make ``ready/codebooks.npz``: codebooks for the words of the ready vocabulary, from the descriptors it was made from.

``python -m resight.vocabulary.make_codebooks PICTURES`` (`make vocabulary`). The words stay as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .. import images
from ..features import extract
from ..options import FeatureOptions, ImageOptions, VocabularyOptions, from_dict
from ..types import Bytes, Float32
from .codes import MOST_LEARNT_FROM, learn_codebooks
from .nearest import flat_index
from .train import sample
from .vocabulary import Vocabulary

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


def _descriptors(pictures: list[Path], options: FeatureOptions) -> Iterator[Bytes | Float32]:
    for path in images.find_pictures(pictures):
        data = images.read_bytes(path, options=ImageOptions())
        picture = images.decode(data, name=str(path), max_side=options.max_side, options=ImageOptions())
        yield extract(picture, options=options).descriptors


if __name__ == "__main__":
    make([Path(folder) for folder in sys.argv[1:]], Path(__file__).parent / "ready" / "codebooks.npz")
