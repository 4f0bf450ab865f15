"""A Ray cluster on this machine."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

ROOM = 100 * 2**20  # bytes of a node's object store


@pytest.fixture(scope="package")
def cluster() -> Iterator[Any]:
    """Two nodes with a processor each; this process is on the first."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    place = tempfile.mkdtemp(prefix="r", dir="/tmp")  # sockets have short names
    before = dict(os.environ)
    # Ray gives up early on a busy machine, where its own processes take long to start.
    os.environ |= {"RAY_agent_register_timeout_ms": "120000", "RAY_raylet_start_wait_time_s": "120"}
    # A dead node is noticed in a second instead of fifteen: five times it refuses. A slow one may take as long as ever.
    os.environ |= {"RAY_health_check_period_ms": "200"}
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0"}
    # ``Cluster`` notes its address in Ray's default folder, whatever temp_dir says, and does not make that folder.
    os.environ |= {"RAY_TMPDIR": place}
    node: dict[str, Any] = {"num_cpus": 1, "object_store_memory": ROOM}
    # Nothing asks for more nodes or reads logs: two processes fewer, which would import all of Ray.
    head = {**node, "no_monitor": True, "include_log_monitor": False, "include_dashboard": False}
    head |= {"temp_dir": f"{place}/ray"}
    nodes = Cluster(initialize_head=True, head_node_args=head)
    try:
        nodes.add_node(**node)
        yield nodes
    finally:
        ray.shutdown()
        nodes.shutdown()  # type: ignore[no-untyped-call]
        os.environ.clear()
        os.environ |= before
        shutil.rmtree(place, ignore_errors=True)
