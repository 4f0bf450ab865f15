"""Many pictures → segments, shard by shard, by an engine's workers; then one commit of all.

A worker ingests the pictures of a shard, writes a segment, and records that the shard is done. Whoever dies, worker or
driver, shards that were recorded are not done again.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from ..engine import Engine
from ..errors import EngineError, IndexDamagedError, StoreError
from ..store import Disk, Known, References, Segment, Snapshot, Writer, read_manifest, shards
from ..store.addition import write_addition
from ..store.disk import writing
from ..store.manifest import SegmentRecord
from ..store.shards import Built
from .jobs import Job, Outcome, crashed

DEATHS = 3  # after so many worker crashes on one picture, it is skipped

Ingest = Callable[[Job], Outcome]


@dataclass(frozen=True)
class Shard:
    """Some of the pictures. The name says which, and how they are ingested."""

    name: str
    jobs: tuple[Job, ...]


def build(
    writer: Writer,
    ingester: Callable[[], Ingest],
    jobs: Iterable[Job],
    *,
    engine: Engine,
    most: int,
    before_commit: Callable[[], None] = lambda: None,
) -> Iterator[Outcome]:
    """Add pictures in shards of at most ``most``; yields what became of each, and commits when all was taken.

    before_commit: makes changes that belong to the same commit. Any other commit would cost an interrupted build the
    shards that are done.
    """
    writer.begin_build()
    plan = BuilderPlan(writer.folder, writer.manifest.commit, ingester, writer.disk)
    for old in (writer.folder / shards.FOLDER).glob(f"*{CrashLog.SUFFIX}"):
        old.unlink(missing_ok=True)  # deaths under another driver, which may itself have been killed, prove nothing

    def retry(shard: Shard) -> Built:
        built, deaths = None, 0
        while built is None:
            deaths = CrashLog(writer.folder, shard).require_more_deaths(deaths)
            (built,) = engine.run(plan, [shard], on_crash=lambda shard: None)
        return built

    segments, replaced = [], []
    for built in engine.run(plan, split_into_shards(jobs, most, build=plan), on_crash=retry):
        segments += [built.segment] if built.segment else []
        for values in built.outcomes:
            outcome = Outcome(**values)
            replaced += [outcome.key] if outcome.replaces else []
            yield outcome
    before_commit()
    writer.commit_build(segments, base_commit=plan.commit, replaced=replaced)


def split_into_shards(jobs: Iterable[Job], most: int, *, build: object) -> Iterator[Shard]:
    """The jobs in shards, each key once in a shard.

    A shard also ends where a key says so, once in ``most`` keys: so a picture that comes or goes before a build is
    resumed changes the shards near it, and not all that follow.
    """
    start = hashlib.blake2b(repr(build).encode(), digest_size=16)
    some: dict[str, Job] = {}
    for job in jobs:
        some[job.key] = job
        if len(some) == most or zlib.crc32(_bytes(job.key)) % most == 0:
            yield _shard(some, start.copy())
            some = {}
    if some:
        yield _shard(some, start.copy())


def _shard(jobs: dict[str, Job], name: hashlib.blake2b) -> Shard:
    for key, job in jobs.items():
        name.update(_bytes(f"{key}\0{job.path}\0{job.state}\0{job.refused}\0"))
    return Shard(name.hexdigest(), tuple(jobs.values()))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class BuilderPlan:
    """What a worker needs to become a builder; calling it makes one."""

    folder: Path
    commit: int  # that is built upon
    ingester: Callable[[], Ingest]
    disk: Disk = field(default_factory=Disk, repr=False)

    def __call__(self) -> Builder:
        manifest = read_manifest(self.folder)
        if manifest.commit != self.commit:
            raise StoreError(f"{self.folder} has changed since this build began; build again")
        return Builder(self, Snapshot(self.folder, manifest), self.ingester())


class Builder:
    """Shard → Built, in a worker."""

    def __init__(self, plan: BuilderPlan, base: Snapshot, ingest: Ingest) -> None:
        self._folder, self._disk, self._base, self._ingest = plan.folder, plan.disk, base, ingest
        self._references = References()

    def __call__(self, shard: Shard) -> Built:
        with writing(self._folder):
            known = shards.read(self._folder, shard.name)
            if known and self._sound(known.segment):
                return known
            built = self._build(shard)
            shards.record(self._folder, shard.name, built, self._disk)
            return built

    def _sound(self, segment: SegmentRecord | None) -> bool:
        with suppress(IndexDamagedError):
            if segment:
                Segment(self._folder, segment, codes=self._base.settings.codes).close()
            return True
        return False

    def _build(self, shard: Shard) -> Built:
        log = CrashLog(self._folder, shard)
        found = {job.key: self._outcome(job, log) for job in log.suspects_first()}
        log.remove()
        outcomes = [found[job.key] for job in shard.jobs]
        entries = [outcome.entry for outcome in outcomes if outcome.entry]
        record = None
        commit = self._base.manifest.commit
        if entries:
            # A worker that was taken for dead may be writing the same shard: each has a name of its own.
            name = f"{commit + 1:08d}-{secrets.token_hex(4)}"
            record = write_addition(self._base, name, entries, references=self._references, disk=self._disk)
        return Built(commit, record, [asdict(replace(outcome, entry=None)) for outcome in outcomes])

    def _outcome(self, job: Job, log: CrashLog) -> Outcome:
        if log.deaths[job.key] >= DEATHS:
            return crashed(job)
        row = self._base.find(job.key)
        log.begin(job)
        return self._ingest(replace(job, known=Known(row.content, row.path, row.metadata) if row else None))


class CrashLog:
    """Which picture of a shard is being ingested, beside the shards' records: what killed a worker, if one died.

    It only has to survive a process, so it is not synced.
    """

    SUFFIX = ".note"

    def __init__(self, folder: Path, shard: Shard) -> None:
        self._path, self._shard = folder / shards.FOLDER / f"{shard.name}{self.SUFFIX}", shard
        self.deaths: Counter[str] = Counter()  # of workers, by the key of the picture that they had begun
        with suppress(OSError, ValueError):
            self.deaths.update(json.loads(self._path.read_bytes()))

    def suspects_first(self) -> list[Job]:
        """The jobs of the shard; what killed a worker kills the next one before much is done."""
        return sorted(self._shard.jobs, key=lambda job: job.key not in self.deaths)

    def begin(self, job: Job) -> None:
        """If the worker dies now, this picture has one death more."""
        self._path.write_text(json.dumps({**self.deaths, job.key: self.deaths[job.key] + 1}))

    def require_more_deaths(self, before: int) -> int:
        """How many workers died while a picture was ingested; EngineError if none has since there were so many."""
        if self.deaths.total() == before:
            raise EngineError(
                "workers die while they write a segment, or at their start; see their messages, give them more memory, "
                "or lower store.shard"
            )
        return self.deaths.total()

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)
