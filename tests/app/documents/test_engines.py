"""The editor's engines start in processes that are ready."""

import sys
import threading

import pytest
from pytestqt.qtbot import QtBot

from warploom import Patch, ProfilingLevel
from warploom.app.documents.engines import Engines
from warploom.engine.protocol.child.process import EngineProcess

#: Ends when its input does, as an engine's process.
WAITS = (sys.executable, "-c", "input()")


def test_after_a_failure_two_processes_are_ready_until_it_has_been_quiet(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is ready for another patch; the next engine of the same patch means a failure, which may come again."""
    monkeypatch.setattr("warploom.app.documents.engines.ENGINE_COMMAND", WAITS)
    monkeypatch.setattr("warploom.app.documents.engines._SPARE_MS", 0)
    monkeypatch.setattr(
        "warploom.app.documents.engines.open_engine", lambda _, __, process, **___: used.append(process)
    )
    used: list[EngineProcess] = []
    engines = Engines("host")
    assert engines._spares is not None
    spares = engines._spares._spares
    assert len(spares) == 1

    def make(patch: Patch, ready: int) -> None:
        first = spares[0]
        thread = threading.Thread(target=engines.make, args=(patch, ProfilingLevel.NONE))  # as for pins
        thread.start()
        thread.join()
        assert used[-1] is first
        qtbot.waitUntil(lambda: len(spares) == ready)

    patch = Patch()
    try:
        make(patch, 1)
        make(Patch(), 1)
        make(patch, 2)
        kept = spares[0]
        make(patch, 2)
        assert used[-1] is kept
        make(Patch(), 2)
        engines._quiet.start(0)
        qtbot.waitUntil(lambda: len(spares) == 1)
    finally:
        engines.close()
        for process in used:
            process.discard()
    assert not spares
