"""Every endpoint that changes nothing, over a socket."""

from __future__ import annotations

from typing import Never

import cv2
import httpx
import numpy as np
import pytest

import resight
from resight.index import Index
from resight.recipes import RECIPES
from resight.server import Collection

from ..support.pictures import Pixels, texture
from .conftest import Place, png
from .served import Served, problem, serving, until


def test_a_posted_picture_is_searched_for_as_in_python(served: Served, small: Place) -> None:
    found = served.post("/v1/search", content=png(0), params={"top": 3}).json()
    with Index.open(small.index) as index:
        expected = index.search(png(0), top=500)
    assert found["query"] == {"width": 240, "height": 240, "features": expected.query_features, "key": None}
    assert (found["total"], found["offset"], len(found["hits"])) == (len(expected), 0, 3)
    for rank, (hit, known) in enumerate(zip(found["hits"], expected.hits[:3], strict=True), 1):
        assert (hit["key"], hit["rank"], hit["score"], hit["confidence"]) == (
            known.key, rank, known.score, known.confidence
        )  # fmt: skip
    best = found["hits"][0]
    assert (best["key"], best["metadata"], best["width"], best["height"]) == ("t0.png", {"seed": 0}, 240, 240)
    assert best["inliers"] == expected.hits[0].inliers
    assert np.allclose(best["transform"], [[1, 0, 0], [0, 1, 0]], atol=0.05)
    assert best["region"].keys() == {"x", "y", "width", "height"}
    assert best["links"]["thumbnail"] == "/v1/thumbnail?key=t0.png"
    assert found["seconds"] > 0


def test_pages_of_hits_follow_each_other(served: Served) -> None:
    whole = served.post("/v1/search", content=png(0), params={"top": 500}).json()
    second = served.post("/v1/search", content=png(0), params={"top": 2, "offset": 2}).json()
    assert second["total"] == whole["total"] == len(whole["hits"])
    assert second["hits"] == whole["hits"][2:4]
    assert [hit["rank"] for hit in second["hits"]] == [3, 4]
    problem(served.post("/v1/search", content=png(0), params={"top": 400, "offset": 101}), 400, "bad-request")


def test_a_region_asks_alone(served: Served) -> None:
    data = bytes(cv2.imencode(".png", np.hstack([texture(1), texture(2)]))[1])
    best = [
        served.post("/v1/search", content=data, params={"region": box}).json()["hits"][0]["key"]
        for box in ("0,0,240,240", "240,0,240,240")
    ]
    assert best == ["t1.png", "t2.png"]
    for wrong in ("1,2,3", "a,b,c,d", "900,0,10,10", "0,0,0,5", "nan,0,5,5"):
        problem(served.post("/v1/search", content=data, params={"region": wrong}), 400, "bad-request")


def test_an_indexed_picture_asks(served: Served) -> None:
    found = served.json("/v1/search", key="t0.png", min_confidence=0.5)
    assert found["query"]["key"] == "t0.png"
    assert [hit["key"] for hit in found["hits"]] == ["part.png"]
    problem(served.get("/v1/search", params={"key": "elsewhere"}), 404, "no-such-picture")
    problem(served.get("/v1/search"), 422, "wrong-parameter")


def test_recipes_say_which_can_be_searched(served: Served) -> None:
    listed = served.json("/v1/recipes")
    assert listed["default"] == "linked"
    assert [recipe["name"] for recipe in listed["recipes"]] == list(RECIPES)
    for recipe in listed["recipes"]:
        answer = served.get("/v1/search", params={"key": "t0.png", "recipe": recipe["name"]})
        assert (answer.status_code == 200) == recipe["searchable"] == (recipe["needs"] is None)
        if not recipe["searchable"]:
            assert problem(answer, 400, "bad-request") == recipe["needs"]
            assert "/" not in recipe["needs"].replace("`resight", "")
    assert {r["name"] for r in listed["recipes"] if not r["searchable"]} >= {"knn", "knn-exact", "context", "learnt"}
    assert "expanded" in problem(served.get("/v1/search?key=t0.png&recipe=own.toml"), 422, "wrong-parameter")


def test_two_pictures_are_compared(served: Served) -> None:
    found = served.json("/v1/compare", one="part.png", other="t0.png")
    assert found["one"] == {"width": 190, "height": 180, "key": "part.png"}
    assert found["other"] == {"width": 240, "height": 240, "key": "t0.png"}
    assert np.allclose(found["transform"], [[1, 0, 30], [0, 1, 20]], atol=0.5)
    matches = np.array(found["matches"])
    assert len(matches) == found["inliers"] > 10
    assert np.allclose(matches[:, 2:] - matches[:, :2], [30, 20], atol=3)
    assert found["confidence"] > 0.9
    assert found["region"]["x"] == pytest.approx(found["query_region"]["x"] + 30, abs=3)
    left = served.json("/v1/compare", one="part.png", other="t0.png", region="0,0,100,180")
    assert 0 < left["inliers"] < found["inliers"]
    assert left["query_region"]["x"] + left["query_region"]["width"] <= 101
    problem(served.get("/v1/compare?one=part.png&other=t0.png&region=left"), 400, "bad-request")


def test_a_posted_picture_is_compared(served: Served) -> None:
    found = served.post("/v1/compare", params={"other": "t0.png", "region": "0,0,120,240"}, content=png(0)).json()
    assert found["one"] == {"width": 240, "height": 240, "key": None}
    assert found["query_region"]["x"] + found["query_region"]["width"] <= 121
    nothing = served.post("/v1/compare", params={"other": "t1.png"}, content=png(0)).json()
    assert nothing["matches"] == []
    assert [nothing[n] for n in ("confidence", "inliers", "transform", "region", "query_region")] == [None] * 5
    problem(served.post("/v1/compare", params={"other": "elsewhere"}, content=png(0)), 404, "no-such-picture")
    problem(served.get("/v1/compare", params={"one": "elsewhere", "other": "t0.png"}), 404, "no-such-picture")


def test_the_collection_is_paged_by_key(served: Served) -> None:
    whole = served.json("/v1/images")
    keys = [image["key"] for image in whole["images"]]
    assert keys == sorted(keys)
    assert (whole["total"], whole["next"], len(keys)) == (7, None, 7)
    page = served.json("/v1/images", limit=3)
    seen = page["images"]
    while page["next"]:
        page = served.json("/v1/images", limit=3, after=page["next"])
        seen += page["images"]
    assert seen == whole["images"]
    problem(served.get("/v1/images", params={"after": "no cursor"}), 400, "bad-request")


def test_facts(served: Served) -> None:
    facts = served.json("/v1/images/t3.png")
    assert (facts["key"], facts["width"], facts["height"], facts["metadata"]) == ("t3.png", 240, 240, {"seed": 3})
    assert facts["features"] > 10
    problem(served.get("/v1/images/t99.png"), 404, "no-such-picture")


def decoded(answer: httpx.Response) -> Pixels:
    pixels = cv2.imdecode(np.frombuffer(answer.content, np.uint8), cv2.IMREAD_GRAYSCALE)
    assert pixels is not None
    return pixels.astype(np.uint8)


def test_thumbnails_and_pictures(served: Served) -> None:
    small = served.get("/v1/thumbnail", params={"key": "t0.png", "side": 100})
    assert small.headers["content-type"] == "image/jpeg"
    assert small.headers["cache-control"].startswith("private")
    assert decoded(small).shape == (100, 100)
    large = served.get("/v1/picture", params={"key": "t0.png"})
    assert np.abs(decoded(large).astype(int) - texture(0)).mean() < 5
    assert small.headers["etag"] != large.headers["etag"]
    known = {"if-none-match": small.headers["etag"]}
    again = served.get("/v1/thumbnail", params={"key": "t0.png", "side": 100}, headers=known)
    assert (again.status_code, again.content) == (304, b"")
    problem(served.get("/v1/thumbnail", params={"key": "elsewhere"}), 404, "no-such-picture")
    problem(served.get("/v1/thumbnail", params={"key": "pixels"}), 404, "picture-gone")
    problem(served.get("/v1/thumbnail", params={"key": "t0.png", "side": 100_000}), 422, "wrong-parameter")


def test_duplicates_are_looked_for_in_the_background(served: Served) -> None:
    asked = {"kind": "scene", "min_confidence": 0.9}
    assert served.json("/v1/duplicates", **asked)["state"] == "idle"
    started = served.post("/v1/duplicates", params=asked)
    assert started.status_code == 202
    until(lambda: served.json("/v1/duplicates", **asked)["state"] == "done")
    found = served.json("/v1/duplicates", **asked)
    assert (found["done"], found["total"], found["next"]) == (7, 7, None)
    assert found["commit"] == served.json("/v1/health")["commit"]
    (group,) = found["groups"]
    assert (group["kind"], [p["key"] for p in group["pictures"]]) == ("scene", ["t0.png", "part.png"])
    assert group["pictures"][0]["confidence"] > 0.9
    assert served.json("/v1/duplicates", kind="copy")["state"] == "idle"
    problem(served.get("/v1/duplicates", params={"after": "bm8="}), 400, "bad-request")
    problem(served.post("/v1/duplicates", params={"kind": "all"}), 422, "wrong-parameter")


class Failing(Collection):
    def duplicates(self, **options: object) -> Never:
        raise RuntimeError


def test_looking_for_duplicates_may_fail(small: Place) -> None:
    collection = Failing(small.index)
    with serving(collection) as served:
        assert served.post("/v1/duplicates").status_code == 202
        until(lambda: served.json("/v1/duplicates")["state"] == "failed")
        assert served.post("/v1/duplicates").status_code == 202
    collection.close()


def test_health_metrics_and_openapi(served: Served, small: Place) -> None:
    known = {"index": str(small.index), "pictures": 7, "linked": 0, "commit": 1, "version": resight.__version__}
    assert served.json("/v1/health") == {"status": "ok", **known}
    served.get("/v1/images/t99.png")
    lines = served.get("/v1/metrics").text.splitlines()
    assert "resight_pictures 7" in lines
    assert "resight_commit 1" in lines
    counted = [line for line in lines if 'method="GET",route="/v1/images/{key}",status="404"' in line]
    assert len(counted) == 1
    assert int(counted[0].split()[-1]) >= 1
    buckets = [int(line.split()[-1]) for line in lines if 'bucket{route="/v1/health"' in line]
    assert buckets == sorted(buckets)
    assert buckets[-1] >= 1
    assert served.json("/v1/openapi.json")["paths"].keys() >= {"/v1/search", "/v1/compare", "/v1/duplicates"}


def test_the_page_and_its_files(served: Served) -> None:
    page = served.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "resight" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert served.get("/static/index.html").text == page.text
    problem(served.get("/static/../app.py"), 404, "no-such-page")
    problem(served.get("/static/%2e%2e/app.py"), 404, "no-such-page")
    problem(served.get("/docs"), 404, "no-such-page")
    refused = served.client.put("/v1/search")
    problem(refused, 405, "wrong-method")
    assert refused.headers["allow"]
