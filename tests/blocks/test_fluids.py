"""Fluids on a grid, compared with numpy and scipy, and the laws that they obey."""

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from warploom import Engine, Patch
from warploom.engine.device.device import Device
from warploom.engine.patch.changes import PortRef

SIZES = [(1, 1), (1, 31), (32, 1), (7, 5), (33, 47)]


def noise(*shape: int, seed: int = 1) -> Any:
    """Return random numbers around 0."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def given(patch: Patch, data: Any) -> PortRef:
    """Return a port with an array; along a third axis lie the components of its elements."""
    array = patch.add("io.array", data=data.reshape(len(data), -1))
    if data.ndim == 2:
        return array["out"]
    vectors = patch.add("buffer.reinterpret", dtype=f"float{data.shape[2]}")
    patch.connect(array["out"], vectors["x"])
    return vectors["out"]


def apply(device: Device, block: str, inputs: dict[str, Any], **parameters: Any) -> Any:
    """Return the output of a block whose inputs are arrays."""
    patch = Patch()
    node = patch.add(block, **parameters)
    for name, data in inputs.items():
        patch.connect(given(patch, data), node[name])
    with Engine(patch, device) as engine:
        assert not engine.step().diagnostics
        return engine.read(node["out"])


def at(field: Any, y: Any, x: Any) -> Any:
    """Return a field between its points; beyond the border it is that of the border."""
    return ndimage.map_coordinates(field.astype(float), [y, x], order=1, mode="nearest")


def walled(velocity: Any) -> Any:
    """Return a velocity without the flow through the left and the upper wall."""
    velocity = velocity.copy()
    velocity[:, 0, 0] = velocity[0, :, 1] = 0
    return velocity


def outflow(velocity: Any) -> Any:
    """Return the divergence of a velocity between four walls."""
    closed = np.pad(walled(velocity).astype(float), ((0, 1), (0, 1), (0, 0)))
    return np.diff(closed[:-1, :, 0], axis=1) + np.diff(closed[:, :-1, 1], axis=0)


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("channels", [(), (4,)])
def test_advected_fields_come_from_upstream(device: Device, shape: tuple[int, int], channels: tuple[int, ...]) -> None:
    """Each cell has the field half the sum of the flows through its sides away, faded, for f32 and float4."""
    field, velocity = noise(*shape, *channels), 9 * noise(*shape, 2, seed=2)
    flow = np.pad(velocity.astype(float), ((0, 1), (0, 1), (0, 0)))
    y, x = np.mgrid[: shape[0], : shape[1]].astype(float)
    x -= 0.25 * (flow[:-1, :-1, 0] + flow[:-1, 1:, 0]) / 2
    y -= 0.25 * (flow[:-1, :-1, 1] + flow[1:, :-1, 1]) / 2
    planes = field.reshape(*shape, -1)
    wanted = np.stack([at(planes[..., c], y, x) for c in range(planes.shape[-1])], -1).reshape(field.shape)
    inputs = {"field": field, "velocity": velocity}
    found = apply(device, "field.advect", inputs, time_step=0.25, fade=2.0)
    np.testing.assert_allclose(found, wanted * np.exp(-0.5), atol=2e-5)


@pytest.mark.parametrize("shape", SIZES)
def test_velocities_move_themselves(device: Device, shape: tuple[int, int]) -> None:
    """Both components are moved by the flow at the sides where they lie, and walls stop what flows through them."""
    velocity = 9 * noise(*shape, 2)
    y, x = np.mgrid[: shape[0], : shape[1]].astype(float)
    u, v = velocity[..., 0], velocity[..., 1]
    across = sum(at(v, y + dy, x + dx) for dy in (0, 1) for dx in (-1, 0)) / 4
    along = sum(at(u, y + dy, x + dx) for dy in (-1, 0) for dx in (0, 1)) / 4
    wanted = np.stack([at(u, y - 0.25 * across, x - 0.25 * u), at(v, y - 0.25 * v, x - 0.25 * along)], -1) * np.exp(
        -0.5
    )
    found = apply(device, "field.advect_velocity", {"velocity": velocity}, time_step=0.25, drag=2.0)
    np.testing.assert_allclose(found, walled(wanted), atol=5e-5)


@pytest.mark.parametrize("shape", SIZES)
def test_divergence_and_gradient(device: Device, shape: tuple[int, int]) -> None:
    """The divergence is the flow out of each cell, and all of it is 0: walls let nothing through."""
    velocity, pressure = noise(*shape, 2), noise(*shape, seed=3)
    divergence = apply(device, "field.divergence", {"velocity": velocity})
    np.testing.assert_allclose(divergence, outflow(velocity), atol=1e-5)
    assert abs(divergence.sum(dtype=float)) < 1e-4
    slope = np.stack([np.diff(pressure, axis=a, prepend=0) for a in (1, 0)], -1)
    inputs = {"velocity": velocity, "pressure": pressure}
    found = apply(device, "field.subtract_gradient", inputs)
    np.testing.assert_allclose(found, walled(velocity - slope), atol=1e-6)


def relaxed(pressure: Any, divergence: Any, sweeps: int, over: float) -> tuple[Any, float]:
    """Return the pressure after red-black sweeps, and the largest change of the last one."""
    p, (y, x) = pressure.astype(float), np.indices(pressure.shape)
    sides = np.pad(np.ones(p.shape), 1)
    open_sides = sides[1:-1, :-2] + sides[1:-1, 2:] + sides[:-2, 1:-1] + sides[2:, 1:-1]
    for _ in range(sweeps):
        change = 0.0
        for odd in (0, 1):
            q = np.pad(p, 1, mode="edge")
            around = q[1:-1, :-2] + q[1:-1, 2:] + q[:-2, 1:-1] + q[2:, 1:-1]
            step = over * (around - 4 * p - divergence) / np.maximum(open_sides, 1)
            step[((x + y) % 2 != odd) | (open_sides == 0)] = 0
            p, change = p + step, max(change, abs(step).max())
    return p, change


@pytest.mark.parametrize("shape", SIZES)
def test_pressure_steps_are_red_black_sweeps(device: Device, shape: tuple[int, int]) -> None:
    """Pressure and change equal numpy's, also for a single cell, which has no neighbour to give to."""
    divergence = noise(*shape)
    patch = Patch()
    state = patch.add("buffer.state", shape=f"{shape[0]}, {shape[1]}")
    step = patch.add("field.pressure_step", sweeps=3, over=1.5)
    patch.connect(state["out"], step["pressure"])
    patch.connect(patch.add("io.array", data=divergence)["out"], step["divergence"])
    with Engine(patch, device) as engine:
        for frames in (1, 2):
            assert not engine.step().diagnostics
            wanted, change = relaxed(np.zeros(shape), divergence, 3 * frames, 1.5)
            np.testing.assert_allclose(engine.read(step["out"]), wanted, atol=2e-5)
            np.testing.assert_allclose(engine.read(step["change"]), [change], atol=2e-5)


def test_a_change_that_is_no_number(device: Device) -> None:
    """The change of a pressure with a NaN is a NaN, so that no loop takes it for converged."""
    divergence = noise(5, 6)
    divergence[2, 3] = np.nan
    inputs = {"pressure": np.zeros((5, 6), np.float32), "divergence": divergence}
    patch = Patch()
    step = patch.add("field.pressure_step")
    for name, data in inputs.items():
        copy = patch.add("buffer.copy")
        patch.connect(patch.add("io.array", data=data)["out"], copy["x"])
        patch.connect(copy["out"], step[name])
    with Engine(patch, device) as engine:
        engine.step()
        assert np.isnan(engine.read(step["change"])).all()


def test_a_converged_pressure_takes_all_divergence_away(device: Device) -> None:
    """A While repeats the step until it has converged; then nothing flows into a cell that does not flow out."""
    velocity = noise(23, 37, 2)
    patch = Patch()
    divergence, state = patch.add("field.divergence"), patch.add("buffer.state", shape="23, 37")
    going = patch.add("buffer.constant", dtype="boolean", value=1.0)
    loop = patch.add("control.while", limit=1000)
    step = patch.add("field.pressure_step", region=loop)
    wanting = patch.add("math.compare", region=loop, operation="greater", value=1e-5)
    again = patch.add("buffer.assign", region=loop)
    rest, left = patch.add("field.subtract_gradient"), patch.add("field.divergence")
    for source, target in (
        (given(patch, velocity), divergence["velocity"]),
        (going["out"], loop["condition"]),
        (state["out"], step["pressure"]),
        (divergence["out"], step["divergence"]),
        (step["change"], wanting["x"]),
        (going["out"], again["target"]),
        (wanting["out"], again["value"]),
        (given(patch, velocity), rest["velocity"]),
        (step["out"], rest["pressure"]),
        (rest["out"], left["velocity"]),
    ):
        patch.connect(source, target)
    with Engine(patch, device) as engine:
        assert not engine.step().diagnostics
        assert np.abs(engine.read(divergence["out"])).max() > 1
        assert np.abs(engine.read(left["out"])).max() < 1e-4
        calm = engine.read(rest["out"]).astype(float)
    assert (calm**2).sum() < (walled(velocity).astype(float) ** 2).sum()  # a projection never adds energy
