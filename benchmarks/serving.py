"""Does the server keep up? Eight clients search at once, and a picture is committed meanwhile.

    python benchmarks/serving.py [--seconds 60] [--pictures 1000] [--searches 2000]

Clients ask with pictures, regions and keys in turn, over the loopback. Then one client makes so many searches, and the
server's memory is compared before and after. The server is a process of its own.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import numpy as np

from resight import Index
from resight.engine import LocalEngine
from resight.folders import find_pictures
from resight.machine import processors

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")
CLIENTS = 8
WARM = 200  # searches before memory is looked at


class Clients:
    """Threads that search until they are stopped, and what they saw."""

    def __init__(self, url: str, pictures: list[Path]) -> None:
        self.seconds: dict[str, list[float]] = {"picture": [], "region": [], "key": []}
        self.answers: Counter[str] = Counter()
        self._url, self._pictures, self._stop = url, pictures, threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(CLIENTS)]

    def run(self, seconds: float, meanwhile: threading.Thread) -> None:
        for thread in self._threads:
            thread.start()
        time.sleep(seconds / 3)
        meanwhile.start()
        time.sleep(2 * seconds / 3)
        self._stop.set()
        for thread in (*self._threads, meanwhile):
            thread.join()

    def _run(self, number: int) -> None:
        with httpx.Client(base_url=self._url, timeout=60) as client:
            step = number
            while not self._stop.is_set():
                kind = tuple(self.seconds)[step % 3]
                started = time.perf_counter()
                try:
                    answer = str(search(client, kind, self._pictures[step * 7 % len(self._pictures)]))
                except httpx.HTTPError as error:
                    answer = type(error).__name__
                self.seconds[kind].append(time.perf_counter() - started)
                self.answers[answer] += 1
                step += CLIENTS + 1


def search(client: httpx.Client, kind: str, picture: Path) -> int:
    """Ask in one of three ways; the status."""
    if kind == "key":
        return client.get("/v1/search", params={"key": str(picture)}).status_code
    region = {"region": "50,50,150,120"} if kind == "region" else {}
    return client.post("/v1/search", params=region, content=picture.read_bytes()).status_code


def memory(process: int) -> float:
    """Resident megabytes, without mapped files."""
    found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found
    return int(found.group(1)) / 1024


def commit(url: str, place: Path, extra: Path, said: list[str]) -> None:
    """Add a picture from this process, and wait until the server finds it."""
    with Index.open(place) as index:
        index.add(extra)
        started = time.perf_counter()
        index.commit()
        committed = time.perf_counter()
    with httpx.Client(base_url=url, timeout=60) as client:
        while client.get("/v1/search", params={"key": str(extra), "top": 1}).status_code != 200:
            pass
    said.append(f"commit {committed - started:.2f} s, found {time.perf_counter() - committed:.2f} s later")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pictures", type=int, default=1000)
    parser.add_argument("--searches", type=int, default=2000)
    parser.add_argument("--set", action="append", default=[], help="an option of the server, as for `resight serve`")
    given = parser.parse_args()
    pictures = list(find_pictures([given.data / "ukbench"]))[: given.pictures + 1]
    extra = pictures.pop()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "served.resight"
        with Index.create(place) as index:
            for _ in index.add_files(pictures, engine=LocalEngine(processors())):
                pass
        run = [sys.executable, "-c", "from resight.cli import main; main()", "serve", str(place), "--port", "0"]
        settings = [word for setting in given.set for word in ("--set", setting)]
        with subprocess.Popen([*run, *settings], stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr
            line = next(line for line in server.stderr if "http://" in line)
            url = line.split(" at ")[1].split(";")[0]
            try:
                report(url, place, pictures, extra, server.pid, given)
            finally:
                server.terminate()


def report(url: str, place: Path, pictures: list[Path], extra: Path, process: int, given: argparse.Namespace) -> None:
    clients, said = Clients(url, pictures), list[str]()
    clients.run(given.seconds, threading.Thread(target=commit, args=(url, place, extra, said)))
    total, answers = sum(clients.answers.values()), dict(clients.answers)
    print(f"{len(pictures)} pictures, {CLIENTS} clients, {processors()} processors, load {os.getloadavg()[0]:.1f}")
    print(f"{total} searches in {given.seconds:g} s, {total / given.seconds:.1f} per second; answers {answers}")
    for kind, seconds in clients.seconds.items():
        p50, p95 = np.percentile(seconds, [50, 95]) * 1e3
        print(f"{kind:8s} p50 {p50:6.0f} ms   p95 {p95:6.0f} ms")
    print(f"during load: {said[0]}")
    if not given.searches:
        return
    with httpx.Client(base_url=url, timeout=60) as client:
        for number in range(WARM + given.searches):
            if number == WARM:
                before = memory(process)
            status = search(client, ("picture", "region", "key")[number % 3], pictures[number * 7 % len(pictures)])
            assert status == 200, status
    print(f"memory {before:.0f} MB before and {memory(process):.0f} MB after {given.searches} searches")


if __name__ == "__main__":
    main()
