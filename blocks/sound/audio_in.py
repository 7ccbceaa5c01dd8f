from collections.abc import Mapping
from pathlib import Path

import numpy as np

from warploom.api import BlockBuilder, Moment, Value, param, value_port
from warploom.blocks.sound.devices import PATIENCE_S, SoundInput, device_names, notice_of
from warploom.blocks.sound.player import Player, check_sound
from warploom.blocks.sound.windows import SoundSource, samples_in


class AudioIn(
    SoundSource, id="io.audio_in", tags=("sound", "microphone", "mic", "line", "live", "record", "input", "music")
):
    """Outputs live sound from a microphone or another device.

    The output is a window of the newest samples, which moves on with each frame. Connect Bands to let a picture follow
    the sound, or Save Audio to record it. A device can be plugged in later. In frames by hand and headless runs, a
    frame waits for its samples, and gets each of them once. The library sounddevice must be installed.
    """

    latency: Value[float] = value_port(unit="s", doc="Time from the microphone to the window.")
    overruns: Value[int] = value_port(doc="Number of times that samples were lost, since frames came too late.")
    device: str = param("", offers=True, doc="Part of the device's name; empty or default is the system's own.")
    file: Path = param(
        "",
        files="open sound",
        doc="Sound that is played instead, over and over; with a device, only while this is missing.",
    )
    buffer: float = param(
        0.03, min=0.005, max=2, unit="s", structural=True, doc="Sound to keep ready; more when frames are late."
    )

    microphone: SoundInput | None = None
    player: Player | None = None

    def source(self) -> str:
        """Return the device, which not every patch may use; a file alone needs none."""
        return "" if str(self.file) and not self.device.strip() else f"microphone:{self.device.strip()}"

    def describe(self, build: BlockBuilder) -> None:
        """Check the file."""
        if str(self.file):
            check_sound(Path(self.file))
        super().describe(build)

    def start(self) -> None:
        """Open the device, or the file that stands for it."""
        has_file = bool(str(self.file))
        if has_file:
            self.player = Player(Path(self.file), self.rate, self.channels, self.size)
        if (not has_file or self.device.strip()) and not self.is_replay:
            self.microphone = SoundInput(self.device, self.rate, self.channels, self.buffer)
        self.heard = np.zeros((self.size, self.channels), np.float32)

    def goes_on(self) -> bool:
        """Keep the device open, and begin with silence again."""
        if self.player is not None:
            self.player.begin_again()
        self.heard = np.zeros_like(self.heard)
        return True

    @classmethod
    def offered(cls, parameter: str) -> Mapping[str, str]:
        """Return the devices that are there."""
        return {"default": "The system's own"} | {name: name for name in device_names("input")}

    def update(self, now: Moment) -> None:
        """Give the window of this frame."""
        microphone, player = self.microphone, self.player
        if microphone is not None:
            if self.waits:
                microphone.tried.wait(PATIENCE_S)
            self.latency, self.overruns = microphone.latency_s, microphone.overruns
            self.notice = notice_of(microphone)
        if player is not None:
            played = player.window(now, speed=1.0, loop=True, seek_s=0.0, waits=self.waits)
            if microphone is None or not microphone.found:
                self.heard = played
        if microphone is not None and (microphone.found or player is None):
            added = samples_in(now, self.rate)
            samples = microphone.take_exactly(added) if self.waits else microphone.take(added)
            self.heard = np.concatenate((self.heard, samples))[-self.size :]
        self.show(self.heard)

    def close(self) -> None:
        """Close the device and the file."""
        for opened in (self.microphone, self.player):
            if opened is not None:
                opened.close()
        self.microphone = self.player = None
