"""Decides when a driver object is released: on request, with its last user, or with the device."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from warploom.engine.diagnostics import DeviceError

Release = Callable[[], None]


class DriverObjects:
    """All driver objects that a device has created and not released yet."""

    def __init__(self) -> None:
        self._releases: dict[int, Release] = {}
        self._tokens = itertools.count()
        #: Locked while the count of holds of a shared object changes.
        self.counting = threading.Lock()
        #: The tokens of lent memory, which outlasts the device.
        self.lent: set[int] = set()
        self.is_closed = False
        #: The number of times that functions of loaded modules were exchanged for better ones.
        self.exchanges = 0

    def add(self, release: Release) -> int:
        """Register a driver object with the call that releases it. Return the token for `release`."""
        token = next(self._tokens)
        self._releases[token] = release
        return token

    def release(self, token: int) -> None:
        """Release one object now. A second call does nothing."""
        release = self._releases.pop(token, None)
        if release is not None:
            release()

    def release_all(self) -> None:
        """Release the remaining objects, newest first, so a graph before the modules of its kernels.

        Lent memory is released when its loan ends.
        """
        with self.counting:
            self.is_closed = True
            tokens = self._releases.keys() - self.lent
        for token in sorted(tokens, reverse=True):
            self.release(token)


class Shared:
    """A driver object with a count of its holders, such as a module that several graphs use.

    The code that creates it is the first holder. It is released when the last holder drops it. Any thread may hold and
    drop it.
    """

    __slots__ = ("_holders", "_loans", "_objects", "_token")

    def __init__(self, objects: DriverObjects, release: Release) -> None:
        self._objects = objects
        self._token = objects.add(release)
        self._holders = 1
        self._loans = 0

    @property
    def alive(self) -> bool:
        """Whether the object has a holder."""
        return self._holders > 0

    def hold(self) -> None:
        """Prevent a release until the matching `drop`. Raise DeviceError if the object was already released."""
        with self._objects.counting:
            if not self._holders:
                raise DeviceError("code and graphs must not be used after they were released")
            self._holders += 1

    def drop(self) -> None:
        """Give up one hold."""
        with self._objects.counting:
            self._holders -= 1
            is_last = not self._holders
        if is_last:
            self._objects.release(self._token)

    def lend(self) -> None:
        """Hold the object until the matching `end_loan`, also after the device's end."""
        self.hold()
        with self._objects.counting:
            self._loans += 1
            self._objects.lent.add(self._token)

    def end_loan(self) -> None:
        """End a loan. The last one after the device's end releases the object."""
        with self._objects.counting:
            self._loans -= 1
            if not self._loans:
                self._objects.lent.discard(self._token)
            is_last = not self._loans and self._objects.is_closed
        self.drop()
        if is_last:
            self._objects.release(self._token)


class Holds:
    """The shared objects of one holder, with the number of uses of each; each object is held once."""

    def __init__(self) -> None:
        self._uses: dict[Shared, int] = {}

    def hold(self, shared: Shared) -> None:
        """Count one more use."""
        uses = self._uses
        if shared in uses:
            uses[shared] += 1
        else:
            shared.hold()
            uses[shared] = 1

    @contextmanager
    def holding(self, shared: Shared) -> Iterator[None]:
        """Count one more use before the driver call, and remove the count if the call fails."""
        self.hold(shared)
        try:
            yield
        except BaseException:
            self.drop(shared)
            raise

    def drop(self, shared: Shared) -> None:
        """Count one use less; after the last one, drop the object."""
        self._uses[shared] -= 1
        if not self._uses[shared]:
            del self._uses[shared]
            shared.drop()

    def copy(self) -> Holds:
        """Return a copy with the same uses, which is one more holder of every object."""
        twin = Holds()
        twin._uses = self._uses.copy()
        for shared in twin._uses:
            shared.hold()
        return twin

    def clear(self) -> None:
        """Drop all shared objects."""
        for shared in self._uses:
            shared.drop()
        self._uses.clear()
