"""The queries that went worst, each as a strip of pictures: the query, its first results, and what it missed."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from ...errors import ImageError
from ...images import decode, decode_rgb, read_bytes
from ..datasets.dataset import Query
from ..measures import LOWER_IS_BETTER, drop
from ..results import Evaluation, Row
from .text import escape

QUERIES, RESULTS = 8, 6  # strips, and results in each
SIDE, QUALITY = 160, 80  # of thumbnails: pixels, and JPEG quality
MARKS = {"right": "✓ right", "wrong": "✗ wrong", "junk": "– not counted"}


def worst(evaluation: Evaluation, row: Row) -> list[int]:
    """Which queries have the worst headline values, worst first; of equal ones, those with less average precision."""
    headline = evaluation.dataset.measures[0]
    values = row.per_query[headline] * (-1 if headline in LOWER_IS_BETTER else 1)
    second = row.per_query.get("map", np.zeros(len(values)))
    return [int(i) for i in np.lexsort((second, values))[:QUERIES]]


def strip(evaluation: Evaluation, row: Row, number: int) -> str:
    """One query of the dataset and what this recipe answered."""
    query, measure = evaluation.dataset.queries[number], evaluation.dataset.measures[0]
    paths = dict(evaluation.dataset.images)
    pictures = "".join(_pictures(query, row.rankings[number], paths))
    value = f"{escape(measure)} {row.per_query[measure][number]:.3f}"
    return f'<article><h4>{escape(query.name)} <span>{value}</span></h4>\n<ol class="strip">{pictures}</ol></article>\n'


def _pictures(query: Query, ranking: tuple[str, ...], paths: dict[str, Path]) -> Iterator[str]:
    shown, counted = ranking[:RESULTS], drop(ranking, query.truth.junk)
    ranks = {key: rank for rank, key in enumerate(counted, 1)}  # as the measures count them: without junk
    yield _item("query", f"query {query.key}", "query", query.key, _shot(query.path, query))
    for key in shown:
        kind = "right" if key in query.truth.relevant else "junk" if key in query.truth.junk else "wrong"
        label = "– the query itself" if kind == "junk" and key == query.key else MARKS[kind]
        title = f"{ranks[key]} {label}" if key in ranks else label
        yield _item(kind, f"{title}: {key}", title, key, _shot(paths.get(key)))
    if not shown:
        yield '<li class="note">nothing was returned</li>\n'
    if missed := sorted(query.truth.relevant.difference(shown), key=lambda key: (ranks.get(key, len(paths) + 1), key)):
        key = missed[0]
        where = f"rank {ranks[key]}" if key in ranks else "not returned"
        title = f"first missed: {where}"
        yield _item("missed", f"{title}: {key}", title, key, _shot(paths.get(key)))


def _item(kind: str, alt: str, title: str, key: str, shot: str) -> str:
    """A framed picture and the words below it."""
    frame = f'<div class="frame" role="img" aria-label="{escape(alt)}">{shot}</div>'
    return f'<li class="{kind}">{frame}<b>{escape(title)}</b> <span class="key">{escape(key)}</span></li>\n'


def _shot(path: Path | None, query: Query | None = None) -> str:
    """The picture at this path, with the query's region drawn; words where it cannot be read."""
    if path is None:
        return '<span class="unreadable">not in the dataset</span>'
    try:
        data = read_bytes(path)
        pixels = decode_rgb(data, name=str(path), max_side=SIDE)
        region = _region(data, query) if query else ""
    except ImageError as error:
        return f'<span class="unreadable" title="{escape(str(error))}">cannot be read</span>'
    _, jpeg = cv2.imencode(".jpg", pixels[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    address = "data:image/jpeg;base64," + base64.b64encode(jpeg.tobytes()).decode()
    return f'<img src="{address}" alt="" width="{pixels.shape[1]}" height="{pixels.shape[0]}">{region}'


def _region(data: bytes, query: Query) -> str:
    """The query's region over its picture, in full-size pixels: the page fits both into the frame the same way."""
    if query.region is None:
        return ""
    size, box = decode(data, name=query.key, max_side=SIDE), query.region
    rectangle = f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}"/>'
    return f'<svg class="region" viewBox="0 0 {size.width} {size.height}">{rectangle}</svg>'
