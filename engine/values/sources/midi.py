"""MIDI: the controllers, notes and pitch bend of one device, each under its own name; messages to a device."""

from queue import Empty, SimpleQueue
from typing import Any

from warploom.engine.arguments import checked
from warploom.engine.diagnostics import PatchError
from warploom.engine.values.sources.listening import RETRY_S, Inputs, Listener, Unavailable

_INSTALL = "pip install mido python-rtmidi"


@checked()
def midi_name(kind: str, channel: int, number: int | None = None, source: str = "") -> str:
    """Return the name of an input; `kind` is "cc", "note", "strikes" or "pitch", and channel 0 is any of 1 to 16."""
    part = "" if number is None else f":{number}"
    return f"midi:{kind}:{channel}{part}" + (f"@{source.removeprefix('midi:')}" if source else "")


def midi_devices(direction: str) -> list[str]:
    """Return the names of the devices that are there now; `direction` is "input" or "output".

    Raise PatchError without the library, or where the system has no MIDI.
    """
    try:
        return list(dict.fromkeys(_names(direction)[1]))
    except Unavailable as problem:
        raise PatchError(f"{problem}; {problem.remedy}") from problem


def _names(direction: str) -> tuple[Any, list[str]]:
    """Return the library and the names of devices. Raise Unavailable."""
    try:
        import mido

        return mido, getattr(mido, f"get_{direction}_names")()
    except ImportError as problem:
        text = f"MIDI must have the libraries mido and python-rtmidi, got none ({problem})"
        raise Unavailable(text, _INSTALL) from problem
    except Exception as problem:  # the driver's error types, which only the library knows
        text = f"MIDI must be there on this machine, got {type(problem).__name__}: {problem}"
        raise Unavailable(text, "it is tried again every half minute", is_lasting=True) from problem


class _MidiDevice(Listener):
    """A thread that uses one MIDI device, by a part of its name after the source's first colon, or the first one."""

    #: The name of a device that was unplugged, until one is found again.
    _lost = ""

    def _find(self, direction: str) -> tuple[Any, str]:
        """Return the library and a device's name. Raise Unavailable if either is missing."""
        mido, names = _names(direction)
        part = self.source.partition(":")[2]
        found = next((name for name in names if part.lower() in name.lower()), None)
        if found is None and self._lost:
            raise self._unplugged()
        if found is None:
            wanted = f"a device called {part!r}" if part else "a device"
            way = "listen" if direction == "input" else "send"
            there = ", ".join(names) or "none"
            raise Unavailable(
                f"MIDI must have {wanted} to {way} to, got {there}", "connect it; it is then found by itself"
            )
        return mido, found

    def _unplugged(self) -> Unavailable:
        return Unavailable(f"MIDI device {self._lost} must be connected, got it unplugged", "connect it again")


def _busy(device: str, problem: Exception) -> Unavailable:
    text = f"MIDI device {device} must be free, got {type(problem).__name__}: {problem}"
    return Unavailable(text, "close the program that uses it; it is then found by itself")


class MidiListener(_MidiDevice):
    """Listens to one MIDI device. A source is "midi:NAME", with a part of the device's name, or "midi:" for the first
    one.

    Values are MIDI's own: 0 to 127 for controllers and for a note's velocity, which is 0 while the note is up; -8192 to
    8191 for pitch bend. "strikes" counts how often a note was pressed.
    """

    def listen(self) -> None:
        """Receive messages until `close`. Raise Unavailable without the library, or without such a device."""
        mido, found = self._find("input")
        try:
            port = mido.open_input(found, callback=self._store)
        except Exception as problem:
            raise _busy(found, problem) from problem
        with port:
            self._lost = ""
            self.ready()
            while not self.stopping.wait(RETRY_S):
                if found not in mido.get_input_names():
                    self._lost = found
                    raise self._unplugged()

    def _store(self, message: Any) -> None:
        """Store one message. The library calls this on its own thread."""
        match message.type:
            case "control_change":
                self._set("cc", message.channel, message.control, message.value)
            case "note_on" | "note_off":
                down = message.type == "note_on" and message.velocity > 0
                self._set("note", message.channel, message.note, message.velocity if down else 0)
                if down:
                    for name in self._names("strikes", message.channel, message.note):
                        self.inputs.add(name, 1)
            case "pitchwheel":
                self._set("pitch", message.channel, None, message.pitch)

    def _set(self, kind: str, channel: int, number: int | None, value: float) -> None:
        for name in self._names(kind, channel, number):
            self.inputs.set(name, value)

    def _names(self, kind: str, channel: int, number: int | None) -> list[str]:
        return [midi_name(kind, c, number, source) for c in (0, channel + 1) for source in ("", self.source)]


class MidiSender(_MidiDevice):
    """Sends messages to one MIDI device. A source is "midi_out:NAME".

    A message is the fields of mido's: a type, a channel from 0 to 15, and numbers. A device that is plugged in gets the
    newest message of each controller, note and wheel; notes that are down are released at the end.
    """

    def __init__(self, source: str, inputs: Inputs) -> None:
        super().__init__(source, inputs)
        self._queue: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._newest: dict[tuple[Any, ...], dict[str, Any]] = {}

    def send(self, message: dict[str, Any]) -> None:
        """Have a message sent."""
        self._queue.put(message)

    def wake(self) -> None:
        """End the wait for messages."""
        self._queue.put(None)

    def listen(self) -> None:
        """Send messages until `close`. Raise Unavailable without the library, or without such a device."""
        try:
            mido, found = self._find("output")
            port = mido.open_output(found)
        except Unavailable:
            raise
        except Exception as problem:
            raise _busy("to send to", problem) from problem
        with port:
            self._lost = ""
            self.ready()
            for message in self._newest.values():
                port.send(mido.Message(**message))
            while not self.stopping.is_set():
                try:
                    given = self._queue.get(timeout=RETRY_S)
                except Empty:
                    if found not in mido.get_output_names():
                        self._lost = found
                        raise self._unplugged() from None
                    continue
                if given is not None:
                    key = (given["type"], given["channel"], given.get("control", given.get("note")))
                    self._newest[key] = given
                    port.send(mido.Message(**given))
            for message in self._newest.values():
                if message.get("velocity"):
                    port.send(mido.Message(**{**message, "velocity": 0}))
