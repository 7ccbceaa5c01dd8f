"""Listening: threads that wait for OSC and MIDI and write what comes into the table of inputs.

Value blocks say what they need (`ValueBlock.source`); a listener runs while one of them does.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

from engine.diagnostics import Diagnostic, warning

# Inputs: the newest value of every key, mouse axis, OSC argument and MIDI controller, by name.


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


#: How long a listener waits before it tries again what failed: a port in use, a device that is not there.
RETRY_S = 2.0
#: The same where the machine lacks something, which libraries may complain of in the terminal each time.
LONG_RETRY_S = 30.0
#: How long closing waits for a driver that does not come back; its thread is then left to itself.
_PATIENCE_S = 2.0


class Unavailable(Exception):
    """What was to be listened to can't be now; the text is for a person, `remedy` says what to do.

    It is tried again in `RETRY_S`, or with `is_lasting` in `LONG_RETRY_S`.
    """

    def __init__(self, text: str, remedy: str, *, is_lasting: bool = False) -> None:
        super().__init__(text)
        self.remedy = remedy
        self.is_lasting = is_lasting


class Listener(ABC):
    """One thread that listens to one source until `close`; what fails is told, and tried again from time to time."""

    def __init__(self, source: str, inputs: Inputs) -> None:
        self.source = source
        self.inputs = inputs
        self.stopping = threading.Event()
        self._problem: Unavailable | None = None
        self._thread = threading.Thread(target=self._run, name=f"warploom-listener {source}", daemon=True)
        self._after: tuple[Listener, ...] = ()

    @property
    def is_alive(self) -> bool:
        """False once the thread has ended and given the port or device back."""
        return self._thread.is_alive()

    def start(self, after: Iterable[Listener] = ()) -> None:
        """Begin, once those `after` which it comes have given back what it may need."""
        self._after = tuple(after)
        self._thread.start()

    def stop(self) -> None:
        """Have the thread end and give the port or device back, without waiting for it."""
        if not self.stopping.is_set():
            self.wake()  # first, since afterwards the thread may have given back what wakes it
            self.stopping.set()

    def close(self) -> None:
        """Stop, and wait until the port or device was given back."""
        self.stop()
        self._thread.join(_PATIENCE_S)

    def problem_at(self, node: str) -> Diagnostic | None:
        """Return why nothing comes, as a warning at a node, or None."""
        problem = self._problem
        return None if problem is None else warning(str(problem), node=node, remedy=problem.remedy)

    @abstractmethod
    def listen(self) -> None:
        """Listen until `stopping` is set; raise Unavailable when that is not possible (now, or any more).

        Call `ready` once it works.
        """

    def wake(self) -> None:  # noqa: B027 - nothing to do for what waits on `stopping` itself
        """Have `listen` look at `stopping` until that is set; called from another thread."""

    def release(self) -> None:  # noqa: B027 - nothing to do for what has only what `listen` opens
        """Give back what `listen` does not; called when the thread ends."""

    def ready(self) -> None:
        """Say that there is no problem any more."""
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


#: What makes the listener of a source, by the word before its first colon.
Kinds = dict[str, Callable[[str, Inputs], Listener]]


class Listeners:
    """The listeners that are needed now, by source."""

    def __init__(self, inputs: Inputs, kinds: Kinds) -> None:
        self._inputs = inputs
        self._kinds = kinds
        self.open: dict[str, Listener] = {}
        self._leaving: list[Listener] = []

    def need(self, sources: Iterable[str]) -> None:
        """Listen to these sources and to no others; a kind that is not known is left out.

        It does not wait, since a driver may take its time: a new listener begins when those before it have ended.
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
        """Listen to nothing, and wait until all was given back."""
        self.need(())
        for listener in self._leaving:
            listener.close()
