from collections.abc import Mapping

from warploom.api import Moment, Value, ValueBlock, midi_devices, midi_name, param, value_port

KINDS = {"controller": "cc", "note": "note", "pitch": "pitch"}


class MidiIn(
    ValueBlock,
    id="value.midi_in",
    title="MIDI In",
    tags=("controller", "knob", "keyboard", "note", "pitch", "device"),
):
    """Outputs the value of a MIDI device's controller, key or pitch wheel.

    Controllers go from 0 to 1, and so do the velocities of notes, with 0 while the note is up; pitch bend goes from -1
    to 1. The device can be plugged in later. The libraries mido and python-rtmidi must be installed.
    """

    value: Value[float] = value_port(
        doc="The value from 0 to 1, or from -1 to 1 for pitch bend; default before the first message."
    )
    raw: Value[int] = value_port(doc="The MIDI value: 0 to 127, pitch bend -8192 to 8191.")
    strikes: Value[int] = value_port(doc="Number of times the note was played.")
    kind: str = param("controller", choices=tuple(KINDS), doc="Kind of message to read.")
    number: int = param(1, min=0, max=127, structural=True, doc="Number of the controller or note (60 is middle C).")
    channel: int = param(0, min=0, max=16, structural=True, doc="MIDI channel, 1 to 16; 0 takes all.")
    device: str = param("", offers=True, doc="Part of the device's name; empty takes the first one.")
    default: float = param(0.0, min=-1, max=1, doc="Output before the first message.")

    @classmethod
    def offered(cls, parameter: str) -> Mapping[str, str]:
        """Return the devices that are there."""
        return {name: name for name in midi_devices("input")}

    def source(self) -> str:
        """Return the name of the device to listen to."""
        return f"midi:{self.device.strip()}"

    def check(self) -> None:
        """Compute the names of the inputs once."""
        kind, source = KINDS[self.kind], self.source()
        self.name = midi_name(kind, self.channel, None if kind == "pitch" else self.number, source)
        self.strikes_name = midi_name("strikes", self.channel, self.number, source)
        self.most = 8192 if kind == "pitch" else 127

    def update(self, now: Moment) -> None:
        """Read the table of inputs."""
        raw = self.controls.get(self.name)
        self.raw = 0 if raw is None else round(raw)
        self.value = self.default if raw is None else raw / self.most
        self.strikes = round(self.controls.get(self.strikes_name, 0.0))
