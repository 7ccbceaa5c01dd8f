"""Log records of an engine in another process arrive in this process, from the level that is wanted here."""

import logging
import os
import sys

import pytest

from tests.protocol.engine_process import COMMAND
from tests.waiting import until
from warploom import Patch
from warploom.engine.logs import LogBuffer, Logged, attach, detach, set_level
from warploom.engine.patch.changes import Connection, Disconnected, PortRef
from warploom.engine.protocol.pipe import connect


@pytest.fixture
def patch() -> Patch:
    """A constant array."""
    patch = Patch()
    patch.add("buffer.constant", node_id="c")
    return patch


def elsewhere(log_buffer: LogBuffer) -> list[Logged]:
    """Receive the records of other processes."""
    return [told for told in log_buffer.take()[0] if told.process != os.getpid()]


def test_records_arrive_with_their_place(patch: Patch, log_buffer: LogBuffer) -> None:
    """The build of a patch is logged before the answer to its first step, as with an engine in this process."""
    with connect(patch, COMMAND, "host") as client:
        client.step()
        found = elsewhere(log_buffer)
        (build,) = (told for told in found if told.text.startswith("COLD: "))
        assert (build.level, build.logger) == (logging.INFO, "warploom.engine.runtime.update.updater")
        assert all(told.level >= logging.INFO for told in found)
    assert [told.text for told in elsewhere(log_buffer)] == ["engine on host is closed"]


def test_the_level_is_followed_while_it_runs(patch: Patch, log_buffer: LogBuffer) -> None:
    """The child sends debug records only while this process's level asks for them."""
    with connect(patch, COMMAND, "host") as client:
        client.step()
        set_level(log_buffer, logging.DEBUG)
        patch.add("buffer.constant", node_id="d")
        client.step()
        assert "preparing block d" in [told.text for told in elsewhere(log_buffer)]
        set_level(log_buffer, logging.ERROR)
        patch.add("buffer.constant", node_id="e")
        client.step()
        assert elsewhere(log_buffer) == []


def test_records_that_come_too_fast_are_dropped_and_counted() -> None:
    """The child keeps a limited number of unread records; later records state how many were dropped."""
    program = """
import logging, sys
from warploom.engine.runtime import serve
serve.RECORD_LIMIT, serve._PERIOD_S = 5, 60
class Loud(serve._Server):
    def take(self, message):
        for number in range(12):
            logging.getLogger("warploom.tested").warning("%d", number)
        super().take(message)
serve._Server = Loud
serve.serve_standard_streams()
"""
    log_buffer = LogBuffer(logging.WARNING)
    attach(log_buffer)
    try:
        with connect(Patch(), [sys.executable, "-c", program], "host"):
            pass
        found = [told.text for told in log_buffer.take()[0]]
        counts = [int(text.partition(" ")[0]) for text in found if "dropped" in text]
        numbers = [int(text) for text in found if text.isdigit()]
        assert counts and min(counts) >= 7
        assert numbers[-5:] == [7, 8, 9, 10, 11]
        assert (sum(counts) + len(numbers)) % 12 == 0
    finally:
        detach(log_buffer)


def test_an_engine_that_is_killed_is_an_error_in_the_log(patch: Patch, log_buffer: LogBuffer) -> None:
    """A killed engine is an error in this process's log, with the signal that ended it."""
    with connect(patch, COMMAND, "host") as client:
        client.step()
        os.kill(elsewhere(log_buffer)[0].process, 9)
        until(lambda: log_buffer.waiting)
        (found,) = (told for told in log_buffer.take()[0] if told.level == logging.ERROR)
        assert found.text == "engine's process must keep running, but it was ended by SIGKILL"


def test_what_could_not_be_followed_is_logged_there_once(patch: Patch, log_buffer: LogBuffer) -> None:
    """An edit that the engine can't follow gives events, and exactly one warning in the log."""
    with connect(patch, COMMAND, "host") as client:
        client.post(Disconnected(Connection(PortRef("gone", "out"), PortRef("gone", "x"))))
        client.step()
        assert len(client.take_events()) > 0
        assert len([told for told in elsewhere(log_buffer) if told.level >= logging.WARNING]) == 1
