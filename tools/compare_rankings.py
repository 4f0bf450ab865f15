"""Does a change of the code leave every ranking and every score as it was, bit by bit?

    python tools/compare_rankings.py dump BEFORE.json [SET …]      # with the code before
    python tools/compare_rankings.py dump AFTER.json [SET …]       # with the code after
    python tools/compare_rankings.py compare BEFORE.json AFTER.json

`dump` indexes the demo collection and the benchmark pictures of $RESIGHT_DATA in several commits, and searches them
with every recipe; or only the sets named (demo, holidays, oxford_dev, ukbench, smvs_dvd). It runs the resight of the
interpreter that runs it, and uses the command line alone, so that it works with any version. JSON keeps every bit of a
number.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data").absolute()
MANY, FEW = 30, 6  # queries of each set: for the default recipe, and for each of the others
OWN_INDEX = {"knn", "knn-exact", "bow-l1-ma", "context-l1-ma"}  # recipes that index in their own way
CONTEXTS = ("context", "context-l1")

Query = Sequence[str]  # arguments of `resight search`
PictureSet = tuple[list[str], Sequence[Query]]  # pictures, queries
Answers = dict[str, Any]


def resight(*arguments: str) -> Any:
    command = [sys.executable, "-m", "resight", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):  # 1: nothing found
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def index(place: Path, pictures: list[str], *options: str) -> str:
    """In two commits, and without every tenth picture."""
    half = len(pictures) // 2
    for some in (pictures[:half], pictures[half:]):
        resight("index", *some, "--into", str(place), *options)
    resight("remove", str(place), *pictures[5::10])
    return str(place)


def search(place: str, queries: Sequence[Query], *options: str) -> list[Any]:
    """The hits of each query; those without a region in one call."""
    plain = [query[0] for query in queries if len(query) == 1]
    found = resight("search", place, *plain, *options)["results"] if plain else []
    for query in queries:
        if len(query) > 1:
            found += resight("search", place, *query, *options)["results"]
    return [[result["query"], result.get("hits"), result.get("error")] for result in found]


def sets(folder: Path) -> dict[str, PictureSet]:
    """Pictures and queries of each."""
    make = "import sys; from pathlib import Path; from resight.demo.collection import build; build(Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", make, str(folder / "demo")], check=True)
    demo: PictureSet = files(folder / "demo" / "pictures"), [(path,) for path in files(folder / "demo" / "queries")]
    if not DATA.exists():
        print(f"without the benchmark pictures: there is no {DATA}", file=sys.stderr)
        return {"demo": demo}
    oxford = json.loads((DATA / "oxford_dev" / "gt.json").read_text())
    regions = [
        (str(DATA / "oxford_dev" / "jpg" / f"{query['image']}.jpg"), "--region", _region(query["bbox"]))
        for query in oxford.values()
    ]
    holidays, objects = files(DATA / "holidays"), files(DATA / "ukbench")[:200]
    covers = files(DATA / "smvs_dvd" / "reference")
    return {
        "demo": demo,
        "holidays": (holidays, [(path,) for path in holidays if int(Path(path).stem) % 100 == 0]),
        "oxford_dev": (files(DATA / "oxford_dev" / "jpg"), regions),
        "ukbench": (objects, [(path,) for path in objects[::4]]),
        "smvs_dvd": (covers, [(path,) for path in files(DATA / "smvs_dvd" / "query")]),
    }


def files(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.iterdir() if path.suffix in (".jpg", ".png"))


def _region(box: list[float]) -> str:
    x, y, right, bottom = box
    return f"{x},{y},{right - x},{bottom - y}"


def dump(out: Path, chosen: list[str]) -> None:
    answers: Answers = {}
    recipes = list(resight("recipes"))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name, (pictures, queries) in sets(folder).items():
            if chosen and name not in chosen:
                continue
            started = time.monotonic()
            place = index(folder / f"{name}.resight", pictures)
            few = queries[:: max(len(queries) // FEW, 1)][:FEW]
            answers[f"{name} by default"] = search(place, queries[:: max(len(queries) // MANY, 1)][:MANY])
            for context in CONTEXTS:
                resight("context", place, "--recipe", context)
            if name == "demo":
                resight("learn", place, "--from-verified", "--set", "learning.word_groups=2")
            able = [r for r in recipes if r not in OWN_INDEX and (r != "learnt" or name == "demo")]
            for recipe in able:
                answers[f"{name} {recipe}"] = search(place, few, "--recipe", recipe)
            for setting in ("scoring.closest_only=true", "scoring.size_power=0.5", "scoring.intra=log-share"):
                answers[f"{name} burst {setting}"] = search(place, few, "--recipe", "burst", "--set", setting)
            resight("index", "--clusters", "8", "--into", place, *pictures[:1])
            for recipe in ("expanded", "bow-l1"):
                answers[f"{name} {recipe} probe"] = search(place, few, "--recipe", recipe, "--probe", "3")
            answers[f"{name} duplicates"] = resight("duplicates", place, "--kind", "scene")["groups"]
            if name == "demo":
                for recipe in sorted(OWN_INDEX & {*recipes}):
                    own = index(folder / f"{recipe}.resight", pictures, "--recipe", recipe)
                    if recipe.startswith("context"):
                        resight("context", own, "--recipe", recipe)
                    answers[f"{name} {recipe}"] = search(own, few, "--recipe", recipe)
            print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr)
        text = json.dumps(answers).replace(made, "FOLDER")
    out.write_text(text)


def compare(before: Path, after: Path) -> int:
    one, other = (json.loads(path.read_text()) for path in (before, after))
    worst = 0
    for name in sorted({*one, *other}):
        same = one.get(name) == other.get(name)
        worst |= not same
        count = sum(len(hits or ()) for _, hits, _ in one[name]) if "duplicates" not in name else len(one[name])
        print(f"{'equal' if same else 'DIFFERENT':<10}{name}: {len(one[name])} queries, {count} hits")
    print("all equal" if not worst else "there are differences")
    return int(worst)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["dump", out, *chosen]:
            dump(Path(out), chosen)
        case ["compare", before, after]:
            sys.exit(compare(Path(before), Path(after)))
        case _:
            sys.exit(__doc__)
