from pathlib import Path

from warploom.api import BlockBuilder, Moment, Value, param, value_port
from warploom.blocks.io.part_writer import Recorder
from warploom.blocks.sound.sound_writer import DEPTHS, SoundWriter, check_format
from warploom.blocks.sound.windows import SoundSink
from warploom.engine.diagnostics import Incomplete


class SaveAudio(SoundSink, id="io.save_audio", tags=("sound", "record", "wav", "flac", "ogg", "mp3", "file", "export")):
    """Records sound to a file while `recording` is true.

    In each frame, the newest samples of x are recorded, as many as the frame's time has: each sample once. The file
    name's extension decides the format: .wav, .flac, .ogg, .mp3 or .aiff. The file is complete when `recording` becomes
    false, and when the engine stops or the block is removed; another recording replaces it. While a timeline turns, the
    same recording goes on. A file that this patch has not written is overwritten only if you allow it.
    """

    length_s: Value[float] = value_port(unit="s", doc="Length of the recording.")
    lost: Value[int] = value_port(doc="Samples that were lost, since the disk or the frames were too slow.")
    file: Path = param("sound.wav", files="save sound", doc="File to write: .wav, .flac, .ogg, .mp3 or .aiff.")
    recording: bool = param(False, doc="Record while this is true; then the file is complete.")
    depth: str = param("usual", choices=DEPTHS, doc="Bits per sample of .wav, .flac and .aiff: usually 16.")

    def describe(self, build: BlockBuilder) -> None:
        """Check the file's name."""
        if not str(self.file):
            raise Incomplete("file", "name a sound")
        check_format(Path(self.file), self.depth, self.rate, 1)
        super().describe(build)

    def start(self) -> None:
        """Record nothing yet."""
        super().start()
        self.files = Recorder()

    def update(self, now: Moment) -> None:
        """Record what the last frames have added."""
        try:
            self.record(waits=self.waits)
        finally:
            self.note(now, takes=self.recording)
        if not self.recording and not self.is_due:
            self.files.end()
        self.files.look(waits=self.waits)
        self.notice = self.files.problem

    def record(self, *, waits: bool) -> None:
        """Write the samples that have come."""
        for samples in self.new_samples():
            if self.files.writer is None:
                path = self.file_to_write(str(self.file))
                self.files.begin(SoundWriter(path, self.depth, self.rate, samples.shape[1], self.note_written))
            self.files.write(samples, waits=waits)
        if (writer := self.files.writer) is not None:
            self.length_s, self.lost = writer.length / self.rate, writer.lost + self.left_out

    def close(self) -> None:
        """Record the last samples, and complete the file."""
        self.record(waits=True)
        self.files.close()
