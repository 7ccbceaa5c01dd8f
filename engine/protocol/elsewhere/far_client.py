"""`FarClient`: what an engine's process does for a client whose files it does not see."""

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from warploom.engine.platforms.paths import path_of
from warploom.engine.protocol.child.encoding import PATH_CODE, encode
from warploom.engine.protocol.elsewhere.line import Line, Parts, packed, unpacked
from warploom.engine.protocol.elsewhere.messages import Content, Files, Got, Lacks, Packed, Part, Written
from warploom.engine.protocol.elsewhere.mirror import Mirror
from warploom.engine.protocol.elsewhere.pictures import CODINGS, Coding, PictureCoder
from warploom.engine.protocol.messages import KernelFilesChanged, Saved, SaveOutputs
from warploom.engine.protocol.outbox import Outbox
from warploom.engine.protocol.questions import CostOf, SaveTo, WatchFiles
from warploom.engine.protocol.sampling import Reduction, Sample, Sampling
from warploom.engine.readings import here

#: How long a client may be silent. A line that was cut may never be reported, and the device must not stay in use.
LOST_S = 60.0
#: How long no newer picture must come before a coarse one is sent again, exactly.
_STILL_S = 0.3


@dataclass
class _Sent:
    """A picture that was sent with less than all of its pixels, and when that began."""

    sample: Sample
    sent_s: float


class FarClient:
    """Keeps the client's files in a mirror, and sends pictures at the rate that the line allows.

    A picture is coded when the line is free, so it is the newest one, and one that was not sent is replaced.
    """

    def __init__(self, client: str, lost: Callable[[], None]) -> None:
        self.mirror = Mirror(client)
        self._line, self._parts, self._coder = Line(), Parts(), PictureCoder()
        self._samplings: dict[str, Sampling] = {}
        #: The pictures that are not exact, by name; the exact one may be given up for a newer picture.
        self._coarse: dict[str, _Sent] = {}
        self._is_refining = False
        #: Files that the patch has written, and answers that follow them.
        self._unsent: deque[bytes] = deque()
        self._root = os.fsencode(self.mirror.root)
        #: Since when this process waits for a message; infinite while it follows one.
        self._waits_s = math.inf
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(lost,), name="client's silence", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Give the mirror to a later engine."""
        self._ended.set()
        self._thread.join()
        self.mirror.close()

    def take(self, message: Any, size: int, send: Callable[[bytes], None]) -> bytes:
        """Follow a message of `size` bytes; return the frame that is in it, or nothing."""
        self._waits_s = math.inf
        if not isinstance(message, Got):
            send(encode(Got(size)))
        match message:
            case Got(received):
                self._line.receives(received)
                send(b"")
            case Part():
                return self._parts.take(message) or b""
            case Packed():
                return unpacked(message)
        return b""

    def wait(self) -> None:
        """Note that the last message was followed, and the next one is waited for."""
        self._waits_s = time.monotonic()

    def follow_files(self, message: Files | Content) -> Lacks | None:
        """Follow the client's files; return what is lacking, if it was not reported before."""
        if isinstance(message, Content):
            self.mirror.add(message.data)
            return None
        lacking = self.mirror.take(message)
        return Lacks(tuple(lacking)) if lacking else None

    def observe(self, samplings: dict[str, Sampling]) -> None:
        """Note what is looked at, and which pixels are probed."""
        self._samplings = samplings

    def send_saved(self, saved: Saved, *, is_event: bool) -> bool:
        """Send a file of the mirror back; return False if it is none, or is gone."""
        try:
            path = Path(saved.path or "")
            if not path.is_relative_to(self.mirror.root):
                return False
            self.send_later(encode(Written(saved, path.read_bytes(), is_event)))
        except OSError:
            return False
        return True

    def send_later(self, frame: bytes) -> None:
        """Send a frame after the files that were written before."""
        self._unsent.append(packed(self._named_as_there(frame), waits=True))

    @property
    def has_room(self) -> bool:
        """True while the line takes a report without delay."""
        return self._line.room > 0

    def leaving(self, frame: bytes) -> bytes:
        """Return a frame as it is sent: with the client's paths, and compressed."""
        return self._line.leaving(self._named_as_there(frame))

    def _named_as_there(self, frame: bytes) -> bytes:
        return renamed(frame, self._root) if self._root in frame else frame

    def part(self) -> bytes | None:
        """Return the next part of a picture that the line takes now."""
        return self._line.part()

    def begin_large(self, outbox: Outbox) -> None:
        """Begin a written file or a sample, if the line is free for one."""
        line = self._line
        if (line.is_sending and not self._is_refining) or not line.room:
            return
        if self._unsent:
            line.begin(self._unsent.popleft())
            self._is_refining = False
            return
        for sample in outbox.take_samples(np.ndarray.copy, 1):
            self._is_refining = False
            if sample.data is None or sample.sampling.reduction is not Reduction.PICTURE:
                line.begin(packed(encode(sample), waits=True))
                return
            coding = self._coder.choose(sample.data, line.rate)
            self._begin(sample, coding)
            if coding.is_exact:
                self._coarse.pop(sample.name, None)
            else:
                self._coarse[sample.name] = _Sent(sample, time.monotonic())
            return
        if self._coarse and line.is_idle:
            name, coarse = next(iter(self._coarse.items()))
            if name not in self._samplings:
                del self._coarse[name]
            elif time.monotonic() - coarse.sent_s > _STILL_S:
                del self._coarse[name]
                self._begin(coarse.sample, CODINGS[1])
                self._is_refining = True

    def _begin(self, sample: Sample, coding: Coding) -> None:
        newest = self._samplings.get(sample.name)
        assert sample.data is not None
        if newest is not None and newest.port == sample.sampling.port and sample.data.shape[:2] == sample.shape:
            sample = replace(sample, sampling=newest)  # only a whole picture has the pixel that is probed now
        self._line.begin(encode(self._coder.code(sample, coding)))

    def _watch(self, lost: Callable[[], None]) -> None:
        while not self._ended.wait(LOST_S / 10):
            if time.monotonic() - self._waits_s > LOST_S:
                lost()


def placed_here(message: Any) -> Any:
    """Return a message or question of the client with its paths in the mirror."""
    match message:
        case KernelFilesChanged(paths):
            return KernelFilesChanged(frozenset(map(here, paths)))
        case SaveOutputs(node, overwrites):
            return SaveOutputs(node, tuple(str(here(path_of(each))) for each in overwrites))
        case SaveTo(Path() as folder):
            return SaveTo(here(folder))
        case WatchFiles(folders):
            return WatchFiles(tuple(map(here, folders)))
        case CostOf(changes):
            return CostOf(tuple(map(placed_here, changes)))
    return message


def renamed(frame: bytes, root: bytes) -> bytes:
    """Return a frame in which paths do not begin with `root`, in whatever text they are."""
    text = os.fsdecode(root)

    def without(value: Any) -> Any:
        match value:
            case str():
                return value.replace(text, "")
            case list():
                return [without(each) for each in value]
            case dict():
                return {without(key): without(each) for key, each in value.items()}
            case msgspec.msgpack.Ext(code=code, data=data) if code == PATH_CODE and bytes(data).startswith(root):
                return msgspec.msgpack.Ext(code, bytes(data)[len(root) :] or b"/")
        return value

    return msgspec.msgpack.encode(without(msgspec.msgpack.decode(frame)))
