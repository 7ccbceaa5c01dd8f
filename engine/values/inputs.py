"""Inputs: the newest value of every key, mouse axis, OSC argument and MIDI controller, by name."""

from __future__ import annotations

import math
import threading

#: More names than any set of controllers has; what comes under further names is left out, so that memory is bounded.
MOST_NAMES = 20_000


class Inputs:
    """A table of numbers that any thread may write and value blocks read.

    Names are "key.a", "mouse.x", "osc:/address/0" (the index counts the message's arguments), "midi:cc:1:74",
    "midi:note:1:60" and "midi:pitch:1" (channels from 1; channel 0 is any of them). Who listens writes a second name
    with "@" and what was listened to, such as "osc:/address/0@127.0.0.1:9000".
    """

    def __init__(self) -> None:
        #: What value blocks read. Setting and reading one item of a dict is atomic, so only `add` needs the lock.
        self.table: dict[str, float] = {}
        self._adding = threading.Lock()

    def set(self, name: str, value: float) -> None:
        """Note an input's newest value; what is no finite number is left out, since no parameter could take it."""
        if math.isfinite(value) and (name in self.table or len(self.table) < MOST_NAMES):
            self.table[name] = float(value)

    def post(self, name: str, value: float) -> None:
        """Note what a person did: as `set`, and under "NAME#" how often it rose from 0, since a tap may be short."""
        if value > 0 and not self.table.get(name, 0.0) > 0:
            self.add(f"{name}#", 1.0)
        self.set(name, value)

    def add(self, name: str, amount: float) -> None:
        """Note an input that only tells how far it moved, such as a wheel: what is read is the sum."""
        with self._adding:
            self.set(name, self.table.get(name, 0.0) + amount)
