"""Each weight of the Hamming measure by itself, on examples worked out by hand (BURST-09 §3 and §4).

With this sigma exp(−h² / σ²) = 2^(−h² / 16), so a match weighs 1 at 0 bits, 1/2 at 4 and 1/16 at 8.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any

import numpy as np
import pytest

from resight.scoring import Query

from ..support import quantised
from ..support.quantised import picture, score

SIGMA = 4 / sqrt(log(2))
AT_0, AT_4, AT_8, FAR = 0, 0b1111, 0b1111_1111, 2**32 - 1  # signatures, seen from a query whose bits are all 0


def scores_of(query: Query, *pictures: Query, idf: float = 1.0, alive: Any = None, **options: Any) -> list[float]:
    """Scores of pictures that have one word weight for all words."""
    k = 1 + max(int(p.words.word.max(initial=0)) for p in (query, *pictures))
    segment = quantised.segment_of(pictures, k, np.full(k, idf), alive)
    (scores,) = score(query, [segment], options=quantised.hamming(sigma=SIGMA, **options))
    return [float(s) for s in scores]


def about(*values: float) -> Any:
    return pytest.approx(list(values), rel=1e-5)


def test_weight_of_the_distance() -> None:
    singles = [picture([0], [bits]) for bits in (AT_0, AT_4, AT_8, FAR)]
    assert scores_of(picture([0]), *singles) == about(1, 1 / 2, 1 / 16, 0)
    assert scores_of(picture([0]), *singles, idf=3.0) == about(9, 9 / 2, 9 / 16, 0)


# --- multiple match removal (§4.1)


def test_only_the_closest_match_counts() -> None:
    # Word 0 three times, at 1/2, 1 and 1: the norm is 3.
    burst, single = picture([0, 0, 0], [AT_4, AT_0, AT_0]), picture([0], [AT_4])
    assert scores_of(picture([0]), burst, single) == about(2.5 / 3, 1 / 2)
    assert scores_of(picture([0]), burst, single, closest_only=True) == about(1 / 3, 1 / 2)
    # Two query features have one vote each; the second is nearest to the 0b1111.
    assert scores_of(picture([0, 0], [AT_0, AT_4]), burst, closest_only=True) == about((1 + 1) / 3)


def test_each_word_of_a_feature_counts_as_a_descriptor_of_its_own() -> None:
    # One feature in words 0 and 1: a vote of 1/2 through word 0 and one of 1 through word 1.
    query = picture([0, 1], feature=[0, 0])
    shown = picture([0, 0, 1], [AT_4, AT_8, AT_0])
    assert scores_of(query, shown, closest_only=True) == about((1 / 2 + 1) / sqrt(5))
    # Each word has its own sum: word 1's match is alone and keeps its weight, word 0's are 1/2 and 1/16 of 9/16.
    tamed = 1 / 2 * sqrt(8 / 9) + 1 / 16 * sqrt(1 / 9) + 1
    assert scores_of(query, shown, intra="root-share") == about(tamed / sqrt(5))


def test_of_equally_close_matches_the_first_counts() -> None:
    # The first is turned by 90° and has the prior 0.9, the second is upright.
    for angles, prior in (([64, 0], 0.9), ([0, 64], 1.0)):
        shown = picture([0, 0], [0b0011, 0b1100], angle=angles)
        (found,) = scores_of(picture([0]), shown, closest_only=True, weak_geometry=True)
        assert found == pytest.approx(prior * 2 ** (-1 / 4) / 2)


def test_the_closest_match_brings_its_own_geometry() -> None:
    shown = picture([0, 0, 0], [AT_8, AT_0, AT_4], angle=[0, 64, 0])
    assert scores_of(picture([0]), shown, closest_only=True, weak_geometry=True) == about(0.9 / 3)


def test_the_closest_match_counts_though_all_weigh_alike() -> None:
    segment = quantised.segment_of([picture([0, 0], [AT_8, AT_0], angle=[0, 64])], 1, np.ones(1))
    options = quantised.hamming(sigma=1e6, closest_only=True, weak_geometry=True)
    (found,) = score(picture([0]), [segment], options=options)
    assert found.tolist() == about(0.9 / 2)


# --- within a picture (§4.2, table 2)

# Word 0 three times: at 1, at 1/2 and too far to match. N = 3, t = 3/2, the shares are 2/3 and 1/3, the norm is 3.
# Beside it a picture with a single match at 1/2: N = 1, t = 1/2, the share is 1.
BY_HAND = {
    "none": [1.5 / 3, 0.5],
    "count": [1.5 / 3 / 3, 0.5],  # m / N
    "root-count": [1.5 / sqrt(3) / 3, 0.5],  # m / √N
    "root-share": [(0.816497 + 0.288675) / 3, 0.5],  # eq. 4: 1 · √(2/3) + 1/2 · √(1/3)
    "log-share": [(0.510826 + 0.143841) / 3, 0.346574],  # 1 · log(5/3) + 1/2 · log(4/3); 1/2 · log 2
}


@pytest.mark.parametrize("intra", BY_HAND)
def test_bursts_within_a_picture(intra: str) -> None:
    pictures = [picture([0, 0, 0], [AT_0, FAR, AT_4]), picture([0], [AT_4])]
    assert scores_of(picture([0]), *pictures, intra=intra) == about(*BY_HAND[intra])
    # idf² is a factor of all matches: no share changes.
    assert scores_of(picture([0]), *pictures, intra=intra, idf=2.0) == about(*(4 * s for s in BY_HAND[intra]))


@pytest.mark.parametrize(
    ("intra", "expected"), [("count", 1 / 3), ("root-count", 1 / sqrt(3)), ("root-share", 1.0), ("log-share", log(2))]
)
def test_what_is_tamed_after_the_closest_was_chosen(intra: str, expected: float) -> None:
    # One match at 1 is left: it is all of its sum, but its word still occurs three times.
    shown = picture([0, 0, 0], [AT_4, FAR, AT_0])
    assert scores_of(picture([0]), shown, intra=intra, closest_only=True) == about(expected / 3)


# --- across pictures (§4.3)


def test_bursts_across_pictures() -> None:
    # t = 1 + 1/2 (eq. 5): 1 · √(2/3) and 1/2 · √(1/3) (eq. 6); the third picture is too far.
    pictures = [picture([0], [bits]) for bits in (AT_0, AT_4, FAR)]
    assert scores_of(picture([0]), *pictures, inter=True) == about(0.816497, 0.288675, 0)
    assert scores_of(picture([0]), *pictures, inter=True, idf=2.0) == about(4 * 0.816497, 4 * 0.288675, 0)
    # Alone in its list a match keeps its weight.
    assert scores_of(picture([0]), picture([0], [AT_4]), inter=True) == about(1 / 2)


def test_a_match_alone_keeps_its_weight_however_small() -> None:
    segment = quantised.segment_of([picture([0], [2**24 - 1])], 1, np.ones(1))
    (found,) = score(picture([0]), [segment], options=quantised.hamming(sigma=5, inter=True))
    assert found.tolist() == about(exp(-(24**2) / 5**2))


def test_each_query_feature_has_its_own_sum() -> None:
    # From 0b0000: 1 and 1/2, from 0b1111: 1/2 and 1; t is 3/2 for both. Word 1 is in the second picture alone.
    pictures = [picture([0], [AT_0]), picture([0, 1], [AT_4, AT_4])]
    query = picture([0, 0, 1], [AT_0, AT_4, AT_0])
    shared = 0.816497 + 0.288675
    assert scores_of(query, *pictures, inter=True) == about(shared, (shared + 1 / 2) / sqrt(2))


def test_across_pictures_comes_after_within_pictures() -> None:
    # Within: the first picture's matches 1, 1 become √½ each, the second's 1/2 stays. t = √2 + 1/2 = 1.914214.
    # Across: √½ · √(√½ / t) = 0.707107 · 0.607780 = 0.429765, twice, over the norm 2; 1/2 · √(1/2 / t) = 0.255538.
    pictures = [picture([0, 0]), picture([0], [AT_4])]
    assert scores_of(picture([0]), *pictures, intra="root-share", inter=True) == about(0.429765, 0.255538)


def test_the_sum_is_over_all_parts() -> None:
    query, pictures = picture([0]), [picture([0], [bits]) for bits in (AT_0, AT_4)]
    segments = [quantised.segment_of([p], 1, np.ones(1)) for p in pictures]
    found = score(query, segments, options=quantised.hamming(sigma=SIGMA, inter=True))
    assert [scores.tolist() for scores in found] == [about(0.816497), about(0.288675)]


def test_removed_pictures_count_in_no_sum() -> None:
    # With the third picture t would be 5/2.
    pictures = [picture([0], [bits]) for bits in (AT_0, AT_4, AT_0)]
    alive = [True, True, False]
    assert scores_of(picture([0]), *pictures, alive=alive, inter=True) == about(0.816497, 0.288675, 0)
    assert scores_of(picture([0]), *pictures, inter=True)[0] == pytest.approx(sqrt(1 / 2.5))


# --- weak geometry (§3): four words, one match of weight 1 for each; the norm is 2

FOUR = [0, 1, 2, 3]


def agreeing(*, angle: Any = 0, scale: Any = 0, query_angle: Any = 0, query_scale: Any = 0) -> float:
    """The score times the norm: how much of the 4 is left."""
    query = picture(FOUR, angle=query_angle, scale=query_scale)
    (found,) = scores_of(query, picture(FOUR, angle=angle, scale=scale), weak_geometry=True)
    return 2 * found


def test_matches_that_agree_keep_their_weight() -> None:
    assert agreeing() == pytest.approx(4)
    # Features of all angles and sizes, none of which changes.
    assert agreeing(angle=[0, 64, 130, 255], scale=[9, 90, 200, 255], query_angle=[0, 64, 130, 255],
                    query_scale=[9, 90, 200, 255]) == pytest.approx(4)  # fmt: skip


def test_matches_that_disagree_on_the_turn() -> None:
    assert agreeing(angle=[0, 0, 0, 128]) == pytest.approx(3)
    assert agreeing(angle=[0, 0, 128, 128]) == pytest.approx(2)
    assert agreeing(angle=[0, 128, 128, 128]) == pytest.approx(0.9 * 3)  # upside down
    assert agreeing(angle=[0, 64, 128, 192]) == pytest.approx(1)
    # The same through the angles of the query.
    assert agreeing(query_angle=[0, 0, 128, 128]) == pytest.approx(2)


@pytest.mark.parametrize(
    ("degrees", "prior"),
    [
        (0, 1),
        (22.5, 1),  # its neighbour is upright
        (45, 0.95),  # its neighbours: 22.5° has 0.95, 67.5° has 0.8
        (67.5, 0.9),  # its neighbour is a quarter turn
        (90, 0.9),
        (135, 0.8),
        (180, 0.9),
        (225, 0.8),
        (270, 0.9),
        (315, 0.95),
        (337.5, 1),
    ],
)
def test_natural_turns_are_preferred(degrees: float, prior: float) -> None:
    assert agreeing(angle=round(degrees / 360 * 256)) == pytest.approx(4 * prior)
    # It is the difference that matters, around the circle.
    assert agreeing(angle=(100 + round(degrees / 360 * 256)) % 256, query_angle=100) == pytest.approx(4 * prior)
    assert agreeing(angle=(250 + round(degrees / 360 * 256)) % 256, query_angle=250) == pytest.approx(4 * prior)


def test_turns_go_round() -> None:
    # Bins are 16 codes wide, and the first is around 0. Codes −16, 0, 0, 16: bins 15, 0, 0 and 1 meet in bin 0.
    assert agreeing(angle=[240, 0, 0, 16]) == pytest.approx(4)
    # Bins 14, 14, 15 and 0 meet in bin 15, of prior 0.95.
    assert agreeing(angle=[224, 224, 240, 0]) == pytest.approx(0.95 * 4)
    # Bins 0, 1, 1 and 2 meet in bin 1, of prior 0.95.
    assert agreeing(angle=[0, 16, 16, 32]) == pytest.approx(0.95 * 4)


def test_borders_of_the_bins_of_turn() -> None:
    # Code 23 is the last of bin 1, beside bin 0; 24 is the first of bin 2. Of bin 2 and 0 only bin 1 sees both.
    assert agreeing(angle=[0, 0, 0, 23]) == pytest.approx(4)
    assert agreeing(angle=[0, 0, 0, 24]) == pytest.approx(0.95 * 4)
    # Likewise 232 is the first of bin 15 and 231 the last of bin 14.
    assert agreeing(angle=[0, 0, 0, 232]) == pytest.approx(4)
    assert agreeing(angle=[0, 0, 0, 231]) == pytest.approx(0.95 * 4)


@pytest.mark.parametrize(
    ("octaves", "prior"),
    [
        (0.5, 1),  # its neighbour is the middle
        (-0.5, 1),
        (1, 0.975),  # two bins from the middle: its neighbour is one from it
        (-1, 0.975),
        (2, 0.925),  # four bins, its neighbour three: 1 − 3 · 0.025
        (-2, 0.925),
        (4, 0.825),  # the last bin, its neighbour seven from the middle: 1 − 7 · 0.025
        (-4, 0.825),
        (6, 0.825),  # beyond the last bin
        (-6, 0.825),
    ],
)
def test_natural_sizes_are_preferred(octaves: float, prior: float) -> None:
    smaller = 128 - round(octaves * 20)  # 20 codes per octave; a larger feature has a smaller code
    assert agreeing(query_scale=128, scale=smaller) == pytest.approx(4 * prior)


def test_matches_that_disagree_on_the_size() -> None:
    # None, none, and an octave larger, twice: bins 8 and 10 meet in bin 9, of prior 0.975.
    assert agreeing(query_scale=128, scale=[128, 128, 108, 108]) == pytest.approx(0.975 * 4)
    # Two octaves do not meet.
    assert agreeing(query_scale=128, scale=[128, 128, 88, 88]) == pytest.approx(2)
    # Larger and smaller are not the same.
    assert agreeing(query_scale=128, scale=[88, 88, 168, 168]) == pytest.approx(0.925 * 2)


def test_sizes_are_clipped_and_do_not_go_round() -> None:
    # 4, 5, 6 and 6.4 octaves larger are all in the last bin.
    assert agreeing(query_scale=128, scale=[48, 28, 8, 0]) == pytest.approx(0.825 * 4)
    assert agreeing(query_scale=128, scale=[208, 228, 248, 255]) == pytest.approx(0.825 * 4)
    # The first bin and the last are not neighbours.
    assert agreeing(query_scale=128, scale=[0, 0, 255, 255]) == pytest.approx(0.825 * 2)
    # Codes at both ends.
    assert agreeing(query_scale=255, scale=0) == pytest.approx(0.825 * 4)
    assert agreeing(query_scale=0, scale=255) == pytest.approx(0.825 * 4)


def test_the_lesser_of_turn_and_size_counts() -> None:
    # Three agree on the turn, two on the size.
    assert agreeing(query_scale=128, angle=[0, 0, 0, 128], scale=[128, 128, 88, 48]) == pytest.approx(2)
    # One agrees on the turn, all on the size.
    assert agreeing(angle=[0, 64, 128, 192]) == pytest.approx(1)


def test_burst_weights_are_what_is_added_up() -> None:
    # Within the picture 1, 1 become √½ each. They are turned by 0° and 180°, so one of them is left; the norm is 2.
    shown = picture([0, 0], angle=[0, 128])
    assert scores_of(picture([0]), shown, intra="root-share", weak_geometry=True) == about(sqrt(1 / 2) / 2)
    # Across two such pictures: t = 4 · √½, and √½ · √(√½ / t) = √½ · √¼.
    assert scores_of(picture([0]), shown, shown, intra="root-share", inter=True, weak_geometry=True) == about(
        sqrt(1 / 2) / 4, sqrt(1 / 2) / 4
    )


# --- sizes of query features (§3)


@pytest.mark.parametrize(
    ("code", "power", "weight"),
    [
        (100, 1.0, 1),  # 5 octaves below the longest side: the size that counts as 1
        (80, 1.0, 2),  # an octave larger
        (80, 0.5, sqrt(2)),
        (80, 2.0, 4),
        (140, 1.0, 1 / 4),  # two octaves smaller
        (140, 0.5, 1 / 2),
        (0, 1.0, 32),
        (140, 0.0, 1),
    ],
)
def test_larger_query_features_weigh_more(code: int, power: float, weight: float) -> None:
    # The picture's own sizes do not count.
    assert scores_of(picture([0], scale=code), picture([0], [AT_4], scale=7), size_power=power) == about(weight / 2)


def test_the_size_is_that_of_the_feature_that_owns_the_row() -> None:
    # Feature 0 (weight 2) is in words 0 and 1, feature 1 (weight 1/2) in word 2.
    query = picture([0, 1, 2], feature=[0, 0, 1], scale=[80, 120])
    singles = [picture([word]) for word in range(3)]
    assert scores_of(query, *singles, size_power=1.0) == about(2, 2, 1 / 2)
    # It is a factor of all matches of a row, so bursts are tamed as before: t = 2 for word 0.
    assert scores_of(query, singles[0], singles[0], size_power=1.0, inter=True) == about(
        2 * sqrt(1 / 2), 2 * sqrt(1 / 2)
    )
