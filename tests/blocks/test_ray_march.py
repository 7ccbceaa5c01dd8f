"""Scenes of signed distances, compared with the rays of a ball and a plane in f64."""

from typing import Any

import numpy as np
import pytest

from tests.blocks.running import problems
from tests.blocks.test_meshes import Rays
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.device.device import Device

VIEW: dict[str, Any] = {"width": 61, "height": 43, "orbit": 20.0, "elevation": 20.0, "distance": 4.0, "target": 0.4}
LIGHT: dict[str, Any] = {"sky": 0.3, "lamp": 1.0, "shine": 0.0, "corners": 0.0, "softness": 0.0}
LAMP = np.array([np.cos(np.radians(40)) * np.sin(np.radians(60)), np.sin(np.radians(40)), 0])
LAMP[2] = np.cos(np.radians(40)) * np.cos(np.radians(60))
BALL, RADIUS = np.array([0.2, 0.6, 0.0]), 0.5
CODE = """
float scene(float3 p, float time,
    float radius,  // [0, 2] = 0.5 m, radius of the ball
    float ground   // [-1, 1] = 0 m
)
{
    return fminf(sd_sphere(p - float3{0.2f, 0.6f, 0.0f}, radius), p.y - ground);
}
"""


def drawn(device: Device, code: str, **parameters: Any) -> Any:
    """Return the picture of a scene."""
    patch = Patch()
    node = patch.add("geometry.ray_march", code=code)
    patch.set(node, **(VIEW | LIGHT | parameters))
    with Engine(patch, device) as engine:
        assert not engine.step().diagnostics
        return engine.read(node["image"]).astype(float)


def ball_hit(origin: Any, ways: Any) -> Any:
    """Return how far rays go to the ball, infinite for those that miss it, and how near they pass its middle."""
    ways = ways / np.linalg.norm(ways, axis=-1, keepdims=True)
    middle = ((BALL - origin) * ways).sum(-1)
    square = ((BALL - origin) ** 2).sum(-1) - middle**2
    way = middle - np.sqrt(np.maximum(RADIUS**2 - square, 0))
    return np.where((square < RADIUS**2) & (middle > 0), way, np.inf), np.sqrt(square)


def test_a_ball_on_a_plane_is_lit_and_throws_a_shadow(device: Device) -> None:
    """Each pixel has the light that the closed forms of rays, normals and shadow give, but at edges."""
    image = drawn(device, CODE)
    rays = Rays(20, 20, 4, 0.4, 42, 61, 43)
    ways = rays.ways / np.linalg.norm(rays.ways, axis=-1, keepdims=True)
    to_ball, near = ball_hit(rays.origin, ways)
    to_plane = np.where(ways[..., 1] < 0, -rays.origin[1] / np.minimum(ways[..., 1], -1e-9), np.inf)
    way = np.minimum(to_ball, to_plane)
    hit, is_ball = way < 40, to_ball < to_plane
    place = rays.origin + np.where(hit, way, 1)[..., None] * ways
    normal = np.where(is_ball[..., None], (place - BALL) / RADIUS, [0, 1, 0])
    facing = np.maximum(normal @ LAMP, 0)
    shadow, passes = ball_hit(place + 1e-3 * normal, np.broadcast_to(LAMP, place.shape))
    open_ = np.where(is_ball, facing > 0, ~np.isfinite(shadow))
    light = 0.3 * (0.75 + 0.25 * normal[..., 1]) + open_ * facing
    sure = (np.abs(near - RADIUS) > 0.03) & (is_ball | (np.abs(passes - RADIUS) > 0.04)) & (np.abs(way - 40) > 5)
    sure &= ~is_ball | (np.abs(normal @ LAMP) > 0.05)
    assert sure.mean() > 0.7 and (sure & hit & ~open_ & ~is_ball).sum() > 20
    np.testing.assert_array_equal(image[sure, 3], hit[sure])
    expected = (light * hit)[..., None] * [0.8, 0.7, 0.6]
    np.testing.assert_allclose(image[sure, :3], expected[sure], atol=0.02)


def test_corners_are_darker_and_soft_shadows_have_an_edge(device: Device) -> None:
    """Shade in corners only takes sky away, and there is more between light and dark with a larger lamp."""
    open_, shaded = (drawn(device, CODE, corners=reach, lamp=0.0) for reach in (0.0, 0.6))
    less = (open_ - shaded)[..., 0]
    assert less.min() > -1e-6 and less.max() > 0.05 and np.median(less) < 0.02
    hard, soft = (drawn(device, CODE, softness=size, sky=0.0)[..., 0] for size in (0.0, 0.3))
    assert (np.abs(soft - hard) > 0.02).mean() > 0.02 and (soft <= hard + 1e-4).mean() > 0.97


def test_surfaces_are_painted_and_edges_smoothed(device: Device) -> None:
    """`paint` gives the colour of each place; with more samples, pixels of an edge are covered in part."""
    code = "float scene(float3 p, float time) { return sd_sphere(p - float3{0.0f, 0.4f, 0.0f}, 0.8f); }\n"
    code += (
        "float3 paint(float3 p, float3 normal, float time) { return p.y > 0.4f ? float3{1, 0, 0} : float3{0, 0, 1}; }"
    )
    one, four = (drawn(device, code, samples=count, elevation=0.0) for count in (1, 4))
    assert set(np.unique(one[..., 3])) == {0, 1} and len(np.unique(four[..., 3])) > 5
    assert (one[:21, :, 2] == 0).all() and (one[22:, :, 0] == 0).all() and one[:21, :, 0].max() > 0.5
    radius = np.degrees(np.arcsin(0.8 / 4))  # the ball covers a disc of this angle
    area = np.pi * (0.5 * 43 / np.tan(np.radians(21)) * np.tan(np.radians(radius))) ** 2
    assert four[..., 3].sum() == pytest.approx(area, rel=0.01)


def test_parameters_of_the_scene_are_sliders(device: Device) -> None:
    """A parameter has the range, the default and the help of its comment, and a change costs a write."""
    patch = Patch()
    node = patch.add("geometry.ray_march", code=CODE)
    patch.set(node, **VIEW)
    block = patch.block_type(node.id)
    assert block is not None
    radius = block.parameters["radius"]
    assert (radius.minimum, radius.maximum, radius.default, radius.unit) == (0, 2, 0.5, "m")
    assert radius.doc == "Radius of the ball"
    with Engine(patch, device) as engine:
        assert not engine.step().diagnostics
        before = engine.read(node["image"])
        patch.set(node, radius=1.0)
        assert engine.step().update_level is UpdateLevel.HOT
        assert np.abs(engine.read(node["image"]) - before).max() > 0.1


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("", "code must have a function float scene(float3 p, float time, ...)"),
        ("float scene(float3 p) { return p.y; }", "code must have a function float scene"),
        ("float scene(float3 p, float time, int) { return p.y; }", "a name for each parameter"),
        ("float scene(float3 p, float time)\n{\n    return q.y;\n}", "q"),
    ],
)
def test_a_mistake_is_shown_at_its_line(code: str, text: str) -> None:
    """The message says what is wrong; the compiler's has the line of the person's code."""
    patch = Patch()
    patch.add("geometry.ray_march", code=code)
    with Engine(patch, device="host") as engine:
        (found, *_) = engine.step().diagnostics
    assert text in found.message
    if "q.y" in code:
        assert found.line == 3, found
    assert problems(patch)
