"""Scopes: compiles inside a scope can be cancelled from any thread."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from warploom.engine.diagnostics import WarploomError


class Cancelled(WarploomError):
    """Work was cancelled: no one needs its result any more."""

    def __init__(self) -> None:
        super().__init__("compiling must be wanted until it is done, got cancelled")


class CancelScope:
    """Jobs that `run` starts inside `with scope.entered()` are killed by `scope.cancel()`, and later ones refused.

    Scopes nest. A new thread is in no scope; `contextvars.copy_context` passes scopes on.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # the garbage collector may cancel at any time
        self._held: set[Callable[[], None]] = set()
        self.is_cancelled = False

    def cancel(self) -> None:
        """Kill all processes in the scope; safe to call again."""
        with self._lock:
            self.is_cancelled = True
            for kill in tuple(self._held):
                kill()

    def check(self) -> None:
        """Raise `Cancelled` if the scope is cancelled."""
        if self.is_cancelled:
            raise Cancelled

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Enter the scope for the time of a `with` block."""
        self.check()
        token = _scopes.set((*_scopes.get(), self))
        try:
            yield
        finally:
            _scopes.reset(token)

    @contextmanager
    def holding(self, kill: Callable[[], None]) -> Iterator[None]:
        """Call `kill` when the scope is cancelled before the end of the block."""
        with self._lock:
            self.check()
            self._held.add(kill)
        try:
            yield
        finally:
            with self._lock:
                self._held.discard(kill)


_scopes: ContextVar[tuple[CancelScope, ...]] = ContextVar("scopes", default=())


def current_scopes() -> tuple[CancelScope, ...]:
    """Return the scopes around the caller, the outermost first."""
    return _scopes.get()


def check_cancelled() -> None:
    """Raise `Cancelled` if a scope around the caller is cancelled: for work in this process, between two steps."""
    for scope in _scopes.get():
        scope.check()
