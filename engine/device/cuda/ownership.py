"""Who gives a driver object back, and when: on request, with the last of its users, or with the device."""

from __future__ import annotations

import itertools
from collections.abc import Callable

Release = Callable[[], None]


class DriverObjects:
    """Everything a device has made and not given back yet."""

    def __init__(self) -> None:
        self._releases: dict[int, Release] = {}
        self._tokens = itertools.count()

    def add(self, release: Release) -> int:
        """Take note of a driver object by the call that releases it; returns the token for `release`."""
        token = next(self._tokens)
        self._releases[token] = release
        return token

    def release(self, token: int) -> None:
        """Release one object now; doing it twice does nothing."""
        release = self._releases.pop(token, None)
        if release is not None:
            release()

    def release_all(self) -> None:
        """Release what is left, the newest first: a graph goes before the module whose kernels it runs."""
        for token in sorted(self._releases, reverse=True):
            self.release(token)


class Shared:
    """A driver object with several holders, such as a module and the graphs that run its kernels.

    The one who makes it is its first holder; it is released when the last one drops it.
    """

    __slots__ = ("_holders", "_objects", "_token")

    def __init__(self, objects: DriverObjects, release: Release) -> None:
        self._objects = objects
        self._token = objects.add(release)
        self._holders = 1

    @property
    def alive(self) -> bool:
        """Whether anyone still holds it."""
        return self._holders > 0

    def hold(self) -> None:
        """Keep it from being released until the matching `drop`."""
        self._holders += 1

    def drop(self) -> None:
        """Let go of it."""
        self._holders -= 1
        if self._holders == 0:
            self._objects.release(self._token)


class Holds:
    """The shared objects that someone holds, each once, and how often each is in use."""

    def __init__(self) -> None:
        self._uses: dict[Shared, int] = {}

    def hold(self, shared: Shared) -> None:
        """Note one more use."""
        uses = self._uses
        if shared in uses:
            uses[shared] += 1
        else:
            shared.hold()
            uses[shared] = 1

    def drop(self, shared: Shared) -> None:
        """Note one use less; the object is let go of with the last."""
        self._uses[shared] -= 1
        if not self._uses[shared]:
            del self._uses[shared]
            shared.drop()

    def copy(self) -> Holds:
        """Return one with the same uses."""
        twin = Holds()
        twin._uses = self._uses.copy()
        for shared in twin._uses:
            shared.hold()
        return twin

    def clear(self) -> None:
        """Let go of everything."""
        for shared in self._uses:
            shared.drop()
        self._uses.clear()
