"""Renders the sample photograph, `resources/media/still_life.jpg`: fruit and a vase on a table, by path tracing.

    python tools/make_still_life.py [--samples 72] [--width 960] [--out FILE]

Everything in the picture is an ellipsoid or a plane, lit by one window and a faint room.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

Array = np.ndarray[Any, Any]
OUT = Path(__file__).parents[1] / "resources" / "media" / "still_life.jpg"
EPSILON = 1e-3
BOUNCES = 3
WINDOW_CENTER = np.array([-3.2, 3.4, 1.6], np.float32)
WINDOW_ACROSS = np.array([0.45, 0.0, 0.9], np.float32)
WINDOW_UP = np.array([0.35, 0.8, -0.2], np.float32)
WINDOW_LIGHT = np.array([34.0, 31.0, 27.0], np.float32)
ROOM_LIGHT = np.array([0.055, 0.065, 0.085], np.float32)
WALL_Z = -2.6


@dataclass(frozen=True)
class Ellipsoid:
    """A body on the table: centre, half axes, linear colour, gloss (reflectance seen from the front), kind of skin."""

    center: tuple[float, float, float]
    axes: tuple[float, float, float]
    color: tuple[float, float, float]
    gloss: float = 0.04
    bumps: float = 0.0
    blush: tuple[float, float, float] | None = None


SCENE = (
    Ellipsoid((-0.95, 0.36, 0.10), (0.37, 0.36, 0.37), (0.80, 0.22, 0.012), bumps=0.10),
    Ellipsoid((-0.28, 0.34, 0.55), (0.35, 0.34, 0.35), (0.84, 0.27, 0.016), bumps=0.10),
    Ellipsoid((0.50, 0.33, 0.72), (0.34, 0.33, 0.34), (0.36, 0.52, 0.05), gloss=0.06, blush=(0.62, 0.05, 0.03)),
    Ellipsoid((1.22, 0.24, 0.95), (0.38, 0.24, 0.26), (0.78, 0.66, 0.05), bumps=0.07),
    Ellipsoid((-0.62, 0.17, 1.20), (0.17, 0.17, 0.17), (0.13, 0.02, 0.09), gloss=0.05),
    Ellipsoid((-0.28, 0.16, 1.36), (0.16, 0.16, 0.16), (0.16, 0.02, 0.07), gloss=0.05),
    Ellipsoid((0.10, 0.15, 1.50), (0.19, 0.15, 0.15), (0.11, 0.02, 0.11), gloss=0.05),
    Ellipsoid((0.42, 0.72, -0.35), (0.58, 0.74, 0.58), (0.05, 0.17, 0.26), gloss=0.07),
    Ellipsoid((0.42, 1.50, -0.35), (0.19, 0.42, 0.19), (0.05, 0.17, 0.26), gloss=0.07),
    Ellipsoid((0.42, 1.86, -0.35), (0.27, 0.06, 0.27), (0.05, 0.17, 0.26), gloss=0.07),
    Ellipsoid((1.45, 0.42, -0.15), (0.43, 0.42, 0.43), (0.70, 0.64, 0.55), gloss=0.05),
)


def main() -> None:
    """Render and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=72, help="light paths for each pixel")
    parser.add_argument("--width", type=int, default=720, help="pixels; the height is two thirds of it")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    light = render(options.width, options.width * 2 // 3, options.samples)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(develop(light)).save(options.out, quality=90)


def render(width: int, height: int, samples: int) -> Array:
    """Return linear light, shape (height, width, 3)."""
    random = np.random.default_rng(7)
    total = np.zeros((height * width, 3), np.float32)
    for _ in range(samples):
        origin, direction = camera_rays(width, height, random)
        # A rare very bright path would be a white speck in the picture.
        total += np.minimum(trace(origin, direction, random), 3.0)
    return (total / samples).reshape(height, width, 3)


def camera_rays(width: int, height: int, random: np.random.Generator) -> tuple[Array, Array]:
    """One ray a pixel, through a random point of the pixel and of the lens, which is in focus on the fruit."""
    eye, target = np.array([0.25, 1.75, 5.4], np.float32), np.array([0.2, 0.62, 0.3], np.float32)
    forward = unit(target - eye)
    right = unit(np.cross(forward, [0, 1, 0]).astype(np.float32))
    up = np.cross(right, forward)
    y, x = np.mgrid[0:height, 0:width].reshape(2, -1).astype(np.float32)
    x += random.random(x.size, np.float32)
    y += random.random(y.size, np.float32)
    focal = 1.75 * height
    direction = unit(forward + ((x - width / 2) / focal)[:, None] * right - ((y - height / 2) / focal)[:, None] * up)
    turn, reach = random.random((2, x.size), np.float32)
    radius = 0.035 * np.sqrt(reach)
    lens = (radius * np.cos(2 * np.pi * turn))[:, None] * right + (radius * np.sin(2 * np.pi * turn))[:, None] * up
    focus = eye + direction * (4.75 / (direction @ forward))[:, None]
    origin = (eye + lens).astype(np.float32)
    return origin, unit(focus - origin).astype(np.float32)


def trace(origin: Array, direction: Array, random: np.random.Generator) -> Array:
    """Follow one path for each ray: at each surface, light from the window, then a bounce, mirrored or diffuse."""
    light = np.zeros_like(origin)
    alive = np.arange(len(origin))
    carried = np.ones_like(origin)
    mirrored = np.zeros(len(origin), bool)
    for _ in range(BOUNCES):
        distance, body = intersect(origin, direction)
        lamp = window_distance(origin, direction)
        sees_lamp = (lamp < distance) & mirrored  # diffuse paths got the window's light by sampling it
        light[alive[sees_lamp]] += carried[sees_lamp] * (WINDOW_LIGHT * 0.35)
        hit = np.isfinite(distance) & ~sees_lamp
        light[alive[~hit & ~sees_lamp]] += carried[~hit & ~sees_lamp] * ROOM_LIGHT
        alive, carried, direction = alive[hit], carried[hit], direction[hit]
        point = origin[hit] + direction * distance[hit][:, None]
        color, normal, gloss = surface(point, body[hit], direction)
        facing = np.clip(-(normal * direction).sum(1), 0, 1)
        mirrored = random.random(len(alive), np.float32) < gloss + (1 - gloss) * (1 - facing) ** 5
        start = point + normal * EPSILON
        carried = np.where(mirrored[:, None], carried, carried * color)
        light[alive] += np.where(mirrored[:, None], 0, carried * from_window(start, normal, random))
        reflected = direction + 2 * facing[:, None] * normal
        scatter = np.asarray(random.standard_normal(normal.shape, np.float32))
        diffuse = unit(normal + unit(scatter) * 0.999)
        origin, direction = start, np.where(mirrored[:, None], reflected, diffuse).astype(np.float32)
    return light


def intersect(origin: Array, direction: Array) -> tuple[Array, np.ndarray[Any, Any]]:
    """Return the distance to the nearest surface and its number: bodies first, then table and wall."""
    nearest = np.full(len(origin), np.inf, np.float32)
    body = np.zeros(len(origin), np.int32)
    for index, shape in enumerate(SCENE):
        axes = np.array(shape.axes, np.float32)
        o, d = (origin - np.array(shape.center, np.float32)) / axes, direction / axes
        a, b, c = (d * d).sum(1), (o * d).sum(1), (o * o).sum(1) - 1
        root = np.sqrt(np.maximum(b * b - a * c, 0))
        t = (-b - root) / a
        found = (b * b > a * c) & (t > EPSILON) & (t < nearest)
        nearest[found], body[found] = t[found], index
    for offset, axis, level in ((0, 1, 0.0), (1, 2, WALL_Z)):
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (level - origin[:, axis]) / direction[:, axis]
        found = (t > EPSILON) & (t < nearest)
        nearest[found], body[found] = t[found], len(SCENE) + offset
    return nearest, body


def surface(point: Array, body: np.ndarray[Any, Any], direction: Array) -> tuple[Array, Array, Array]:
    """Return colour, normal and gloss where rays met their bodies."""
    color, normal = np.zeros_like(point), np.zeros_like(point)
    gloss = np.full(len(point), 0.03, np.float32)
    for index, shape in enumerate(SCENE):
        on = body == index
        local = (point[on] - np.array(shape.center, np.float32)) / np.array(shape.axes, np.float32)
        skin = np.array(shape.color, np.float32) * (0.9 + 0.2 * noise(local * 3.0 + index))[:, None]
        if shape.blush is not None:
            share = np.clip(noise(local * 1.5 + 4) * 2.2 - 0.75 + 0.4 * local[:, 0], 0, 1)[:, None]
            streaks = (0.75 + 0.5 * noise(local * [14, 2, 14]))[:, None]
            skin = skin * (1 - share) + np.array(shape.blush, np.float32) * share * streaks
        outward = local / np.array(shape.axes, np.float32)
        if shape.bumps:
            pores = [noise(local * 26.0 + 9.7 * k) - 0.5 for k in range(3)]
            outward = unit(outward) + shape.bumps * np.stack(pores, 1)
        color[on], normal[on], gloss[on] = skin, unit(outward), shape.gloss
    table, wall = body == len(SCENE), body == len(SCENE) + 1
    color[table], normal[table], gloss[table] = wood(point[table]), [0, 1, 0], 0.035
    plaster = 0.85 + 0.3 * noise(point[wall] * 1.3) * noise(point[wall] * 7.0 + 3)
    color[wall], normal[wall], gloss[wall] = np.array([0.20, 0.19, 0.15]) * plaster[:, None], [0, 0, 1], 0.0
    backwards = (normal * direction).sum(1) > 0
    normal[backwards] = -normal[backwards]
    return color, normal.astype(np.float32), gloss


def wood(point: Array) -> Array:
    """Boards along x, each with its own shade, with grain and dark joints."""
    board = np.floor(point[:, 2] / 0.62)
    along = np.stack([point[:, 0] * 0.7 + board * 5.1, point[:, 2] * 9.0, board], 1)
    rings = 0.5 + 0.5 * np.sin(26.0 * noise(along * [1.0, 0.5, 1.0]) + point[:, 2] * 30.0)
    fine = noise(along * [6.0, 7.0, 1.0])
    joint = np.clip(np.abs((point[:, 2] / 0.62) % 1.0 - 0.5) * 60.0 - 29.2, 0, 1)
    shade = (0.62 + 0.22 * rings + 0.3 * fine + 0.13 * np.sin(board * 7.3)) * (1 - 0.75 * joint)
    return (np.array([0.30, 0.15, 0.065]) * shade[:, None]).astype(np.float32)


def from_window(point: Array, normal: Array, random: np.random.Generator) -> Array:
    """Return the light that a random point of the window sends here, where nothing is in between."""
    u, v = (random.random((2, len(point), 1), np.float32) - 0.5) * 2
    toward = WINDOW_CENTER + u * WINDOW_ACROSS + v * WINDOW_UP - point
    distance = np.linalg.norm(toward, axis=1)
    direction = (toward / distance[:, None]).astype(np.float32)
    cosine = np.clip((direction * normal).sum(1), 0, None)
    lamp_cosine = np.abs(direction @ window_normal())
    area = 4 * np.linalg.norm(np.cross(WINDOW_ACROSS, WINDOW_UP))
    blocked = np.ones(len(point), bool)
    lit = cosine > 0
    blocked[lit] = intersect(point[lit], direction[lit])[0] < distance[lit]
    strength = np.where(blocked, 0, cosine * lamp_cosine * area / (np.pi * distance**2))
    return (strength[:, None] * WINDOW_LIGHT).astype(np.float32)


def window_normal() -> Array:
    """Return the direction that the window faces."""
    return unit(np.cross(WINDOW_ACROSS, WINDOW_UP).astype(np.float32))


def window_distance(origin: Array, direction: Array) -> Array:
    """Return the distance to the window along each ray, infinite where it misses."""
    normal = window_normal()
    with np.errstate(divide="ignore", invalid="ignore"):
        t = ((WINDOW_CENTER - origin) @ normal) / (direction @ normal)
        offset = origin + direction * t[:, None] - WINDOW_CENTER
        u = (offset @ WINDOW_ACROSS) / (WINDOW_ACROSS @ WINDOW_ACROSS)
        v = (offset @ WINDOW_UP) / (WINDOW_UP @ WINDOW_UP)
        return np.where((t > 0) & (np.abs(u) < 1) & (np.abs(v) < 1), t, np.inf).astype(np.float32)


def noise(p: Array) -> Array:
    """Return smooth noise in 0..1: hashed values on whole coordinates, joined by cubic curves."""
    base = np.floor(p)
    t = p - base
    t = t * t * (3 - 2 * t)
    corner = base.astype(np.int64)
    result = np.zeros(len(p))
    for dx in (0, 1):
        for dy in (0, 1):
            for dz in (0, 1):
                key = (corner[:, 0] + dx) * 73856093 ^ (corner[:, 1] + dy) * 19349663 ^ (corner[:, 2] + dz) * 83492791
                key = (key ^ key >> 13) * 1274126177 & 0x7FFFFFFF
                value = ((key ^ key >> 16) & 0xFFFF) / 65535.0
                weight = np.ones(len(p))
                for axis, upper in enumerate((dx, dy, dz)):
                    weight *= t[:, axis] if upper else 1 - t[:, axis]
                result += weight * value
    return result.astype(np.float32)


def unit(vector: Array) -> Array:
    """Return vectors of length one."""
    lengths: Array = np.linalg.norm(vector, axis=-1, keepdims=True)
    return vector / lengths


def develop(light: Array) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return 8-bit sRGB: exposure, a film curve, darker corners, and a little grain."""
    height, width, _ = light.shape
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    light = light * (1.2 / (1 + 0.25 * (x * x + y * y)))[..., None]
    film = 1 - np.exp(-1.25 * light)
    srgb = np.where(film <= 0.0031308, 12.92 * film, 1.055 * np.maximum(film, 1e-8) ** (1 / 2.4) - 0.055)
    grain = np.random.default_rng(3).normal(0, 0.006, (height, width, 1))
    return (np.clip(srgb + grain, 0, 1) * 255 + 0.5).astype(np.uint8)


if __name__ == "__main__":
    main()
