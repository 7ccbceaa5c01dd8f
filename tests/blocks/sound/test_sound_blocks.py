"""Sound that goes through a patch: each sample once, at the time of its frame."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from tests.blocks.running import problems
from tests.blocks.sound.fake_devices import Array, FakeSounds
from tests.fuzzing import seeds
from tests.waiting import until
from warploom import Engine, Patch
from warploom.api import Moment
from warploom.blocks.sound.audio_out import AudioOut
from warploom.blocks.sound.player import Player
from warploom.blocks.sound.windows import samples_in

RATE = 4800
FRAME = RATE // 60


def noise(count: int, channels: int = 1, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(-0.9, 0.9, (count, channels)).astype(np.float32)


def write(path: Path, samples: Array, rate: int = RATE) -> Path:
    soundfile.write(path, samples, rate, "FLOAT")
    return path


def moments(steps: list[float]) -> Iterator[Moment]:
    """Yield moments with these time steps; the first is at time 0, as in an engine."""
    time_s = 0.0
    for frame, step in enumerate(steps):
        time_s += step if frame else 0.0
        yield Moment(frame, time_s, step)


@pytest.mark.parametrize("seed", seeds(3))
def test_no_sample_is_lost_by_rounding(seed: int) -> None:
    """Frames of any length add the samples of their time, whatever the rate."""
    rng = np.random.default_rng(seed)
    steps = [1 / 60, *rng.uniform(0, 0.1, 500)]
    for rate in (1000, 22050, 44100, 48000):
        counts = [samples_in(now, rate) for now in moments(steps)]
        assert min(counts) >= 0 and abs(sum(counts) - sum(steps) * rate) <= 1
        assert {samples_in(Moment(k, k / 60, 1 / 60), 44100) for k in range(100)} == {735}


@pytest.mark.parametrize("seed", seeds(4))
def test_a_player_has_the_sound_of_each_frame(tmp_path: Path, seed: int) -> None:
    """The window of a frame ends at the file's position, over pauses, jumps, whole speeds, loops and odd sizes."""
    rng = np.random.default_rng(seed)
    channels, size = int(rng.integers(1, 9)), int(rng.choice([97, 256, 1001]))
    x = noise(int(rng.integers(1500, 9000)), channels, seed)
    loop = bool(rng.integers(2))
    player = Player(write(tmp_path / "a.wav", x), RATE, channels, size)
    time_s = place = 0.0
    seek_s, speed, jumped = 0.0, 1.0, True
    expected = np.zeros((size, channels), np.float32)
    try:
        for frame in range(120):
            step = 1 / 60 if rng.random() < 0.8 else 0.0
            before_s, is_first = time_s, frame == 0
            time_s += step if frame else 0.0
            if rng.random() < 0.1:
                speed = float(rng.choice([-2, -1, 0, 1, 2, 3]))
            if rng.random() < 0.05 and frame:
                time_s += float(rng.integers(-40, 40)) / 60
            now = Moment(frame, time_s, step)
            added = samples_in(now, RATE)
            moved, jumped = added, is_first
            if not is_first and abs(time_s - step - before_s) > 1e-6:
                moved, jumped = moved + round((time_s - step - before_s) * RATE), True
            if rng.random() < 0.05:
                seek_s, jumped = float(rng.integers(0, len(x))) / RATE, True
                moved, place = added, seek_s * RATE
            place += moved * speed
            if loop:
                place = place if 0 <= place <= len(x) else place % len(x)
            else:
                place = min(max(place, -size * abs(speed)), len(x) + size * abs(speed))
            count = size if jumped or not 0 <= moved < size else moved
            places = (np.round(place) + np.arange(-count, 0) * speed).astype(int)
            inside = (places >= 0) & (places < len(x)) | (loop and not is_first)
            new = np.where((inside & (speed != 0))[:, None], x[places % len(x)], 0)
            if abs(speed) > 1:  # what is too high is filtered out; `test_sound_between_samples` covers this
                new = None
            found = player.window(now, speed=speed, loop=loop, seek_s=seek_s, waits=True)
            assert found.shape == (size, channels)
            if new is not None:
                expected = np.concatenate((expected[count:], new))
                np.testing.assert_allclose(found[size - count :], new, atol=1e-6)
            assert player.is_over == (not loop and not 0 <= place < len(x))
    finally:
        player.close()


@pytest.mark.parametrize(("channels", "rate"), [(1, RATE), (3, RATE), (8, RATE), (1, 2 * RATE)])
def test_a_played_file_is_recorded_sample_by_sample(tmp_path: Path, channels: int, rate: int) -> None:
    """What Play Audio plays through a patch is what Save Audio records; a film of 12 frames has 12 frames of sound."""
    x = noise(20 * FRAME, channels)
    patch = Patch()
    play = patch.add(
        "io.play_audio", file=write(tmp_path / "a.wav", x, rate), rate=RATE, channels=channels, size=601, loop=False
    )
    save = patch.add("io.save_audio", file=str(tmp_path / "b.wav"), rate=RATE, depth="float", recording=True)
    patch.connect(play["out"], save["x"])
    patch.trusted = True
    with Engine(patch, device="host") as engine:
        for _ in range(12):
            report = engine.step()
            assert not report.diagnostics, report.diagnostics
        window = engine.read(play["out"])
        assert window.shape == ((channels, 601) if channels > 1 else (601,))
    found, found_rate = soundfile.read(tmp_path / "b.wav", dtype="float32", always_2d=True)
    assert (len(found), found_rate) == (12 * FRAME, RATE)
    if rate == RATE:
        np.testing.assert_array_equal(found, x[: 12 * FRAME])
        np.testing.assert_array_equal(np.atleast_2d(window), x[12 * FRAME - 601 : 12 * FRAME].T)


def test_a_recording_begins_and_ends_with_its_parameter(tmp_path: Path) -> None:
    """Only frames in which `recording` is true are recorded, and the file is complete when it becomes false."""
    x, patch = noise(30 * FRAME), Patch()
    play = patch.add("io.play_audio", file=write(tmp_path / "a.wav", x), rate=RATE)
    save = patch.add("io.save_audio", file=str(tmp_path / "b.wav"), rate=RATE, depth="float", recording=False)
    patch.connect(play["out"], save["x"])
    patch.trusted = True
    with Engine(patch, device="host") as engine:
        for recording, frames in ((False, 3), (True, 5), (False, 2)):
            patch.set(save, recording=recording)
            for _ in range(frames):
                engine.step()
        found = soundfile.read(tmp_path / "b.wav", dtype="float32", always_2d=True)[0]
        np.testing.assert_array_equal(found, x[3 * FRAME : 8 * FRAME])
        patch.set(save, recording=True)
        engine.step()
    found = soundfile.read(tmp_path / "b.wav", dtype="float32", always_2d=True)[0]
    np.testing.assert_array_equal(found, x[10 * FRAME : 11 * FRAME])


def test_a_file_that_the_patch_has_not_written_stays(tmp_path: Path) -> None:
    """An untrusted patch overwrites no file of somebody else's; the node says so."""
    x, patch = noise(1000), Patch()
    play = patch.add("io.play_audio", file=write(tmp_path / "a.wav", x), rate=RATE)
    save = patch.add("io.save_audio", file=str(tmp_path / "a.wav"), rate=RATE, recording=True)
    patch.connect(play["out"], save["x"])
    found = problems(patch, frames=3)
    assert [node for node, _, _ in found] == [save.id] and "file must be" in found[0][2]
    np.testing.assert_array_equal(soundfile.read(tmp_path / "a.wav", dtype="float32", always_2d=True)[0], x)


def test_sounds_are_named_that_are_missing(tmp_path: Path) -> None:
    """A missing file and an unknown format are errors on their nodes; no file asks for one."""
    patch = Patch()
    gone, empty = patch.add("io.play_audio", file=tmp_path / "gone.ogg"), patch.add("io.play_audio")
    save = patch.add("io.save_audio", file="a.txt")
    patch.connect(empty["out"], save["x"])
    texts = {node: text for node, _, text in problems(patch)}
    assert "gone.ogg; choose another file" in texts[gone.id]
    assert texts[empty.id] == "file must name a sound, got nothing"
    assert "must end in .wav" in texts[save.id]


def test_a_microphone_by_hand_gives_each_sample_once(sounds: FakeSounds, tmp_path: Path) -> None:
    """In frames by hand, Audio In waits for the samples of each frame, and Save Audio records all of them."""
    patch = Patch()
    source = patch.add("io.audio_in", device="micro", rate=RATE, channels=2, size=500)
    save = patch.add("io.save_audio", file=str(tmp_path / "b.wav"), rate=RATE, depth="float", recording=True)
    patch.connect(source["out"], save["x"])
    patch.trusted = True
    x = noise(6 * FRAME, 2)
    with Engine(patch, device="host") as engine:
        engine.step()
        sounds.streams[0].run(x)
        for _ in range(6):
            assert not engine.step().diagnostics
        np.testing.assert_array_equal(engine.read(source["out"])[:, -400:], x[-400:].T)
    assert not sounds.streams[0].active
    found = soundfile.read(tmp_path / "b.wav", dtype="float32", always_2d=True)[0]
    np.testing.assert_array_equal(found, np.concatenate((np.zeros((FRAME, 2)), x)))


def test_a_file_stands_for_a_microphone_that_is_missing(sounds: FakeSounds, tmp_path: Path) -> None:
    """Audio In plays its file if no device is named or the device is missing; the missing device is named."""
    path, x = write(tmp_path / "a.wav", noise(2000)), noise(2000)[:, 0]
    patch = Patch()
    file = patch.add("io.audio_in", file=path, rate=RATE, size=500)
    both = patch.add("io.audio_in", file=path, device="gone", rate=RATE, size=500)
    none = patch.add("io.audio_in", device="gone", rate=RATE, size=500)
    with Engine(patch, device="host") as engine:
        for _ in range(10):
            report = engine.step()
        for node in (file, both):
            np.testing.assert_array_equal(engine.read(node["out"]), x[10 * FRAME - 500 : 10 * FRAME])
        assert not engine.read(none["out"]).any()
    told = {item.node: item.message for item in report.diagnostics}
    assert told.keys() == {both.id, none.id} and "device called 'gone' must be there" in told[none.id]


def test_sound_is_played_in_real_time_and_not_by_hand(sounds: FakeSounds, tmp_path: Path) -> None:
    """While a patch plays, Audio Out gives the loudspeaker its sound without gaps; frames by hand are silent."""
    x = np.sin(np.arange(4 * RATE) * 0.05).astype(np.float32)[:, None]
    patch = Patch()
    play = patch.add("io.play_audio", file=write(tmp_path / "a.wav", x), rate=RATE)
    out = patch.add("io.audio_out", device="desk", rate=RATE, buffer=0.1)
    patch.connect(play["out"], out["x"])
    with Engine(patch, device="host") as engine:
        for _ in range(3):
            engine.step()
        assert not sounds.streams
        engine.start(rate=60)
        until(lambda: sounds.streams)
        speaker = sounds.streams[0]
        assert speaker.device == 0 and speaker.channels == 2
        played: list[Array] = []

        def plays() -> bool:
            speaker.run(32)
            played[:] = speaker.played
            return np.count_nonzero(np.concatenate(played)) > RATE

        until(plays)
        engine.stop()
    assert not speaker.active
    whole = np.concatenate(played)
    np.testing.assert_array_equal(whole[:, 0], whole[:, 1])


def test_a_buffer_that_is_no_sound_is_refused(tmp_path: Path) -> None:
    """A picture's rows are no channels."""
    patch = Patch()
    data = patch.add("io.array", data=np.zeros((9, 10), np.float32))
    save = patch.add("io.save_audio", file=str(tmp_path / "b.wav"), recording=True)
    patch.connect(data["out"], save["x"])
    found = problems(patch, frames=2)
    assert found == [
        (save.id, None, "x must have shape [samples], or [channels, samples] with 1 to 8 channels, got [9, 10]")
    ]


def test_blocks_share_nothing(tmp_path: Path) -> None:
    """Two engines play the same file at their own times."""
    path, x = write(tmp_path / "a.wav", noise(3000)), noise(3000)[:, 0]
    patches = [Patch(), Patch()]
    ports = [patch.add("io.play_audio", file=path, rate=RATE, size=100)["out"] for patch in patches]
    with Engine(patches[0], device="host") as one, Engine(patches[1], device="host") as two:
        for _ in range(4):
            one.step()
        two.step()
        np.testing.assert_array_equal(one.read(ports[0]), x[4 * FRAME - 100 : 4 * FRAME])
        np.testing.assert_array_equal(two.read(ports[1])[-FRAME:], x[:FRAME])


def test_a_frame_that_is_longer_than_its_window_is_counted() -> None:
    """Samples that are not in the window are counted, and the others are in order."""
    block = AudioOut("node", {"rate": 1000})
    block.begin()
    x = np.arange(1000, dtype=np.float32)
    now = Moment()
    taken: list[Any] = []
    for frame, (end, step) in enumerate([(50, 0.05), (150, 0.1), (170, 0.02)]):
        now.frame, now.time_s, now.time_step_s = frame, end / 1000, step
        block.note(now, takes=True)
        block.arrive("x", frame, x[end - 60 : end] if end >= 60 else x[:end])
        block.receive()
        taken += block.new_samples()
    assert np.concatenate(taken)[:, 0].tolist() == [*range(50), *range(90, 150), *range(150, 170)]
    assert block.left_out == 40
