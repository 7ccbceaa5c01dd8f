"""Meshes drawn with depth, light and shadow, compared with rays in f64, and surfaces made from heights."""

from typing import Any

import numpy as np
import pytest

from warploom import Engine, Patch
from warploom.engine.device.device import Device

VIEW: dict[str, Any] = {"width": 61, "height": 43, "spin": 0.0}


def drawn(device: Device, points: Any, faces: Any, colors: Any = None, normals: Any = None, **parameters: Any) -> Any:
    """Return the picture of a mesh."""
    patch = Patch()
    draw = patch.add("geometry.render_mesh", **(VIEW | parameters))
    for name, data in (("points", points), ("colors", colors), ("normals", normals)):
        if data is not None:
            full = np.ones((len(data), 4), np.float32)
            full[:, : data.shape[1]] = data
            array = patch.add("io.array", data=full.ravel())
            vectors = patch.add("buffer.reinterpret", dtype="float4")
            patch.connect(array["out"], vectors["x"])
            patch.connect(vectors["out"], draw[name])
    patch.connect(patch.add("io.array", data=faces.astype(np.int32))["out"], draw["faces"])
    with Engine(patch, device) as engine:
        assert not engine.step().diagnostics
        return engine.read(draw["image"])


class Rays:
    """The rays of a camera's pixels, as Render Mesh says where its camera is."""

    def __init__(
        self, orbit: float, elevation: float, distance: float, target: float, view: float, width: int, height: int
    ) -> None:
        turn, rise = np.radians(orbit), np.radians(elevation)
        forward = np.array([-np.cos(rise) * np.sin(turn), -np.sin(rise), -np.cos(rise) * np.cos(turn)])
        right = np.array([np.cos(turn), 0, -np.sin(turn)])
        focal = 0.5 * height / np.tan(np.radians(view / 2))
        y, x = np.mgrid[:height, :width] + 0.5
        aside, up = (x - width / 2) / focal, -(y - height / 2) / focal
        self.origin = np.array([0, target, 0]) - distance * forward
        self.ways = forward + aside[..., None] * right + up[..., None] * np.cross(right, forward)

    def hits(self, triangle: Any) -> tuple[Any, Any]:
        """Return the depth where each ray hits a triangle's plane, and the least share of a corner there."""
        a, b, c = triangle
        normal = np.cross(b - a, c - a)
        depth = ((a - self.origin) @ normal) / (self.ways @ normal)
        at = self.origin + depth[..., None] * self.ways
        sides = ((b, c), (c, a), (a, b))
        shares = [np.cross(q - p, at - p) @ normal / (normal @ normal) for p, q in sides]
        return depth, np.min(shares, axis=0)


def test_the_nearest_triangle_of_each_pixel_is_drawn(device: Device) -> None:
    """Each pixel has the colour of the triangle that its ray hits first, also of those that pass the camera."""
    rng = np.random.default_rng(5)
    triangles = rng.uniform(-1, 1, (60, 1, 3)) + rng.normal(0, 0.5, (60, 3, 3))
    triangles[:4] = [
        [[-9, h, -9], [9, h, -9], [0, h, 30]] for h in (-1.2, 1.4, -2.5, 3.0)
    ]  # through the camera's plane
    colors = rng.random((60, 3)).repeat(3, axis=0)
    faces = np.arange(180).reshape(60, 3)
    faces[::2] = faces[::2, ::-1]  # either side
    wrong = np.array([[0, 1, 180], [-1, 2, 3], [5, 5, 5]])  # points that are not there, and a triangle without area
    camera = {"orbit": 25.0, "elevation": 12.0, "distance": 3.0, "target": 0.25, "field_of_view": 50.0}
    level = np.tile([1.0, 0, 0, 0], (180, 1))  # the sky gives 3/4 of its light to what faces sideways
    points = triangles.reshape(-1, 3)
    look = {"lamp": 0.0, "sky": 4 / 3, "shadows": False, **camera}
    image = drawn(device, points, np.concatenate([faces, wrong]), colors, level, **look)
    rays = Rays(25.0, 12.0, 3.0, 0.25, 50.0, 61, 43)
    nearest, expected = np.full((43, 61), np.inf), np.zeros((43, 61, 4))
    unsure = np.zeros((43, 61), bool)
    for triangle, color in zip(triangles.astype(np.float32).astype(float), colors[::3], strict=True):
        depth, share = rays.hits(triangle)
        unsure |= (np.abs(share) < 2e-3) & (depth > 0) | (np.abs(depth - nearest) < 1e-3)
        found = (share > 0) & (depth > 0.01) & (depth < nearest)
        nearest[found], expected[found] = depth[found], [*color, 1]
    assert (~unsure).mean() > 0.8 and 0.3 < expected[..., 3].mean() < 1
    np.testing.assert_allclose(image[~unsure], expected[~unsure], atol=1e-5)


def test_triangles_leave_no_gaps(device: Device) -> None:
    """A plane that is cut into random triangles, and fills the picture, covers every pixel."""
    from scipy.spatial import Delaunay

    rng = np.random.default_rng(3)
    flat = np.concatenate([rng.uniform(-3, 3, (400, 2)), [[-9, -9], [9, -9], [-9, 9], [9, 9]]])
    points = np.stack([flat[:, 0], np.zeros(len(flat)), flat[:, 1]], axis=1)
    for elevation in (85.0, 30.0):
        image = drawn(device, points, Delaunay(flat).simplices, elevation=elevation, distance=3.0, field_of_view=30.0)
        assert (image[..., 3] == 1).all()


def test_the_lamp_throws_shadows(device: Device) -> None:
    """Ground is dark exactly where the way to the lamp is closed by a square above it, give or take soft edges."""
    ground = np.array([[-3, 0, -3], [3, 0, -3], [3, 0, 3], [-3, 0, 3]])
    square = np.array([[-0.4, 0.5, -0.4], [0.4, 0.5, -0.4], [0.4, 0.5, 0.4], [-0.4, 0.5, 0.4]])
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    camera = {"orbit": 20.0, "elevation": 50.0, "distance": 4.0, "target": 0.0, "field_of_view": 42.0}
    lamp = {"lamp_turn": 60.0, "lamp_elevation": 45.0, "reach": 3.0, "lamp": 1.0, "sky": 0.0, "shine": 0.0}
    image = drawn(device, np.concatenate([ground, square]), np.concatenate([faces, faces + 4]), **camera, **lamp)
    rays = Rays(20.0, 50.0, 4.0, 0.0, 42.0, 61, 43)
    depth, share = rays.hits(ground[:3])
    _, other = rays.hits(ground[[0, 2, 3]])
    at = rays.origin + depth[..., None] * rays.ways
    over = [rays.hits(square[corners])[1] for corners in ([0, 1, 2], [0, 2, 3])]
    is_ground = (np.maximum(share, other) > 0.001) & (np.maximum(*over) < -0.05)
    to_lamp = np.array([np.sin(np.radians(60.0)), 1, np.cos(np.radians(60.0))])  # both as high and as far
    above = at + 0.5 * to_lamp
    inside = np.maximum(np.abs(above[..., 0]), np.abs(above[..., 2])) - 0.4
    sure = is_ground & (np.abs(inside) > 0.03)
    assert (sure & (inside < 0)).sum() > 10
    expected = np.where(inside < 0, 0.0, np.sin(np.radians(45.0)))
    np.testing.assert_allclose(image[sure, 0], expected[sure], atol=1e-5)
    bright = drawn(
        device,
        np.concatenate([ground, square]),
        np.concatenate([faces, faces + 4]),
        **camera,
        **lamp | {"shadows": False},
    )
    np.testing.assert_allclose(bright[sure, 0], np.sin(np.radians(45.0)), atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (2, 2), (5, 3), (33, 31)])
def test_surfaces_of_heights(device: Device, shape: tuple[int, int]) -> None:
    """Points, slopes and triangles are numpy's; triangles look up, and a single row has none with an area."""
    heights = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    patch = Patch()
    surface = patch.add("geometry.surface", size=3.0, scale=0.5)
    patch.connect(patch.add("io.array", data=heights)["out"], surface["heights"])
    with Engine(patch, device) as engine:
        assert not engine.step().diagnostics
        points, normals, faces = (engine.read(surface[port]) for port in ("points", "normals", "faces"))
    step = 3.0 / max(max(shape) - 1, 1)
    z, x = np.indices(shape) - (np.array(shape).reshape(2, 1, 1) - 1) / 2
    wanted = np.stack([x * step, 0.5 * heights, z * step, np.ones(shape)], -1)
    np.testing.assert_allclose(points, wanted.reshape(-1, 4), atol=1e-6)
    rises = [np.gradient(0.5 * heights, axis=a) if shape[a] > 1 else np.zeros(shape) for a in (1, 0)]
    slope = np.stack([-rises[0], np.full(shape, step), -rises[1], np.zeros(shape)], -1).reshape(-1, 4)
    np.testing.assert_allclose(normals, slope / np.linalg.norm(slope, axis=1, keepdims=True), atol=1e-5)
    assert faces.shape == (max(2 * (shape[0] - 1) * (shape[1] - 1), 1), 3)
    if min(shape) == 1:
        assert not faces.any()
    else:
        a, b, c = (points[faces[:, k], :3].astype(float) for k in range(3))
        upward = np.cross(b - a, c - a)[:, 1]
        np.testing.assert_allclose(upward, step * step, rtol=1e-4)
        assert len(np.unique(np.sort(faces, axis=1), axis=0)) == len(faces)
