"""`Liveness`: notices when the process at the other end of a pipe falls silent."""

import threading
from collections.abc import Callable

#: The longest pause in what a process sends; it then sends `Alive`.
HEARTBEAT_S = 0.5
#: A process that sends nothing for so long is silent, and the editor shows that.
SILENT_S = 2.0
#: A process that sends nothing for so long is lost: questions to it end with an error.
LOST_S = 10.0
#: The time in which a process must send its first message, if it starts here and if it starts over ssh.
HELLO_S, SSH_HELLO_S = 10.0, 30.0
_LOOK_S = 0.25


class Liveness:
    """Counts for how long nothing was heard, on a thread, and calls `on_lost` with a text after too long a silence.

    It counts its own waits and does not compare clocks. So if this process was stopped or the computer slept, the
    other process does not count as silent.
    """

    def __init__(self, hello_s: float, on_lost: Callable[[str], None]) -> None:
        self.hello_s, self._on_lost = hello_s, on_lost
        #: How long the process has been silent.
        self.silent_s = 0.0
        self._is_heard = self._was_heard = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="liveness", daemon=True)
        self._thread.start()

    def hear(self) -> None:
        """Note that something was received, even a part of a message; any thread may call it."""
        self._is_heard = True

    @property
    def is_lost(self) -> bool:
        """True while the process is silent for so long that questions are not answered."""
        return self.silent_s >= (LOST_S if self._was_heard else self.hello_s)

    @property
    def text(self) -> str:
        """What the silence breaks, for messages."""
        if self._was_heard:
            return f"must answer, got nothing from it for {self.silent_s:.0f} s"
        return f"must begin within {self.hello_s:g} s, got nothing from it"

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK_S):
            if self._is_heard:
                self._is_heard, self._was_heard, self.silent_s = False, True, 0.0
            else:
                self.silent_s += _LOOK_S
            if self.is_lost:
                self._on_lost(self.text)
