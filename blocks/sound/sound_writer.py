"""Writes sound files while they are recorded."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from warploom.blocks.io.part_writer import PartWriter
from warploom.blocks.sound.ring import Samples
from warploom.engine.diagnostics import PatchError

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


class SoundWriter(PartWriter):
    """Encodes a recording, of which each part has the shape [samples, channels]."""

    def __init__(
        self, path: Path, depth: str, rate: int, channels: int, done: Callable[[Path], None] = lambda _: None
    ) -> None:
        self._format, self._subtype = check_format(path, depth, rate, channels)
        self._rate, self._channels = rate, channels
        super().__init__(path, done)

    def encode(self, partial: Path, parts: Iterator[Samples]) -> None:
        """Write all samples."""
        import soundfile

        kind: dict[str, Any] = {"subtype": self._subtype, "format": self._format}
        with soundfile.SoundFile(partial, "w", self._rate, self._channels, **kind) as file:
            for samples in parts:
                for begin in range(0, len(samples), _AT_ONCE):
                    file.write(samples[begin : begin + _AT_ONCE])
