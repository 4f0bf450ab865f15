"""Links between pictures are found once, kept, and followed as far as they carry on what the query shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from resight import Index
from resight.errors import KeyMissingError, UsageError
from resight.options import LinkOptions
from resight.recipes import RECIPES
from resight.search import Candidate, SegmentGroup, prepare, stored_query
from resight.search.candidates import Linked
from resight.search.carried import carried, seen_at, still_seen
from resight.search.follow import _Reached, _reached
from resight.search.graph import LinkGraph, frame, inverse
from resight.search.likeness import SCALING, add_likeness
from resight.search.prepare import self_scores
from resight.store import GRID, LINK, SegmentLinks, Writer, open_snapshot, picture_id, set_confirmed
from resight.types import Float32, Float64, Region

from ..support.pictures import SIZE, panorama, part, texture, wall_in_parts
from ..support.stored import QuickDisk, build, change, entry

SHIFT = np.array([[1.0, 0, 10], [0, 1, 0]])
BEST_ALONE = replace(RECIPES["linked"], links=LinkOptions(shortlist=1))


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Wall 1 in three parts that overlap by half; a picture of two things, and one of each."""
    index = Index.create(tmp_path_factory.mktemp("linked") / "i.resight")
    for key, pixels in wall_in_parts().items():
        index.add(pixels, key=key)
    index.commit()
    one, other = texture(7, size=SIZE), texture(8, size=SIZE)
    for key, pixels in {"one": one, "other": other, "both": np.hstack([one, other])}.items():
        index.add(pixels, key=key)
    assert index.learn.links() == 6
    return index


def test_links_join_pictures_of_the_same_thing(linked: Index) -> None:
    assert {key: {hit.key for hit in linked.links(key)} for key in linked} == {
        "wall 0": {"wall 1"},
        "wall 1": {"wall 0", "wall 2"},
        "wall 2": {"wall 1"},
        "one": {"both"},
        "other": {"both"},
        "both": {"one", "other"},
    }
    (there,) = linked.links("wall 0")
    assert there.transform is not None
    assert np.allclose(there.transform, [[1.0, 0, -SIZE / 2], [0, 1.0, 0]], atol=2)
    back = next(hit for hit in linked.links("wall 1") if hit.key == "wall 0")
    assert (back.inliers, back.confidence) == (there.inliers, there.confidence)


def test_a_hit_that_links_lead_to_says_so(linked: Index) -> None:
    """Only the best result is verified, so what else shows the query is found by its links."""
    hits = {hit.key: hit for hit in linked.search(part(panorama(1), 60), recipe=BEST_ALONE).hits}
    found = hits["wall 1"] if hits["wall 0"].inliers else hits["wall 0"]
    (way,) = found.via
    assert {way, found.key} == {"wall 0", "wall 1"}
    assert found.inliers is None
    assert 0 < (found.confidence or 0) < (hits[way].confidence or 0)
    start = {"wall 0": 60.0, "wall 1": 60 - SIZE / 2}[found.key]
    assert found.transform is not None
    assert np.allclose(found.transform, [[1.0, 0, start], [0, 1.0, 0]], atol=4)
    assert found.region is not None
    assert abs(found.region.x - max(start, 0)) < 10


def test_a_picture_of_two_things_does_not_lead_from_one_to_the_other(linked: Index) -> None:
    query = np.ascontiguousarray(texture(7, size=SIZE)[20:, 20:])
    hits = {hit.key: hit for hit in linked.search(query, recipe="linked").hits}
    assert hits["one"].inliers
    assert hits["both"].inliers
    assert "other" not in hits or not (hits["other"].inliers or hits["other"].via)


def test_a_query_without_features_beside_another(linked: Index) -> None:
    """In either order; what likeness adds is on the scale of both."""
    query, blank = part(panorama(1), 60), np.zeros((SIZE, SIZE), np.uint8)
    found = [linked.search(*queries, recipe="linked").hits for queries in ((query, blank), (blank, query))]
    assert [hit.key for hit in found[0]] == [hit.key for hit in found[1]]
    assert [hit.score for hit in found[0]] == pytest.approx([hit.score for hit in found[1]])
    assert {hit.key for hit in found[0] if hit.inliers or hit.via} >= {"wall 0", "wall 1"}
    assert not linked.search(blank, blank).hits


def test_scene_groups_and_examples_are_read_from_links(linked: Index) -> None:
    """With the files gone, and without a search: the same groups."""
    grouped = {frozenset(member.key for member in group.pictures) for group in linked.duplicates(kind="scene")}
    assert frozenset({"wall 0", "wall 1", "wall 2"}) in grouped
    assert linked.learn.verified_groups().groups


def test_without_links_the_remedy_is_named_and_results_are_asked_with_again(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index:
        index.add(texture(1), key="a")
        index.commit()
        with pytest.raises(UsageError, match="resight link"):
            index.links("a")
        assert index.search(texture(1)) == index.search(texture(1), recipe="expanded")
        assert index.learn.links() == 1
        assert index.info().linked == 1
        assert index.links("a") == []
        with pytest.raises(KeyMissingError):
            index.links("b")
        assert index.learn.links() == 0
        assert index.learn.links(again=True) == 1
        assert index.learn.forget_links()
        assert not index.learn.forget_links()


def test_what_stop_leaves_is_done_later(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index:
        index.add(texture(1), key="a")
        assert index.learn.links(stop=lambda: True) == 0
        assert index.snapshot.unlinked == 1
        assert index.learn.links() == 1


# --- known answers, from links made by hand between pictures of 100 × 50 pixels and some


def linked_graph(
    folder: Path,
    links: dict[str, list[tuple[str, int, Float64, tuple[int, ...]]]],
    likeness: dict[str, list[tuple[str, float]]] | None = None,
    places: dict[str, Float32] | None = None,
) -> LinkGraph:
    """Of pictures a to e in two segments; links: by the picture that has found (the other, inliers, map, box).

    likeness: of each link, 0.5 where it is not given; places: where details agree with this other, if not all over
    the box.
    """
    entries = {key: entry(key, number) for number, key in enumerate("abcde")}
    build(folder, [entries[key] for key in "abc"], [entries[key] for key in "de"])
    with Writer(folder, disk=QuickDisk()) as writer:
        rows = {row.key: row for row in writer.snapshot.rows()}
        kept: dict[int, SegmentLinks | None] = {}
        for number, segment in enumerate(writer.snapshot.segments):
            found = {}
            for row in segment.table.all():
                mine, alike = links.get(row.key, []), dict((likeness or {}).get(row.key, []))
                found[row.ordinal] = np.zeros(len(mine), LINK)
                for link, (other, inliers, transform, box) in zip(found[row.ordinal], mine, strict=True):
                    link["other"], link["likeness"] = picture_id(rows[other]), alike.get(other, 0.5)
                    if inliers:
                        set_confirmed(link, inliers, transform, (places or {}).get(other, dots(box)), (100, 50))
            none = SegmentLinks.none(segment.table.all())
            none.sizes[:] = 100, 50
            kept[number] = none.with_found(found)
        writer.keep_links(kept)
    with open_snapshot(folder) as snapshot:
        return LinkGraph.of(snapshot.segments)


WHOLE = 0, 0, 100, 50
EVERYWHERE = np.ones((GRID, GRID), np.bool_)


def dots(box: tuple[int, ...]) -> Float32:
    """Details all over a box."""
    (left, top, right, bottom), share = box, np.linspace(0, 1, 50, dtype=np.float32)
    return np.stack(np.meshgrid(left + share * (right - left), top + share * (bottom - top)), axis=-1).reshape(-1, 2)


def test_evidence_is_that_of_the_weakest_step_of_the_strongest_way(tmp_path: Path) -> None:
    eye = np.eye(2, 3)
    graph = linked_graph(
        tmp_path / "i",
        {
            "a": [("b", 30, SHIFT, WHOLE), ("c", 9, eye, WHOLE)],
            "d": [("b", 20, eye, WHOLE)],  # from b the other way
            "c": [("d", 40, eye, WHOLE)],
            "e": [("d", 8, eye, WHOLE)],
        },
    )
    a, b, c, d, e = range(5)
    start = {a: _Reached(25, eye, np.array([0.0, 0, 100, 50]), EVERYWHERE, ())}
    found = _reached(graph, start, {a: 25}, 3)
    assert {number: end.via for number, end in found.items()} == {
        b: (a,),
        c: (a, b, d),  # not straight from a: those are 9 matches
        d: (a, b),
        e: (a, b, d),
    }
    seen = 10 / 11  # in b, the first of eleven columns of cells lies beside the query's frame
    evidence = {number: end.evidence for number, end in found.items()}
    assert evidence == pytest.approx({b: 25, c: 20 * seen, d: 20 * seen, e: 8 * seen})
    assert np.allclose(found[d].transform, SHIFT)
    assert set(_reached(graph, start, {a: 25}, 1)) == {b, c}
    assert _reached(graph, start, {a: 25, b: 26}, 1).keys() == {c}  # b is better known without links


def test_links_carry_on_what_was_seen_of_the_query(tmp_path: Path) -> None:
    """The query is the left half of a, which shares all of it with b, and the right half with c."""
    eye, right = np.eye(2, 3), (50, 0, 100, 50)
    graph = linked_graph(tmp_path / "i", {"a": [("b", 60, SHIFT, WHOLE), ("c", 60, eye, right)]})
    half = np.array([0.0, 0, 50, 50])
    with_b, with_c = carried(graph.of_picture(0), eye, half, EVERYWHERE)
    assert with_b == 55 / 121  # the sixth of eleven columns of cells sticks out
    assert with_c == 0
    from_b = carried(graph.of_picture(1), SHIFT, half, EVERYWHERE)  # the same from the other end
    assert from_b == pytest.approx(with_b)


def test_what_pictures_share_around_the_query_carries_nothing_on(tmp_path: Path) -> None:
    """As where photographs lie on the same table: the frame is among what is shared, and what was seen is not."""
    eye, table = np.eye(2, 3), np.concatenate([dots((0, 0, 100, 8)), dots((0, 42, 100, 50))])
    graph = linked_graph(tmp_path / "i", {"a": [("b", 60, eye, WHOLE)]}, places={"b": table})
    frame = np.array([0.0, 0, 100, 50])
    (all_of_it,) = carried(graph.of_picture(0), eye, frame, EVERYWHERE)
    assert all_of_it == 1
    (nothing,) = carried(graph.of_picture(0), eye, frame, seen_at(dots((20, 15, 80, 35)), frame))
    assert nothing == 0


def test_what_a_link_leaves_out_is_no_longer_seen(tmp_path: Path) -> None:
    eye, frame = np.eye(2, 3), np.array([0.0, 0, 100, 50])
    graph = linked_graph(tmp_path / "i", {"a": [("b", 60, eye, (0, 0, 40, 50))]})
    seen = still_seen(graph.of_picture(0), 0, eye, frame, EVERYWHERE)
    assert seen[:, :4].all()
    assert not seen[:, 5:].any()
    assert not still_seen(graph.of_picture(0), 0, eye, frame, ~seen)[:, :4].any()


def test_where_the_query_was_seen_is_as_coarse_as_details_are_few() -> None:
    frame = np.array([10.0, 20, 110, 70])
    one = seen_at(np.array([[12.0, 22]]), frame)
    assert one.all()
    eight = seen_at(np.array([[12.0, 22], [13, 23], [14, 24], [15, 25]] * 2), frame)
    assert eight.sum() == 6 * 6  # a quarter of the frame
    assert eight[:6, :6].all()
    many = seen_at(dots((10, 20, 60, 70)), frame)
    assert many.shape == (GRID, GRID)
    assert many[:, :5].all()
    assert not many[:, 6:].any()


def test_gone_pictures_have_no_links_and_merging_keeps_the_others(tmp_path: Path) -> None:
    eye = np.eye(2, 3)
    before = linked_graph(
        tmp_path / "i", {"a": [("d", 9, eye, WHOLE), ("b", 7, SHIFT, WHOLE)], "e": [("a", 5, eye, WHOLE)]}
    )
    assert before.of_picture(0).other.tolist() == [1, 3, 4]
    change(tmp_path / "i", remove=["d"])
    change(tmp_path / "i", merge=True)
    with open_snapshot(tmp_path / "i") as snapshot:
        after = LinkGraph.of(snapshot.segments)
        assert snapshot.unlinked == 0
        assert [row.key for row in snapshot.rows()] == ["a", "b", "c", "e"]
    assert after.of_picture(0).other.tolist() == [1, 3]
    assert after.of_picture(3).inliers.tolist() == [5]
    assert [other for other, _ in after.alike(0)] == [1]


def test_maps_there_and_back() -> None:
    maps = np.random.default_rng(1).normal(size=(20, 2, 3))
    points = np.random.default_rng(2).normal(size=(20, 2))
    there = np.einsum("nij,nj->ni", maps[:, :, :2], points) + maps[:, :, 2]
    back = inverse(maps)
    assert np.allclose(np.einsum("nij,nj->ni", back[:, :, :2], there) + back[:, :, 2], points)
    turned = np.array([[0.0, -1, 5], [1, 0, 0]])  # a quarter turn
    assert frame(turned, np.array([0.0, 0, 4, 2])).tolist() == [3, 0, 5, 4]


def test_likeness_decides_between_pictures_without_evidence(tmp_path: Path) -> None:
    """Of a, which shows what the query shows, b is half as like; d is named by c alone, which is hardly like it."""
    found = {"a": [("b", 0.5), ("c", 0.25)], "c": [("d", 0.25)], "d": [("e", 0.75)]}
    index = tmp_path / "i"
    linked_graph(index, {key: [(o, 0, np.eye(2, 3), WHOLE) for o, _ in others] for key, others in found.items()}, found)
    with open_snapshot(index) as snapshot:
        group = SegmentGroup.local(snapshot)
        assert np.allclose(group.links.local_scale, [0.375 / 0.375, 1, 0.25 / 0.375, 0.75 / 0.375, 1])
        located = snapshot.locate("a")
        assert located
        query = stored_query(snapshot, *located)
        request = prepare(group, [query], RECIPES["linked"])
        own = float(self_scores(group, request)[0, 0])
        places = [group.links.place(number) for number in range(4)]
        scores = [own, 0.125 * own, 0.5 * own, 0.0]
        rows = group.rows(places)
        candidates = {
            number: Candidate(place[0], row, score, checked=number != 3, colour=1.0)
            for number, (place, row, score) in enumerate(zip(places, rows, scores, strict=True))
        }
        candidates[0].linked = Linked(12, np.eye(2, 3), Region(0, 0, 1, 1), ())
        add_likeness(group, request, candidates, [0])
        assert set(candidates) == {0, 1, 2, 3}  # e was named by nobody: d was not asked about
        power = -SCALING
        # What a sure picture says counts in full; what a likely one says by half, for there is a sure one.
        expected = [own, 0.625 * own, 0.75 * own * (2 / 3) ** power, 0.125 * own * 2**power]
        assert [candidates[number].score for number in range(4)] == pytest.approx(expected, rel=1e-3)
        assert candidates[0].plain is None
        assert candidates[2].plain == 0.5 * own
        assert candidates[3].checked
