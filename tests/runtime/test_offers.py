"""Parameters offer the devices that are there now, from the engine's process and beside its frames."""

from collections.abc import Iterator, Mapping

import pytest

from tests.protocol.engine_process import COMMAND
from tests.waiting import until
from warploom import Engine, Patch, ProfilingLevel
from warploom.api import Moment, Value, ValueBlock, param, value_port
from warploom.engine.blocktypes.block import block_types
from warploom.engine.diagnostics import PatchError
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.messages import LookFor, Offered
from warploom.engine.runtime.engine import open_engine


@pytest.fixture
def patch() -> Iterator[Patch]:
    """A patch of a block with three parameters: devices are there, their library is missing, or it fails."""

    class Offering(ValueBlock, id="test_offers.offering"):
        """Offers some devices."""

        value: Value[float] = value_port(doc="Nothing.")
        device: str = param("", offers=True, doc="A device.")
        other: str = param("", offers=True, doc="Another device.")
        wrong: str = param("", offers=True, doc="A device of a library that fails.")

        @classmethod
        def offered(cls, parameter: str) -> Mapping[str, str]:
            if parameter == "other":
                raise PatchError("devices must have the library, got none")
            return {"/dev/1": "One"} if parameter == "device" else {"one": 1 // 0}

        def update(self, now: Moment) -> None:
            pass

    patch = Patch()
    patch.add("test_offers.offering", node_id="it")
    yield patch
    block_types.commit({}, [Offering.id])


def looked_for(client: Client, node: str, parameter: str) -> Offered:
    """Return what a parameter offers."""
    found: list[Offered] = []
    client.post(LookFor(node, parameter))
    client.step()
    until(lambda: found.extend(event for event in client.take_events() if isinstance(event, Offered)) or found)
    return found[0]


def test_a_parameter_offers_what_is_there_or_says_why_not(patch: Patch) -> None:
    """The answer names its parameter, and has values with titles, or the reason why there is none."""
    with Engine(patch, device="host") as engine:
        assert looked_for(engine, "it", "device") == Offered("it", "device", (("/dev/1", "One"),))
        assert looked_for(engine, "it", "other").problem == "devices must have the library, got none"
        assert "ZeroDivisionError" in looked_for(engine, "it", "wrong").problem
        engine.post(LookFor("gone", "device"))
        assert not engine.step().diagnostics


def test_devices_are_looked_for_in_the_process_of_the_engine() -> None:
    """Each block that names a device answers over the pipe, whether there is one or not."""
    patch = Patch()
    nodes = {
        patch.add(block).id: name
        for block, name in (
            ("io.audio_in", "device"),
            ("io.audio_out", "device"),
            ("io.webcam", "device"),
            ("io.screen", "monitor"),
            ("value.midi_in", "device"),
            ("io.midi_out", "device"),
        )
    }
    with open_engine(patch, "host", COMMAND, profiling=ProfilingLevel.NONE) as client:
        for node, name in nodes.items():
            found = looked_for(client, node, name)
            assert (found.node, found.parameter) == (node, name)
            assert all(value and title for value, title in found.values)
