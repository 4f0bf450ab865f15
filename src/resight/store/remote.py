"""An index at a URL: searched and changed in a mirror on this machine.

At the URL is the same folder as FORMAT.md describes. Its files never change once they are named in a manifest, so the
mirror lacks few of them after each commit, and those it fetches are checked as they arrive. A commit writes the new
files into the mirror, uploads them, and then moves the manifest into its place at the URL: that is the commit. Only
then does the mirror get the manifest, too; so it is never ahead of what is at the URL, and what a crash leaves in it is
swept like the leftovers of any writer. A crash before the move leaves the last commit; files that were uploaded for
nothing are removed by the next writer.

There is one writer: whoever made the object ``writer.lease``. One that died on this machine is followed at once, since
its lock on the mirror has gone with it; elsewhere someone has to see that it is dead, and remove its lease.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path

from ..arrays import array_of
from ..errors import IndexDamagedError, IndexExistsError, IndexLockedError, IndexMissingError, StoreError
from ..machine import cache_folder
from ..options import FeatureOptions, IndexingOptions, StoreOptions
from ..vocabulary import Vocabulary
from . import manifest as manifests
from .bucket import LEASE, Bucket, FileGoneError
from .check import CheckReport, check
from .checked import CheckedFile, block_count
from .create import create
from .disk import Disk, writing
from .lock import WriterLock
from .manifest import OPTIONAL, FileRecord, Manifest, SegmentRecord
from .segment import FOLDER, read_whole
from .snapshot import VOCABULARY
from .writer import Writer

NEW = f"{manifests.NAME}.new"
PLAIN = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")  # names of files that stay in the mirror's folder
RESTORE = "restore the index from a copy, or index the pictures again"


class Remote:
    """The index at a URL, and its mirror: the folder ``folder`` in ``base``, by default in the user's cache."""

    def __init__(self, url: str, *, base: Path | None = None) -> None:
        self.bucket, self.url = Bucket(url), url.rstrip("/")
        base = base or cache_folder() / "mirrors" / hashlib.sha256(self.url.encode()).hexdigest()[:16]
        self.base = base.absolute()  # as the writer's folder is, by which a commit is recognised
        self.folder = self.base / "index.resight"
        # Where a file is until it is checked: others may have mapped what the mirror holds under its name, and a writer
        # makes files in the mirror, too.
        self._arrived = self.base / "arriving"
        self._disk = Disk()

    # Reading

    def exists(self) -> bool:
        return self.bucket.read(manifests.NAME) is not None

    def pull(self) -> None:
        """Let the mirror be what was committed last. A file that is not what the manifest says raises."""
        with writing(self.base), self.pulling():
            while (data := self._committed()) != self._mirrored():
                manifest = manifests.parse(data, self.bucket.at(manifests.NAME))
                if strange := [name for name in files_of(manifest) if not PLAIN.fullmatch(name)]:
                    raise IndexDamagedError(
                        f"{self.url} names a file {strange[0]!r}, as no index does; do not trust it"
                    )
                try:
                    self._fetch(manifest)
                except FileGoneError as error:  # a merge may have removed it: then there is a newer manifest
                    if self._committed() == data:
                        raise IndexDamagedError(f"{self.url} is damaged ({error} is missing); {RESTORE}") from None
                    continue
                self._disk.write(self._arrived, data)
                self._keep(manifests.NAME)
                self._sweep_mirror(manifest)

    def check(self) -> CheckReport:
        """Fetch and check all of it anew. A mirror that is damaged is dropped, and fetched again when it is needed."""
        fresh = Remote(self.url, base=self.base / "checked")
        try:
            fresh.pull()
            report = check(fresh.folder)
        finally:
            shutil.rmtree(fresh.base, ignore_errors=True)
        if self._mirror_is_damaged():
            with writing(self.base), self.pulling(), self._alone():
                (self.folder / manifests.NAME).unlink(missing_ok=True)  # first: without it nothing else here counts
                self._disk.remove(self.folder)
        return report

    def _mirror_is_damaged(self) -> bool:
        try:
            return bool(check(self.folder).problems)
        except IndexMissingError:
            return False
        except IndexDamagedError:
            return True

    def _committed(self) -> bytes:
        """The manifest at the URL."""
        data = self.bucket.read(manifests.NAME)
        if data is None:
            raise IndexMissingError(
                f"there is no index at {self.url}; make one with `resight index PICTURES --into {self.url}`"
            )
        return data

    def _mirrored(self) -> bytes | None:
        """The mirror's manifest."""
        try:
            return (self.folder / manifests.NAME).read_bytes()
        except FileNotFoundError:
            return None

    def _mirrored_files(self) -> dict[str, tuple[int, int]]:
        """What need not be fetched: nothing, if the mirror's manifest is damaged."""
        try:
            return files_of(manifests.read(self.folder))
        except (IndexMissingError, IndexDamagedError):
            return {}

    def _fetch(self, manifest: Manifest) -> None:
        """Those files of a manifest that the mirror lacks."""
        have = self._mirrored_files()
        wanted = {
            name for name, facts in files_of(manifest).items()
            if have.get(name) != facts or not (self.folder / name).exists()
        }  # fmt: skip
        for record in (manifest.vocabulary, *manifest.optional.values()):
            if record.name in wanted:
                self._fetch_whole(record.name, record)
        for segment in manifest.segments:
            self._fetch_segment(segment, wanted)

    def _fetch_segment(self, segment: SegmentRecord, wanted: set[str]) -> None:
        place = f"{FOLDER}/{segment.name}"
        for record in segment.sidecar_files:
            if f"{place}/{record.name}" in wanted:
                self._fetch_whole(f"{place}/{record.name}", record)
        sums, start = array_of(self._sums(segment)), 0
        for file, size in segment.files.items():
            stop = start + block_count(size)
            if (name := f"{place}/{file}") in wanted:
                with self._arriving(name) as arrived:
                    CheckedFile(arrived, size=size, sums=sums[start:stop]).check()
            start = stop

    def _sums(self, segment: SegmentRecord) -> bytes:
        """A segment's checksums: the mirror's, or fetched, if it has none or damaged ones."""
        name = f"{FOLDER}/{segment.name}/{segment.sums.name}"
        with suppress(IndexDamagedError):
            return read_whole(self.folder / name, segment.sums)
        self._fetch_whole(name, segment.sums)
        return read_whole(self.folder / name, segment.sums)

    def _fetch_whole(self, name: str, record: FileRecord) -> None:
        with self._arriving(name) as arrived:
            read_whole(arrived, record)

    @contextmanager
    def _arriving(self, name: str) -> Iterator[Path]:
        """A file that was fetched, to be checked; then it gets its name in the mirror."""
        self.bucket.download(name, self._arrived)
        try:
            yield self._arrived
        except IndexDamagedError:
            raise IndexDamagedError(
                f"{self.bucket.at(name)} is damaged, or was on its way here; try again, and if that does not help, "
                f"{RESTORE}"
            ) from None
        self._keep(name)

    def _keep(self, name: str) -> None:
        """What has arrived, under this name in the mirror."""
        target = self.folder / name
        self._disk.make_folder(target.parent)
        self._disk.sync(self._arrived)
        self._disk.rename(self._arrived, target)
        self._disk.sync(target.parent)

    @contextmanager
    def pulling(self) -> Iterator[None]:
        """One process at a time fetches; others wait, and find it done. Who is inside must not ask again."""
        self._disk.make_folder(self.base)
        with (self.base / "pull.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _sweep_mirror(self, manifest: Manifest) -> None:
        """Unless a process of this machine is writing, whose files are in no manifest yet."""
        with suppress(IndexLockedError), self._alone():
            present = (path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file())
            for name in leftovers(present, manifest):
                self._disk.remove(self.folder / name)

    # Writing

    def create(self, vocabulary: Vocabulary, *, features: FeatureOptions, indexing: IndexingOptions) -> None:
        """Make an empty index. One that was interrupted can simply be repeated."""
        with self.lease():
            if self.exists():
                raise IndexExistsError(f"there is already an index at {self.url}; open it, or choose another place")
            if strange := [name for name in self.bucket.names() if name not in (LEASE, NEW, VOCABULARY)]:
                raise IndexExistsError(f"{self.bucket.at(strange[0])} exists and is no index's; choose another place")
            shutil.rmtree(self.folder, ignore_errors=True)  # of an index that was here once
            create(self.folder, vocabulary, features=features, indexing=indexing, disk=_Publisher(self))

    @contextmanager
    def lease(self) -> Iterator[None]:
        """The right to write, for this process alone."""
        with ExitStack() as held:
            with writing(self.base), self.pulling():  # a reader that sweeps is no writer to be told of
                held.enter_context(self._alone())
            held.enter_context(self.bucket.leased(self._identity()))
            yield

    def _identity(self) -> str:
        """Of this mirror: made once, the same for all processes that use it."""
        file = self.base / "identity"
        with suppress(FileExistsError), file.open("x") as new:
            new.write(uuid.uuid4().hex)
        return file.read_text()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The only process of this machine that changes the mirror."""
        lock = WriterLock(self.base)
        try:
            with writing(self.base):
                self._disk.make_folder(self.base)
                lock.take()
        except IndexLockedError:
            raise IndexLockedError(
                f"another process of this machine is writing to {self.url}; wait until it has finished"
            ) from None
        try:
            yield
        finally:
            lock.release()

    def publish(self, new: Path) -> None:
        """Upload what the new manifest names and the last does not, then let it replace the last: the commit."""
        self._require_token()
        there = self._mirrored_files()
        for name, facts in files_of(manifests.parse(new.read_bytes(), new)).items():
            if there.get(name) != facts:
                self.bucket.upload(self.folder / name, name)
        self.bucket.upload(new, NEW)
        self._require_token()  # again: uploads may have taken long
        self.bucket.move(NEW, manifests.NAME)

    def sweep(self) -> None:
        """Remove what the last manifest does not name: merged segments, and what a crash left."""
        manifest = manifests.parse(self._committed(), self.bucket.at(manifests.NAME))
        for name in leftovers(self.bucket.names(), manifest):
            self.bucket.remove(name)

    def _require_token(self) -> None:
        """That nobody has taken the lease away, and nobody has committed since."""
        if not self.bucket.holds_lease() or self.bucket.read(manifests.NAME) != self._mirrored():
            raise StoreError(
                f"another writer has taken over {self.url}; what it has committed is kept: open the index again and "
                "repeat your changes"
            )


class RemoteWriter(Writer):
    """A writer whose commits happen at the URL. Holds its lease until ``close``."""

    def __init__(self, remote: Remote, *, options: StoreOptions | None = None) -> None:
        with ExitStack() as held:
            held.enter_context(remote.lease())
            remote.pull()
            remote.sweep()
            super().__init__(remote.folder, options=options, disk=_Publisher(remote))
            self._held = held.pop_all()

    def close(self) -> None:
        super().close()
        self._held.close()


class _Publisher(Disk):
    """The mirror's disk: what makes a commit there has made it at the URL before."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def rename(self, source: Path, target: Path) -> None:
        if target != self._remote.folder / manifests.NAME:
            super().rename(source, target)
            return
        self._remote.publish(source)
        with self._remote.pulling():  # else a reader that has found an older manifest there could put it over this one
            super().rename(source, target)
        with suppress(StoreError):  # the commit stands; the next one tries again
            self._remote.sweep()


def files_of(manifest: Manifest) -> dict[str, tuple[int, int]]:
    """Every file that a manifest names, with what tells it from others of its name."""
    whole = (manifest.vocabulary, *manifest.optional.values())
    files = {record.name: (record.size, record.crc) for record in whole}
    for segment in manifest.segments:
        place = f"{FOLDER}/{segment.name}"
        files |= {
            f"{place}/{record.name}": (record.size, record.crc) for record in (segment.sums, *segment.sidecar_files)
        }
        files |= {f"{place}/{file}": (size, segment.sums.crc) for file, size in segment.files.items()}
    return files


def leftovers(present: Iterable[str], manifest: Manifest) -> list[str]:
    """Those of these files that a writer made and the manifest does not name."""
    named, kinds = files_of(manifest), (f"{FOLDER}/*", f"{OPTIONAL}/*", NEW)
    return [name for name in present if name not in named and any(fnmatch(name, kind) for kind in kinds)]
