"""Other processes for tests: forked from a clean server that has the libraries loaded, so that each starts at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from resight.store import Writer

from ..support.stored import QuickDisk
from .disks import DeadlyDisk
from .scenarios import SCENARIOS

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.failure.warm"])


def start(function: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    process = _context.Process(target=function, args=arguments)
    process.start()
    return process


def start_talking(function: Callable[..., None], *arguments: Any) -> tuple[ForkServerProcess, Connection]:
    """A process whose function gets the sending end of a pipe as its last argument, and the receiving end."""
    receiver, sender = _context.Pipe(duplex=False)
    with sender:  # only the child keeps it: should the child die, receiving ends instead of waiting for ever
        return start(function, *arguments, sender), receiver


def act_and_die(name: str, folder: Path, at: int, half: bool) -> None:
    """Play a scenario until the disk kills this process."""
    SCENARIOS[name].act(folder, DeadlyDisk(at, half=half))


def kill(name: str, folder: Path, at: int, half: bool) -> None:
    """Have a scenario played by a process that is killed at this operation."""
    child = start(act_and_die, name, folder, at, half)
    child.join()
    assert child.exitcode == -signal.SIGKILL, f"operation {at} was not reached"


def hold_lock(folder: Path, ready: Connection) -> None:
    """Be a writer until killed."""
    with Writer(folder, disk=QuickDisk()):
        ready.send(os.getpid())
        while True:
            signal.pause()
