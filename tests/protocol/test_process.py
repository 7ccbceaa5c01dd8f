"""Processes of engines that are started in advance."""

import sys

import pytest

from tests.protocol.engine_process import COMMAND
from warploom import Patch, ProfilingLevel
from warploom.engine.diagnostics import DeviceError
from warploom.engine.protocol.child.process import SpareProcesses
from warploom.engine.runtime.engine import open_engine

#: Ends when its input does, as an engine's process.
WAITS = [sys.executable, "-c", "input()"]


def test_a_spare_process_is_taken_once_and_ended_if_nobody_takes_it() -> None:
    """Keeping one twice starts one process; each taker gets one of its own, the oldest first."""
    spares = SpareProcesses(WAITS)
    spares.keep(1)
    (ready,) = spares._spares
    spares.keep(1)
    assert [*spares._spares] == [ready]
    spares.keep(2)
    first, second, third = spares.take(), spares.take(), spares.take()
    assert first is ready and len({each.process.pid for each in (first, second, third)}) == 3
    spares.keep(3)
    kept = [*spares._spares]
    spares.keep(1)
    assert [each.process.poll() is None for each in kept].count(True) == 1
    spares.close()
    spares.close()
    assert all(each.process.poll() is not None for each in kept)
    for taken in (first, second, third):
        assert taken.process.poll() is None, "it belongs to its taker"
        taken.discard()


def test_a_spare_process_that_has_died_is_replaced() -> None:
    """The taker gets one that runs."""
    spares = SpareProcesses(WAITS)
    spares.keep(2)
    dead = [*spares._spares]
    dead[0].process.kill()
    dead[0].process.wait()
    taken = spares.take()
    assert taken is dead[1] and taken.process.poll() is None
    taken.discard()
    spares.keep(1)
    (last,) = spares._spares
    last.process.kill()
    last.process.wait()
    spares.keep(1)
    assert spares._spares[0] is not last and spares._spares[0].process.poll() is None
    spares.close()


@pytest.mark.parametrize("command", [[], ["no-such-program"], ["a\0b"]])
def test_a_command_that_does_not_run_is_refused(command: list[str]) -> None:
    """The refusal comes when the process is started."""
    spares = SpareProcesses(command)
    with pytest.raises(DeviceError, match="engine command must be one that runs"):
        spares.take()
    spares.close()


def test_an_engine_runs_in_the_process_that_was_ready() -> None:
    """It is the same process, and its frames are as usual."""
    patch = Patch()
    out = patch.add("buffer.constant", shape="3", value=2.0)["out"]
    spares = SpareProcesses(COMMAND)
    spares.keep(1)
    ready = spares.take()
    with open_engine(patch, "host", ready, profiling=ProfilingLevel.NONE) as engine:
        assert engine.transport.has_own_process and ready.process.poll() is None
        engine.step()
        assert engine.read(out).tolist() == [2, 2, 2]
    assert ready.process.poll() is not None
    spares.close()
