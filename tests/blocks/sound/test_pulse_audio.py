"""Sound through a real server: a private PulseAudio with a sink that goes nowhere but into its own monitor."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_PROGRAM = """
import time
from collections import deque
import numpy as np
from warploom.blocks.sound.devices import SoundInput, SoundOutput
RATE, FRAME = 48000, 960
speaker, microphone = SoundOutput("pulse", RATE, 2, 0.2), SoundInput("", RATE, 1, 0.1)
for device in (speaker, microphone):
    assert device.tried.wait() and device.found, device.problem_at("")
heard, began, k = deque([np.zeros((FRAME, 1))] * 25, 25), time.monotonic(), 0

def is_heard():
    found = np.concatenate(heard)[:, 0]
    frequency = int(np.argmax(np.abs(np.fft.rfft(found * np.hanning(len(found)))))) * 2
    return 970 < frequency < 1030 and 0.4 < np.abs(found).max() < 0.7

while not is_heard():  # on a busy machine, sound may have gaps for long
    t = (k * FRAME + np.arange(FRAME)) / RATE
    speaker.put(np.repeat(0.5 * np.sin(2 * np.pi * 1000 * t)[:, None], 2, axis=1).astype(np.float32))
    heard.append(microphone.take(FRAME))
    k += 1
    time.sleep(max(0, began + k * FRAME / RATE - time.monotonic()))
print(speaker.found, speaker.latency_s > 0.1)
speaker.close()
microphone.close()
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of programs that use a private server; skip the test where there is none."""
    program = shutil.which("pulseaudio")
    if program is None:
        pytest.skip("needs pulseaudio")
    socket = tmp_path / "socket"
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    environment |= {"PULSE_RUNTIME_PATH": str(tmp_path), "PULSE_SERVER": f"unix:{socket}"}
    modules = (f"module-native-protocol-unix socket={socket} auth-anonymous=1", "module-null-sink rate=48000")
    options = ("-n", "--daemonize=no", "--use-pid-file=no", "--disable-shm=yes", "--exit-idle-time=-1")
    loaded = [part for module in modules for part in ("-L", module)]
    with subprocess.Popen([program, *options, *loaded], env=environment, stderr=subprocess.DEVNULL) as running:
        try:
            while not socket.exists() and running.poll() is None:
                time.sleep(0.01)
            if running.poll() is not None:
                pytest.skip("pulseaudio doesn't start here")
            yield environment
        finally:
            running.terminate()


def test_a_sine_goes_through_a_server(server: dict[str, str]) -> None:
    """What a loudspeaker plays, a microphone hears, nearly at the same frequency and level, on a busy machine too."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM], env=server, capture_output=True, text=True, check=False)
    if "must have the library" in done.stderr or "must be there, got" in done.stderr:
        pytest.skip("needs PortAudio with the ALSA plugin of PulseAudio")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["pulse", "True"]
