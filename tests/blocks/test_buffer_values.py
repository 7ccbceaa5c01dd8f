"""Buffer to Value: numbers of buffers that drive parameters."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.device.lagging_device import LaggingDevice
from warploom import Engine, Patch, ProfilingLevel, UpdateLevel
from warploom.engine.device.device import Device
from warploom.engine.device.open import open_device
from warploom.engine.protocol.messages import Reset
from warploom.engine.protocol.pacing import Pacing
from warploom.engine.runtime.frame import cuda_engine

NUMBERS: dict[str, Any] = {
    "mean": np.mean,
    "sum": np.sum,
    "largest": np.max,
    "smallest": np.min,
}


@pytest.fixture(params=["lagging", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def late(request: pytest.FixtureRequest) -> Iterator[Device]:
    """A device that works while Python continues."""
    device: Device = LaggingDevice() if request.param == "lagging" else open_device(request.param)
    yield device
    device.close()


def values(engine: Engine, node: str = "value") -> tuple[float, int]:
    """Run a frame, and return the value and the age of a block."""
    report = engine.step()
    assert not report.diagnostics
    return float(report.values[f"{node}.value"]), int(report.values[f"{node}.age"])


@pytest.mark.parametrize("size", [1, 7, 5000])
@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "u8", "f2", "f4", "f8"])
def test_numbers_are_numpys(device: Device, dtype: str, size: int) -> None:
    """Mean, sum, largest and smallest are those of numpy in f64, for every kind of number and size."""
    data = (np.random.default_rng(size).standard_normal(size) * 20).astype(dtype)
    patch = Patch()
    source = patch.add("io.array", data=data)
    for number in NUMBERS:
        patch.connect(source["out"], patch.add("value.from_buffer", node_id=number, number=number)["x"])
    with Engine(patch, device) as engine:
        assert values(engine, "mean") == (0, 0)
        report = engine.step()
        for number, of in NUMBERS.items():
            wanted = float(of(data.astype("f8")))
            assert report.values[f"{number}.value"] == pytest.approx(wanted, rel=1e-12, abs=1e-9), number
            assert report.values[f"{number}.age"] == 1


def test_an_element_is_counted_from_both_ends(device: Device) -> None:
    """An index counts elements row by row; a negative one from the end; one beyond the ends gives the nearest."""
    patch = Patch()
    patch.connect(
        patch.add("io.array", data=np.arange(12, dtype=np.int32).reshape(3, 4) * 10)["out"],
        patch.add("value.from_buffer", node_id="value")["x"],
    )
    with Engine(patch, device) as engine:
        values(engine)
        for index, wanted in ((5, 50), (-1, 110), (-12, 0), (99, 110), (-99, 0)):
            patch.set("value", index=index)
            assert engine.step().update_level is UpdateLevel.HOT
            assert values(engine) == (wanted, 1)


def test_what_the_device_computes_drives_what_computes_it(device: Device) -> None:
    """A sum that drives its own operand grows by it each frame, and begins again after a reset."""
    patch = Patch()
    patch.connect(
        patch.add("io.array", data=np.ones(3, np.float32))["out"], patch.add("math.scale_offset", node_id="scale")["x"]
    )
    patch.connect(patch["scale"]["out"], patch.add("value.from_buffer", node_id="value", number="largest")["x"])
    patch.connect(patch["value"]["value"], patch["scale"]["offset"])
    with Engine(patch, device) as engine:
        for _ in range(2):
            assert [values(engine)[0] for _ in range(5)] == [0, 1, 2, 3, 4]
            np.testing.assert_array_equal(engine.read(patch["scale"]["out"]), [5, 5, 5])
            engine.post(Reset())


def test_a_saved_state_goes_on_with_the_number_on_its_way(device: Device) -> None:
    """Frames after a saved state have the values of a run that was not interrupted."""
    patch = Patch()
    patch.connect(
        patch.add("io.array", data=np.ones(3, np.float32))["out"], patch.add("math.scale_offset", node_id="scale")["x"]
    )
    patch.connect(patch["scale"]["out"], patch.add("value.from_buffer", node_id="value", number="largest")["x"])
    patch.connect(patch["value"]["value"], patch["scale"]["offset"])
    with Engine(patch, device) as engine, Engine(patch, device) as other:
        for _ in range(4):
            engine.step()
        other.core.put_state(engine.core.take_state())
        assert values(other) == values(engine) == (4, 1)


def test_a_number_that_is_not_finite_is_told(device: Device) -> None:
    """NaN is an error of the block; its value stays."""
    patch = Patch()
    patch.connect(
        patch.add("io.array", node_id="data", data=np.full(2, 3, np.float32))["out"],
        patch.add("value.from_buffer", node_id="value")["x"],
    )
    with Engine(patch, device) as engine:
        engine.step()
        engine.step()
        patch.set("data", data=np.full(2, np.nan, np.float32))
        engine.step()
        report = engine.step()
    assert [item.message for item in report.diagnostics] == ["element must be a finite number, got nan in frame 2"]
    assert report.values["value.value"] == 3


def test_frames_in_flight_give_older_values_with_their_age(late: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """While frames overlap, a value is that of the frame that its age says, at most four frames old."""
    monkeypatch.setattr(cuda_engine, "REPORT_INTERVAL_NS", 1 << 62)
    patch = Patch()
    patch.connect(
        patch.add("io.array", data=np.zeros(3, np.float32))["out"], patch.add("math.scale_offset", node_id="scale")["x"]
    )
    patch.connect(patch.add("value.lfo", node_id="frame")["value"], patch["scale"]["offset"])
    patch.connect(patch["scale"]["out"], patch.add("value.from_buffer", node_id="value")["x"])
    with Engine(patch, late, profiling=ProfilingLevel.NONE) as engine:
        engine.core.player.pacing = Pacing.free(overlap=True)
        engine.step()
        driven, ages = {0: 0.0}, set()
        for _ in range(20):
            frame = engine.core.clock.moment.frame
            engine.core.frame(free_running=True)
            found = engine.core.context.value_graph.snapshot()
            driven[frame] = found["frame.value"]
            ages.add(found["value.age"])
            assert found["value.value"] == np.float32(driven[frame - int(found["value.age"])])
    assert max(ages) <= 4
    assert max(ages) > 1 or late.info.name != "host"  # a GPU may be done with a frame before the next one asks
