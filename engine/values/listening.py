"""Listening: the table of inputs from outside, and the threads that receive OSC and MIDI into it.

Value blocks name the source that they need (`ValueBlock.source`); a listener runs while some block needs it.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

from engine.diagnostics import Diagnostic, warning

#: More names than any set of controllers has; values under further names are dropped, so that memory is bounded.
MOST_NAMES = 20_000


class Inputs:
    """The newest value of every key, mouse axis, OSC argument and MIDI controller; any thread may write it.

    Names are "key.a", "mouse.x", "osc:/address/0" (the index counts the message's arguments), "midi:cc:1:74",
    "midi:note:1:60" and "midi:pitch:1" (channels from 1; channel 0 is any of them). A listener writes each value
    under a second name too, with its source after "@", such as "osc:/address/0@127.0.0.1:9000".
    """

    def __init__(self) -> None:
        #: What value blocks read. Setting and reading one item of a dict is atomic, so only `add` needs the lock.
        self.table: dict[str, float] = {}
        self._adding = threading.Lock()

    def set(self, name: str, value: float) -> None:
        """Set an input; numbers that aren't finite are dropped, since no parameter could take them."""
        if math.isfinite(value) and (name in self.table or len(self.table) < MOST_NAMES):
            self.table[name] = float(value)

    def post(self, name: str, value: float) -> None:
        """Set a key or button, and count under "NAME#" how often it rose from 0: a tap may be shorter than a frame."""
        if value > 0 and not self.table.get(name, 0.0) > 0:
            self.add(f"{name}#", 1.0)
        self.set(name, value)

    def add(self, name: str, amount: float) -> None:
        """Add to an input that reports relative movement, such as a wheel."""
        with self._adding:
            self.set(name, self.table.get(name, 0.0) + amount)


#: How long a listener waits before it tries again after a failure: a port in use, a missing device.
RETRY_S = 2.0
#: The same when a part of the machine is missing, which libraries may report in the terminal each time.
LONG_RETRY_S = 30.0
#: How long closing waits for a driver that hangs; its thread is then abandoned.
_PATIENCE_S = 2.0


class Unavailable(Exception):
    """A source is not available now; it is tried again in `RETRY_S`, or with `is_lasting` in `LONG_RETRY_S`."""

    def __init__(self, text: str, remedy: str, *, is_lasting: bool = False) -> None:
        super().__init__(text)
        self.remedy = remedy
        self.is_lasting = is_lasting


class Listener(ABC):
    """A thread that listens to one source until `close`; failures are reported, and it tries again."""

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
        """Begin, once the listeners `after` which it comes have released their ports and devices."""
        self._after = tuple(after)
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end and release its port or device, without waiting."""
        if not self.stopping.is_set():
            self.wake()  # first: the thread may release what wakes it as soon as `stopping` is set
            self.stopping.set()

    def close(self) -> None:
        """Stop, and wait until the port or device is released."""
        self.stop()
        self._thread.join(_PATIENCE_S)

    def problem_at(self, node: str) -> Diagnostic | None:
        """Return why nothing is received, as a warning at a node, or None."""
        problem = self._problem
        return None if problem is None else warning(str(problem), node=node, remedy=problem.remedy)

    @abstractmethod
    def listen(self) -> None:
        """Listen until `stopping` is set, calling `ready` once that works; Unavailable when it doesn't, or stops to."""

    def wake(self) -> None:  # noqa: B027 - not needed by listeners that wait on `stopping` itself
        """Have `listen` look at `stopping`; called from another thread."""

    def release(self) -> None:  # noqa: B027 - not needed where `listen` releases everything
        """Release what `listen` doesn't; called when the thread ends."""

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


#: The listener class of a source, by the word before its first colon.
Kinds = dict[str, Callable[[str, Inputs], Listener]]


class Listeners:
    """The listeners that are needed now, by source."""

    def __init__(self, inputs: Inputs, kinds: Kinds) -> None:
        self._inputs = inputs
        self._kinds = kinds
        self.open: dict[str, Listener] = {}
        self._leaving: list[Listener] = []

    def need(self, sources: Iterable[str]) -> None:
        """Listen to exactly these sources, without those of unknown kinds.

        This doesn't wait for drivers: a new listener begins when the old ones have ended.
        """
        wanted = dict.fromkeys(s for s in sources if s.partition(":")[0] in self._kinds)
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
