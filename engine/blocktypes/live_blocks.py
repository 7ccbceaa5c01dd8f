"""Live blocks: blocks on the device whose buffers come from the host, or go there, in every frame.

A live block has ports, parameters and value outputs. Its `describe` says which buffers `update` fills and gets.
"""

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from warploom.engine.blocktypes.shared_device import LentMemory, SharedDevice
from warploom.engine.blocktypes.updated_blocks import UpdatedBlock
from warploom.engine.diagnostics import PatchError
from warploom.engine.types.arrays import Array, is_masked
from warploom.engine.types.layout import Layout

#: The attributes with the contents that come with the next update, and with the time of the last one.
BETWEEN_UPDATES = ("_waiting", "_before_s")
_NOTHING: Mapping[str, Layout] = {}


class Taken(NamedTuple):
    """The contents of a watched buffer after a frame; only its readers keep them, so don't keep many."""

    frame: int
    array: Array


class LiveBlock(UpdatedBlock, abstract=True):
    """A block that feeds or watches buffers: subclass it like `Block`, and define `describe` and `update`.

    In `describe`, `build.feed(buffer)` lets `update` fill a buffer, and `build.watch(buffer)` lets it get the contents.
    `update` is called once a frame, before the launch, on the engine's thread. It must not wait for slow work, such as
    a device or an encoder, for which the block has a thread of its own, unless `waits` is true: then every frame must
    be the right one.

    An object runs as long as its description: a structural parameter or a saved file brings another object.
    """

    is_live: ClassVar[bool] = True
    #: The attributes that are state besides the outputs, for frames that go on from a saved state: plain data only.
    saved: ClassVar[tuple[str, ...]] = ()
    #: Those of them that the object goes on with which replaces this one when a file that it has read is saved.
    carried: ClassVar[tuple[str, ...]] = ()
    #: True in frames by hand and in headless runs, while the engine is paused, and in a film that shows every frame.
    waits: bool = False
    #: True while the patch is replayed to find a fault: devices of the world outside are left alone.
    is_replay: bool = False
    #: The name of the engine's device: "host", or "cuda:0" and so on.
    engine_device: str = "host"
    #: Returns a context for a thread of the block, in which the engine's GPU is current, and which has its own device.
    share_device: Callable[[], AbstractContextManager[SharedDevice | None]] = nullcontext
    #: A warning for the node, such as "the camera is not there: it is tried again"; "" for none.
    notice: str = ""
    #: Returns the path for a file of this block. Raise PatchError if the patch may not write it; see `SavePlace`.
    file_to_write: Callable[[str], Path] = Path
    #: Remembers that the patch has written a file, so that it may overwrite it. It reads the file, on any thread.
    note_written: Callable[[Path], None] = lambda _: None
    #: The layouts of the fed buffers, and of the watched ones. An optional input needs a connection to be among them.
    fed: Mapping[str, Layout] = _NOTHING
    watched: Mapping[str, Layout] = _NOTHING
    #: The names of the columns of the watched buffers; () where there are none.
    watched_columns: Mapping[str, tuple[str, ...]] = {}
    #: False in a frame that is only run to reach another one, or shown while the engine is paused: it is not recorded.
    counts: bool = True

    def __init__(self, node: str = "", values: Mapping[str, Any] | None = None) -> None:
        super().__init__(node, values)
        #: The object that this one replaces, since a file was saved; None once this one has begun.
        self.before: LiveBlock | None = None
        #: What came before the first update is dropped: a launch may precede that.
        self._waiting: deque[tuple[str, int, Array]] = deque()

    def begin(self) -> None:
        """Make the next update the first one; a block that runs is closed first, unless it goes on."""
        if self._runs:
            if self.goes_on():
                self._before_s = None
                return
            self.end()
        before, self.before = self.before, None
        self._runs = True
        self._given: dict[str, Array | LentMemory] = {}
        self._waiting.clear()
        self._arrived: dict[str, list[Taken]] = {}
        #: How often the contents of a watched buffer came too fast since the start, and were dropped.
        self.missed = 0
        super().begin()
        if before is not None:
            self.__dict__.update({name: getattr(before, name) for name in self.carried})

    def end(self) -> None:
        """Close the block, if it runs; the engine calls this once."""
        if self._runs:
            self._runs = False
            self.receive()
            self.close()

    def goes_on(self) -> bool:
        """Return True to go on when the patch begins again at frame 0, instead of being closed and started.

        Blocks that record, and those that use a device, reset here what belongs to a frame. A film whose timeline turns
        is then recorded in one file, and a camera stays open.
        """
        return False

    def close(self) -> None:
        """Stop threads, and release devices and files; `taken` still returns what arrived last.

        Called when the block leaves the graph, and when the engine is reset or closed. Contents that were taken must
        not be used afterwards.
        """

    def give(self, buffer: object, array: Array | LentMemory) -> None:
        """Fill a fed buffer before this frame's launch. Without this, the buffer keeps its contents.

        `buffer` is the port or the buffer's name. The array is not copied at once: it must stay unchanged until the
        next update. Raise PatchError if it has another element type or shape. Memory of the engine's device, which
        `share_device` lends, is copied there.
        """
        name = self._name(buffer)
        layout = self.fed.get(name)
        if layout is None:
            known = ", ".join(self.fed) or "none"
            raise PatchError(f"array must be given to a buffer that is fed, one of {known}, got {name!r}")
        if isinstance(array, LentMemory):
            if array.size_bytes != layout.size_bytes:
                raise PatchError(f"memory given to {name} must have {layout.size_bytes} bytes, got {array.size_bytes}")
            self._given[name] = array
            return
        element = layout.dtype.numpy
        shape, given = layout.shape + element.shape, np.asarray(array)
        if given.dtype != element.base or given.shape != shape or is_masked(array):
            masked = "masked " if is_masked(array) else ""
            found = f"{masked}{given.dtype} of shape {list(given.shape)}"
            raise PatchError(f"array given to {name} must be {element.base} of shape {list(shape)}, got {found}")
        self._given[name] = given

    def taken(self, buffer: object) -> list[Taken]:
        """Return the contents of a watched buffer that arrived since the last update, the oldest first.

        They are read-only, and their memory is used again once nothing refers to them.
        """
        return self._arrived.pop(self._name(buffer), [])

    @staticmethod
    def _name(buffer: object) -> str:
        return str(getattr(buffer, "name", buffer))

    # For the engine

    def arrive(self, name: str, frame: int, array: Array) -> None:
        """Add contents of a watched buffer, for the next update."""
        self._waiting.append((name, frame, array))

    @property
    def waiting(self) -> int:
        """The number of contents that wait for the next update."""
        return len(self._waiting)

    def receive(self) -> None:
        """Let `taken` return what has arrived, and nothing older."""
        self._arrived.clear()
        for _ in range(len(self._waiting)):
            name, frame, array = self._waiting.popleft()
            self._arrived.setdefault(name, []).append(Taken(frame, array))

    def take_given(self) -> dict[str, Array | LentMemory]:
        """Return the arrays that an update has given, by buffer."""
        taken, self._given = self._given, {}
        return taken
