"""Plain edges are requested of the device, wherever an engine runs."""

from collections.abc import Callable

import pytest

from tests.app.cli.cli_support import EXAMPLES
from tests.runtime.test_wire import Wire
from warploom import Engine, Patch
from warploom.engine.device.device import Device
from warploom.engine.device.open import open_device
from warploom.engine.diagnostics import DeviceError
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.protocol.questions import Open
from warploom.engine.runtime import engine as engine_module


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether plain edges were requested of each opened device."""
    found: list[bool] = []

    def opened(name: str, *, plain_edges: bool = False) -> Device:
        found.append(plain_edges)
        return open_device(name, plain_edges=plain_edges)

    monkeypatch.setattr(engine_module, "open_device", opened)
    return found


def run_in_process() -> None:
    """Open an engine in this process."""
    Engine(Patch(), "host", plain_edges=True).close()


def run_by_messages() -> None:
    """Open an engine by messages, as another process does."""
    wire = Wire()
    wire.ask(Open("host", ProfilingLevel.NONE, 1 / 60, plain_edges=True))
    wire.close()


def run_from_the_command_line() -> None:
    """Run an example from the command line."""
    from warploom.app.cli.command_line import cli

    options = ["run", str(EXAMPLES / "values.loom"), "--frames", "1", "--device", "host", "--plain-edges", "--json"]
    assert cli.main(options, standalone_mode=False) == 0


@pytest.mark.parametrize("run", [run_in_process, run_by_messages, run_from_the_command_line])
def test_plain_edges_reach_the_device(asked: list[bool], run: Callable[[], None]) -> None:
    """Each way to run a patch passes `plain_edges` on to the device."""
    run()
    assert asked == [True]


def test_edges_are_programmatic_by_default(asked: list[bool]) -> None:
    """By default an engine requests no plain edges from its device."""
    Engine(Patch(), "host").close()
    assert asked == [False]


def test_an_open_device_has_the_edges_that_it_has() -> None:
    """`plain_edges` is refused for an open device, whose kernels were prepared when it was opened."""
    device = open_device("host")
    with pytest.raises(DeviceError, match="plain_edges must be given to open_device"):
        Engine(Patch(), device, plain_edges=True)
    device.close()
