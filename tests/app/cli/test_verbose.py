"""`--verbose`, and the log file of commands."""

import logging
import os
import re
import sys
import threading
from pathlib import Path

import pytest

from tests.app.cli.cli_support import Warploom
from tests.protocol.engine_process import COMMAND
from warploom.app.cli.command_line import cli
from warploom.app.logs import LOG_NAME
from warploom.engine.logs import ROOT


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log file's path in a fresh state folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "warploom" / LOG_NAME


def test_every_command_takes_it(warploom: Warploom) -> None:
    """The help of every command lists `-v, --verbose`."""
    for name in cli.commands:
        assert "-v, --verbose" in warploom(name, "--help").out


def test_nothing_is_printed_unless_asked_for(warploom: Warploom, saxpy_file: Path, file: Path) -> None:
    """The log file always records the graph's build; stderr shows it only with `-v`, and details only with `-vv`."""
    plain, once, twice = (warploom("run", saxpy_file, "--frames", "2", *more) for more in ((), ("-v",), ("-vv",)))
    assert plain.err == ""
    assert "INFO" in once.err and "COLD: first build" in once.err and "DEBUG" not in once.err
    assert "COLD: first build" in twice.err and re.search(r"DEBUG .*: loaded saxpy\.cu", twice.err)
    assert plain.status == once.status == twice.status == 0
    written = file.read_text()
    assert written.count("COLD: first build") == 3
    assert written.count("loaded saxpy.cu") == 1
    assert written.startswith(once.err[:4]) and " warploom.app.cli.groups: warploom run " in written.splitlines()[0]


def test_it_may_stand_before_the_command(warploom: Warploom, saxpy_file: Path, file: Path) -> None:
    """`--verbose` may also precede the command."""
    result = warploom("-v", "--verbose", "run", saxpy_file, "--frames", "1")
    assert result.status == 0 and "DEBUG" in result.err
    assert "Commands:" in warploom("-vv", "--help").out


def test_json_stays_alone_on_standard_output(warploom: Warploom, saxpy_file: Path) -> None:
    """With `--json`, standard output contains only JSON at every log level."""
    result = warploom("run", saxpy_file, "--frames", "1", "--json", "-vv")
    assert result.json["frames"] == 1 and "DEBUG" in result.err


def test_an_engine_elsewhere_is_printed_and_written_once(warploom: Warploom, saxpy_file: Path, file: Path) -> None:
    """Records of an engine in another process are printed and written once, with that process's id."""
    result = warploom("run", saxpy_file, "--frames", "1", "-v", "--engine", " ".join(COMMAND))
    for text in (result.err, file.read_text()):
        (line,) = (line for line in text.splitlines() if "COLD: first build" in line)
        assert f" {os.getpid()} " not in line


def test_what_a_command_prints_itself_is_only_written(warploom: Warploom, file: Path) -> None:
    """An error that ends a command is printed once on stderr and logged to the file."""
    result = warploom("run", "nowhere.loom")
    assert result.err.count("\n") == 1
    assert re.search(r"ERROR .*app\.cli\.outcome: patch must be readable: nowhere\.loom", file.read_text())


def test_the_end_of_a_thread_by_an_error_is_logged(
    warploom: Warploom, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that ends a thread is one line on stderr, and a record with its traceback in the file."""

    def fail() -> None:
        raise KeyError("gone")

    def list_blocks(*_: object) -> None:
        thread = threading.Thread(target=fail, name="worker")
        thread.start()
        thread.join()

    monkeypatch.setattr("warploom.app.cli.listings.list_blocks", list_blocks)
    result = warploom("blocks")
    assert result.err == "error: thread worker was ended by an unexpected error\n"
    assert "in fail" in file.read_text() and "KeyError: 'gone'" in file.read_text()


def test_the_error_of_a_finaliser_is_logged(warploom: Warploom, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in a finaliser, which no caller can handle, is logged."""

    class Failing:
        def __del__(self) -> None:
            raise KeyError("gone")

    monkeypatch.setattr("warploom.app.cli.listings.list_blocks", lambda *_: Failing() and None)
    result = warploom("blocks")
    assert result.err.startswith("error: ") and result.err.count("\n") == 1
    assert "__del__" in file.read_text() and "KeyError: 'gone'" in file.read_text()


def test_a_program_leaves_no_output_behind(warploom: Warploom) -> None:
    """After a command, the hooks of threads and finalisers and the log levels are as before."""
    hooks = threading.excepthook, sys.unraisablehook
    warploom("devices", "-vv")
    assert (threading.excepthook, sys.unraisablehook) == hooks
    assert logging.getLogger(ROOT).level == logging.NOTSET
