"""Points: places in space become dots of a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from warploom.engine.types import Array

#: The distance of the eye from the centre, in radii of the points.
_DISTANCE = 3.0


@dataclass(frozen=True)
class Camera:
    """Looks at a centre from a direction; `radius` is what fits into the smaller side of the picture.

    Angles are in radians. `shift` moves the picture, in shares of its smaller side.
    """

    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 1.0
    yaw: float = 0.6
    pitch: float = 0.4
    zoom: float = 1.0
    shift: tuple[float, float] = (0.0, 0.0)
    is_flat: bool = False

    @classmethod
    def fitting(cls, points: Array, *, is_flat: bool) -> Camera:
        """Return a camera that sees all points but the farthest hundredth."""
        if not len(points):
            return cls(is_flat=is_flat)
        low, high = np.percentile(points, 0.5, axis=0), np.percentile(points, 99.5, axis=0)
        middle = [*((low + high) / 2), 0.0][:3]
        radius = float(np.linalg.norm(high - low) / 2) or 1.0
        x, y, z = (float(each) for each in middle)
        camera = cls((x, y, z), radius, is_flat=is_flat)
        return replace(camera, yaw=0.0, pitch=0.0) if is_flat else camera

    def orbited(self, across: float, down: float) -> Camera:
        """Return the camera after a drag, in shares of the picture's side."""
        pitch = min(max(self.pitch + math.pi * down, -math.pi / 2), math.pi / 2)
        return replace(self, yaw=self.yaw + math.pi * across, pitch=pitch)

    def panned(self, across: float, down: float) -> Camera:
        """Return the camera after a drag that moves the picture."""
        return replace(self, shift=(self.shift[0] + across, self.shift[1] + down))

    def zoomed(self, factor: float) -> Camera:
        """Return a camera that shows everything larger."""
        return replace(self, zoom=min(max(self.zoom * factor, 1e-3), 1e4))

    def matrix(self) -> Array:
        """Return the rotation whose rows point right, up and to the eye."""
        cy, sy, cp, sp = math.cos(self.yaw), math.sin(self.yaw), math.cos(self.pitch), math.sin(self.pitch)
        return np.array([[cy, 0, sy], [sy * sp, cp, -cy * sp], [-sy * cp, sp, cy * cp]])

    def directions(self) -> list[tuple[float, float]]:
        """Return the directions of the axes in the picture, right and up."""
        matrix = self.matrix()
        return [(float(matrix[0, axis]), float(matrix[1, axis])) for axis in range(3)]


def project(points: Array, camera: Camera, width: int, height: int) -> Array:
    """Return places in a picture, (count, 2) as x and y in pixels; points behind the eye are left out."""
    if points.shape[1] == 2:
        points = np.concatenate([points, np.zeros((len(points), 1), points.dtype)], 1)
    turned = ((points - np.array(camera.centre, np.float32)) / np.float32(camera.radius)) @ camera.matrix().T
    side = min(width, height)
    scale = np.full(len(turned), 0.45 * side * camera.zoom)
    if not camera.is_flat:
        depth = _DISTANCE - turned[:, 2]
        turned, depth = turned[depth > 0.05], depth[depth > 0.05]
        scale = 0.45 * side * camera.zoom * _DISTANCE / depth
    x = width / 2 + camera.shift[0] * side + turned[:, 0] * scale
    y = height / 2 + camera.shift[1] * side - turned[:, 1] * scale
    return np.stack([x, y], 1)


def dots_of(places: Array, width: int, height: int, colours: Sequence[tuple[int, int, int]]) -> Array:
    """Return a picture, (height, width, 4) of uint8: from the ground to the ink, and to the brightest for many dots."""
    ground, ink, bright = (np.array(colour, np.float32) for colour in colours)
    counts = np.zeros(width * height, np.int64)
    with np.errstate(invalid="ignore"):
        inside = (places[:, 0] >= 0) & (places[:, 0] < width - 1) & (places[:, 1] >= 0) & (places[:, 1] < height - 1)
    x, y = places[inside].astype(np.int64).T if inside.any() else (np.zeros(0, np.int64),) * 2
    size = 2 if len(x) < 50_000 else 1
    for across in range(size):
        for down in range(size):
            counts += np.bincount((y + down) * width + x + across, minlength=width * height)
    table = np.empty((256, 4), np.uint8)
    share = np.minimum(np.arange(256) / 8, 1.0)[:, None].astype(np.float32)
    table[:, :3] = ink + (bright - ink) * share
    table[0, :3] = ground
    table[:, 3] = 255
    return np.ascontiguousarray(table[np.minimum(counts, 255)].reshape(height, width, 4))
