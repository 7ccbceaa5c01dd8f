"""Processes of engines that are started in advance."""

import sys

import pytest

from engine import Patch, ProfilingLevel
from engine.diagnostics import DeviceError
from engine.protocol.child.process import SpareProcess
from engine.runtime.engine import open_engine
from tests.protocol.engine_process import COMMAND

#: Ends when its input does, as an engine's process.
WAITS = [sys.executable, "-c", "input()"]


def test_a_spare_process_is_taken_once_and_ended_if_nobody_takes_it() -> None:
    """Preparing twice starts one process; each taker gets one of its own."""
    spare = SpareProcess(WAITS)
    spare.prepare()
    spare.prepare()
    first, second = spare.take(), spare.take()
    assert first.process.pid != second.process.pid
    spare.prepare()
    ready = spare._spare
    assert ready is not None and ready.process.poll() is None
    spare.close()
    spare.close()
    assert ready.process.poll() is not None
    assert first.process.poll() is None, "it belongs to its taker"
    for taken in (first, second):
        taken.discard()


def test_a_spare_process_that_has_died_is_replaced() -> None:
    """The taker gets one that runs."""
    spare = SpareProcess(WAITS)
    spare.prepare()
    assert spare._spare is not None
    dead = spare._spare.process
    dead.kill()
    dead.wait()
    taken = spare.take()
    assert taken.process is not dead and taken.process.poll() is None
    taken.discard()
    dead.communicate()


@pytest.mark.parametrize("command", [[], ["no-such-program"], ["a\0b"]])
def test_a_command_that_does_not_run_is_refused(command: list[str]) -> None:
    """The refusal comes when the process is started."""
    spare = SpareProcess(command)
    with pytest.raises(DeviceError, match="engine command must be one that runs"):
        spare.take()
    spare.close()


def test_an_engine_runs_in_the_process_that_was_ready() -> None:
    """It is the same process, and its frames are as usual."""
    patch = Patch()
    out = patch.add("buffer.constant", shape="3", value=2.0)["out"]
    spare = SpareProcess(COMMAND)
    spare.prepare()
    ready = spare.take()
    with open_engine(patch, "host", ready, profiling=ProfilingLevel.NONE) as engine:
        assert engine.has_own_process and ready.process.poll() is None
        engine.step()
        assert engine.read(out).tolist() == [2, 2, 2]
    assert ready.process.poll() is not None
    spare.close()
