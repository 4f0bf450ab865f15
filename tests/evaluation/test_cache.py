"""Features come out of a cache as they went in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from resight.evaluation.cache import FeatureCache, Wanted, read
from resight.ingest import Reader
from resight.options import FeatureOptions

from ..support.pictures import texture, write

OPTIONS = FeatureOptions(max_features=50)


@pytest.mark.parametrize("tint", [0, 90])
def test_all_of_a_picture(tmp_path: Path, tint: int) -> None:
    """Whether it has colours or not."""
    pixels = np.repeat(texture(1)[..., None] // 2, 3, axis=2)
    pixels[..., 0] += np.uint8(tint)
    file = write(tmp_path / "a.png", pixels)
    (cached,) = FeatureCache(tmp_path / "cache", OPTIONS).extract([Wanted(file)], processes=1)
    assert cached.file
    found, expected = read(cached.file), Reader(OPTIONS).open(file, name="a").features()
    assert (found.colours is None) == (tint == 0)
    for name in found.__slots__:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
