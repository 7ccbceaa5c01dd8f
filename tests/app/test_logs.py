"""The log file is readable, limited in size, and complete when several processes write it."""

import logging
import re
import subprocess
import sys
from pathlib import Path

from warploom.app.logs import LogFile

_BEGIN = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (DEBUG|INFO|WARNING|ERROR) +\d+ [\w.]+: ")


def record(text: str, level: int = logging.INFO, **fields: object) -> logging.LogRecord:
    return logging.makeLogRecord({"name": "warploom.x", "levelno": level, "levelname": "INFO", "msg": text, **fields})


def test_only_a_record_begins_at_the_margin(tmp_path: Path) -> None:
    """A record starts at the left margin with date, level, process and logger; its further lines are indented."""
    file = LogFile(tmp_path / "new")
    file.handle(record("one\ntwo"))
    try:
        raise KeyError("gone")
    except KeyError:
        file.handle(record("three", exc_info=sys.exc_info()))
    lines = file.path.read_text().splitlines()
    starts = [bool(_BEGIN.match(line)) for line in lines]
    assert starts[:3] == [True, False, True] and not any(starts[3:])
    assert lines[1] == "    two"
    assert all(line.startswith("    ") for line in lines[3:])
    assert lines[-1] == "    KeyError: 'gone'"


def test_any_text_can_be_written(tmp_path: Path) -> None:
    """A record with half a surrogate pair, as file names may have, can be written."""
    file = LogFile(tmp_path)
    file.handle(record("a\ud800é"))
    assert file.path.read_text().endswith("a\\ud800é\n")


def test_a_full_file_makes_way_and_two_are_kept(tmp_path: Path) -> None:
    """A full file is renamed and a new one started. Each record is in one of them, and both stay near the limit."""
    file = LogFile(tmp_path, size_limit=2000)
    for number in range(200):
        file.handle(record(f"number {number}"))
        assert all(path.stat().st_size < 2100 for path in tmp_path.glob("*.log"))
    older, newer = (tmp_path / "warploom.1.log").read_text(), file.path.read_text()
    kept = [int(line.rpartition(" ")[2]) for line in (older + newer).splitlines()]
    assert kept == list(range(200 - len(kept), 200)) and len(kept) > 30


def test_a_record_that_repeats_is_counted(tmp_path: Path) -> None:
    """A repeated record takes two lines, the second of which states the count."""
    file = LogFile(tmp_path)
    for text in ("a", "b", "b", "b", "c", "d", "d"):
        file.handle(record(text))
    file.close()
    lines = [_BEGIN.sub("", line) for line in file.path.read_text().splitlines()]
    assert lines == ["a", "b", "    the same 2 times more", "c", "d", "    the same 1 times more"]


def test_a_folder_that_can_not_be_written_is_no_fault(capsys: object) -> None:
    """If the folder can't be written, `problem` states the reason, and logging continues."""
    file = LogFile(Path("/dev/null/warploom"))
    file.handle(record("a"))
    assert file.problem == "/dev/null/warploom can't be written: Not a directory"


def test_processes_write_at_once(tmp_path: Path) -> None:
    """While several processes write and rename the file, no line is torn, lost too early, or written twice."""
    program = """
import logging, sys
from pathlib import Path
from warploom.app.logs import LogFile
file = LogFile(Path(sys.argv[1]), size_limit=20_000)
for number in range(300):
    file.handle(logging.makeLogRecord(
        {"name": "warploom.x", "levelno": 20, "levelname": "INFO", "msg": f"{sys.argv[2]} {number:03} " + "." * 50}))
"""
    started = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name]) for name in "abc"]
    assert [process.wait() for process in started] == [0, 0, 0]
    files = [tmp_path / "warploom.1.log", tmp_path / "warploom.log"]
    # The files' sizes vary, since other processes write while one process renames.
    lines = [line for file in files for line in file.read_text().splitlines()]
    assert all(re.fullmatch(r"[abc] \d{3} \.{50}", _BEGIN.sub("", line)) for line in lines)
    for name in "abc":
        kept = [int(line.split(": ")[1][2:5]) for line in lines if line.split(": ")[1][0] == name]
        assert kept == list(range(300 - len(kept), 300)), "each process's newest records are there, in order"


def test_a_crash_of_native_code_prints_the_stacks_of_all_threads() -> None:
    """A program that native code ends tells what it was doing."""
    code = "import ctypes; from warploom.app.logs import log_outputs\nwith log_outputs():\n ctypes.string_at(0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "in string_at" in done.stderr
