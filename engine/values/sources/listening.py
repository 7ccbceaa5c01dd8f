"""Listening: the table of external inputs, and the threads that receive OSC and MIDI into it.

Value blocks name the source that they need (`ValueBlock.source`); a listener runs as long as some block needs it.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from warploom.engine.diagnostics import Diagnostic, warning

#: The limit for names, far more than any set of controllers has. Further names are dropped, so memory is bounded.
MOST_NAMES = 20_000
#: The longest name that is kept: anybody may send addresses of 64 KB.
LONGEST_NAME = 500


class Inputs:
    """The newest value of every key, mouse axis, OSC argument and MIDI controller; any thread may write it.

    Names are "key.a", "mouse.x", "osc:/address/0" (the index counts the message's arguments), "midi:cc:1:74",
    "midi:note:1:60" and "midi:pitch:1" (channels from 1; channel 0 is any of them). A listener writes each value
    under a second name too, with its source after "@", such as "osc:/address/0@127.0.0.1:9000".
    """

    def __init__(self) -> None:
        #: The values by name. Setting and reading one item of a dict is atomic, so `set` needs no lock.
        self.table: dict[str, float] = {}
        self._adding = threading.Lock()
        #: The newest message of each address at the source that is heard whole, until `OscControl` takes it.
        self.messages: dict[str, list[Any]] = {}
        self._whole = ""

    def listen_whole(self, source: str) -> None:
        """Keep whole messages of one source; "" for none."""
        with self._adding:  # so that none is left that no one takes
            self._whole = source
            self.messages.clear()

    def keep(self, source: str, address: str, arguments: list[Any]) -> None:
        """Keep a message for `OscControl`, instead of an earlier one of the same address."""
        with self._adding:
            is_kept = address in self.messages or (len(self.messages) < MOST_NAMES and len(address) <= LONGEST_NAME)
            if is_kept and source == self._whole:
                self.messages[address] = arguments

    def set(self, name: str, value: float) -> None:
        """Set an input. Numbers that aren't finite are dropped, since no parameter can take them."""
        is_kept = name in self.table or (len(self.table) < MOST_NAMES and len(name) <= LONGEST_NAME)
        if is_kept and math.isfinite(value):
            self.table[name] = float(value)

    def post(self, name: str, value: float) -> None:
        """Set a key or button. "NAME#" counts how often it rose from 0, since a tap may be shorter than a frame."""
        if value > 0 and not self.table.get(name, 0.0) > 0:
            self.add(f"{name}#", 1.0)
        self.set(name, value)

    def add(self, name: str, amount: float) -> None:
        """Add to an input that reports relative movement, such as a wheel."""
        with self._adding:
            self.set(name, self.table.get(name, 0.0) + amount)


#: The most sources that a patch listens to; each takes a thread, and a port or a device.
MOST_SOURCES = 64
#: The time until a listener tries again after a failure such as a port in use or a missing device.
RETRY_S = 2.0
#: The time until a listener tries again if a part of the system is missing, since libraries may print an error each
#: time.
LONG_RETRY_S = 30.0
#: The time that closing waits for a driver that hangs; then its thread is abandoned.
_PATIENCE_S = 2.0


class Unavailable(Exception):
    """A source is not available now. It is tried again in `RETRY_S` or, with `is_lasting`, in `LONG_RETRY_S`."""

    def __init__(self, text: str, remedy: str, *, is_lasting: bool = False) -> None:
        super().__init__(text)
        self.remedy = remedy
        self.is_lasting = is_lasting


class Listener(ABC):
    """A thread that listens to one source until `close`. It reports failures and then tries again."""

    def __init__(self, source: str, inputs: Inputs) -> None:
        self.source = source
        self.inputs = inputs
        self.stopping = threading.Event()
        self._problem: Unavailable | None = None
        self._thread = threading.Thread(target=self._run, name=f"warploom-listener {source}", daemon=True)
        self._after: tuple[Listener, ...] = ()

    @property
    def is_alive(self) -> bool:
        """False once the thread has ended and released its port or device."""
        return self._thread.is_alive()

    def start(self, after: Iterable[Listener] = ()) -> None:
        """Start, once the listeners in `after` have released their ports and devices."""
        self._after = tuple(after)
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end and release its port or device, without waiting."""
        if not self.stopping.is_set():
            self.wake()  # first, since the thread may release the waking object as soon as `stopping` is set
            self.stopping.set()

    def close(self) -> None:
        """Stop, and wait until the port or device is released."""
        self.stop()
        self._thread.join(_PATIENCE_S)

    def problem_at(self, node: str) -> Diagnostic | None:
        """Return, as a warning at a node, why nothing is received; None if there is no problem."""
        problem = self._problem
        return None if problem is None else warning(str(problem), node=node, remedy=problem.remedy)

    @abstractmethod
    def listen(self) -> None:
        """Listen until `stopping` is set, and call `ready` once listening works.

        Raise Unavailable if it doesn't work, or stops working.
        """

    def send(self, message: Any) -> None:  # noqa: B027 - most sources only listen
        """Have a message sent to the source, by the thread."""

    def newest_array(self, name: str) -> tuple[int, bytes] | None:
        """Return the newest array that came under a name, as an NPY file, and how many came; None for none.

        Arrays are kept for names that were asked for.
        """
        return None

    def wake(self) -> None:  # noqa: B027 - not needed by listeners that wait on `stopping` itself
        """Make `listen` check `stopping`; called from another thread."""

    def release(self) -> None:  # noqa: B027 - not needed where `listen` releases everything
        """Release resources that `listen` doesn't; called when the thread ends."""

    def ready(self) -> None:
        """Report that there is no problem any more."""
        self._problem = None

    def _run(self) -> None:
        for before in self._after:
            before.close()
        self._after = ()
        while not self.stopping.is_set():
            try:
                self.listen()
            except Unavailable as problem:
                self._problem = problem
            except Exception as problem:  # noqa: BLE001 - a library or driver may raise anything
                text = f"{self.source} must be there to listen to, got {type(problem).__name__}: {problem}"
                self._problem = Unavailable(text, "it is tried again every half minute", is_lasting=True)
            is_lasting = self._problem is not None and self._problem.is_lasting
            self.stopping.wait(LONG_RETRY_S if is_lasting else RETRY_S)
        self.release()


#: The listener class of a source, by the part of the source before its first colon.
Kinds = dict[str, Callable[[str, Inputs], Listener]]


class Listeners:
    """The listeners that are needed at present, by source."""

    def __init__(self, inputs: Inputs, kinds: Kinds) -> None:
        self._inputs = inputs
        self._kinds = kinds
        self.open: dict[str, Listener] = {}
        self._leaving: list[Listener] = []

    def has_kind(self, source: str) -> bool:
        """Return whether there are listeners for this kind of source."""
        return source.partition(":")[0] in self._kinds

    def need(self, sources: Iterable[str]) -> None:
        """Listen to exactly these sources; unknown kinds are ignored.

        This doesn't wait for drivers: a new listener starts when the old ones have ended.
        """
        wanted = dict.fromkeys(filter(self.has_kind, sources))
        for source in [known for known in self.open if known not in wanted]:
            leaving = self.open.pop(source)
            leaving.stop()
            self._leaving.append(leaving)
        self._leaving = [listener for listener in self._leaving if listener.is_alive]
        for source in wanted:
            if source not in self.open:
                listener = self.open[source] = self._kinds[source.partition(":")[0]](source, self._inputs)
                listener.start(self._leaving)

    def close(self) -> None:
        """Stop all listeners, and wait until they have released everything."""
        self.need(())
        for listener in self._leaving:
            listener.close()
