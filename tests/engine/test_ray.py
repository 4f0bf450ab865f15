"""The same work on a Ray cluster of two nodes, one of which is lost; and without Ray."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from resight.cli import app
from resight.engine import LocalEngine, engine_named
from resight.engine.local import WINDOW
from resight.engine.ray import AHEAD, RayEngine
from resight.errors import EngineError, UsageError, VocabularyError
from resight.index import Index
from resight.ingest import Ingester, IngesterPlan, Job, Outcome, build
from resight.options import VocabularyOptions
from resight.store import Writer
from resight.store import manifest as manifests
from resight.vocabulary import train

from ..support.builds import FEATURES, SMALL, answers, ingester, kill_when_recorded, make_pictures, records_of, segments
from ..support.vocabularies import root_sift_like
from .jobs import counted, failing_plan, fragile_plan, no_crash, picky_plan, square_plan


@pytest.fixture(scope="module")
def engine(cluster: Any) -> RayEngine:
    return RayEngine(cluster.address)


PATIENCE = 120  # seconds: workers start slowly on a busy machine


def wait_until(done: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < ends
        time.sleep(0.01)


@dataclass(frozen=True)
class Where:
    """Tells which process made the plan, which runs the job, and of which node. None ends before two have begun."""

    seen: Path  # where each node notes that it has begun

    def __call__(self) -> Callable[[int], tuple[int, int, str, int]]:
        import ray

        maker, node = os.getpid(), ray.get_runtime_context().get_node_id()
        (self.seen / node).touch()

        def work(job: int) -> tuple[int, int, str, int]:
            wait_until(lambda: len(list(self.seen.iterdir())) > 1)
            return maker, os.getpid(), node, job

        return work


def test_results_come_in_order_from_workers_that_were_set_up_once(engine: RayEngine, tmp_path: Path) -> None:
    seen = list(engine.run(Where(tmp_path), range(60), on_crash=lambda job: (0, 0, "", job)))
    assert [job for *_, job in seen] == list(range(60))
    assert all(maker == worker != os.getpid() for maker, worker, _, _ in seen)
    assert len({node for _, _, node, _ in seen}) > 1
    assert list(engine.run(square_plan, [], on_crash=no_crash)) == []


def test_errors_are_those_of_the_job(engine: RayEngine) -> None:
    results = engine.run(picky_plan, range(20), on_crash=no_crash)
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="five is right out"):
        next(results)
    for _ in range(20):  # of cancelling what is left over, when that fails at the same moment, this process died
        with pytest.raises(VocabularyError, match="no words"):
            list(engine.run(failing_plan, range(5), on_crash=no_crash))


class SecretiveError(Exception):
    """Cannot be sent."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


def secretive_plan() -> Callable[[int], int]:
    def work(job: int) -> int:
        raise SecretiveError

    return work


def test_errors_that_cannot_be_sent_are_resights_own(engine: RayEngine) -> None:
    with pytest.raises(EngineError, match="cannot do its work"):
        list(engine.run(secretive_plan, range(5), on_crash=no_crash))


def test_jobs_are_taken_as_they_are_needed(engine: RayEngine) -> None:
    taken: list[int] = []
    results = engine.run(square_plan, counted(10_000, taken), on_crash=no_crash)
    assert [next(results) for _ in range(3)] == [0, 1, 4]
    results.close()  # type: ignore[attr-defined]
    assert len(taken) <= 3 + 2 * WINDOW


@dataclass(frozen=True)
class Relay:
    """The first job is done when one that comes much later is."""

    place: Path
    later: int

    def __call__(self) -> Callable[[int], int]:
        return self._work

    def _work(self, job: int) -> int:
        if job == self.later:
            self.place.touch()
        if job == 0:
            wait_until(self.place.exists)
        return job


def test_others_go_on_behind_a_slow_job(engine: RayEngine, tmp_path: Path) -> None:
    plan = Relay(tmp_path / "done", 3 * AHEAD + 4)
    assert list(engine.run(plan, range(30), on_crash=no_crash)) == list(range(30))


def test_a_job_that_kills_its_workers_is_reported_and_the_others_complete(engine: RayEngine) -> None:
    jobs = [1, -1, *range(2, 12)]
    assert list(engine.run(fragile_plan, jobs, on_crash=lambda job: job)) == [j if j < 0 else 10 * j for j in jobs]


def test_rounds_of_k_means_come_out_bit_by_bit(engine: RayEngine) -> None:
    descriptors = root_sift_like(36_000, 3)  # three jobs in each round
    options = VocabularyOptions(words=1024, iterations=2, sample=36_000)
    facts: dict[str, Any] = {"options": options, "source": "made up", "exact_up_to": 100}
    across = lambda plan, jobs: engine.run(plan, jobs, on_crash=no_crash)  # noqa: E731
    assert train(descriptors, **facts, across=across).to_bytes() == train(descriptors, **facts).to_bytes()


@dataclass(frozen=True)
class Hostage:
    """An analyser that stops for ever at the first picture that is analysed on another node than the driver's.

    On the driver's node it begins when that has happened.
    """

    plan: IngesterPlan
    home: str
    place: Path  # where the node says so

    def __call__(self) -> Callable[[Job], Outcome]:
        analyse = self.plan()
        return lambda job: self._analyse(job, analyse)

    def _analyse(self, job: Job, analyse: Ingester) -> Outcome:
        import ray

        node = ray.get_runtime_context().get_node_id()
        if node != self.home and not self.place.exists():
            try:  # of several nodes one: the file stays, so nobody else can make it
                self.place.with_suffix(".claimed").touch(exist_ok=False)
            except FileExistsError:
                return analyse(job)
            self.place.with_suffix(".new").write_text(node)
            self.place.with_suffix(".new").rename(self.place)
            threading.Event().wait()
        wait_until(self.place.exists)
        return analyse(job)


def kill(cluster: Any, place: Path, killed: list[str]) -> None:
    """The node that is named in a file, as soon as it is."""
    while not place.exists():
        time.sleep(0.02)
    victim = place.read_text()
    node = next(node for node in cluster.worker_nodes if node.node_id == victim)
    cluster.remove_node(node, allow_graceful=False)
    killed.append(victim)


def test_the_same_index_though_a_node_is_lost(cluster: Any, engine: RayEngine, tmp_path: Path) -> None:
    import ray

    pictures = make_pictures(tmp_path / "pictures", 17)
    local, far = tmp_path / "local.resight", tmp_path / "far.resight"
    for place in (local, far):
        Index.create(place, features=FEATURES).close()
    jobs = [Job.for_file(path, key=path.name) for path in pictures]
    with Writer(local, options=SMALL) as writer:
        wanted = list(build(writer, ingester(local), jobs, engine=LocalEngine(), most=4))
    killed: list[str] = []
    list(engine.run(square_plan, [1], on_crash=no_crash))  # connects
    plan = Hostage(ingester(far), ray.get_runtime_context().get_node_id(), tmp_path / "hostage")
    killer = threading.Thread(target=kill, args=(cluster, plan.place, killed), daemon=True)
    killer.start()
    with Writer(far, options=SMALL) as writer:
        found = list(build(writer, plan, jobs, engine=engine, most=4))
    killer.join(PATIENCE)
    assert len(killed) == 1
    assert found == wanted
    assert segments(far) == segments(local)
    assert len(segments(far)) > 3
    with Index.open(local) as here, Index.open(far) as there:
        assert answers(there, pictures[:3]) == answers(here, pictures[:3])
    cluster.add_node(num_cpus=1)


def test_a_killed_driver_is_followed_by_another_that_does_the_rest(cluster: Any, tmp_path: Path) -> None:
    """The other is this process, which has its workers already."""
    make_pictures(tmp_path / "pictures", 17)
    place, calm = tmp_path / "i.resight", tmp_path / "calm.resight"
    options: list[str | Path] = [
        "--set", f"features.max_features={FEATURES.max_features}", "--relative-to", tmp_path,
        "--set", f"store.shard={SMALL.shard}", "--set", f"store.merge_factor={SMALL.merge_factor}",
    ]  # fmt: skip
    options += ["--no-link", "--engine", "ray", "--ray-address", cluster.address]
    words = [str(word) for word in ("index", tmp_path / "pictures", "--into", place, *options)]
    Index.create(place, features=FEATURES).close()
    kill_when_recorded([sys.executable, "-c", "from resight.cli import main; main()", *words], place)
    done = records_of(place)
    assert CliRunner().invoke(app, words).exit_code == 0
    manifest = manifests.read(place)
    assert done < {record.name for record in manifest.segments}
    assert (manifest.commit, manifest.pictures) == (1, 17)
    with Index.create(calm, features=FEATURES) as index:
        index.store = SMALL
        list(index.add_files(sorted((tmp_path / "pictures").iterdir()), relative_to=tmp_path, one_commit=True))
    assert segments(place) == segments(calm)


TEXT: dict[str, Any] = {"capture_output": True, "text": True}
WITHOUT = "import sys; sys.modules['ray'] = None; from resight.cli import main; main()"


def test_without_ray(tmp_path: Path) -> None:
    make_pictures(tmp_path / "pictures", 1)
    words = ["index", str(tmp_path / "pictures"), "--into", str(tmp_path / "i.resight")]
    refused = subprocess.run([sys.executable, "-c", WITHOUT, *words, "--engine", "ray"], check=False, **TEXT)
    assert refused.returncode == 1
    assert refused.stderr == (
        "error: the engine `ray` needs Ray; install it with `pip install 'resight[ray]'`, or leave --engine out\n"
    )
    assert not (tmp_path / "i.resight").exists()
    subprocess.run([sys.executable, "-c", WITHOUT, *words, "--processes", "1"], check=True, stdout=subprocess.DEVNULL)
    assert manifests.read(tmp_path / "i.resight").pictures == 1


def test_engines_by_name() -> None:
    assert engine_named("local", processes=3) == LocalEngine(3)
    for words, message in (
        ({"name": "dask"}, "there is no engine 'dask'; engines: local, ray"),
        ({"name": "local", "address": "auto"}, "add --engine ray, or leave it out"),
        ({"name": "ray", "processes": 2}, "Ray uses all processors of its cluster"),
    ):
        with pytest.raises(UsageError, match=message):
            engine_named(**words)
