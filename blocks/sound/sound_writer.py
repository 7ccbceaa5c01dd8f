"""Writes sound files while they are recorded."""

import io
import os
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from blocks.sound.ring import Samples
from engine.diagnostics import PatchError

#: The formats by the suffix of a file, each with the library's names of its depths; the first is the usual one.
FORMATS = {
    ".wav": {"16 bits": "PCM_16", "24 bits": "PCM_24", "32 bits": "PCM_32", "float": "FLOAT"},
    ".flac": {"16 bits": "PCM_16", "24 bits": "PCM_24"},
    ".ogg": {"usual": "VORBIS"},
    ".mp3": {"usual": "MPEG_LAYER_III"},
    ".aiff": {"16 bits": "PCM_16", "24 bits": "PCM_24", "float": "FLOAT"},
}
DEPTHS = ("usual", "16 bits", "24 bits", "32 bits", "float")
#: Samples that are encoded at once: the encoder of OGG fails with many.
_AT_ONCE = 1 << 14
#: The parts of a recording that wait to be written; a disk that is slower than sound loses some.
_MOST_QUEUED = 600


def check_format(path: Path, depth: str, rate: int, channels: int) -> tuple[str, str]:
    """Return the library's names of a file's format and depth. Raise PatchError if it can't hold such a sound."""
    import soundfile

    depths = FORMATS.get(path.suffix.lower())
    if depths is None:
        raise PatchError(f"file of a sound must end in {', '.join(FORMATS)}, got {path.name!r}")
    subtype = next(iter(depths.values())) if depth == "usual" else depths.get(depth)
    if subtype is None:
        raise PatchError(f"depth of a {path.suffix} file must be usual or {', '.join(depths)}, got {depth}")
    form = path.suffix[1:].upper()
    try:
        soundfile.SoundFile(io.BytesIO(), "w", rate, channels, subtype, format=form).close()
    except (soundfile.LibsndfileError, ValueError) as problem:
        text = f"file {path.name} must be of a format that holds {channels} channels at {rate} Hz, got: {problem}"
        raise PatchError(f"{text}; choose .wav, or fewer channels") from problem
    return form, subtype


class SoundWriter:
    """Encodes a recording on a thread of its own. The file takes its place when it is complete.

    The samples of `write` must not change afterwards.
    """

    def __init__(
        self, path: Path, depth: str, rate: int, channels: int, done: Callable[[Path], None] = lambda _: None
    ) -> None:
        """`done` is called with the file once it is complete, on the writer's thread."""
        self.path, self._done = path, done
        #: The samples that were given, and those that were lost because the disk was too slow.
        self.length = self.lost = 0
        self._format, self._subtype = check_format(path, depth, rate, channels)
        self._rate, self._channels = rate, channels
        self._parts: queue.Queue[Samples | None] = queue.Queue()
        self._problem: PatchError | None = None
        self._thread = threading.Thread(target=self._run, name="warploom-recording", daemon=True)
        self._thread.start()

    @property
    def problem(self) -> str:
        """Why nothing more can be written, "" if it can."""
        return str(self._problem or "")

    @property
    def is_finished(self) -> bool:
        """True once the file is complete, or has failed."""
        return not self._thread.is_alive()

    def write(self, samples: Samples, *, waits: bool) -> None:
        """Append samples, shape [samples, channels]; if the disk is too slow, wait for it or leave these out."""
        while waits and self._parts.qsize() >= _MOST_QUEUED and self._thread.is_alive():
            self._thread.join(0.01)
        if self._parts.qsize() >= _MOST_QUEUED:
            self.lost += len(samples)
        else:
            self.length += len(samples)
            self._parts.put(samples)

    def finish(self) -> None:
        """Have the rest written, and the file put into its place, without waiting."""
        self._parts.put(None)

    def close(self) -> None:
        """Write the rest, and put the file into its place. Raise PatchError if that failed."""
        self.finish()
        self._thread.join()
        if self._problem is not None:
            raise self._problem

    def _run(self) -> None:
        partial = self.path.with_name(f".{self.path.stem}.{os.getpid()}.part{self.path.suffix}")
        try:
            self._encode(partial)
            partial.replace(self.path)
            self._done(self.path)
        except Exception as problem:  # noqa: BLE001 - the library's errors have no common class
            reason = getattr(problem, "error_string", None) or getattr(problem, "strerror", None) or str(problem)
            self._problem = PatchError(f"file {self.path} must be writable, got: {reason.rstrip('.')}")
            partial.unlink(missing_ok=True)

    def _encode(self, partial: Path) -> None:
        import soundfile

        kind: dict[str, Any] = {"subtype": self._subtype, "format": self._format}
        with soundfile.SoundFile(partial, "w", self._rate, self._channels, **kind) as file:
            while (samples := self._parts.get()) is not None:
                for begin in range(0, len(samples), _AT_ONCE):
                    file.write(samples[begin : begin + _AT_ONCE])
