"""A film of 1080p60 and a sound that are played and recorded at the same time, beside a light patch.

    chrt -r 1 python -m tests.benchmarks.bench_media --device host
    python -m tests.benchmarks.bench_media --device cuda:0 --size 3840x2160 --decoder GPU
    python -m tests.benchmarks.bench_media --device cuda:0 --decoder GPU --start

Prints late frames by the flight recorder, frames that show or record the wrong picture, what was dropped, and the
processor time of each thread per frame: two cores have 33 ms. With `chrt`, other processes of the machine don't make
frames late. Threads of the frames then come first, and last those of the codecs, as threads that wait much come first
where they share cores fairly.
"""

import argparse
import os
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from warploom import Engine, Patch, ProfilingLevel
from warploom.api import Moment
from warploom.blocks.sound.play_audio import PlayAudio
from warploom.blocks.video.load_video import DECODERS, LoadVideo
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.flight_record import FlightRecord

RATE, SOUND_RATE = 60, 48000
#: A frame's number is its binary digits, squares of so many pixels, from the left.
DIGIT, DIGITS = 16, 12
#: Frames before those that count, while the patch is compiled and the film is opened.
WARM_UP = 3 * RATE
#: How long these frames may take, in seconds.
_PATIENCE_S = 60.0
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def make_film(path: Path, width: int, height: int, frames: int) -> None:
    """Encode a film of moving waves and grain, whose frames show their numbers."""
    import av

    y, x = np.mgrid[:height, : 2 * width].astype(np.float32)
    waves = np.stack([128 + 90 * np.sin(x / (60 + 9 * c) + np.sin(y / 75 + c)) for c in range(3)], -1)
    waves += np.random.default_rng(0).normal(0, 3, waves.shape)
    picture = waves.clip(0, 255).astype(np.uint8)
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("libx264", RATE, {"preset": "veryfast", "crf": "20"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number in range(frames):
            left = number * 6 % width
            shown = np.ascontiguousarray(picture[:, left : left + width])
            for place in range(DIGITS):
                shown[:DIGIT, place * DIGIT : (place + 1) * DIGIT] = 255 * (number >> place & 1)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(shown, "rgb24")))
        container.mux(stream.encode(None))


def numbers_in(path: Path) -> list[int]:
    """Return the numbers that the frames of a recording show."""
    import av

    found = []
    with av.open(str(path)) as container:
        container.streams.video[0].thread_type = "AUTO"
        for frame in container.decode(video=0):
            plane = frame.planes[0]
            row = np.frombuffer(memoryview(plane), np.uint8)[DIGIT // 2 * plane.line_size :]
            digits = row[DIGIT // 2 : DIGITS * DIGIT : DIGIT] < 170  # the patch shows a negative
            found.append(int(digits @ (1 << np.arange(DIGITS))))
    return found


def media_patch(folder: Path, decoder: str) -> Patch:
    """Return a patch that plays the film and the sound of a folder, and records both."""
    patch = Patch()
    patch.path = folder / "patch.loom"
    film = patch.add("io.load_video", node_id="film", file=folder / "in.mp4", decoder=decoder)
    negative = patch.add("image.invert", node_id="negative", amount=0.8)
    grey = patch.add("image.grayscale", node_id="grey", amount=0.5)
    save = patch.add("io.save_video", node_id="save", file=folder / "out.mp4", rate=RATE, recording=True)
    patch.connect(film["out"], negative["image"])
    patch.connect(negative["out"], grey["image"])
    patch.connect(grey["out"], save["image"])
    sound = patch.add("io.play_audio", node_id="sound", file=folder / "in.wav")
    record = patch.add("io.save_audio", node_id="record", file=folder / "out.wav", recording=True)
    patch.connect(sound["out"], record["x"])
    return patch


class Watch:
    """Notes what the film shows in each frame, and where the sound is; the benchmark's process has one of each."""

    def __init__(self, frames: int) -> None:
        self.frames = frames
        self.shown: list[int] = []
        #: The number that is due in each frame.
        self.due: list[int] = []
        self.time_s = self.sound_s = 0.0

    def __enter__(self) -> "Watch":
        self._updates = LoadVideo.update, PlayAudio.update

        def show(film: LoadVideo, now: Moment) -> None:
            self._updates[0](film, now)
            self.shown.append(round(film.position_s * RATE))
            self.due.append(int((now.time_s + 0.001) * RATE) % self.frames)

        def play(sound: PlayAudio, now: Moment) -> None:
            self._updates[1](sound, now)
            self.time_s, self.sound_s = now.time_s + 1 / RATE, sound.position_s  # a frame's sound ends with it

        LoadVideo.update, PlayAudio.update = show, play  # type: ignore[method-assign,assignment]
        return self

    def __exit__(self, *_: object) -> None:
        LoadVideo.update, PlayAudio.update = self._updates  # type: ignore[method-assign]


def thread_times_s() -> dict[str, float]:
    """Return the processor time of this process's threads by their names."""
    names = {each.native_id: each.name for each in threading.enumerate()}
    times: dict[str, float] = defaultdict(float)
    for task in Path("/proc/self/task").iterdir():
        try:
            stat = (task / "stat").read_text()
        except OSError:  # it has ended
            continue
        own, rest = stat[stat.index("(") + 1 :].rsplit(")", 1)
        name = names.get(int(task.name)) or f"native {own.rstrip('0123456789')}"
        times[name] += sum(map(int, rest.split()[11:13])) * _TICK_S
    return times


def measure(
    folder: Path, device: str, seconds: float, frames: int, decoder: str = "automatic", write_to: Any = print
) -> None:
    """Play and record, and print the figures."""
    patch = media_patch(folder, decoder)
    records: dict[int, tuple[int, ...]] = {}

    def note(record: FlightRecord) -> None:
        records.update((row[0], row[1:]) for row in record.frames.tolist())

    with Watch(frames) as watch, Engine(patch, device, profiling=ProfilingLevel.NONE) as engine:
        engine.start(rate=RATE)
        if os.sched_getscheduler(0) == os.SCHED_RR:
            for thread in threading.enumerate():  # any of them may hold the interpreter, for which others wait
                priority = 3 if thread.name.startswith(("warploom-engine", "warploom-host")) else 2
                os.sched_setscheduler(thread.native_id or 0, os.SCHED_RR, os.sched_param(priority))
        until_s = time.perf_counter() + _PATIENCE_S
        while len(watch.shown) < WARM_UP:  # the host's code is optimised meanwhile
            if time.perf_counter() > until_s:
                report = engine.take_report()
                raise SystemExit(f"frames must show the film, got: {report and report.diagnostics}")
            time.sleep(0.1)
        before, begun_s, first = thread_times_s(), time.perf_counter(), len(watch.shown)
        while time.perf_counter() - begun_s < seconds:
            time.sleep(1)
            note(engine.flight_record())
        used, taken_s, last = thread_times_s(), time.perf_counter() - begun_s, len(watch.shown)
        record = engine.flight_record()
        note(record)
        decodes = "GPU" if engine.read(PortRef("film", "on_gpu")) else "CPU"
        dropped = int(engine.read(PortRef("save", "dropped")))
        lost = int(engine.read(PortRef("record", "lost")))
        drift_s = (watch.time_s - watch.sound_s + 5) % 10 - 5
        engine.stop()
    count = last - first
    rows = [records[number] for number in range(first, last) if number in records]
    late = sum(row[2] + row[3] > record.budget_ns for row in rows)
    whole = np.array([row[3] for row in rows]) / 1e6
    pairs = list(zip(watch.shown[first:last], watch.due[first:last], strict=True))
    wrong = [(shown - due + frames // 2) % frames - frames // 2 for shown, due in pairs if shown != due]
    told = numbers_in(folder / "out.mp4")
    written = sum(a != b for a, b in zip(told, watch.shown, strict=False)) if not dropped else "?"
    write_to(f"the {decodes} decodes")
    write_to(f"{count} frames in {taken_s:.1f} s, {count / taken_s:.2f} a second; recorded {len(told)}")
    write_to(f"late {late} of {len(rows)}; frame's time median {np.median(whole):.2f}, longest {whole.max():.2f} ms")
    write_to(f"wrong picture shown {len(wrong)} (most {max(map(abs, wrong), default=0)} frames off)")
    write_to(f"recorded pictures that were not shown {written}; dropped {dropped}; sound lost {lost} samples")
    write_to(f"film behind the patch at the end {(pairs[-1][1] - pairs[-1][0])} frames, sound {1e3 * drift_s:.2f} ms")
    write_to(f"\n{'thread':40}{'CPU ms a frame':>15}")
    times = {name: 1e3 * (time_s - before.get(name, 0.0)) / count for name, time_s in used.items()}
    for name, time_ms in sorted(times.items(), key=lambda each: -each[1]):
        if time_ms >= 0.01:
            write_to(f"{name:40}{time_ms:15.2f}")
    write_to(f"{'all':40}{sum(times.values()):15.2f}")
    for slow in record.slow[-6:]:
        parts = ", ".join(f"{part.kind} {part.time_ns / 1e6:.1f}" for part in slow.spent)
        write_to(f"slow frame {slow.frame}: {slow.total_ns / 1e6:.1f} ms: {parts}")


@contextmanager
def _slow_frames(engine: Engine, what: str, write_to: Any) -> Iterator[None]:
    """Print the frames that are slow within 3 s after an edit."""
    before = int(engine.flight_record().frames[-1][0])
    yield
    time.sleep(3)
    slow = [frame for frame in engine.flight_record().slow if frame.frame > before]
    longest = max((frame.total_ns for frame in slow), default=0) / 1e6
    write_to(f"{what}: {len(slow)} slow frames, the longest {longest:.1f} ms")
    for frame in slow[-4:]:
        parts = ", ".join(f"{part.kind} {part.time_ns / 1e6:.1f}" for part in frame.spent)
        write_to(f"  frame {frame.frame - before}: {frame.total_ns / 1e6:.1f} ms: {parts}")


def measure_start(folder: Path, device: str, decoder: str, write_to: Any = print) -> None:
    """Add the film to a patch that plays and remove it, twice, and print the frames that this makes slow."""
    patch = Patch()
    small, negative = patch.add("io.load_video", file=folder / "in.mp4", decoder="CPU"), patch.add("image.invert")
    patch.connect(small["out"], negative["image"])
    with Engine(patch, device, profiling=ProfilingLevel.NONE) as engine:
        engine.start(rate=RATE)
        while not len(engine.flight_record().frames) > WARM_UP:
            time.sleep(0.1)
        for _ in range(2):
            with _slow_frames(engine, "a film is added", write_to):
                film = patch.add("io.load_video", file=folder / "in.mp4", decoder=decoder)
            with _slow_frames(engine, "the film is removed", write_to):
                patch.remove(film)


def main() -> None:
    """Make a film and a sound, and print the figures of a run."""
    import soundfile

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--device", default="host")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--decoder", default="automatic", choices=DECODERS)
    parser.add_argument("--start", action="store_true", help="add the film to a patch that plays")
    chosen = parser.parse_args()
    width, height = map(int, chosen.size.split("x"))
    kept = Path(tempfile.gettempdir()) / f"warploom-media-{os.getuid()}-{chosen.size}"
    kept.mkdir(exist_ok=True)
    frames = 10 * RATE
    if not (kept / "in.wav").exists():
        print(f"makes a film of {chosen.size}, which later runs use too", flush=True)
        make_film(kept / "in.mp4", width, height, frames)
        noise = np.random.default_rng(0).normal(0, 0.1, (10 * SOUND_RATE, 2))
        soundfile.write(kept / "in.wav", noise, SOUND_RATE)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in ("in.mp4", "in.wav"):
            (folder / name).symlink_to(kept / name)
        if chosen.start:
            measure_start(folder, chosen.device, chosen.decoder)
            return
        measure(folder, chosen.device, chosen.seconds, frames, chosen.decoder)


if __name__ == "__main__":
    main()
