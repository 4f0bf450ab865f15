"""Links between pictures over HTTP: asked for by key, and followed by a search."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from resight import Index
from resight.server import Collection

from ..support.pictures import striped, texture, write
from .served import Served, problem, serving


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Pictures a and c share something with b alone; ``b.png/links`` is a key, too, and linked to nothing."""
    folder = tmp_path_factory.mktemp("linked")
    with Index.create(folder / "linked.resight") as index:
        for key, pixels in striped().items():
            index.add(write(folder / key, pixels), key=key, metadata={"name": f"picture {key}"})
        index.add(texture(1), key="b.png/links")
        index.commit()
        index.learn.links()
    collection = Collection(folder / "linked.resight")
    with serving(collection) as running:
        yield running
    collection.close()


def test_links_are_as_in_python_surest_first(linked: Served) -> None:
    found = linked.json("/v1/images/b.png/links")
    expected = linked.collection.index.links("b.png")
    assert {hit["key"] for hit in found["hits"]} == {"a.png", "c.png"}
    assert [(h["key"], h["inliers"], h["confidence"]) for h in found["hits"]] == [
        (h.key, h.inliers, h.confidence) for h in expected
    ]
    assert [hit["rank"] for hit in found["hits"]] == [1, 2]
    best = found["hits"][0]
    assert (best["width"], best["metadata"]) == (480, {"name": f"picture {best['key']}"})
    assert best["links"]["thumbnail"] == f"/v1/thumbnail?key={best['key']}"
    assert np.allclose(best["transform"], [[0, -1, 479], [1, 0, 0]], atol=1)
    assert linked.json("/v1/images/b.png/links", limit=1) == {"total": 2, "hits": [best]}
    assert linked.json("/v1/health")["linked"] == 4


def test_a_key_may_end_as_the_address_of_links_does(linked: Served) -> None:
    assert linked.json("/v1/images/b.png%2Flinks")["key"] == "b.png/links"
    assert linked.json("/v1/images/b.png%2Flinks/links") == {"total": 0, "hits": []}


def test_who_asks_for_links_that_are_not_there_hears_why(linked: Served, served: Served) -> None:
    problem(linked.get("/v1/images/elsewhere/links"), 404, "no-such-picture")
    problem(linked.get("/v1/images/b.png/links?limit=0"), 422, "wrong-parameter")
    said = problem(served.get("/v1/images/t0.png/links"), 400, "bad-request")
    assert said == "this index has no links between its pictures yet; find them with `resight link`"


def test_a_search_says_which_pictures_led_to_a_hit(linked: Served) -> None:
    def via(recipe: str) -> dict[str, list[str]]:
        hits = linked.json("/v1/search", key="a.png", recipe=recipe)["hits"]
        return {hit["key"]: hit["via"] for hit in hits if hit["transform"]}

    assert via("linked") == {"b.png": [], "c.png": ["b.png"]}
    assert via("verified") == {"b.png": []}
    followed = next(h for h in linked.json("/v1/search", key="a.png", recipe="linked")["hits"] if h["via"])
    assert followed["inliers"] is None
    assert followed["region"]


def test_groups_are_as_in_python_by_pages(linked: Served) -> None:
    found = linked.json("/v1/groups")
    (group,) = found["groups"]
    assert (found["total"], found["next"], found["unlinked"]) == (1, None, 0)
    assert (group["representative"], group["size"]) == ("b.png", 3)
    (expected,) = linked.collection.index.groups()
    assert [(p["key"], p["inliers"]) for p in group["pictures"]] == [(p.key, p.inliers) for p in expected.pictures]
    assert group["pictures"][0]["links"]["thumbnail"] == "/v1/thumbnail?key=b.png"
    assert group["pictures"][0]["metadata"] == {"name": "picture b.png"}
    whole = linked.json("/v1/group", key="a.png")
    assert whole == {**group, "next": None}
    first = linked.json("/v1/group", key="a.png", limit=2)
    rest = linked.json("/v1/group", key="a.png", limit=2, after=first["next"])
    assert first["pictures"] + rest["pictures"] == group["pictures"]
    assert rest["next"] is None


def test_who_asks_for_groups_that_are_not_there_hears_why(linked: Served, served: Served) -> None:
    problem(linked.get("/v1/group?key=elsewhere"), 404, "no-such-picture")
    problem(linked.get("/v1/group?key=b.png%2Flinks"), 404, "no-such-group")
    problem(linked.get("/v1/groups?after=x"), 400, "bad-request")
    said = problem(served.get("/v1/groups"), 400, "bad-request")
    assert said == "this index has no links between its pictures yet; find them with `resight link`"
