from pathlib import Path

from warploom.api import Block, BlockBuilder, Out, f32, param, port
from warploom.blocks.io.decode_sound import CHANNELS, load_sound
from warploom.engine.diagnostics import Incomplete


class LoadAudio(Block, id="io.load_audio", tags=("sound", "music", "wav", "flac", "mp3", "file", "open", "signal")):
    """Loads a sound file as one channel of samples.

    Reads WAV, FLAC, OGG, MP3, AIFF and other formats and, with the extra `media`, M4A and the sound track of a film.
    Integer samples are scaled to the range from -1 to 1. A sound with another rate is resampled to `rate`. A WAV file
    whose recording was cut off is read to its end. A relative path starts at the patch file's folder.
    """

    out: Out[f32] = port(shape="data", rank=1, doc="The samples, mostly from -1 to 1, shape [samples].")
    file: Path = param("", files="open sound", doc="The sound file; a relative path starts at the patch's folder.")
    rate: int = param(44100, min=1000, max=384000, unit="Hz", structural=True, doc="Samples a second.")
    channel: str = param("mix", choices=CHANNELS, doc="The channel to output; mix is the mean of all channels.")

    def describe(self, build: BlockBuilder) -> None:
        """Provide decoded contents, which are uploaded once and need no work in a frame."""
        if not str(self.file):
            raise Incomplete("file", "name a sound")
        build.provide(self.out, load_sound(Path(self.file), self.rate, self.channel))
