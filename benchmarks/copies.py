"""Are copies found, and nothing else? Beside imagededup's perceptual hash, on the same pictures.

    python benchmarks/copies.py [--pictures 500] [--attacks 5] [--imagededup PYTHON]

Some pictures of the shared sets are attacked: each in several of the ways below, which take turns. They are indexed
together with their attacked copies and with all views and re-takes of UKbench, Holidays and Oxford. A pair is right if
both come from one photograph. Recall is stated for each attack: whether the attacked picture is in the group of its
original. PYTHON is an interpreter that has imagededup, which is no dependency of resight.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import combinations
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageFont, ImageOps

from resight import Index
from resight.engine import LocalEngine
from resight.machine import processors

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")
SETS = "ukbench", "holidays", "oxford_dev", "distractors", "smvs_dvd/reference"
RETAKEN = "ukbench", "holidays", "oxford_dev"  # all of these are indexed: views that are no copies
# Photographs that the sets hold twice, as a look at each pair shows: file names.
TWICE = {
    "103900.jpg": "103100.jpg",
    "103901.jpg": "103101.jpg",
    "103902.jpg": "103102.jpg",
    "all_souls_000073.jpg": "all_souls_000014.jpg",
    "christ_church_000619.jpg": "christ_church_000602.jpg",
}
HASHED = """
import json, sys
from imagededup.methods import PHash
hasher, folder = PHash(verbose=False), sys.argv[1]
codes = hasher.encode_images(image_dir=folder, num_enc_workers=0)
print(json.dumps({d: hasher.find_duplicates(encoding_map=codes, max_distance_threshold=d,
    num_dist_workers=0) for d in (4, 10)}))
"""
Attack = Callable[[Image.Image], Image.Image]


def compressed(quality: int) -> Attack:
    def attack(image: Image.Image) -> Image.Image:
        data = io.BytesIO()
        image.save(data, "JPEG", quality=quality)
        return Image.open(data).convert("RGB")

    return attack


def resized(x: float, y: float) -> Attack:
    return lambda image: image.resize((round(image.width * x), round(image.height * y)), Image.Resampling.LANCZOS)


def cropped(area: float, left: float, top: float) -> Attack:
    def attack(image: Image.Image) -> Image.Image:
        width, height = (round(side * area**0.5) for side in image.size)
        x, y = round((image.width - width) * left), round((image.height - height) * top)
        return image.crop((x, y, x + width, y + height))

    return attack


def bordered(colour: str) -> Attack:
    return lambda image: ImageOps.expand(image, round(0.08 * max(image.size)), colour)


def framed(image: Image.Image) -> Image.Image:
    width = round(0.05 * max(image.size))
    return ImageOps.expand(ImageOps.expand(image, width, (90, 60, 30)), width // 2, (230, 220, 180))


def captioned(image: Image.Image) -> Image.Image:
    canvas = Image.new("RGB", (image.width, round(image.height * 1.15)), "white")
    canvas.paste(image, (0, 0))
    return written(canvas, "What a lovely day", 0.05, image.height + 4, "black")


def written(image: Image.Image, text: str, left: float, top: float, colour: str) -> Image.Image:
    image = image.copy()
    font = ImageFont.load_default(size=max(11, image.height // 12))
    ImageDraw.Draw(image).text((image.width * left, top), text, fill=colour, font=font)
    return image


def darker(image: Image.Image) -> Image.Image:
    return image.point([round(255 * (value / 255) ** 1.8) for value in range(256)] * 3)


def other_hues(image: Image.Image) -> Image.Image:
    hue, saturation, value = image.convert("HSV").split()
    turned = hue.point([(h + 40) % 256 for h in range(256)])
    return Image.merge("HSV", (turned, saturation, value)).convert("RGB")


def noisy(image: Image.Image) -> Image.Image:
    values = np.asarray(image) + np.random.default_rng(0).normal(0, 12, (image.height, image.width, 3))
    return Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))


WHOLE: dict[str, Attack] = {
    "JPEG, quality 30": compressed(30),
    "JPEG, quality 10": compressed(10),
    "half the size": resized(0.5, 0.5),
    "a quarter of the size": resized(0.25, 0.25),
    "twice the size": resized(2, 2),
    "narrower by a fifth": resized(0.8, 1),
    "brighter by 40 %": lambda image: ImageEnhance.Brightness(image).enhance(1.4),
    "half as much more contrast": lambda image: ImageEnhance.Contrast(image).enhance(1.5),
    "darker (gamma 1.8)": darker,
    "grey": lambda image: ImageOps.grayscale(image).convert("RGB"),
    "other hues": other_hues,
    "sepia": lambda image: ImageOps.colorize(ImageOps.grayscale(image), (40, 20, 0), (255, 240, 200)),
    "blurred": lambda image: image.filter(ImageFilter.GaussianBlur(max(image.size) / 400)),
    "sharpened": lambda image: image.filter(ImageFilter.UnsharpMask(2, 150, 0)),
    "noise": noisy,
    "turned by 90°": lambda image: image.transpose(Image.Transpose.ROTATE_90),
    "turned by 180°": lambda image: image.transpose(Image.Transpose.ROTATE_180),
    "mirrored": ImageOps.mirror,
    "upside down": ImageOps.flip,
    "white border": bordered("white"),
    "black border": bordered("black"),
    "frame": framed,
    "caption below": captioned,
    "text across": lambda image: written(image, "SAMPLE photo.example", 0.08, image.height * 0.45, "white"),
}
CROPS: dict[str, Attack] = {
    "crop to 90 %": cropped(0.9, 0.3, 0.7),
    "crop to 75 %": cropped(0.75, 0.2, 0.8),
    "crop to 50 %": cropped(0.5, 0.7, 0.3),
    "crop to 35 %": cropped(0.35, 0.5, 0.5),
    "crop to 25 %": cropped(0.25, 0.4, 0.6),
}
ATTACKS = {**WHOLE, **CROPS}


def pictures_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".png"))


def photograph(path: Path) -> str:
    """What is the same for a picture and for what is known to be the same photograph."""
    return str(path.with_name(TWICE.get(path.name, path.name)))


def attacked(originals: list[Path], folder: Path, each: int) -> dict[Path, tuple[Path, str]]:
    """Copies on disk: which picture each is of, and what was done to it."""
    made: dict[Path, tuple[Path, str]] = {}
    for number, original in enumerate(originals):
        image = Image.open(original).convert("RGB")
        for turn in range(each):
            name = list(ATTACKS)[(number * each + turn) % len(ATTACKS)]
            path = folder / f"copy-{number:05d}-{turn}.jpg"
            ATTACKS[name](image).save(path, quality=85)
            made[path] = original, name
    return made


def judge(
    title: str, pairs: Iterable[tuple[str, str]], origin: dict[str, str], copies: dict[Path, tuple[Path, str]]
) -> None:
    found = {frozenset(pair) for pair in pairs}
    wrong = [pair for pair in found if len({origin[key] for key in pair}) > 1]
    by_attack: dict[str, list[bool]] = defaultdict(list)
    for copy, (original, name) in copies.items():
        by_attack[name].append(frozenset((str(copy), str(original))) in found)
    whole = [hit for name in WHOLE for hit in by_attack[name]]
    crops = [hit for name in CROPS for hit in by_attack[name]]
    precision = 1 - len(wrong) / len(found) if found else 1.0
    print(
        f"{title}: {len(found)} pairs, {len(wrong)} wrong, precision {precision:.4f}; "
        f"recall {np.mean(whole):.4f} of whole frames, {np.mean(crops):.4f} of crops"
    )
    print("   " + "; ".join(f"{name} {np.mean(hits):.3f}" for name, hits in by_attack.items()))
    for pair in sorted(map(sorted, wrong))[:20]:
        print("   wrong:", *(Path(key).name for key in pair))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--pictures", type=int, default=500)
    parser.add_argument("--attacks", type=int, default=5, help="of each picture")
    parser.add_argument("--imagededup", metavar="PYTHON")
    given = parser.parse_args()
    choose = random.Random(0)
    originals = []
    for name in SETS:
        all_of_it = pictures_in(given.data / name)
        originals += choose.sample(all_of_it, min(given.pictures // len(SETS), len(all_of_it)))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "copies"
        folder.mkdir()
        copies = attacked(originals, folder, given.attacks)
        retaken = [path for name in RETAKEN for path in pictures_in(given.data / name)]
        paths = list(dict.fromkeys([*originals, *retaken, *copies]))
        origin = {str(path): photograph(copies[path][0] if path in copies else path) for path in paths}
        print(f"{len(originals)} pictures attacked in {given.attacks} ways each, {len(paths)} pictures in all")
        with Index.create(Path(temporary) / "i.resight") as index:
            for _ in index.add_files(paths, engine=LocalEngine(processors())):
                pass
            index.commit()
            started = time.perf_counter()
            groups = index.duplicates(kind="copy")
            seconds = time.perf_counter() - started
        pairs = [pair for group in groups for pair in combinations([p.key for p in group.pictures], 2)]
        judge(f"resight, {seconds:.0f} s", pairs, origin, copies)
        if given.imagededup:
            hash_with_imagededup(given.imagededup, paths, Path(temporary) / "all", origin, copies)


def hash_with_imagededup(
    python: str, paths: list[Path], folder: Path, origin: dict[str, str], copies: dict[Path, tuple[Path, str]]
) -> None:
    """It takes one folder, so the pictures are linked into one under names of their own."""
    folder.mkdir()
    names = {f"{number:05d}{path.suffix}": str(path) for number, path in enumerate(paths)}
    for name, path in names.items():
        (folder / name).symlink_to(path)
    started = time.perf_counter()
    done = subprocess.run([python, "-c", HASHED, str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"imagededup failed: {done.stderr[-2000:]}")
    seconds = time.perf_counter() - started
    for distance, found in json.loads(done.stdout.splitlines()[-1]).items():
        pairs = [(names[one], names[other]) for one, others in found.items() for other in others]
        judge(f"imagededup PHash, distance ≤ {distance}, {seconds:.0f} s", pairs, origin, copies)


if __name__ == "__main__":
    main()
