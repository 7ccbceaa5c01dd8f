from collections.abc import Mapping
from typing import Any

from warploom.api import Moment, Value, ValueBlock, midi_devices, param, value_port

KINDS = ("controller", "note", "pitch")


class MidiOut(
    ValueBlock,
    id="io.midi_out",
    title="MIDI Out",
    tags=("controller", "synthesizer", "light", "note", "pitch", "device", "send"),
):
    """Sends a value to a MIDI device: as a controller, a note or the pitch wheel.

    A message is sent whenever the MIDI value changes, at most once per frame. A note goes down when `input` rises from
    0, which is its velocity, and up when it is 0 again. The device can be plugged in later. The libraries mido and
    python-rtmidi must be installed.
    """

    sent: Value[int] = value_port(doc="Number of messages so far.")
    input: float = param(0.0, min=-1, max=1, doc="Value: 0 to 1, or -1 to 1 for pitch bend.")
    kind: str = param("controller", choices=KINDS, doc="Kind of message to send.")
    number: int = param(1, min=0, max=127, structural=True, doc="Number of the controller or note (60 is middle C).")
    channel: int = param(1, min=1, max=16, structural=True, doc="MIDI channel.")
    device: str = param("", offers=True, doc="Part of the device's name; empty takes the first one.")

    last: dict[str, Any] | None = None

    @classmethod
    def offered(cls, parameter: str) -> Mapping[str, str]:
        """Return the devices that are there."""
        return {name: name for name in midi_devices("output")}

    def source(self) -> str:
        """Return the name of the device to send to."""
        return f"midi_out:{self.device.strip()}"

    def start(self) -> None:
        """Send the next value, even if it is the last one."""
        self.last, self.sent = None, 0

    def update(self, now: Moment) -> None:
        """Send a value that has changed."""
        message = self.message()
        before, self.last = self.last, message
        is_up = before is None and message.get("velocity") == 0  # there is nothing to release
        if self.listener is None or message == before or is_up:
            return
        if before is not None and before["type"] == "note_on" and before["velocity"] and message["type"] != "note_on":
            self.listener.send({**before, "velocity": 0})
        self.listener.send(message)
        self.sent += 1

    def message(self) -> dict[str, Any]:
        """Return the message of the present value."""
        value, channel = self.input, self.channel - 1
        if self.kind == "pitch":
            return {"type": "pitchwheel", "channel": channel, "pitch": max(-8192, min(8191, round(value * 8192)))}
        number = round(max(value, 0.0) * 127)
        if self.kind == "note":
            return {"type": "note_on", "channel": channel, "note": self.number, "velocity": number}
        return {"type": "control_change", "channel": channel, "control": self.number, "value": number}
