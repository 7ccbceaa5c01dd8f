"""A MIDI backend for mido, whose devices tests plug in, play and pull out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mido
from mido.ports import BaseInput, BaseOutput

#: The devices that are plugged in, and the inputs that are open, by name.
devices: list[str] = []
opened: dict[str, Input] = {}
busy: set[str] = set()
#: The messages that outputs have sent, as mido shows them.
sent: list[str] = []


class Input(BaseInput):  # type: ignore[misc]  # mido has no types
    """An input that passes played messages to its callback, as rtmidi does on its own thread."""

    def _open(self, callback: Callable[[Any], None] | None = None, **_: object) -> None:
        if self.name in busy:
            raise OSError("device is busy")
        self.callback = callback
        opened[self.name] = self

    def _close(self) -> None:
        del opened[self.name]


class Output(BaseOutput):  # type: ignore[misc]  # mido has no types
    """An output that keeps what is sent."""

    def _open(self, **_: object) -> None:
        if self.name in busy:
            raise OSError("device is busy")

    def _send(self, message: Any) -> None:
        sent.append(str(message))


def get_devices(**_: object) -> list[dict[str, object]]:
    """Return the devices in mido's format."""
    return [{"name": name, "is_input": True, "is_output": True} for name in devices]


def play(name: str, kind: str, **values: int) -> None:
    """Play one message on an open device."""
    opened[name].callback(mido.Message(kind, **values))
