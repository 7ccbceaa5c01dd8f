"""Trails of points, lines drawn by a camera, copies of meshes, and the ends of particles, compared with numpy."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.blocks.running import problems
from warploom import Engine, Patch
from warploom.engine.device.device import Device

VIEW: dict[str, Any] = {"width": 61, "height": 43, "spin": 0.0, "orbit": 0.0, "elevation": 0.0, "distance": 3.0}


def vectors(patch: Patch, array: Any) -> Any:
    """Return an output with vectors of four numbers, in an array whose last axis has these."""
    array = np.ascontiguousarray(array, np.float32)
    seen = patch.add("buffer.reinterpret", dtype="float4")
    patch.connect(patch.add("io.array", data=array.reshape(*array.shape[:-2], -1))["out"], seen["x"])
    return seen["out"]


def numbers(found: Any) -> Any:
    """Return vectors as an array whose last axis has their numbers, in f64."""
    return np.asarray(found).view(np.float32).reshape(*found.shape[: found.ndim - (found.dtype == np.float32)], 4) * 1.0


def drawn(device: Device, points: Any, colors: Any = None, edges: Any = None, **parameters: Any) -> Any:
    """Return the picture of lines."""
    patch = Patch()
    draw = patch.add("geometry.render_lines", **(VIEW | parameters))
    patch.connect(vectors(patch, points), draw["points"])
    if colors is not None:
        patch.connect(vectors(patch, colors), draw["colors"])
    if edges is not None:
        patch.connect(patch.add("io.array", data=np.asarray(edges, np.int32))["out"], draw["edges"])
    with Engine(patch, device) as engine:
        assert not engine.step().diagnostics
        return numbers(engine.read(draw["image"]))


def seen(points: Any) -> tuple[Any, Any]:
    """Return pixels and depths of points before the camera of VIEW, which looks along -z."""
    depth = 3.0 - points[..., 2]
    focal = 0.5 * 43 / np.tan(np.radians(21))
    return np.stack([61 / 2 + points[..., 0] * focal / depth, 43 / 2 - points[..., 1] * focal / depth], -1), depth


def test_trails_keep_the_last_places(device: Device) -> None:
    """Each column has the places of a point, the newest first, and tells where a line begins again."""
    rng = np.random.default_rng(2)
    frames = np.cumsum(rng.normal(0, 0.1, (7, 33, 3)), 0)
    frames[4:, 5] += 3.0  # a jump
    alive = np.ones((7, 33))
    alive[:3, 7], alive[2:4, 9] = 0, 0
    patch = Patch()
    trails = patch.add("geometry.trails", length=5, jump=1.0)
    data = patch.add("io.array", data=np.concatenate([frames, alive[..., None]], -1).astype(np.float32)[0].ravel())
    seen_as = patch.add("buffer.reinterpret", dtype="float4")
    patch.connect(data["out"], seen_as["x"])
    patch.connect(seen_as["out"], trails["points"])
    with Engine(patch, device) as engine:
        for frame in range(7):
            patch.set(data, data=np.concatenate([frames[frame], alive[frame, :, None]], -1).astype(np.float32).ravel())
            assert not engine.step().diagnostics
        found = numbers(engine.read(trails["lines"]))
    np.testing.assert_allclose(found[..., :3], frames[:1:-1], rtol=1e-6)
    expected = np.where(alive, np.where(np.roll(alive, 1, 0), 1, -1), 0)[:1:-1]
    expected[2, 5] = -1  # where it came to after the jump
    np.testing.assert_array_equal(found[..., 3], expected)


def test_a_line_of_light_is_as_bright_as_it_is_wide(device: Device) -> None:
    """The light over a line is its length times its width, at any angle, and joints are not brighter."""
    for angle in (0.1, 0.9, 1.3, 2.5):
        way = np.array([np.cos(angle), np.sin(angle), 0])
        points = np.linspace(-0.6, 0.6, 9)[:, None] * way
        points = np.concatenate([points, np.ones((9, 1))], 1)
        pixels, _ = seen(points[:, :3])
        length = np.linalg.norm(pixels[-1] - pixels[0])
        for width in (0.5, 1.0, 3.0):
            image = drawn(device, points, line_width=width)
            assert image[..., 0].sum() == pytest.approx(length * width, rel=0.04)
            assert image[..., :3].max() <= 1.001 and (image[..., 3] == 1).all()


def test_wires_cover_each_other_by_depth(device: Device) -> None:
    """Each pixel deep inside a wire has the colour of the nearest wire, and its edge covers as much as it should."""
    rng = np.random.default_rng(4)
    points = np.concatenate([rng.uniform(-1, 1, (2, 33, 3)), np.ones((2, 33, 1))], -1)
    colors = np.concatenate([rng.random((2, 33, 3)), np.ones((2, 33, 1))], -1)
    image = drawn(device, points, colors, blend="over", line_width=5.0)
    (pixels, depths), centre = seen(points[..., :3]), np.stack(np.mgrid[:43, :61][::-1], -1) + 0.5
    nearest, color, sure = np.full((43, 61), np.inf), np.zeros((43, 61, 3)), np.ones((43, 61), bool)
    for k in range(33):
        a, way = pixels[0, k], pixels[1, k] - pixels[0, k]
        share = np.clip((centre - a) @ way / (way @ way), 0, 1)
        far = np.linalg.norm(centre - a - share[..., None] * way, axis=-1)
        depth = 1 / ((1 - share) / depths[0, k] + share / depths[1, k])
        sure &= ((far < 1.7) | (far > 3.3)) & ~((np.abs(depth - nearest) < 0.05) & (far < 3.3))
        closer = (far < 2.5) & (depth < nearest)
        part = (share * depth / depths[1, k])[..., None]
        color = np.where(closer[..., None], (1 - part) * colors[0, k, :3] + part * colors[1, k, :3], color)
        nearest = np.where(closer, depth, nearest)
    covered = np.isfinite(nearest)
    assert (sure & covered).mean() > 0.05 and (sure & ~covered).mean() > 0.02
    np.testing.assert_allclose(image[sure & covered, 3], 1)
    np.testing.assert_allclose(image[sure & covered, :3], color[sure & covered], atol=0.02)
    assert not image[sure & ~covered].any()


def test_edges_join_points_and_fading_dims_strips(device: Device) -> None:
    """Edges draw what strips of the same points draw; wrong indices and ends are left out; a strip fades."""
    points = np.array([[-0.7, -0.3, 0, 1], [0.1, 0.5, 0.3, 1], [0.6, -0.4, -0.5, 1], [0, 0, 0, 0]])
    strip = drawn(device, points[:3])
    np.testing.assert_array_equal(drawn(device, points, edges=[[0, 1], [1, 2], [3, 0], [1, 3], [0, 4], [-1, 2]]), strip)
    np.testing.assert_array_equal(drawn(device, points[:1]), strip * [0, 0, 0, 1])
    faded = drawn(device, points[:3], fade=1.0)
    start, end = (seen(points[k, :3])[0].astype(int) for k in (0, 2))
    assert faded[start[1] - 1 : start[1] + 2, start[0] : start[0] + 3, 0].max() > 0.6
    assert faded[end[1] - 1 : end[1] + 2, end[0] - 2 : end[0] + 1, 0].max() < 0.2


def test_a_line_past_the_camera_is_cut_there(device: Device) -> None:
    """A line that begins behind the camera is drawn from the picture's edge, and one beside it is not drawn."""
    points = np.array([[0.0, -0.4, 5.0, 1], [0.0, 0.0, -5.0, 1]])
    image = drawn(device, points)
    assert image[..., 0].sum() > 10 and not image[:20, :, :3].any()
    assert not drawn(device, points + np.array([0, 0, 20, 0]))[..., :3].any()
    assert not drawn(device, np.full((4, 4), np.nan))[..., :3].any()


def test_edges_that_are_no_pairs_are_refused() -> None:
    """The message names the port and the shape."""
    patch = Patch()
    draw = patch.add("geometry.render_lines", **VIEW)
    patch.connect(vectors(patch, np.ones((3, 4))), draw["points"])
    patch.connect(patch.add("io.array", data=np.zeros((3, 3), np.int32))["out"], draw["edges"])
    (where, port, text), *_ = problems(patch)
    assert (where, port) == (draw.id, "edges") and "[3, 2]" in text, text


@pytest.mark.parametrize("count", [1, 31, 33])
def test_copies_are_turned_scaled_and_moved(device: Device, count: int) -> None:
    """Points, normals, colours and triangles of all copies are those of numpy; a place without a life has no size."""
    rng = np.random.default_rng(count)
    mesh = {name: rng.normal(size=(5, 4)) for name in ("points", "normals", "colors")}
    faces = np.array([[0, 1, 2], [2, 3, 4], [0, 5, -1]], np.int32)
    each = {name: rng.normal(size=(count, 4)) for name in ("places", "turns", "tints", "directions")}
    each["places"][:, 3] = np.arange(count) % 5 != 4
    each["turns"][::2] = 0
    sizes = rng.random(count).astype(np.float32)
    patch = Patch()
    node = patch.add("geometry.instances", scale=2.0)
    for name, array in (mesh | each).items():
        patch.connect(vectors(patch, array), node[name])
    patch.connect(patch.add("io.array", data=faces)["out"], node["faces"])
    patch.connect(patch.add("io.array", data=sizes)["out"], node["sizes"])
    names = ("points_out", "normals_out", "colors_out")
    with Engine(patch, device) as engine:
        assert not engine.step().diagnostics
        points, normals, colors = (numbers(engine.read(node[name])).reshape(count, 5, 4) for name in names)
        joined = engine.read(node["faces_out"]).reshape(count, 3, 3)
    for k in range(count):
        way = each["directions"][k, :3]
        axis = np.cross([0, 0, 1], way)
        angle = np.arctan2(np.linalg.norm(axis), way[2])
        by_way = Rotation.from_rotvec(axis / np.linalg.norm(axis) * angle)
        turn = by_way if k % 2 == 0 else Rotation.from_quat(each["turns"][k])
        size = 2 * sizes[k] * each["places"][k, 3]
        moved = turn.apply(mesh["points"][:, :3]) * size + each["places"][k, :3]
        np.testing.assert_allclose(points[k, :, :3], moved, atol=1e-5)
        np.testing.assert_allclose(normals[k, :, :3], turn.apply(mesh["normals"][:, :3]), atol=1e-5)
        np.testing.assert_allclose(colors[k], mesh["colors"] * each["tints"][k], atol=1e-5)
        whole = (faces >= 0) & (faces < 5)
        np.testing.assert_array_equal(joined[k], np.where(whole, faces + 5 * k, -1))


@pytest.mark.parametrize("by", ["speed", "height", "age", "distance"])
def test_particles_in_the_range_die(device: Device, by: str) -> None:
    """Exactly those in the range die and are no points any more; the others stay as they are."""
    limits = {"speed": (0.7, 5.0), "height": (1.2, 2.0), "age": (0.0, 1.0), "distance": (1.0, 1.8)}[by]
    patch = Patch()
    source, before = patch.add("particles.scatter", count=1023, speed=1.0), patch.add("buffer.copy")
    kill = patch.add("particles.kill", by=by, low=limits[0], high=limits[1])
    points = patch.add("particles.points_of")
    patch.connect(source["particles"], before["x"])
    patch.connect(source["particles"], kill["particles"])
    patch.connect(kill["out"], points["particles"])
    with Engine(patch, device) as engine:
        assert not engine.step().diagnostics
        old, new = engine.read(before["out"]), engine.read(kill["out"])
        places, ways = (numbers(engine.read(points[name])) for name in ("points", "velocities"))
    value = {
        "speed": np.linalg.norm(old["velocity"], axis=1),
        "height": old["position"][:, 1],
        "age": old["age"] / old["life"],
        "distance": np.linalg.norm(old["position"], axis=1),
    }[by]
    dies = (value >= limits[0]) & (value < limits[1])
    assert dies.any() and ((new["age"] >= new["life"]) == dies).all()
    np.testing.assert_array_equal(new[~dies], old[~dies])
    np.testing.assert_array_equal(places, np.c_[old["position"], ~dies])
    np.testing.assert_array_equal(ways, np.c_[old["velocity"], ~dies])
