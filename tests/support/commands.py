"""The command line, in this process or as a program."""

from __future__ import annotations

import json
import sys
from typing import Any

from typer.testing import CliRunner

from resight.cli import app

PROGRAM = [sys.executable, "-c", "from resight.cli import main; main()"]


def run(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(w) for w in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.output
    return result.stdout


def run_json(*words: object, code: int = 0) -> Any:
    return json.loads(run(*words, "--json", code=code))
