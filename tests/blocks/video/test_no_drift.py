"""Films and sounds stay in step with the patch's time: no drift, however long they play."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.blocks.video.films import encode
from tests.fuzzing import FACTOR
from warploom import Engine, Patch

#: Ten minutes of 60 frames a second where tests go far, else three seconds.
FRAMES = 36_000 if FACTOR > 1 else 180
SOUND_RATE = 44100
#: A picture may come so many seconds early, since most files round times to milliseconds.
EARLY = Fraction(1, 2000)


@pytest.mark.parametrize("rate", [Fraction(24), Fraction(30000, 1001), Fraction(60)])
@pytest.mark.parametrize("step", [Fraction(1, 60), Fraction(1001, 60000)])
def test_every_frame_has_the_picture_and_the_sample_of_its_time(rate: Fraction, step: Fraction, tmp_path: Path) -> None:
    """At time t, a looped film shows picture floor(t * rate), and a looped sound is at sample round(t * rate)."""
    count, samples = 23, 30_011  # the times of AVI are exact, unlike the milliseconds of Matroska
    pictures = [np.full((4, 6, 3), 10 * number, np.uint8) for number in range(count)]
    path = encode(tmp_path / "film.avi", pictures, "ffv1", "bgr0", rate=rate)
    soundfile.write(tmp_path / "sound.wav", np.arange(samples) / 65536, SOUND_RATE, "FLOAT")
    patch = Patch()
    film = patch.add("io.load_video", file=path)
    sound = patch.add("io.play_audio", file=tmp_path / "sound.wav", rate=SOUND_RATE, size=1024)
    begin = 0
    with Engine(patch, device="host", time_step_s=float(step)) as engine:
        for frame in range(FRAMES):
            report = engine.step()
            time = frame * step
            assert not report.diagnostics
            light = float(engine.read(film["out"])[0, 0, 0])
            code = 255 * (12.92 * light if light < 0.0031308 else 1.055 * light ** (1 / 2.4) - 0.055)
            expected = min(int((time % (count / rate) + EARLY) * rate), count - 1)
            assert round(code / 10) == expected, frame
            sample = round(float(engine.read(sound["out"])[-1]) * 65536)
            begin = begin if frame else sample
            assert (sample - begin) % samples == int(time * SOUND_RATE + Fraction(1, 2)) % samples, frame
