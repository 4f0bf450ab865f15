"""Oxford5k and Paris6k: pictures anywhere below the folder, and the ground truth beside them in one of two forms.

- The original text files, in any one folder: NAME_query.txt ("picture left top right bottom", where Oxford alone puts
  "oxc1_" before the picture's name), NAME_good.txt, NAME_ok.txt and NAME_junk.txt with a picture's name in each line.
- gt.json: {NAME: {"image": …, "bbox": [left, top, right, bottom], "good": […], "ok": […], "junk": […]}}.

Relevant is good or ok, junk is ignored. The query stays in the database and is one of its own good pictures.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..measures import Truth
from .dataset import Dataset, DatasetError, Query, box, key_of, pictures_by_stem, read_json, read_text, require

PARTS = ("good", "ok", "junk")


def load_oxford(root: Path) -> Dataset:
    stems = pictures_by_stem(root)
    answers = dict(_from_json(root / "gt.json") if (root / "gt.json").exists() else _from_text(root))
    named = {stem for a in answers.values() for stem in (a["image"], *a["good"], *a["ok"], *a["junk"])}
    require(root, (f"{stem}.jpg" for stem in named - stems.keys()))
    keys = {stem: key_of(root, path) for stem, path in stems.items()}
    return Dataset(
        name="oxford",
        root=root,
        images=tuple((keys[stem], path) for stem, path in stems.items()),
        queries=tuple(
            Query(
                name=name,
                key=keys[answer["image"]],
                path=stems[answer["image"]],
                region=box(root, answer["bbox"], name),
                truth=Truth(
                    frozenset(keys[stem] for stem in (*answer["good"], *answer["ok"])),
                    frozenset(keys[stem] for stem in answer["junk"]),
                ),
            )
            for name, answer in sorted(answers.items())
        ),
        measures=("map", "eer", "anr"),
    )


def _from_json(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    content = read_json(path)
    for name, answer in content.items() if isinstance(content, dict) else [("the whole", content)]:
        if not _is_answer(answer):
            raise DatasetError(
                f"{str(path)!r}: {name!r} must have image, bbox, {', '.join(PARTS)}; download the file again"
            )
        yield name, answer


def _is_answer(answer: Any) -> bool:
    if not isinstance(answer, dict) or not {"image", "bbox", *PARTS} <= answer.keys():
        return False
    lists = [answer[part] for part in PARTS]
    return all(isinstance(names, list) for names in lists) and all(
        isinstance(name, str) for names in ([answer["image"]], *lists) for name in names
    )


def _from_text(root: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    queries = sorted(root.rglob("*_query.txt"))
    folders = sorted({path.parent for path in queries})
    if len(folders) != 1:
        found = ", ".join(str(f) for f in folders) or "none"
        raise DatasetError(
            f"{str(root)!r} must hold gt.json or one folder with *_query.txt files, such as gt_files; found: {found}"
        )
    names = [path.name.removesuffix("_query.txt") for path in queries]
    files = {(name, part): folders[0] / f"{name}_{part}.txt" for name in names for part in PARTS}
    require(folders[0], (path.name for path in files.values() if not path.exists()))
    for name, path in zip(names, queries, strict=True):
        fields = read_text(path).split()
        if len(fields) != 5:
            raise DatasetError(f"{str(path)!r} must hold a name and four numbers, not {fields}; download it again")
        answer = {part: read_text(files[name, part]).split() for part in PARTS}
        yield name, {"image": fields[0].removeprefix("oxc1_"), "bbox": fields[1:], **answer}
