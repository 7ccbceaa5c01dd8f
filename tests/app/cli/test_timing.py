"""When the frames of `warploom run` start, and how their time advances."""

import time
from pathlib import Path

import numpy as np
import pytest

from tests.app.cli.cli_support import Warploom
from warploom import Patch
from warploom.app.exit_status import DEVICE_FAILED, USAGE_WRONG
from warploom.engine.patch.files import load_patch, save_patch


@pytest.fixture
def patch_file(tmp_path: Path) -> Path:
    """A patch whose outputs are the last frame's time and time step."""
    patch = Patch()
    one, zero = (patch.add("io.array", data=np.full(1, value, np.float32)) for value in (1, 0))
    clock = patch.add("value.time")
    for output in ("seconds", "time_step"):
        saxpy = patch.add("math.saxpy", node_id=output)
        patch.connect(one["out"], saxpy["x"])
        patch.connect(zero["out"], saxpy["y"])
        patch.connect(clock[output], saxpy["a"])
    path = tmp_path / "clock.loom"
    save_patch(patch, path)
    return path


def run(warploom: Warploom, path: Path, *words: object) -> tuple[float, float]:
    """Return the time and the time step of the last frame."""
    result = warploom("run", path, "--device", "host", "--json", "--out", path.parent / "out", *words)
    assert result.status == 0, result.err
    values = {o["node"]: float(np.load(o["path"])[0]) for o in result.json["outputs"]}
    return values["seconds"], values["time_step"]


def test_a_run_is_deterministic_in_steps_of_a_sixtieth(warploom: Warploom, patch_file: Path) -> None:
    """By default, each frame advances time by a sixtieth of a second, at any frame rate."""
    assert run(warploom, patch_file, "--frames", 31) == pytest.approx((0.5, 1 / 60))
    assert run(warploom, patch_file, "--frames", 4, "--rate", 200) == pytest.approx((0.05, 1 / 60))


def test_the_time_step_can_be_chosen(warploom: Warploom, patch_file: Path) -> None:
    """With `--time-step 0.25`, frame 8 is at two seconds."""
    assert run(warploom, patch_file, "--frames", 9, "--time-step", 0.25) == (2.0, 0.25)


def test_a_rate_holds_frames_back(warploom: Warploom, patch_file: Path) -> None:
    """With a rate of 20 frames a second, six frames take at least a quarter of a second."""
    start = time.perf_counter()
    run(warploom, patch_file, "--frames", 6, "--rate", 20)
    assert time.perf_counter() - start >= 0.25


def test_real_time_follows_the_clock(warploom: Warploom, patch_file: Path) -> None:
    """With `--realtime`, a frame's time step is the elapsed time, at most a tenth of a second."""
    time_s, step_s = run(warploom, patch_file, "--frames", 6, "--realtime", "--time-step", 0.5)
    assert 0 < step_s <= 0.1
    assert 4 / 60 <= time_s <= 0.5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rate", "0"], "frame rate must be a positive number of frames a second, got 0.0"),
        (["--rate", "-5"], "frame rate must be a positive number of frames a second, got -5.0"),
        (["--time-step", "nan"], "time step must be a positive number of seconds, got nan"),
    ],
)
def test_a_rate_or_step_that_is_not_positive_is_wrong_usage(
    warploom: Warploom, patch_file: Path, words: list[str], message: str
) -> None:
    """A rate or time step that is not positive is wrong usage: exit status 2, with the rule and the value."""
    result = warploom("run", patch_file, *words)
    assert result.status == USAGE_WRONG
    assert message in " ".join(result.err.split())


def test_a_kernel_has_no_time_limit_unless_one_is_given(warploom: Warploom, tmp_path: Path) -> None:
    """A kernel that runs longer than `--kernel-time-limit` is a device error that states the limit."""
    patch = Patch()
    one = patch.add("io.array", data=np.ones(1, np.float32))
    loop = patch.add("control.while", limit=10_000_000)
    patch.connect(one["out"], loop["condition"])
    body = patch.add("math.saxpy", region=patch.add("control.for", count=1_000_000, region=loop))
    patch.connect(one["out"], body["x"])
    patch.connect(one["out"], body["y"])
    path = tmp_path / "endless.loom"
    save_patch(patch, path)
    result = warploom("run", path, "--device", "host", "--frames", 1, "--kernel-time-limit", 0.2)
    assert result.status == DEVICE_FAILED
    assert "was stopped by the time limit of 0.2 s" in result.err


def test_frames_of_a_part_are_those_of_a_run_from_the_start(warploom: Warploom, patch_file: Path) -> None:
    """`--frames A-B` has the time of frame B; the rate is then that of the film."""
    assert run(warploom, patch_file, "--frames", "5-30") == pytest.approx((0.5, 1 / 60))
    assert run(warploom, patch_file, "--frames", "5-12", "--rate", 24) == pytest.approx((0.5, 1 / 24))
    result = warploom("run", patch_file, "--device", "host", "--json", "--frames", "5-12")
    assert result.json["frames"] == 8


def test_a_patch_with_a_timeline_runs_from_in_to_out(warploom: Warploom, tmp_path: Path, patch_file: Path) -> None:
    """Its rate and frames count, unless others are asked for; real time leaves no frame out."""
    patch = load_patch(patch_file)
    patch.set_timeline(rate=24, length=100, first=10, last=36)
    path = tmp_path / "film.loom"
    save_patch(patch, path)
    assert run(warploom, path) == pytest.approx((1.5, 1 / 24))
    assert run(warploom, path, "--rate", 12) == pytest.approx((3.0, 1 / 12))
    assert run(warploom, path, "--frames", 13, "--time-step", 0.25) == pytest.approx((3.0, 0.25))
    assert run(warploom, path, "--frames", 4, "--realtime", "--rate", 1000) == pytest.approx((0.003, 0.001))


def test_a_run_goes_on_from_a_state(warploom: Warploom, tmp_path: Path) -> None:
    """Parts that go on from each other's state end as one run, and a state of another patch is refused."""
    patch = Patch()
    one = patch.add("io.array", data=np.full(3, 1.5, np.float32))
    add, delay = patch.add("math.add"), patch.add("buffer.frame_delay")
    patch.connect(one["out"], add["x"])
    patch.connect(delay["out"], add["y"])
    sink = patch.add("math.scale_offset", node_id="total")
    patch.connect(add["out"], sink["x"])
    patch.connect(add["out"], delay["x"])
    path, state = tmp_path / "sum.loom", tmp_path / "sum.state"
    save_patch(patch, path)

    def total(*words: object) -> float:
        result = warploom("run", path, "--device", "host", "--json", "--out", tmp_path / "out", *words)
        assert result.status == 0, result.err
        return float(np.load(next(o["path"] for o in result.json["outputs"] if o["node"] == "total"))[0])

    assert total("--frames", 10) == 15.0 == total("--frames", "9-9")
    assert total("--frames", 4, "--state", state) == 6.0
    assert total("--frames", "6-9", "--state", state) == 15.0
    assert total("--frames", "3-4", "--state", state) == 7.5  # the state is that after frame 9
    patch.set(one, data=np.ones(3, np.float32))
    save_patch(patch, path)
    refused = warploom("run", path, "--device", "host", "--state", state)
    assert refused.status == 1 and "must be a state of this patch as it is now" in refused.err
    state.write_bytes(b"other")
    refused = warploom("run", path, "--device", "host", "--state", state)
    assert refused.status == 1 and "must be a state that `warploom run --state` has written" in refused.err
