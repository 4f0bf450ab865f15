"""Who returns the favour? A query, what it returns, and below each result what that one returns (CDM-10 figure 2).

Pictures are those of the demo, so every right answer is known. The query is the first one, in the order in which the
demo makes them, with a wrong picture among its first four results with L1 and none with CDM.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, ImageOps

from resight import Index
from resight.demo.collection import build
from resight.demo.sheet import FAINT, INK, LINE, MARK, MOUNT, PAPER, RIGHT, WRONG
from resight.evaluation.experiments.experiment import DOG

RECIPES = {"bow-l1": "Without CDM", "context-l1": "With CDM"}
OTHERS = 4  # pictures of a thing, besides the query; of unrelated ones there are five
SHOWN = 7  # results of the query, and of each of them
WIDTH, HEIGHT, FRAME, GAP = 96, 72, 4, 8  # of the area a picture is fitted into; of its frame; between frames
STEP = WIDTH + 2 * FRAME + GAP, HEIGHT + 2 * FRAME + GAP
MARGIN, TITLE, CAPTION, BETWEEN = 20, 64, 46, 24  # above a panel's pictures; below its results; between panels
Rankings = Mapping[str, Sequence[str]]


def neighbourhood(out: Path) -> None:
    """Draw both panels, and print how all queries fare: the one that is drawn is chosen to show a gain."""
    with tempfile.TemporaryDirectory() as folder:
        pictures = Path(folder) / "pictures"
        rankings = everybody_asks(Path(folder))
        query = next(
            key
            for key in rankings["bow-l1"]
            if right(key, rankings["bow-l1"]) < OTHERS == right(key, rankings["context-l1"])
        )
        panels = [panel(title, query, rankings[recipe], pictures) for recipe, title in RECIPES.items()]
    for recipe, title in RECIPES.items():
        count = sum(right(key, rankings[recipe]) for key in rankings[recipe])
        print(
            f"demo, {title}: {count} of {OTHERS * len(rankings[recipe])} right among the first {OTHERS} of all queries"
        )
    height = sum(drawn.height for drawn in panels) + BETWEEN * (len(panels) - 1) + 2 * MARGIN
    sheet, top = Image.new("RGB", (panels[0].width + 2 * MARGIN, height), PAPER), MARGIN
    for drawn in panels:
        sheet.paste(drawn, (MARGIN, top))
        top += drawn.height + BETWEEN
    sheet.save(out, quality=75)


def everybody_asks(folder: Path) -> dict[str, Rankings]:
    """For each recipe what each picture returns, itself left out."""
    with Index.create(folder / "demo.resight", features=DOG) as index:
        pictures = build(folder).pictures
        list(index.add_files(pictures, relative_to=folder / "pictures"))
        index.learn.context("context-l1")
        return {
            recipe: {
                path.name: [hit.key for hit in index.search(key=path.name, recipe=recipe, top=len(pictures)).hits]
                for path in pictures
            }
            for recipe in RECIPES
        }


def thing(key: str) -> str:
    """chelsea-worn.jpg shows chelsea."""
    return key.rpartition("-")[0]


def right(query: str, ranking: Rankings) -> int:
    """How many of the first four results show the same thing as the query."""
    return sum(thing(other) == thing(query) for other in ranking[query][:OTHERS])


def panel(title: str, query: str, ranking: Rankings, pictures: Path) -> Image.Image:
    """The query and its results in a row; in a column below each, what it returns, the query framed."""
    results = ranking[query][:SHOWN]
    top, below = TITLE, TITLE + STEP[1] + CAPTION
    size = (SHOWN + 1) * STEP[0] - GAP, below + SHOWN * STEP[1] - GAP
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    write(draw, (0, 8), f"{title}: {right(query, ranking)} of the first {OTHERS} are right", 20, INK)
    legend(draw, size[0])
    put(sheet, pictures / query, (0, top), MARK)
    write(draw, (0, top + STEP[1] - 4), "query", 14, INK)
    write(draw, (0, below + 24), "what each", 14, FAINT)
    write(draw, (0, below + 42), "result", 14, FAINT)
    write(draw, (0, below + 60), "returns", 14, FAINT)
    draw.line((0, below - 8, size[0], below - 8), LINE)
    for column, result in enumerate(results, 1):
        left, place = column * STEP[0], ranking[result].index(query) + 1
        put(sheet, pictures / result, (left, top), RIGHT if thing(result) == thing(query) else WRONG)
        write(draw, (left, top + STEP[1] - 4), "returns query", 13, FAINT)
        write(draw, (left, top + STEP[1] + 12), f"at place {place}", 14, INK)
        for row, other in enumerate(ranking[result][:SHOWN]):
            put(sheet, pictures / other, (left, below + row * STEP[1]), MARK if other == query else PAPER)
    return sheet


def legend(draw: ImageDraw.ImageDraw, edge: int) -> None:
    """What the frames mean, ending at the right edge."""
    for name, colour in (("the query", MARK), ("wrong", WRONG), ("right", RIGHT)):
        edge -= round(ImageFont.load_default(size=14).getlength(name))
        write(draw, (edge, 12), name, 14, FAINT)
        draw.rectangle((edge - 22, 13, edge - 8, 27), outline=colour, width=3)
        edge -= 22 + 18


def write(draw: ImageDraw.ImageDraw, place: tuple[int, int], text: str, size: int, ink: tuple[int, int, int]) -> None:
    draw.text(place, text, ink, ImageFont.load_default(size=size))


def put(sheet: Image.Image, path: Path, place: tuple[int, int], frame: tuple[int, int, int]) -> None:
    """The picture, whole, in the middle of its frame."""
    left, top = place
    box = left, top, left + WIDTH + 2 * FRAME - 1, top + HEIGHT + 2 * FRAME - 1
    ImageDraw.Draw(sheet).rectangle(box, fill=MOUNT, outline=frame, width=FRAME)
    with Image.open(path) as opened:
        small = ImageOps.contain(opened, (WIDTH, HEIGHT), Image.Resampling.LANCZOS)
    sheet.paste(small, (left + FRAME + (WIDTH - small.width) // 2, top + FRAME + (HEIGHT - small.height) // 2))
