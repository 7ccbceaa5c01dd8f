from pathlib import Path

from blocks.io.decode_sound import CHANNELS, load_sound
from engine.api import Block, BlockBuilder, Out, f32, param, port
from engine.diagnostics import Incomplete


class LoadAudio(Block, id="io.load_audio", tags=("sound", "music", "wav", "flac", "mp3", "file", "open", "signal")):
    """Load a sound file.

    Reads WAV, FLAC, OGG, MP3, AIFF and others, brings whole numbers to the range from -1 to 1, and takes one channel or
    the mean of all. A WAV file that was never finished is read to its end. Sounds of another rate are resampled, so
    that what follows can count on `rate` samples a second. A relative path starts at the patch file's folder.
    """

    out: Out[f32] = port(shape="data", rank=1, doc="The samples, mostly from -1 to 1, shape [samples].")
    file: Path = param("", files="open sound", doc="The sound file; a relative path starts at the patch's folder.")
    rate: int = param(44100, min=1000, max=384000, unit="Hz", structural=True, doc="Samples a second.")
    channel: str = param("mix", choices=CHANNELS, doc="The channel that is taken; mix is the mean of all.")

    def describe(self, build: BlockBuilder) -> None:
        """Decoded and uploaded once; nothing runs in a frame."""
        if not str(self.file):
            raise Incomplete("file", "name a sound")
        build.provide(self.out, load_sound(Path(self.file), self.rate, self.channel))
