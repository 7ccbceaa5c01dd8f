"""Reads films at any time and speed, a little ahead of what is shown."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warploom.api import LentMemory, SharedDevice
from warploom.blocks.video.films.film_source import FilmInfo, FilmSource
from warploom.blocks.video.picture_writer import reason_of
from warploom.engine.diagnostics import PatchError

if TYPE_CHECKING:
    import av

Array = np.ndarray[Any, Any]

#: Frames that are decoded ahead of the one that is shown.
AHEAD = 4
#: The memory for frames of a film that plays backwards, since a decoder only runs forwards.
_BACKWARD_BYTES = 256 << 20
#: How much too early a frame may be shown in a patch that plays, in seconds, but at most by a quarter of it. Frames of
#: a patch come a little earlier or later than others, and must not each show another frame of a film of the same rate.
_EARLY_S = 0.001
_NEVER = 1 << 62


@dataclass(slots=True)
class _Shot:
    """A decoded frame, and the ticks from which and before which it is shown."""

    start: int
    end: int
    packed: Array | LentMemory


class FilmReader:
    """Decodes a film on its own thread; `frame_at` may be called from one other thread.

    The thread keeps the frame of the asked time and those that come next, in the direction of `speed`, and around the
    end if `loop`. Everything that it decodes follows from the time that was asked for last, so there is no mode to
    leave after a seek. With the number of a `gpu`, that one decodes, if it can, in a context that `share` returns, and
    its frames stay there.
    """

    def __init__(
        self,
        name: str,
        gpu: int | None = None,
        share: Callable[[], AbstractContextManager[SharedDevice | None]] = nullcontext,
    ) -> None:
        self._name, self._gpu, self._share = name, gpu, share
        self._lock = threading.Condition()
        self._source: FilmSource | None = None
        self._shots: list[_Shot] = []
        self._asked_s, self._speed, self._loop = 0.0, 1.0, False
        self._shown: _Shot | None = None
        self._problem: PatchError | None = None
        self._closing = False
        # The end of the film in ticks, once it was reached, and otherwise as the film says.
        self._end, self._tick_s = _NEVER, 1.0
        # The frame that was decoded last, whose end is the start of the next one.
        self._pending: tuple[int, av.VideoFrame | LentMemory] | None = None
        # The time of that frame, whether it was the last one, and the start of the last jump.
        self._position, self._ended, self._jumped = 0, False, 0
        self._thread = threading.Thread(target=self._run, name="warploom-film", daemon=True)
        self._thread.start()

    @property
    def info(self) -> FilmInfo:
        """What is known of the film. Wait until it is open; raise PatchError if it can't be opened."""
        with self._lock:
            self._lock.wait_for(lambda: self._source is not None or self._problem is not None or self._closing)
            if self._source is None:
                raise self._problem or PatchError(f"film {self._name} must be open, got a closed one")
            return self._source.info

    @property
    def is_on_gpu(self) -> bool:
        """True once the film is open, if a GPU decodes it."""
        return self._source is not None and self._source.is_on_gpu

    @property
    def why_not_gpu(self) -> str:
        """Why the CPU decodes the film although there is a GPU; "" otherwise, and while it is not open."""
        return "" if self._source is None else self._source.why_not_gpu

    @property
    def length_s(self) -> float:
        """The film's length in seconds, 0 while it is not known."""
        return 0.0 if self._end == _NEVER else self._end * self._tick_s

    def frame_at(
        self, time_s: float, wait: bool = False, *, speed: float = 1.0, loop: bool = False
    ) -> tuple[Array | LentMemory, float] | None:
        """Return the bytes of the frame that is shown at a time, read-only, and the time of this frame in seconds.

        Unless `wait`, it may be a millisecond early, and it is the nearest frame before it that is decoded, or the last
        one shown; None if there is none. Before its start, a film shows its first frame, and after its end the last
        one. Raise PatchError if the film can't be read any further.
        """
        with self._lock:
            if not wait and speed and self._source is not None:
                time_s += math.copysign(min(_EARLY_S, 0.25 / (self._source.info.rate or 25)), speed)
            self._asked_s, self._speed, self._loop = time_s, speed, loop
            self._lock.notify_all()
            while (shot := self._shot_at(self._asked)) is None and wait and not self._closing and not self._problem:
                self._lock.wait()
            if shot is None and self._problem is not None:
                raise self._problem
            if shot is None and speed >= 0:
                before = [known for known in self._shots if known.start <= self._asked]
                shot = max(before, key=lambda known: known.start, default=None)
            if shot is not None and (wait or self._is_better(shot, self._asked)):
                self._shown = shot
            shown = self._shown
        return None if shown is None else (shown.packed, shown.start * self._tick_s)

    def close(self) -> None:
        """Have the thread close the film and end; don't wait for it."""
        with self._lock:
            self._closing = True
            self._lock.notify_all()

    @property
    def _asked(self) -> int:
        """The tick in the film that was asked for last. Times in a file are rounded to its ticks."""
        tolerance_s = min(self._tick_s / 2, 0.0005) + 1e-6
        tick = int((self._asked_s + tolerance_s) // self._tick_s) if self._asked_s > 0 else 0
        return min(tick, self._end - 1)

    def _is_better(self, shot: _Shot, tick: int) -> bool:
        """True if a frame is nearer to the asked time than the one shown: it is that frame, or a later one."""
        shown = self._shown
        return shown is None or shot.start <= tick < shot.end or shown.start > tick or shot.start > shown.start

    def _shot_at(self, tick: int) -> _Shot | None:
        return next((shot for shot in self._shots if shot.start <= tick < shot.end), None)

    def _run(self) -> None:
        with self._reporting(), self._share() as shared, self._reporting():
            self._read(shared)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
            return
        except PatchError as problem:
            why = str(problem)
        except Exception as problem:  # noqa: BLE001 - whatever the library raises ends the film, not the patch
            why = f"film {self._name} must be readable, got: {reason_of(problem)}"
        with self._lock:
            self._problem = PatchError(why)  # a new one, whose traceback holds no frames
            self._lock.notify_all()

    def _read(self, shared: SharedDevice | None) -> None:
        source = FilmSource(self._name, gpu=self._gpu, shared=shared)
        try:
            with self._lock:
                self._tick_s = source.tick_s
                self._end = round(source.info.length_s / source.tick_s) or _NEVER
                self._source = source
                self._lock.notify_all()
            while (wanted := self._wanted()) is not None:
                try:
                    self._decode_towards(source, wanted)
                except Exception as problem:
                    if not source.is_on_gpu:
                        raise
                    source.use_cpu(reason_of(problem))
                    self._pending, self._ended = None, True
        finally:
            source.close()
            self._return_lent()

    def _return_lent(self) -> None:
        """Forget the frames on the GPU, for whose return the end of a shared device waits."""
        with self._lock:
            self._shots = [shot for shot in self._shots if not isinstance(shot.packed, LentMemory)]
            self._shown = self._pending = None

    def _wanted(self) -> int | None:
        """Wait until a frame must be decoded, and return its time; None when the reader is closed."""
        with self._lock:
            while not self._closing:
                if (wanted := self._missing()) is not None:
                    return wanted
                self._lock.wait()
        return None

    def _missing(self) -> int | None:
        """Return a time whose frame must be decoded: that of the asked one, or of one that follows; None if all are."""
        tick, ahead = self._asked, self._ahead
        for _ in range(ahead):
            shot = self._shot_at(tick)
            if shot is None:
                return tick
            if self._speed < 0:
                tick = shot.start - 1 if shot.start > 0 else self._end - 1
                is_around = shot.start <= 0
            else:
                is_around = shot.end >= self._end
                tick = 0 if is_around else shot.end
            if is_around and (not self._loop or self._end == _NEVER):
                return None
        return None

    @property
    def _ahead(self) -> int:
        """The number of frames to have, with the shown one."""
        if self._speed == 0:
            return 1
        skipped = round(min(abs(self._speed), 8))
        return 1 + (AHEAD * max(1, skipped) if self._speed > 0 else self._capacity // 2)

    @property
    def _capacity(self) -> int:
        """The number of frames to keep."""
        if self._speed >= 0 or self._source is None:
            return self._ahead + 1
        return int(np.clip(_BACKWARD_BYTES // self._source.info.layout.size_bytes, 8, 240))

    def _decode_towards(self, source: FilmSource, wanted: int) -> None:
        """Decode a frame, after a jump if that leads to the wanted time sooner."""
        key = source.key_before(wanted)
        is_far = wanted - self._position > 2 / source.tick_s if key is None else key > max(self._position, self._jumped)
        if self._ended or wanted < self._position or is_far:
            self._jumped = wanted if key is None else key
            self._jump(source, wanted)
        else:
            self._take(source, source.read_to_keep(), wanted)

    def _jump(self, source: FilmSource, wanted: int) -> None:
        """Go to a frame at or before the wanted time, and keep it as the pending one."""
        start, back = wanted, 0
        while True:
            source.seek(start)
            first = source.read_to_keep()
            if first is not None and first[0] <= wanted:
                break
            if start <= 0:  # some formats can't go back to their start
                source.open()
                first = source.read_to_keep()
                first = first and (0, first[1])  # it may say another time, or none
                break
            back = max(2 * back, round(1 / source.tick_s))
            start = max(0, wanted - back)
        self._pending, self._ended = None, False
        self._take(source, first, wanted)

    def _take(self, source: FilmSource, decoded: tuple[int, av.VideoFrame | LentMemory] | None, wanted: int) -> None:
        """Keep the pending frame if it is of use, now that its end is known."""
        pending, self._pending = self._pending, decoded
        if decoded is None:
            self._ended = True
        else:
            self._position = decoded[0]
        if pending is None:
            return
        start, frame = pending
        end = _NEVER if decoded is None else decoded[0]
        if decoded is None and self._shot_at(wanted) is None:
            start = min(start, wanted)  # times in disorder may leave gaps, which the last frame fills
        if start >= self._end or (decoded is None and self._end == _NEVER):
            length = round(1 / (source.info.rate or 25) / source.tick_s)
            self._end = max(start + 1, start + length)
        if end <= start:  # a frame without a moment of its own
            return
        if self._speed >= 0 and end <= wanted:
            return  # it was only decoded on the way
        packed = frame if isinstance(frame, LentMemory) else source.info.layout.pack(frame)
        if not isinstance(packed, LentMemory):
            packed.flags.writeable = False
        with self._lock:
            if all(shot.start != start for shot in self._shots):
                self._shots.append(_Shot(start, end, packed))
            self._drop()
            self._lock.notify_all()

    def _drop(self) -> None:
        """Forget the frames that are needed last."""

        asked = self._asked

        def distance(shot: _Shot) -> int:
            if shot.start <= asked < shot.end:
                return 0
            away = shot.start - asked if self._speed >= 0 else asked - shot.start
            if away >= 0:
                return away
            return away + self._end if self._loop and self._end != _NEVER else _NEVER

        self._shots.sort(key=distance)
        del self._shots[self._capacity :]
