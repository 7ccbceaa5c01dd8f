"""A process that falls silent is noticed: questions then fail, and closing does not wait for it."""

import io
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.protocol.engine_process import COMMAND, the_child
from tests.waiting import next_report, until
from warploom import Patch
from warploom.engine.diagnostics import DeviceError
from warploom.engine.protocol import pipe
from warploom.engine.protocol.child import liveness
from warploom.engine.protocol.child.frames import Heard, read_frame, write_frame
from warploom.engine.protocol.child.liveness import Liveness
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.pipe import connect


@pytest.fixture
def connected() -> Iterator[Client]:
    """An engine in a child process that has run a frame."""
    with connect(Patch(), COMMAND, "host") as client:
        client.step()
        yield client


def test_a_stopped_process_fails_questions_until_it_goes_on(connected: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions to a stopped process fail; once the process continues, late answers are dropped and new ones arrive."""
    child = the_child()
    os.kill(child, signal.SIGSTOP)
    monkeypatch.setattr(liveness, "LOST_S", 1.0)
    with pytest.raises(
        DeviceError, match=r"engine's process must answer, got nothing from it for 1 s \(`.*engine` runs"
    ):
        connected.step()
    with pytest.raises(DeviceError, match="must answer"):
        connected.stop()
    assert connected.transport.silent_s >= 1.0
    monkeypatch.setattr(liveness, "LOST_S", 600.0)
    os.kill(child, signal.SIGCONT)
    until(lambda: connected.transport.silent_s < liveness.SILENT_S)
    assert connected.step().frame == 2


def test_closing_kills_a_silent_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is stopped is killed at once, and one that does not end is killed after `PATIENCE_S`."""
    client = connect(Patch(), COMMAND, "host")
    os.kill(the_child(), signal.SIGSTOP)
    monkeypatch.setattr(liveness, "LOST_S", 0.5)
    until(lambda: client.transport.silent_s >= 0.5)
    client.close()
    monkeypatch.setattr(liveness, "LOST_S", 600.0)
    monkeypatch.setattr(pipe, "PATIENCE_S", 0.3)
    client = connect(Patch(), COMMAND, "host")
    os.kill(the_child(), signal.SIGSTOP)
    client.close()


def test_a_command_that_says_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that sends nothing within `HELLO_S` is refused."""
    monkeypatch.setattr(liveness, "HELLO_S", 0.5)
    with pytest.raises(DeviceError, match=r"engine's process must begin within 0.5 s, got nothing from it"):
        connect(Patch(), [sys.executable, "-c", "import time; time.sleep(1000)"], "host")


def test_only_what_nobody_hears_counts_as_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence is counted while nothing arrives, reported once it is long, and over when something arrives."""
    monkeypatch.setattr(liveness, "_LOOK_S", 0.01)
    monkeypatch.setattr(liveness, "LOST_S", 0.05)
    lost: list[str] = []
    watched = Liveness(0.03, lost.append)
    until(lambda: lost)
    assert watched.is_lost and lost[0] == "must begin within 0.03 s, got nothing from it"
    watched.hear()
    until(lambda: not watched.silent_s)
    lost.clear()
    until(lambda: lost)
    assert watched.is_lost and lost[0].startswith("must answer")
    watched.close()


def test_parts_of_a_frame_are_heard() -> None:
    """A frame that arrives in pieces is read whole, and each piece counts as a sign of life."""
    chance, heard = random.Random(5), list[float]()
    frames = [chance.randbytes(size) for size in (0, 1, 100, 1000, 200_000)]
    stream = io.BytesIO()
    for frame in frames:
        write_frame(stream, frame)
    data = stream.getvalue() + b"\0\0\0\0\0\0\0\5abc"  # ends in the middle of a frame
    end, begin = os.pipe()
    with os.fdopen(end, "rb") as pipe:
        source = Heard(pipe, lambda: heard.append(time.monotonic()), lambda: False)

        def send() -> None:
            place = 0
            while place < len(data):
                before = len(heard)
                count = chance.randint(1, 9) if place < 900 else 50_000
                place += os.write(begin, data[place : place + count])
                until(lambda before=before: len(heard) > before)
            os.close(begin)

        sender = threading.Thread(target=send)
        sender.start()
        assert [read_frame(source) for _ in frames] == frames
        assert read_frame(source) is None and len(heard) > 100
        sender.join()


def test_a_process_ends_although_one_that_it_forked_keeps_its_pipes(tmp_path: Path) -> None:
    """The end of an engine's process is noticed, and closing ends, while a fork of it keeps both pipes open."""
    program = f"""
import os, time
from pathlib import Path
from warploom.engine.runtime.serve import serve_standard_streams
if not (fork := os.fork()):
    time.sleep(600)
Path({str(tmp_path / "fork")!r}).write_text(str(fork))
serve_standard_streams()
"""
    client = connect(Patch(), [sys.executable, "-c", program, "app engine"], "host")
    try:
        client.step()
        os.kill(the_child(), signal.SIGKILL)
        with pytest.raises(DeviceError, match="ended by SIGKILL"):
            client.step()
        client.close()
    finally:
        os.kill(int((tmp_path / "fork").read_text()), signal.SIGKILL)


def test_a_window_gets_no_exception_from_a_process_that_has_ended() -> None:
    """Without `waits`, starting and stopping raise nothing; the last report has the reason. Questions raise it."""
    with connect(Patch(), [sys.executable, "-c", "pass"], "host", waits=False) as client:
        client.start()
        report = next_report(client, lambda report: report.failed)
        assert report.diagnostics[-1].message == "engine's process must keep running, but it ended with status 0"
        client.start()
        client.watch_files()
        client.stop()
        with pytest.raises(DeviceError, match="ended with status 0"):
            client.step()
