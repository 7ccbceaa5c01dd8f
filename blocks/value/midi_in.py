from engine.api import Moment, Value, ValueBlock, midi_name, param, value_port

KINDS = {"controller": "cc", "note": "note", "pitch": "pitch"}


class MidiIn(
    ValueBlock,
    id="value.midi_in",
    title="MIDI In",
    tags=("controller", "knob", "keyboard", "note", "pitch", "device"),
):
    """Output the value of a MIDI device's controller, key or pitch wheel.

    Controllers and velocities go from 0 to 1 (0 when the note is up), pitch bend from -1 to 1. The device may be
    connected later. Needs the libraries mido and python-rtmidi.
    """

    value: Value[float] = value_port(doc="From 0 to 1, pitch bend from -1 to 1; default before the first message.")
    raw: Value[int] = value_port(doc="The MIDI value: 0 to 127, pitch bend -8192 to 8191.")
    strikes: Value[int] = value_port(doc="How often the note was played.")
    kind: str = param("controller", choices=tuple(KINDS), doc="What to follow.")
    number: int = param(1, min=0, max=127, structural=True, doc="Number of the controller or note (60 is middle C).")
    channel: int = param(0, min=0, max=16, structural=True, doc="MIDI channel, 1 to 16; 0 takes all.")
    device: str = param("", doc="Part of the device's name; empty takes the first one.")
    default: float = param(0.0, min=-1, max=1, doc="Value before the first message.")

    def source(self) -> str:
        """Name the device."""
        return f"midi:{self.device.strip()}"

    def check(self) -> None:
        """Compute the names once."""
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
