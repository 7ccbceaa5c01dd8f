"""Cloth, compared with numpy in f64, and by the laws that it obeys."""

from typing import Any

import numpy as np
import pytest

from warploom import Engine, Patch
from warploom.engine.device.device import Device

STEP = 1 / 60


def hangs(device: Device, frames: int, pinned: Any = None, **parameters: Any) -> tuple[Any, Any, Any]:
    """Return the points after each frame, [frames, rows, columns, 3], and the last normals and faces."""
    patch = Patch()
    cloth = patch.add("geometry.cloth", **parameters)
    if pinned is not None:
        patch.connect(patch.add("io.array", data=pinned.astype(np.float32))["out"], cloth["pinned"])
    found = []
    with Engine(patch, device, time_step_s=STEP) as engine:
        for _ in range(frames):
            assert not engine.step().diagnostics
            points = engine.read(cloth["points"]).view(np.float32)
            found.append(points.reshape(parameters["rows"], parameters["columns"], 4)[..., :3].astype(float))
        normals, faces = engine.read(cloth["normals"]).view(np.float32).reshape(-1, 4), engine.read(cloth["faces"])
    return np.array(found), normals, faces


def first_places(columns: int, rows: int, size: float, height: float, start: str) -> Any:
    """Return the points at which cloth begins."""
    spacing = size / (columns - 1)
    row, column = np.mgrid[:rows, :columns]
    x, down = (column - (columns - 1) / 2) * spacing, row * spacing
    middle = (row - (rows - 1) / 2) * spacing
    return np.stack([x, height - down, 0 * x] if start == "hanging" else [x, height + 0 * x, middle], -1)


def normals_of(at: Any) -> Any:
    """Return the normals of a grid of points."""
    wide = np.pad(at, ((1, 1), (1, 1), (0, 0)), mode="edge")
    across, along = wide[1:-1, 2:] - wide[1:-1, :-2], wide[2:, 1:-1] - wide[:-2, 1:-1]
    normal = np.cross(along, across)
    return normal / np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-30)


def stepped(at: Any, way: Any, held: Any, first: Any, p: dict[str, Any], step: float) -> tuple[Any, Any]:
    """Return positions and velocities after a step."""
    normal = normals_of(at)
    gust = ((np.array([p["wind_x"], 0, p["wind_z"]]) - way) * normal).sum(-1, keepdims=True) * min(p["air"] * step, 1)
    moved = at + step * (way + gust * normal - [0, step * p["gravity"], 0])
    guess = np.where(held[..., None], first, moved)
    rows, columns = held.shape
    spacing, change = p["size"] / (columns - 1), np.zeros_like(at)
    kinds = [((1, 0), 1.0), ((0, 1), 1.0), ((1, 1), p["shear"]), ((-1, 1), p["shear"])]
    kinds += [((2, 0), p["bend"]), ((0, 2), p["bend"])]
    for (dx, dy), share in kinds:
        for row in range(rows):
            for column in range(columns):
                there = row + dy, column + dx
                if not (0 <= there[0] < rows and 0 <= there[1] < columns):
                    continue
                gap = guess[there] - guess[row, column]
                far = np.linalg.norm(gap)
                pull = 0.35 * share * (far - spacing * np.hypot(dx, dy)) / far * gap
                change[row, column] += pull * (1 if held[there] else 0.5)
                change[there] -= pull * (1 if held[row, column] else 0.5)
    place = guess + np.where(held[..., None], 0, change)
    kept = 1 - p["damping"] * step
    return place, np.where(held[..., None], 0, (place - at) / step * kept)


@pytest.mark.parametrize("start", ["hanging", "lying"])
@pytest.mark.parametrize(("columns", "rows"), [(2, 2), (5, 3), (9, 6)])
def test_steps_are_numpys(device: Device, columns: int, rows: int, start: str) -> None:
    """Points after some frames are those of numpy; those that are held stay."""
    p: dict[str, Any] = {"size": 0.8, "shear": 0.6, "bend": 0.3, "gravity": 5.0, "wind_x": 2.0, "wind_z": -3.0}
    p |= {"air": 4.0, "damping": 0.5}
    pinned = np.zeros((rows, columns))
    pinned[rows // 2, columns // 2] = 1
    size: dict[str, Any] = {"columns": columns, "rows": rows, "start": start, "height": 1.2, "steps": 3}
    found, normals, faces = hangs(device, 3, pinned, pins="two corners", **size, **p)
    held = pinned > 0
    held[0, [0, -1]] = True
    first = at = first_places(columns, rows, 0.8, 1.2, start)
    way = np.zeros_like(at)
    for frame, points in enumerate(found):
        for step in range(3):
            p_now = p if frame or step else p | {"gravity": 0.0, "air": 0.0}  # the first step only places the points
            at, way = stepped(at, way, held, first, p_now, STEP / 3)
        np.testing.assert_allclose(points, at, atol=2e-5)
        np.testing.assert_allclose(points[held], first[held], atol=1e-6)
    np.testing.assert_allclose(normals[:, :3], normals_of(found[-1]).reshape(-1, 3), atol=1e-4)
    i = np.arange(rows * columns).reshape(rows, columns)
    upper = np.stack([i[:-1, :-1], i[1:, :-1], i[:-1, 1:]], -1)
    lower = np.stack([i[:-1, 1:], i[1:, :-1], i[1:, 1:]], -1)
    np.testing.assert_array_equal(faces, np.stack([upper, lower], 2).reshape(-1, 3))


def test_free_cloth_keeps_its_momentum_and_falls(device: Device) -> None:
    """Without air, the middle of free cloth falls like a stone, and is not moved aside by its creases."""
    free: dict[str, Any] = {"columns": 33, "rows": 31, "pins": "nothing", "air": 0.0, "damping": 0.0, "start": "lying"}
    found, *_ = hangs(device, 30, gravity=9.8, steps=8, height=0.0, **free)
    middle = found.mean((1, 2))
    t = (np.arange(1, 31) * 8 - 1) * STEP / 8  # the first step only places the points
    np.testing.assert_allclose(middle[:, 1], -9.8 / 2 * t * (t + STEP / 8), atol=2e-4)
    np.testing.assert_allclose(middle[:, [0, 2]], 0, atol=1e-5)


def test_energy_does_not_grow(device: Device) -> None:
    """The energy of hanging cloth falls while it swings, and it comes to hang below its corners."""
    sheet: dict[str, Any] = {"columns": 16, "rows": 16, "start": "lying", "size": 1.0, "height": 1.0, "air": 0.5}
    found, *_ = hangs(device, 240, steps=12, damping=0.5, pins="top edge", **sheet)
    ways = np.diff(found, axis=0) / STEP
    energy = (9.8 * found[1:, ..., 1] + (ways**2).sum(-1) / 2).mean((1, 2))
    assert energy.max() <= 9.8 * 1.0 + 0.05 and energy[-1] < 9.8 * 0.6
    lengths = np.linalg.norm(np.diff(found[-1], axis=0), axis=-1) * 15
    assert 0.95 < lengths.min() < lengths.max() < 1.15
    assert found[-1, -1, :, 1].max() < 0.05


def test_cloth_stays_out_of_the_ball_and_above_the_floor(device: Device) -> None:
    """Cloth that falls on a ball drapes over it, and its ends lie on the floor."""
    sheet: dict[str, Any] = {"columns": 24, "rows": 24, "start": "lying", "size": 1.6, "height": 0.9, "pins": "nothing"}
    ball: dict[str, Any] = {"ball_y": 0.4, "ball_size": 0.4, "floor": 0.0, "friction": 0.5}
    found, *_ = hangs(device, 90, steps=10, **sheet, **ball)
    far = np.linalg.norm(found - [0, 0.4, 0], axis=-1)
    assert far.min() > 0.399 and found[..., 1].min() >= 0
    assert found[-1, 12, 12, 1] > 0.79 and found[-1, 0, 0, 1] < 0.1
