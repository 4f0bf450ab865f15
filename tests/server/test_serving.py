"""The command: where it listens, what it refuses, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys

import httpx
import pytest
from typer.testing import CliRunner

from resight.cli import app
from resight.errors import UsageError
from resight.options import ServeOptions
from resight.server import require_safety

from .conftest import Place
from .served import PATIENCE

TOKEN = "0123456789abcdef"


def refused(*words: str) -> str:
    found = CliRunner().invoke(app, ["serve", *words], env={"RESIGHT_TOKEN": ""})
    assert found.exit_code == 2
    return found.stderr


def test_others_need_a_token(small: Place) -> None:
    for host in ("0.0.0.0", "::", "192.168.1.7", "photos.example", ""):
        with pytest.raises(UsageError, match="a token is needed"):
            require_safety(ServeOptions(host=host), None)
        require_safety(ServeOptions(host=host), TOKEN)
    for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost"):
        require_safety(ServeOptions(host=host), None)
    for token in (TOKEN[1:], "ä" * 16, "a\n" * 16, ""):
        with pytest.raises(UsageError, match="at least 16"):
            require_safety(ServeOptions(), token)
    assert "a token is needed" in refused(str(small.index), "--host", "0.0.0.0")


def test_a_port_that_is_taken(small: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        message = refused(str(small.index), "--port", str(port))
    assert f"cannot listen at 127.0.0.1 port {port}" in message
    assert "--port" in message
    assert "contradict" in refused(str(small.index), "--port", "1", "--set", "serve.port=2")
    assert "there is no index" in refused(str(small.folder))


def test_it_says_where_it_is_and_ends_in_order(small: Place) -> None:
    command = [sys.executable, "-c", "from resight.cli import main; main()", "serve", str(small.index), "--port", "0"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "RESIGHT_TOKEN": TOKEN}
    ) as process:
        assert process.stderr
        try:
            found = None
            while found is None:
                line = process.stderr.readline()
                assert line, "it ended before it listened"
                found = re.search(r"http://127\.0\.0\.1:\d+/", line)
            with httpx.Client(base_url=found.group(), timeout=PATIENCE) as client:
                assert client.get("/v1/images").status_code == 401
                headers = {"authorization": f"Bearer {TOKEN}"}
                assert client.get("/v1/search?key=t0.png", headers=headers).json()["hits"][0]["key"] == "part.png"
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 0
            assert process.stderr.read() == "ended\n"
        finally:
            process.kill()
