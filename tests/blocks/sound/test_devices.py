"""Microphones and loudspeakers: no gaps, a steady latency, and devices that are missing, lost or late."""

import builtins
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tests.blocks.sound.fake_devices import Array, FakeSounds, FakeStream
from tests.waiting import until
from warploom.api import Unavailable
from warploom.blocks.sound import devices
from warploom.blocks.sound.audio_in import AudioIn
from warploom.blocks.sound.audio_out import AudioOut
from warploom.blocks.sound.devices import SoundDevice, SoundInput, SoundOutput

RATE, FRAME = 1000, 100  # ten frames a second
TEN_MINUTES = 600 * RATE


@contextmanager
def opened(device: SoundDevice, sounds: FakeSounds) -> Iterator[tuple[Any, FakeStream]]:
    try:
        assert device.tried.wait(5) and device.found, device.problem_at("")
        yield device, sounds.streams[-1]
    finally:
        device.close()
    assert not device.is_alive


def wave(count: int, start: int = 0) -> Array:
    return np.sin(2 * np.pi * 7 * (start + np.arange(count)) / RATE).astype(np.float32)[:, None]


def events(frames: int, block: int, off: float, seed: int) -> Iterator[bool]:
    """Yield True for a frame and False for a block of the device, whose clock is `off` by a factor. Frames are late
    by up to half a frame.
    """
    rng = np.random.default_rng(seed)
    frame_times = (np.arange(1, frames + 1) + rng.uniform(0, 0.5, frames)) * FRAME
    block_times = np.arange(1, int(frames * FRAME * (1 + off)) // block) * block / (1 + off)
    for _, is_frame in sorted([*((t, True) for t in frame_times), *((t, False) for t in block_times)]):
        yield is_frame


def test_ten_minutes_are_played_without_gaps_or_drift(sounds: FakeSounds) -> None:
    """A loudspeaker whose clock is off plays every frame, with a latency that stays within one frame."""
    off = -4e-4
    with opened(SoundOutput("", RATE, 1, 0.3), sounds) as (output, stream):
        put, latencies = 0, []
        for is_frame in events(TEN_MINUTES // FRAME, 32, off, seed=1):
            if is_frame:
                output.put(wave(FRAME, put))
                put += FRAME
                latencies.append(output.follower.length)
            else:
                stream.run(32)
    assert (output.underruns, output.dropped) == (0, 0)
    assert np.ptp(latencies) < FRAME and abs(latencies[-1] - 0.3 * RATE) < FRAME / 2
    played = np.concatenate(stream.played)[:, 0]
    begin = np.flatnonzero(played)[0]
    # A sine's second difference is bounded; a gap, a repetition or a jump of one sample exceeds it.
    inside = played[begin + 20 :]
    bend = (2 * np.pi * 7 / RATE * 1.01) ** 2
    assert np.abs(np.diff(inside, 2)).max() < bend * 1.05 and np.abs(inside[-RATE:]).max() > 0.9
    assert abs(len(inside) / (1 + off) - put) < 0.5 * RATE


def test_ten_minutes_are_recorded_without_gaps_or_drift(sounds: FakeSounds) -> None:
    """A microphone whose clock is off gives every frame its samples, with a latency that stays within one frame."""
    off = 3e-4
    with opened(SoundInput("", RATE, 1, 0.3), sounds) as (microphone, stream):
        recorded, taken, latencies = 0, [], []
        for is_frame in events(TEN_MINUTES // FRAME, 32, off, seed=2):
            if is_frame:
                taken.append(microphone.take(FRAME))
                latencies.append(microphone.follower.length)
            else:
                stream.run(wave(32, recorded))
                recorded += 32
    assert (microphone.overruns, microphone.underruns) == (0, 0)
    assert np.ptp(latencies) < FRAME
    assert {len(each) for each in taken} == {FRAME}
    heard = np.concatenate(taken)[:, 0]
    inside = heard[np.flatnonzero(heard)[0] + 20 :]
    assert np.abs(np.diff(inside, 2)).max() < (2 * np.pi * 7 / RATE * 1.01) ** 2 * 1.05
    assert len(inside) > TEN_MINUTES - 5 * FRAME


def test_late_frames_are_counted_and_pauses_are_not(sounds: FakeSounds) -> None:
    """An underrun counts once, however long it lasts; a paused patch has none. Then the queue is filled again."""
    with opened(SoundOutput("speakers", RATE, 2, 0.2), sounds) as (output, stream):
        assert output.found == "Desk Speakers" and stream.device == 0
        ones = np.ones((FRAME, 2), np.float32)
        stream.run(50)
        for _ in range(4):
            output.put(ones)
        stream.run(500)
        output.put(ones)
        assert output.underruns == 1
        for _ in range(3):
            output.put(ones)
        stream.run(5000)
        output.put(ones)
        assert output.underruns == 1
        assert output.latency_s > 0.29  # more is kept ready
        played = np.concatenate(stream.played)
        assert not np.isnan(played).any() and 600 < np.count_nonzero(played[:, 0] > 0.9) < 800


def test_a_microphone_that_no_frame_reads_gives_the_newest(sounds: FakeSounds) -> None:
    """After frames stood still, a microphone goes on with its newest samples, and the loss is counted once."""
    with opened(SoundInput("micro", RATE, 1, 0.2), sounds) as (microphone, stream):
        for _ in range(4):
            stream.run(np.zeros((FRAME, 1), np.float32))
        microphone.take(FRAME)
        for k in range(150):  # more than the queue holds
            stream.run(np.full((FRAME, 1), k, np.float32))
        taken = microphone.take(FRAME)
        assert microphone.overruns > 0 and taken.max() > 90


def test_frames_by_hand_get_each_sample_once(sounds: FakeSounds) -> None:
    """Without a clock, a microphone's samples are taken in order, and none twice."""
    with opened(SoundInput("", RATE, 2, 0.2), sounds) as (microphone, stream):
        x = np.random.default_rng(3).normal(size=(1000, 2)).astype(np.float32)
        for part in np.split(x, [13, 400, 977]):
            stream.run(part)
        counts = (1, 399, 600)
        np.testing.assert_array_equal(np.concatenate([microphone.take_exactly(count) for count in counts]), x)
        assert not microphone.take_exactly(10, timeout_s=0).any()


def test_an_unplugged_device_is_found_again(sounds: FakeSounds, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that is pulled is named, and used again once it is back; the queue then goes on."""
    monkeypatch.setattr("warploom.engine.values.sources.listening.RETRY_S", 0.01)
    with opened(SoundOutput("studio", RATE, 8, 0.2), sounds) as (output, stream):
        away = sounds.there.pop()
        stream.unplug()
        until(lambda: "called 'studio'" in str(output.problem_at("n")))
        assert "got Desk Speakers" in str(output.problem_at("n"))
        output.put(np.zeros((FRAME, 8), np.float32))  # not played, and no error
        sounds.there.append(away)
        until(lambda: len(sounds.streams) == 2 and output.found == "Studio")
        assert output.problem_at("n") is None


@pytest.mark.parametrize(
    ("name", "kind", "channels", "index", "problem"),
    [
        ("", "input", 1, 1, ""),
        ("Default", "output", 2, 0, ""),
        ("desk", "output", 2, 0, ""),
        ("desk", "input", 1, 1, ""),
        ("STUDIO", "input", 8, 2, ""),
        ("speakers", "input", 1, None, "device called 'speakers' must be there, got Desk Microphone, Studio"),
        ("desk", "input", 4, None, "device Desk Microphone must have 4 channels for input, got 2"),
    ],
)
def test_devices_by_name(
    sounds: FakeSounds, name: str, kind: str, channels: int, index: int | None, problem: str
) -> None:
    """A part of a name finds a device of the right direction; others are named."""
    if index is None:
        with pytest.raises(Unavailable, match=problem):
            devices.find(sounds, name, kind, channels)
    else:
        assert devices.find(sounds, name, kind, channels)[0] == index


def test_a_rate_that_a_device_lacks_is_named(sounds: FakeSounds, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a driver refuses is shown with the device and the rate."""

    def refuse(**_: Any) -> None:
        raise RuntimeError("Error opening InputStream: Invalid sample rate [PaErrorCode -9997]")

    monkeypatch.setattr(sounds, "InputStream", refuse)
    device = SoundInput("studio", 12345, 1, 0.1)
    assert device.tried.wait(5)
    until(lambda: device.problem_at("n") is not None)
    device.close()
    assert "device studio must work at 12345 Hz, got Error opening InputStream: Invalid" in str(device.problem_at("n"))


def test_a_machine_without_devices_says_so(sounds: FakeSounds) -> None:
    """Without any device, the message says what is missing."""
    sounds.there.clear()
    device = SoundInput("", RATE, 1, 0.1)
    assert device.tried.wait(5) and not device.found
    until(lambda: device.problem_at("n") is not None)
    assert "device for sound input must be there, got none" in str(device.problem_at("n"))
    device.close()


@pytest.mark.parametrize(
    ("failure", "remedy"), [(ImportError("no module"), "warploom[media]"), (OSError("not found"), "libportaudio2")]
)
def test_missing_libraries_are_named(failure: Exception, remedy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without sounddevice or PortAudio, the remedy is the command that installs it."""
    real = builtins.__import__

    def importing(name: str, *rest: Any) -> Any:
        if name == "sounddevice":
            raise failure
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "sounddevice", raising=False)
    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(Unavailable) as caught:
        devices.library()
    assert remedy in caught.value.remedy and caught.value.is_lasting


def test_devices_are_listed_by_their_direction(sounds: FakeSounds) -> None:
    """Audio In offers what records, Audio Out what plays, and both the system's own."""
    assert list(AudioIn.offered("device")) == ["default", "Desk Microphone", "Studio"]
    assert list(AudioOut.offered("device")) == ["default", "Desk Speakers", "Studio"]
    assert sounds.listed >= 2
