"""Geometric verification on made scenes: known maps are recovered, chance is not taken for agreement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resight.options import VerifyOptions
from resight.postings import decode, encode
from resight.rerank import Placed, Verified, one_to_one, verify
from resight.rerank.verify import LARGEST_STRETCH, OCTAVES, REFINED, TURN, _is_view, _paired, _support, log_false_alarms
from resight.types import Features

Array = npt.NDArray[Any]
WIDTH, HEIGHT = 1000, 750
OPTIONS = VerifyOptions()


def check(query: Placed, found: Placed, *, oriented: bool = True, **values: Any) -> Verified | None:
    """As the only picture."""
    bounds, sizes = np.array([0, len(query.xy)]), np.array([[WIDTH, HEIGHT]])
    options = VerifyOptions(**values)
    (verified,) = verify(query, found, bounds=bounds, sizes=sizes, options=options, oriented=oriented)
    return verified


def placed(xy: Any, scale: Any = None, angle: Any = None) -> Placed:
    positions = np.asarray(xy, np.float32).reshape(-1, 2)
    n = len(positions)
    sizes = np.full(n, 8.0) if scale is None else scale
    turns = np.zeros(n) if angle is None else angle
    return Placed(positions, np.asarray(sizes, np.float32), np.asarray(turns, np.float32))


def as_stored(places: Placed) -> Placed:
    """Through the bytes of a posting."""
    nothing = np.zeros((len(places.xy), 128), np.uint8)
    features = Features(places.xy, places.scale, places.angle, nothing, WIDTH, HEIGHT, places.shape)
    return Placed(*decode(encode(features), WIDTH))


def strangers(count: int, rng: np.random.Generator) -> Placed:
    """Features anywhere, of any angle, over four octaves of scale."""
    xy = rng.random((count, 2)) * [WIDTH, HEIGHT]
    return placed(xy, WIDTH * 2 ** -rng.uniform(5, 9, count), rng.uniform(0, 2 * np.pi, count))


def ellipses(count: int, rng: np.random.Generator, *, longest: float = 3) -> Array:
    """Shapes of all directions, up to ``longest`` times as long as wide."""
    long, turn = longest ** rng.uniform(0, 0.5, count), turns(rng.uniform(0, np.pi, count))
    stretch = np.stack([long, 1 / long], axis=1)[:, None, :]
    result: Array = (turn * stretch @ turn.transpose(0, 2, 1)).astype(np.float32)
    return result


def turns(angle: Any) -> Array:
    """(…, 2, 2) rotations."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([np.stack([c, -s], axis=-1), np.stack([s, c], axis=-1)], axis=-2)


def joined(first: Placed, second: Placed) -> Placed:
    return Placed(*(np.concatenate(pair) for pair in zip(_columns(first), _columns(second), strict=True)))


def taken(places: Placed, order: Array) -> Placed:
    return Placed(*(column[order] for column in _columns(places)))


def _columns(places: Placed) -> tuple[Array, ...]:
    circles = (places.xy, places.scale, places.angle)
    return circles if places.shape is None else (*circles, places.shape)


@dataclass
class Scene:
    query: Placed
    found: Placed
    truth: Array  # (2, 3) query → found
    agree: Array  # (m,) bool


def scene(seed: int, *, matches: int = 60, outliers: float = 0.6, stretched: float = 1.2, noise: float = 0.5) -> Scene:
    """A picture seen again: turned, 0.5 to 2 times as large, stretched one way, with some noise.

    Angles and scales are those of the map's similarity part, noisy, and stored as an index stores them.
    """
    rng = np.random.default_rng(seed)
    good = round(matches * (1 - outliers))
    turn, size, stretch = rng.uniform(0, 2 * np.pi), 2 ** rng.uniform(-1, 1), rng.uniform(1 / stretched, stretched)
    c, s = np.cos(turn), np.sin(turn)
    linear = size * np.array([[c, -s], [s, c]]) @ np.diag([stretch, 1])
    # Query features lie where the map stays inside the picture: the pre-image of a central box.
    target = rng.random((good, 2)) * [600, 450] + [200, 150]
    shift = np.array([500, 375]) - linear @ np.array([500, 375])
    source = (target - shift) @ np.linalg.inv(linear).T
    scale, angle = WIDTH * 2 ** -rng.uniform(5.5, 8, good), rng.uniform(0, 2 * np.pi, good)
    seen = placed(
        target + rng.normal(0, noise, target.shape),
        scale * size * np.sqrt(stretch) * 2 ** rng.normal(0, 0.1, good),
        (angle + turn + rng.normal(0, 0.05, good)) % (2 * np.pi),
    )
    bad = matches - good
    query = joined(placed(source, scale, angle), strangers(bad, rng))
    found = as_stored(joined(seen, strangers(bad, rng)))
    order = rng.permutation(matches)
    agree = (np.arange(matches) < good)[order]
    return Scene(taken(query, order), taken(found, order), np.column_stack([linear, shift]), agree)


def mapped(transform: Array, xy: Array) -> Array:
    result: Array = xy.astype(float) @ transform[:, :2].T + transform[:, 2]
    return result


# --- recovery


@pytest.mark.parametrize("seed", range(25))
def test_a_known_map_is_recovered_among_60_percent_outliers(seed: int) -> None:
    made = scene(seed)
    verified = check(made.query, made.found)
    assert verified is not None
    inside = made.query.xy[made.agree]
    error = np.linalg.norm(mapped(verified.transform, inside) - mapped(made.truth, inside), axis=1)
    assert error.max() <= 2
    assert verified.inliers[made.agree].all()
    assert verified.inliers[~made.agree].sum() <= 2


@pytest.mark.parametrize("seed", range(25))
def test_positions_alone_recover_a_known_map(seed: int) -> None:
    """Turned by anything and 0.5 to 2 times as large, among 60 % outliers; scales and angles say nothing."""
    made = scene(seed)
    query, found = placed(made.query.xy), placed(made.found.xy)
    verified = check(query, found, oriented=False)
    assert verified is not None
    inside = made.query.xy[made.agree]
    error = np.linalg.norm(mapped(verified.transform, inside) - mapped(made.truth, inside), axis=1)
    assert verified.inliers[made.agree].all()
    assert verified.inliers[~made.agree].sum() <= 1
    assert error.max() <= (2 if not verified.inliers[~made.agree].any() else OPTIONS.tolerance * WIDTH)


def test_positions_alone_are_not_taken_for_more_by_chance() -> None:
    """Strangers, some of them at one place, as repeated texture has it."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        query, found = strangers(100, rng), strangers(100, rng)
        found.xy[:20] = found.xy[0]
        assert check(placed(query.xy), placed(found.xy), oriented=False) is None


def test_refinement_grows_from_a_similarity_to_a_slanted_view() -> None:
    """Stretched by up to 1.8, a single match's similarity fits its neighbourhood alone; refining finds the rest."""
    complete = 0
    for seed in range(40):
        made = scene(seed, matches=80, outliers=0.4, stretched=1.8, noise=2.5)
        verified = check(made.query, made.found)
        complete += verified is not None and bool(verified.inliers[made.agree].all())
    assert complete >= 38


@pytest.mark.parametrize("seed", range(5))
def test_inliers_are_near_turned_and_resized_as_the_map_says(seed: int) -> None:
    made = scene(seed)
    verified = check(made.query, made.found)
    assert verified is not None
    near = (
        np.linalg.norm(mapped(verified.transform, made.query.xy) - made.found.xy, axis=1) <= OPTIONS.tolerance * WIDTH
    )
    # The nearest similarity to a linear map, as complex numbers: (p + s) + (r − q) i.
    (p, q, _), (r, s, _) = verified.transform
    turn = np.exp(1j * (made.found.angle - made.query.angle)) * np.conj(complex(p + s, r - q))
    octaves = np.log2(made.found.scale / made.query.scale) - np.log2(np.sqrt(p * s - q * r))
    assert np.array_equal(verified.inliers, near & (np.abs(np.angle(turn)) <= TURN) & (np.abs(octaves) <= OCTAVES))


def test_a_translation_by_hand() -> None:
    corners = np.array([[0, 0], [100, 0], [0, 100], [100, 100], [50, 20], [30, 70]])
    verified = check(placed(corners), placed(corners + np.array([40, -7])))
    assert verified is not None
    assert verified.transform == pytest.approx(np.array([[1, 0, 40], [0, 1, -7]]), abs=1e-4)
    assert verified.inliers.tolist() == [True] * 6


def test_a_quarter_turn_and_doubling_by_hand() -> None:
    """(x, y) → (300 − 2y, 2x): from +x towards +y, as angles are counted."""
    points = np.array([[0, 0], [100, 0], [0, 100], [100, 100], [50, 20], [30, 70]])
    seen = np.stack([300 - 2 * points[:, 1], 2 * points[:, 0]], axis=1)
    verified = check(placed(points), placed(seen, np.full(6, 16), np.full(6, np.pi / 2)))
    assert verified is not None
    assert verified.transform == pytest.approx(np.array([[0, -2, 300], [2, 0, 0]]), abs=1e-3)


def test_tolerance_and_min_inliers_by_hand() -> None:
    """Five points in place and one 20 px off: out at a tolerance of 10 px (0.01 · 1000), in at 30."""
    points = np.array([[0, 0], [400, 0], [0, 400], [400, 400], [200, 200], [100, 300]], float)
    seen = points.copy()
    seen[5] += [0, 20]
    strict = check(placed(points), placed(seen))
    assert strict is not None
    assert strict.inliers.tolist() == [True] * 5 + [False]
    assert check(placed(points), placed(seen), min_inliers=6) is None
    loose = check(placed(points), placed(seen), min_inliers=6, tolerance=0.03)
    assert loose is not None
    assert loose.inliers.all()


# --- chance


def false_alarms(matches: int, trials: int) -> float:
    count = 0
    for trial in range(trials):
        rng = np.random.default_rng((matches, trial))
        count += check(strangers(matches, rng), as_stored(strangers(matches, rng))) is not None
    return count / trials


@pytest.mark.parametrize("matches", [5, 20, 100, 300])
def test_unrelated_matches_do_not_verify(matches: int) -> None:
    """``false_alarms`` = 0.01 bounds how often chance passes; in 1000 trials of each it never did."""
    assert false_alarms(matches, 200) == 0


def upright(count: int, rng: np.random.Generator) -> Placed:
    """As strangers, but upright and of one size, as texture often is: angles and scales agree by themselves."""
    places = strangers(count, rng)
    return placed(places.xy, 8 * 2 ** rng.normal(0, 0.3, count), rng.normal(1, 0.2, count) % (2 * np.pi))


@pytest.mark.parametrize("matches", [20, 100, 300])
def test_unrelated_upright_matches(matches: int) -> None:
    count = 0
    for trial in range(100):
        rng = np.random.default_rng((matches, trial, 1))
        count += check(upright(matches, rng), as_stored(upright(matches, rng))) is not None
    assert count == 0


def test_false_alarms_by_hand() -> None:
    # 10 matches, 5 agree: 10 · C(10, 5) · C(5, 3) · 0.01² = 10 · 252 · 10 / 10⁴ = 2.52
    assert np.exp(log_false_alarms(10, 5, 0.01)) == pytest.approx(2.52)
    # all four of four agree: 4 · 1 · 4 · 0.01 = 0.16
    assert np.exp(log_false_alarms(4, 4, 0.01)) == pytest.approx(0.16)


def test_the_more_matches_the_more_must_agree() -> None:
    def needed(matches: int) -> int:
        return next(k for k in range(4, matches + 1) if log_false_alarms(matches, k, 1e-4) < np.log(0.01))

    wanted = [needed(m) for m in (10, 100, 1000)]
    assert wanted == sorted(wanted)
    assert wanted[-1] > wanted[0]


def test_false_alarms_option_decides() -> None:
    """Four agreeing among 40: not beyond chance at 0.01, accepted when many false alarms are."""
    rng = np.random.default_rng(0)
    corners = np.array([[100, 100], [800, 120], [150, 600], [820, 640]])
    query = joined(placed(corners), strangers(36, rng))
    found = joined(placed(corners + 30), strangers(36, rng))
    assert check(query, found) is None
    lenient = check(query, found, false_alarms=1e9)
    assert lenient is not None
    assert lenient.inliers.tolist() == [True] * 4 + [False] * 36


def test_mirrored_scenes_do_not_verify() -> None:
    """A mirror image is no view of the same scene."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        points = rng.random((30, 2)) * [WIDTH, HEIGHT]
        mirrored = np.stack([WIDTH - points[:, 0], points[:, 1]], axis=1)
        angle = rng.uniform(0, 2 * np.pi, 30)
        flipped = placed(mirrored, None, (np.pi - angle) % (2 * np.pi))
        assert check(placed(points, None, angle), as_stored(flipped)) is None


def test_extreme_stretches_do_not_verify() -> None:
    rng = np.random.default_rng(0)
    points = rng.random((20, 2)) * 900
    assert check(placed(points), placed(points * [1, 0.05])) is None
    for small in (0.2, 0.05):  # a thumbnail is a view, however small
        reference = check(placed(points), placed(points * small, np.full(20, 8 * small)))
        assert reference is not None
        assert reference.inliers.all()


# --- degenerate input


@pytest.mark.parametrize("count", range(4))
def test_fewer_matches_than_min_inliers(count: int) -> None:
    same = placed(np.random.default_rng(0).random((count, 2)) * 500)
    assert check(same, same) is None


def test_four_matches_may_be_enough() -> None:
    same = placed([[0, 0], [300, 0], [0, 300], [300, 310]])
    verified = check(same, same)
    assert verified is not None
    assert verified.inliers.all()
    assert check(same, same, min_inliers=5) is None


@pytest.mark.parametrize(
    "points",
    [
        np.zeros((30, 2)),  # all equal
        np.stack([np.arange(30) * 20, np.full(30, 100)], axis=1),  # a horizontal line
        np.stack([np.full(30, 50), np.arange(30) * 20], axis=1),  # a vertical line
        np.stack([np.arange(30) * 20, np.arange(30) * 10 + 7], axis=1),  # a slanted line
        np.repeat([[10, 10], [500, 300]], 15, axis=0),  # two places
    ],
)
def test_points_that_fix_no_map(points: Array) -> None:
    assert check(placed(points), placed(points)) is None
    with_strangers = np.concatenate([points, np.random.default_rng(0).random((4, 2)) * 700])
    verified = check(placed(with_strangers), placed(with_strangers + 5))
    assert verified is None or np.isfinite(verified.transform).all()


def test_duplicated_matches_change_nothing_but_the_count() -> None:
    made = scene(1, outliers=0.3)
    twice = np.repeat(np.arange(60), 2)
    once, double = check(made.query, made.found), check(taken(made.query, twice), taken(made.found, twice))
    assert once is not None
    assert double is not None
    assert double.inliers.sum() == 2 * once.inliers.sum()
    assert double.transform == pytest.approx(once.transform, abs=1e-6)


# --- ellipses


def slanted(seed: int, *, good: int, bad: int, tilt: float = 3, coarse: float = 1) -> Scene:
    """A plane seen from aside: one direction is shortened ``tilt`` times. Frames go over into each other, nearly.

    How far they miss is what a detector may: coarse = 1 is about 4° and 6 % in shape.
    """
    rng = np.random.default_rng(seed)
    linear = 2 ** rng.uniform(-0.5, 0.5) * turns(rng.uniform(0, 2 * np.pi)) @ np.diag([tilt**0.5, tilt**-0.5])
    linear = linear @ turns(rng.uniform(0, 2 * np.pi))
    source = rng.random((good, 2)) * [400, 300] + [300, 225]
    shift = np.array([500, 375]) - linear @ np.array([500, 375])
    scale, angle, shape = WIDTH * 2 ** -rng.uniform(5.5, 7, good), rng.uniform(0, 2 * np.pi, good), ellipses(good, rng)
    # The left polar decomposition of each new frame, by singular values: size · symmetric · rotation.
    error = ellipses(good, rng, longest=1 + 0.12 * coarse) @ turns(rng.normal(0, 0.07 * coarse, good))
    frames = linear @ (scale[:, None, None] * shape @ turns(angle)) @ error
    u, s, v = np.linalg.svd(frames)
    size = np.sqrt(s.prod(axis=1))
    new_shape, rotation = u * (s / size[:, None])[:, None, :] @ u.transpose(0, 2, 1), u @ v
    new_angle = np.arctan2(rotation[:, 1, 0], rotation[:, 0, 0]) % (2 * np.pi)
    target = mapped(np.column_stack([linear, shift]), source) + rng.normal(0, 0.5, source.shape)
    size = size * 2 ** rng.normal(0, 0.1 * coarse, good)

    def with_strangers(xy: Array, scale: Array, angle: Array, shape: Array) -> Placed:
        others = replace(strangers(bad, rng), shape=ellipses(bad, rng))
        return joined(replace(placed(xy, scale, angle), shape=shape.astype(np.float32)), others)

    query, found = with_strangers(source, scale, angle, shape), with_strangers(target, size, new_angle, new_shape)
    order = rng.permutation(good + bad)
    agree = (np.arange(good + bad) < good)[order]
    return Scene(taken(query, order), as_stored(taken(found, order)), np.column_stack([linear, shift]), agree)


def as_circles(places: Placed) -> Placed:
    return replace(places, shape=None)


def test_a_frame_proposes_the_map_it_was_seen_through() -> None:
    """Without noise but that of storing, each match by itself gives the linear part."""
    for seed in range(20):
        made = slanted(seed, good=5, bad=0, coarse=0)
        _, linear = _paired(made.query, made.found, slice(None))
        assert linear == pytest.approx(np.tile(made.truth[:, :2], (5, 1, 1)), abs=0.08)


def test_a_slanted_view_needs_ellipses() -> None:
    """Tilt 3, eight right matches among 68: with their shapes nearly always found, as circles hardly ever."""
    found = {True: 0, False: 0}
    for seed in range(40):
        made = slanted(seed, good=8, bad=60)
        for shapes in found:
            query, seen = (p if shapes else as_circles(p) for p in (made.query, made.found))
            verified = check(query, seen)
            if verified is not None:
                found[shapes] += 1
                inside = made.query.xy[made.agree]
                error = np.linalg.norm(mapped(verified.transform, inside) - mapped(made.truth, inside), axis=1)
                assert error.max() <= 10
                assert verified.inliers[made.agree].sum() >= 7
    assert found[True] >= 39
    assert found[False] <= 4


def test_round_ellipses_are_circles() -> None:
    """To the last bit: shapes that are all 1 change nothing; nor do those that one side alone has."""
    for seed in range(20):
        made = scene(seed)
        plain = check(made.query, made.found)
        assert plain is not None
        one = np.tile(np.eye(2, dtype=np.float32), (60, 1, 1))
        some = ellipses(60, np.random.default_rng(seed))
        for query, found in ((one, one), (some, None), (None, some)):
            other = check(replace(made.query, shape=query), replace(made.found, shape=found))
            assert other is not None
            assert np.array_equal(other.transform, plain.transform)
            assert np.array_equal(other.inliers, plain.inliers)


@pytest.mark.parametrize("matches", [5, 20, 100, 300])
def test_unrelated_ellipses_do_not_verify(matches: int) -> None:
    """An affine proposal is no freer to find support by chance than a similarity."""
    count = 0
    for trial in range(200):
        rng = np.random.default_rng((matches, trial, 2))
        query, found = (replace(strangers(matches, rng), shape=ellipses(matches, rng, longest=6)) for _ in range(2))
        count += check(query, as_stored(found)) is not None
    assert count == 0


def test_views_by_their_singular_values() -> None:
    """Random matrices of all stretches, mirrors among them; none lies near the bound itself."""
    rng = np.random.default_rng(0)
    stretch = np.exp(rng.uniform(0, 2 * np.log(LARGEST_STRETCH), 2000))
    sides = np.stack([stretch, rng.choice([-1, 1], 2000)], axis=1) * np.exp(rng.normal(0, 3, (2000, 1)))
    matrices = turns(rng.uniform(0, 7, 2000)) * sides[:, None, :] @ turns(rng.uniform(0, 7, 2000))
    large, small = np.linalg.svd(matrices, compute_uv=False).T
    views = (np.linalg.det(matrices) > 0) & (large <= LARGEST_STRETCH * small)
    assert [_is_view(*matrix.ravel()) for matrix in matrices] == views.tolist()
    assert 200 < views.sum() < 800


def test_proposals_that_are_no_views_are_passed_over() -> None:
    """Each match says that the picture is stretched 12 : 1. They fit each other, but no view does that."""
    points = np.random.default_rng(0).random((20, 2)) * 300
    for stretch, views in ((12, False), (8, True)):
        wide, tall = (
            np.tile(np.diag([a, 1 / a]), (20, 1, 1)).astype(np.float32) for a in (stretch**0.25, stretch**-0.25)
        )
        seen = points * [stretch**0.5, stretch**-0.5]
        verified = check(replace(placed(points), shape=tall), replace(placed(seen), shape=wide))
        assert (verified is not None) == views


# --- the same answer every time


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_matches_does_not_matter(seed: int) -> None:
    """Up to ties: the same matches agree, on the same map."""
    made = scene(seed)
    order = np.random.default_rng(seed + 100).permutation(60)
    first, second = check(made.query, made.found), check(taken(made.query, order), taken(made.found, order))
    assert first is not None
    assert second is not None
    assert np.array_equal(first.inliers[order], second.inliers)
    inside = made.query.xy[made.agree]
    gaps = mapped(first.transform, inside) - mapped(second.transform, inside)
    assert np.abs(gaps).max() < 0.5


def test_deterministic() -> None:
    made = scene(7)
    results = [check(made.query, made.found) for _ in range(3)]
    assert len({r.transform.tobytes() + r.inliers.tobytes() for r in results if r}) == 1
    assert all(results)


@pytest.mark.parametrize("seed", range(5))
def test_support_equals_brute_force(seed: int) -> None:
    """Looking only at matches that are turned nearly as a proposal misses none that agree with it."""
    made = scene(seed)
    pairs, linear = _paired(made.query, made.found, slice(None))
    support = _support(pairs, linear, True, 20.0)
    (ax, ay, bx, by), turn = pairs[:4], np.arctan2(pairs[5], pairs[4])
    for i, proposed in enumerate(linear):
        moved = proposed @ np.stack([ax - ax[i], ay - ay[i]]) + np.array([[bx[i]], [by[i]]])
        near = np.hypot(*(moved - np.stack([bx, by]))) <= 20
        turned = np.abs((turn - turn[i] + np.pi) % (2 * np.pi) - np.pi) <= TURN
        resized = np.abs(pairs[6] - 0.5 * np.log2(np.linalg.det(proposed))) <= OCTAVES
        assert support[i] == (near & turned & resized).sum()
    assert support.max() > 10


def test_a_scene_beyond_doubt_is_decided_early() -> None:
    """Once five proposals have most matches on their side, the others are not tried; the map is the same."""
    made = scene(3, outliers=0.1)
    pairs, linear = _paired(made.query, made.found, slice(None))
    support = _support(pairs, linear, True, 20.0)
    assert 2 * np.sort(support)[-REFINED] > 60
    assert not support[-20:].any()
    order = np.arange(60)[::-1]
    first, second = check(made.query, made.found), check(taken(made.query, order), taken(made.found, order))
    assert first is not None
    assert second is not None
    assert np.array_equal(first.inliers[order], second.inliers)
    assert first.inliers.sum() >= 50


# --- one_to_one


@settings(max_examples=200, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 4)), max_size=40))
def test_one_to_one_equals_brute_force(rows: list[tuple[int, int, int]]) -> None:
    best: dict[tuple[int, int], int] = {}
    for row, (picture, place, apart) in enumerate(rows):
        if (picture, place) not in best or apart < rows[best[picture, place]][2]:
            best[picture, place] = row
    matches, bounds = np.array(rows, np.int64).reshape(-1, 3), np.empty(5, np.int64)
    found = one_to_one(matches[:, 0], matches[:, 1], matches[:, 2], bounds)
    expected = [sorted(row for (one, _), row in best.items() if one == mine) for mine in range(4)]
    assert [found[a:b].tolist() for a, b in pairwise(bounds.tolist())] == expected


# --- many at once


def test_pictures_are_verified_each_by_itself() -> None:
    scenes = [scene(seed, matches=20 + seed) for seed in range(4)]
    nothing = placed(np.zeros((0, 2)))
    pairs = [(s.query, s.found) for s in scenes]
    pairs.insert(2, (nothing, nothing))
    query, found = (
        Placed(*map(np.concatenate, zip(*map(_columns, side), strict=True))) for side in zip(*pairs, strict=True)
    )
    bounds = np.cumsum([0, *(len(q.xy) for q, _ in pairs)])
    together = verify(query, found, bounds=bounds, sizes=np.array([[WIDTH, HEIGHT]] * 5), options=OPTIONS)
    assert together[2] is None
    for (q, f), verified in zip(pairs, together, strict=True):
        alone = check(q, f)
        assert (alone is None) == (verified is None)
        if alone and verified:
            assert np.array_equal(alone.transform, verified.transform)
            assert np.array_equal(alone.inliers, verified.inliers)
    assert sum(v is not None for v in together) == 4
