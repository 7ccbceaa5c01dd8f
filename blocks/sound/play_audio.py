from pathlib import Path

from warploom.api import BlockBuilder, Moment, Value, param, value_port
from warploom.blocks.sound.player import Place, Player, check_sound
from warploom.blocks.sound.windows import SoundSource
from warploom.engine.diagnostics import Incomplete


class PlayAudio(
    SoundSource,
    id="io.play_audio",
    tags=("sound", "music", "wav", "flac", "ogg", "mp3", "file", "stream", "song", "bars"),
):
    """Plays a sound file in step with the patch's time.

    The output is a window of the newest samples, which moves on with each frame. Connect Bands to let a picture follow
    the music, and Audio Out to hear it. The file is read as it is played, so it may be long; a file with another rate
    is resampled. In headless runs, each frame has the sound of its time. Load Audio loads a whole sound instead. The
    sound track of a film is played too: with the same speed and loop, in step with Load Video.
    """

    position_s: Value[float] = value_port(unit="s", doc="Position in the file at the end of the window.")
    length_s: Value[float] = value_port(unit="s", doc="Length of the file.")
    ended: Value[bool] = value_port(doc="True once a sound that isn't repeated is over.")
    file: Path = param("", files="open sound", doc="The sound file; a relative path starts at the patch's folder.")
    playing: bool = param(True, doc="Plays; otherwise the sound is silent, and its position stays.")
    loop: bool = param(True, doc="Starts again at the end.")
    speed: float = param(1.0, min=-8, max=8, doc="Speed; below 0 backwards. The pitch changes with it.")
    at: float = param(0.0, min=0, max=1e6, unit="s", doc="Position to start at. A change goes there at once.")

    saved = carried = ("place",)
    player: Player | None = None

    def describe(self, build: BlockBuilder) -> None:
        """Check the file."""
        if not str(self.file):
            raise Incomplete("file", "name a sound")
        check_sound(Path(self.file))
        super().describe(build)

    def start(self) -> None:
        """Open the file."""
        self.player = Player(Path(self.file), self.rate, self.channels, self.size)
        self.place, self.length_s = vars(self.player.place), self.player.length_s

    def goes_on(self) -> bool:
        """Keep what is decoded, so that a timeline turns without a gap in the sound."""
        if self.player is None:
            return False
        self.player.begin_again()
        self.place = vars(self.player.place)
        return True

    def update(self, now: Moment) -> None:
        """Give the window of this frame."""
        assert self.player is not None
        if self.place is not vars(self.player.place):  # of a saved state
            self.player.place = Place(**self.place)
            self.place = vars(self.player.place)
        speed = self.speed if self.playing else 0.0
        self.show(self.player.window(now, speed=speed, loop=self.loop, seek_s=self.at, waits=self.waits))
        self.position_s, self.ended = self.player.position_s, self.player.is_over

    def close(self) -> None:
        """Close the file."""
        if self.player is not None:
            self.player.close()
            self.player = None
