"""Sound devices whose clock is a test: a stand-in for the module sounddevice."""

from typing import Any

import numpy as np
import pytest

from warploom.blocks.sound import devices
from warploom.engine.types import Array


class FakeStream:
    """A stream that runs when the test says so."""

    def __init__(self, sounds: "FakeSounds", is_input: bool, settings: dict[str, Any]) -> None:
        self.sounds, self.is_input, self.channels = sounds, is_input, settings["channels"]
        self.rate, self.device = settings["samplerate"], settings["device"]
        self.call_back, self.finished = settings["callback"], settings["finished_callback"]
        self.active, self.latency = False, 0.01
        #: What an output has played.
        self.played: list[Array] = []

    def start(self) -> None:
        self.active = True
        self.sounds.streams.append(self)

    def close(self) -> None:
        self.active = False

    def unplug(self) -> None:
        """End the stream, as a driver does when the cable is pulled."""
        self.active = False
        self.finished()

    def run(self, samples: Array | int) -> None:
        """Record samples, or play a number of them."""
        if isinstance(samples, int):
            out = np.full((samples, self.channels), np.nan, np.float32)
            self.call_back(out, samples, None, None)
            self.played.append(out)
        else:
            self.call_back(samples, len(samples), None, None)


class FakeSounds:
    """The module: a microphone, and loudspeakers."""

    def __init__(self) -> None:
        self.there: list[dict[str, Any]] = [
            {"name": "Desk Speakers", "max_input_channels": 0, "max_output_channels": 8},
            {"name": "Desk Microphone", "max_input_channels": 2, "max_output_channels": 0},
            {"name": "Studio", "max_input_channels": 8, "max_output_channels": 8},
        ]
        self.streams: list[FakeStream] = []
        #: How often the devices were listed.
        self.listed = 0

    class default:
        device = (1, 0)

    def query_devices(self) -> list[dict[str, Any]]:
        self.listed += 1
        return self.there

    def InputStream(self, **settings: Any) -> FakeStream:
        return FakeStream(self, True, settings)

    def OutputStream(self, **settings: Any) -> FakeStream:
        return FakeStream(self, False, settings)

    def _terminate(self) -> None: ...

    def _initialize(self) -> None: ...


@pytest.fixture
def sounds(monkeypatch: pytest.MonkeyPatch) -> FakeSounds:
    """Devices that the test runs."""
    made = FakeSounds()
    monkeypatch.setattr(devices, "library", lambda: made)
    return made
