from collections.abc import Mapping

from warploom.api import Moment, Value, param, value_port
from warploom.blocks.sound.devices import SoundOutput, device_names, notice_of
from warploom.blocks.sound.sound_reader import in_channels
from warploom.blocks.sound.windows import SoundSink


class AudioOut(
    SoundSink, id="io.audio_out", tags=("sound", "speaker", "headphones", "play", "listen", "synthesizer", "dac")
):
    """Plays sound on loudspeakers or another device.

    In each frame, the newest samples of x are played, as many as the frame's time has, so that a sound goes on without
    gaps at any frame rate. x may come from Play Audio or Audio In, or from a formula, in which element i is the sound
    at (i - size) / rate seconds from the frame's time. It plays while the patch plays; frames by hand and headless
    runs are silent. The library sounddevice must be installed.
    """

    latency: Value[float] = value_port(unit="s", doc="Time from the frame to the loudspeaker.")
    underruns: Value[int] = value_port(doc="Number of gaps, since frames came too late.")
    device: str = param("", offers=True, doc="Part of the device's name; empty or default is the system's own.")
    volume: float = param(1.0, min=0, max=4, doc="Factor for the samples; what is above 1 then is cut off.")
    buffer: float = param(
        0.06, min=0.005, max=2, unit="s", structural=True, doc="Sound to keep ready; more when frames are late."
    )

    speaker: SoundOutput | None = None

    @classmethod
    def offered(cls, parameter: str) -> Mapping[str, str]:
        """Return the devices that are there."""
        return {"default": "The system's own"} | {name: name for name in device_names("output")}

    def update(self, now: Moment) -> None:
        """Play what the last frames have added."""
        try:
            for samples in self.new_samples():
                if self.speaker is None:  # two channels, since few devices have one
                    channels = max(2, samples.shape[1])
                    self.speaker = SoundOutput(self.device, self.rate, channels, self.buffer)
                samples = in_channels(samples, self.speaker.channels) * self.volume
                self.speaker.put(samples.clip(-1, 1))
        finally:
            self.note(now, takes=not self.waits)
        if self.speaker is not None:
            self.latency, self.underruns = self.speaker.latency_s, self.speaker.underruns + self.missed
            self.notice = notice_of(self.speaker)

    def close(self) -> None:
        """Close the device."""
        if self.speaker is not None:
            self.speaker.close()
            self.speaker = None
