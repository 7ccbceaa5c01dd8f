"""The headers for kernels of one's own, in `kernels/warploom/`, compute what others do."""

import colorsys
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial import cKDTree

from tests.ops.running import run as run_ops
from warploom import Engine, Patch
from warploom.engine.device.device import Device
from warploom.engine.kernel_sources.image import HEADERS_FOLDER
from warploom.engine.ops import OpGraphBuilder

F32 = NDArray[np.float32]


def run(device: Device, header: str, body: str, rows: F32, width: int, before: str = "") -> F32:
    """Return `width` numbers for each row of numbers: `body` reads `a` and writes `o`."""
    code = f"""
#include "warploom/{header}.h"
{before}
extern "C" __global__ void row(const float* __restrict__ x, float* __restrict__ out) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= {len(rows)}) return;
    const float* a = x + {rows.shape[1]} * i;
    float* o = out + {width} * i;
    {body}
}}"""
    patch = Patch()
    data = patch.add("io.array", data=rows.astype(np.float32))
    kernel = patch.add("kernel.cuda", code=code, shapes=f"out: [{len(rows)}, {width}]")
    patch.connect(data["out"], kernel["x"])
    with Engine(patch, device) as engine:
        engine.step()
        return np.asarray(engine.read(kernel["out"]))


def numbers(count: int, width: int, low: float = -4, high: float = 4) -> F32:
    """Return rows of random numbers."""
    return np.random.default_rng(count).uniform(low, high, (count, width)).astype(np.float32)


def test_all_headers_together(device: Device) -> None:
    """All headers compile in one kernel, twice and in any order."""
    names = sorted(path.stem for path in HEADERS_FOLDER.glob("*.h"))
    includes = "".join(f"#include <warploom/{name}.h>\n" for name in [*reversed(names), *names])
    assert len(names) == 7
    assert run(device, "vector", "o[0] = clamp(a[0], 5.0f, 6.0f);", numbers(3, 1), 1, includes).tolist() == [[5.0]] * 3


@pytest.mark.parametrize("size", [2, 3, 4])
def test_vectors(device: Device, size: int) -> None:
    """Operators and functions of vectors are those of numpy on each component."""
    rows = numbers(101, 2 * size + 1)
    rows[:, -1] = np.abs(rows[:, -1]) + 0.5
    v = f"float{size}"
    read = ", ".join(f"a[{i}]" for i in range(size)), ", ".join(f"a[{size + i}]" for i in range(size))
    made = ["p + q", "p - q", "p * q", "p / q", "p * s", "s * p", "p / s", "s / p", "p + s", "s - p", "-p", "abs(p)"]
    made += ["floor(p)", "fract(p)", "saturate(p)", "min(p, q)", "max(p, q)", "lerp(p, q, s)", "normalize(p)", "sum"]
    body = f"const {v} p = {{{read[0]}}}, q = {{{read[1]}}}; const float s = a[{2 * size}];"
    body += f"{v} sum = p; sum += q; sum *= s; sum -= p; sum /= q; sum += s; {v} r;"
    for at, text in enumerate(made):
        body += f"r = {text};" + "".join(f"o[{at * size + i}] = r.{'xyzw'[i]};" for i in range(size))
    last = len(made) * size
    body += f"o[{last}] = dot(p, q); o[{last + 1}] = length(p); o[{last + 2}] = distance(p, q);"
    found = run(device, "vector", body, rows, last + 3)
    p, q, s = rows[:, :size].astype(float), rows[:, size:-1].astype(float), rows[:, -1:].astype(float)
    length = np.linalg.norm(p, axis=1, keepdims=True)
    wanted = [p + q, p - q, p * q, p / q, p * s, s * p, p / s, s / p, p + s, s - p, -p, abs(p)]
    wanted += [np.floor(p), p - np.floor(p), p.clip(0, 1), np.minimum(p, q), np.maximum(p, q), p + (q - p) * s]
    wanted += [p / length, ((p + q) * s - p) / q + s]
    wanted += [(p * q).sum(1, keepdims=True), length, np.linalg.norm(p - q, axis=1, keepdims=True)]
    np.testing.assert_allclose(found, np.hstack(wanted), rtol=2e-5, atol=2e-5)


def test_what_only_some_vectors_have(device: Device) -> None:
    """A cross product, a reflection, the ends of `smoothstep` in both directions, and a vector of zeros."""
    body = """const float3 p = {a[0], a[1], a[2]}, q = {a[3], a[4], a[5]};
    const float3 c = cross(p, q), r = reflect(p, normalize(q));
    o[0] = c.x; o[1] = c.y; o[2] = c.z; o[3] = r.x; o[4] = r.y; o[5] = r.z;
    o[6] = smoothstep(-1.0f, 2.0f, a[0]); o[7] = smoothstep(2.0f, -1.0f, a[0]); o[8] = clamp(a[1], -1.0f, 0.5f);
    o[9] = length(normalize(float3{0.0f, 0.0f, 0.0f}));"""
    rows = numbers(77, 6)
    found = run(device, "vector", body, rows, 10)
    p, q = rows[:, :3].astype(float), rows[:, 3:].astype(float)
    n = q / np.linalg.norm(q, axis=1, keepdims=True)
    t = ((p[:, 0] + 1) / 3).clip(0, 1)
    step = 3 * t**2 - 2 * t**3
    columns = [step, 1 - step, p[:, 1].clip(-1, 0.5), np.zeros(77)]
    wanted = np.hstack([np.cross(p, q), p - 2 * (p * n).sum(1, keepdims=True) * n, np.stack(columns, 1)])
    np.testing.assert_allclose(found, wanted, atol=3e-5)


def test_streams_of_random_numbers(device: Device) -> None:
    """Normal numbers have mean 0 and deviation 1; directions and points are spread evenly."""
    body = """Random random(i); o[0] = random.normal(); const float2 c = random.direction2(), d = random.inside2();
    const float3 s = random.direction3(), b = random.inside3();
    o[1] = c.x; o[2] = c.y; o[3] = d.x; o[4] = d.y;
    o[5] = s.x; o[6] = s.y; o[7] = s.z; o[8] = b.x; o[9] = b.y; o[10] = b.z;"""
    count = 20_011
    found = run(device, "random", body, np.zeros((count, 1), np.float32), 11).astype(float)
    error = 5 / np.sqrt(count)
    normal, circle, disc, sphere, ball = np.split(found, [1, 3, 5, 8], axis=1)
    assert abs(normal.mean()) < error and abs(normal.var() - 1) < 2 * error
    assert abs((normal**4).mean() - 3) < 10 * error  # the kurtosis of a normal distribution
    for points, power in ((circle, 0), (disc, 2), (sphere, 0), (ball, 3)):
        radius = np.linalg.norm(points, axis=1)
        np.testing.assert_allclose(points.mean(0), 0, atol=error)
        if power:  # the share within a radius is its power
            np.testing.assert_allclose(np.quantile(radius, [0.1, 0.5, 0.9]) ** power, [0.1, 0.5, 0.9], atol=error)
            assert radius.max() <= 1 + 1e-6
        else:
            np.testing.assert_allclose(radius, 1, atol=1e-6)
    np.testing.assert_allclose((sphere**2).mean(0), 1 / 3, atol=error)


@pytest.mark.parametrize("axes", ["xy", "xyz"])
def test_noise_is_that_of_expressions(device: Device, axes: str) -> None:
    """Value and gradient noise equal those of op graphs, also at whole positions and with negative coordinates."""
    rows = numbers(1027, len(axes), -40, 40)
    rows[:50] = np.floor(rows[:50])
    position = f"float{len(axes)}{{{', '.join(f'a[{i}]' for i in range(len(axes)))}}}"
    found = run(device, "noise", f"o[0] = value_noise({position}, 7u); o[1] = gradient_noise({position}, 7u);", rows, 2)
    g = OpGraphBuilder()
    place = {axis: g.add("op.input", axis)["value"] for axis in axes}
    for kind in ("value", "gradient"):
        noise = g.add(f"op.{kind}_noise", **place, seed=7.0, dimensions=str(len(axes)))
        g.add("op.output", kind, value=noise["out"])
    made = run_ops(device, g.graph(), {axis: rows[:, at].copy() for at, axis in enumerate(axes)}, len(rows))
    np.testing.assert_allclose(found, np.stack([made["value"], made["gradient"]], 1), atol=2e-6)
    assert (found[:50, 1] == 0).all()


@pytest.mark.parametrize("size", [2, 3])
def test_cellular_noise_finds_the_nearest_points(device: Device, size: int) -> None:
    """The distances are those to the nearest two of all points, of which each cell has one."""
    rows = numbers(501, size, -2, 2)
    cells = np.array(list(product(range(-5, 5), repeat=size)), np.float32)
    v = ", ".join(f"a[{i}]" for i in range(size))
    whole = ", ".join(f"(int)a[{i}]" for i in range(size))
    body = f"const unsigned int h = hash(3u, {whole}); o[{size}] = __uint_as_float(h);"
    body += "".join(f"o[{i}] = a[{i}] + uniform(mixed(h + {i + 1}u));" for i in range(size))
    points = run(device, "noise", body, cells, size + 1)
    body = f"const Cells c = cellular_noise(float{size}{{{v}}}, 3u);"
    body += "o[0] = c.nearest; o[1] = c.second; o[2] = __uint_as_float(c.id);"
    found = run(device, "noise", body, rows, 3)
    distances, nearest = cKDTree(points[:, :size]).query(rows, 2)
    np.testing.assert_allclose(found[:, :2], distances, atol=3e-6)
    np.testing.assert_array_equal(found[:, 2].view(np.uint32), points[nearest[:, 0], size].view(np.uint32))


@pytest.mark.parametrize("size", [2, 3])
def test_curl_noise_has_no_sources(device: Device, size: int) -> None:
    """Slopes of noise are its differences, and flows have a divergence that is small beside their slopes."""
    step, count = 1 / 64, 301
    rows = numbers(count, size)
    moved = np.concatenate([rows + sign * step * axis for axis in np.eye(size) for sign in (1, -1)])
    position = f"float{size}{{{', '.join(f'a[{i}]' for i in range(size))}}}"
    body = f"const float{size} p = {position}, s = gradient_noise_slopes(p, 3u), c = curl_noise(p, 3u);"
    body += "".join(f"o[{i}] = s.{'xyz'[i]}; o[{size + i}] = c.{'xyz'[i]};" for i in range(size))
    found = run(
        device, "noise", body + f"o[{2 * size}] = gradient_noise(p, 3u);", np.vstack([rows, moved]), 2 * size + 1
    )
    ends = found[count:].reshape(size, 2, count, -1).astype(float)
    change = (ends[:, 0] - ends[:, 1]) / (2 * step)
    np.testing.assert_allclose(found[:count, :size], change[..., -1].T, atol=5e-3)
    slopes = np.stack([change[axis, :, size + axis] for axis in range(size)])
    assert np.abs(slopes.sum(0)).mean() < 0.01 * np.abs(slopes).mean()


def test_octaves_of_noise(device: Device) -> None:
    """Octaves are a weighted mean; one octave is the noise itself."""
    rows = numbers(100, 2)
    body = """const float2 p = {a[0], a[1]};
    const auto noise = [](float2 at, unsigned int seed) { return gradient_noise(at, seed); };
    o[0] = fractal_noise(p, 1, 4u, noise); o[1] = fractal_noise(p, 3, 4u, noise);
    o[2] = gradient_noise(p, 4u); o[3] = gradient_noise(p * 2.0f, 5u); o[4] = gradient_noise(p * 4.0f, 6u);"""
    found = run(device, "noise", body, rows, 5)
    np.testing.assert_allclose(found[:, 0], found[:, 2], atol=1e-7)
    np.testing.assert_allclose(found[:, 1], found[:, 2:] @ [4 / 7, 2 / 7, 1 / 7], atol=1e-6)


def test_colours(device: Device) -> None:
    """HSV is that of Python's colorsys; sRGB and Oklab come back, and known colours have their published values."""
    rows = np.vstack([numbers(300, 3, 0, 1), list(product((0, 0.5, 1), repeat=3))]).astype(np.float32)
    body = """const float3 c = {a[0], a[1], a[2]};
    const float3 made[6] = {rgb_to_hsv(c), hsv_to_rgb(c), to_srgb(c), from_srgb(to_srgb(c)), rgb_to_oklab(c),
                            oklab_to_rgb(rgb_to_oklab(c))};
    for (int k = 0; k < 6; ++k) { o[3 * k] = made[k].x; o[3 * k + 1] = made[k].y; o[3 * k + 2] = made[k].z; }
    o[18] = luminance(c);"""
    found = run(device, "color", body, rows, 19)
    hsv, back, encoded, decoded, lab, light = np.split(found[:, :18], 6, axis=1)
    wanted = np.array([colorsys.rgb_to_hsv(*map(float, row)) for row in rows])
    turn = (hsv[:, :1] - wanted[:, :1] + 0.5) % 1 - 0.5
    np.testing.assert_allclose(turn, 0, atol=1e-5)
    np.testing.assert_allclose(hsv[:, 1:], wanted[:, 1:], atol=1e-6)
    np.testing.assert_allclose(back, [colorsys.hsv_to_rgb(*map(float, row)) for row in rows], atol=3e-6)
    curve = np.where(rows <= 0.0031308, 12.92 * rows, 1.055 * np.maximum(rows, 1e-9).astype(float) ** (1 / 2.4) - 0.055)
    np.testing.assert_allclose(encoded, curve, atol=2e-6)
    np.testing.assert_allclose(decoded, rows, atol=2e-6)
    np.testing.assert_allclose(light, rows, atol=2e-5)
    np.testing.assert_allclose(lab[(rows == 1).all(1)], [[1, 0, 0]], atol=1e-4)
    red = (rows == (1, 0, 0)).all(1)
    np.testing.assert_allclose(lab[red], [[0.628, 0.225, 0.126]], atol=1e-3)  # Ottosson's table
    np.testing.assert_allclose(found[:, 18], rows.astype(float) @ [0.2126, 0.7152, 0.0722], atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "inside"),
    [
        ("sd_sphere(p, 1.5f)", lambda x, y, z: x**2 + y**2 + z**2 < 1.5**2),
        ("sd_box(p, float3{1.0f, 0.5f, 1.5f})", lambda x, y, z: (abs(x) < 1) & (abs(y) < 0.5) & (abs(z) < 1.5)),
        ("sd_plane(p, float3{0.6f, 0.8f, 0.0f})", lambda x, y, _: 0.6 * x + 0.8 * y < 0),
        ("sd_torus(p, 1.2f, 0.4f)", lambda x, y, z: (np.hypot(x, z) - 1.2) ** 2 + y**2 < 0.4**2),
        ("sd_cylinder(p, 1.0f, 0.75f)", lambda x, y, z: (np.hypot(x, z) < 1) & (abs(y) < 0.75)),
        (
            "sd_capsule(p, float3{-1.0f, 0.0f, 0.0f}, float3{1.0f, 0.0f, 0.0f}, 0.5f)",
            lambda x, y, z: np.maximum(abs(x) - 1, 0) ** 2 + y**2 + z**2 < 0.25,
        ),
        ("sd_box(float2{p.x, p.y}, float2{1.0f, 0.5f})", lambda x, y, _: (abs(x) < 1) & (abs(y) < 0.5)),
        ("sd_circle(float2{p.x, p.y}, 1.25f)", lambda x, y, _: np.hypot(x, y) < 1.25),
        (
            "sd_segment(float2{p.x, p.y}, float2{-1.0f, 0.0f}, float2{1.0f, 0.0f}, 0.5f)",
            lambda x, y, _: np.maximum(abs(x) - 1, 0) ** 2 + y**2 < 0.25,
        ),
    ],
)
def test_distances_are_those_to_the_surface(device: Device, shape: str, inside: object) -> None:
    """The distance is that to the border of a grid of points that lie inside or outside by the shape's definition."""
    grid = np.linspace(-3, 3, 61)  # its points are up to 0.1 * sqrt(3) from the surface
    x, y, z = np.meshgrid(grid, grid, grid, indexing="ij")
    solid = inside(x, y, z)  # type: ignore[operator]
    rough = ndimage.distance_transform_edt(~solid, 0.1) - ndimage.distance_transform_edt(solid, 0.1)
    rows = np.stack([x, y, z], -1)[10:-10:4, 10:-10:4, 10:-10:4]  # far from the grid's own border
    found = run(device, "sdf", f"const float3 p = {{a[0], a[1], a[2]}}; o[0] = {shape};", rows.reshape(-1, 3), 1)
    np.testing.assert_allclose(found[:, 0], rough[10:-10:4, 10:-10:4, 10:-10:4].ravel(), atol=0.174)


def test_shapes_combined_and_met_by_rays(device: Device) -> None:
    """Combinations have the sides that sets have, smooth ones meet them far away, and rays end on the surface."""
    scene = """__device__ float scene(float3 p) {
        return sd_difference(sd_box(p, float3{1.0f, 1.0f, 1.0f}), sd_sphere(p - float3{1.0f, 1.0f, 1.0f}, 0.7f)); }"""
    rows = numbers(400, 3, -2, 2)
    body = """const float3 p = {a[0], a[1], a[2]}; const float b = sd_box(p, float3{1.0f, 1.0f, 1.0f});
    const float s = sd_sphere(p - float3{1.0f, 1.0f, 1.0f}, 0.7f);
    o[0] = sd_union(b, s); o[1] = sd_intersection(b, s); o[2] = sd_difference(b, s);
    o[3] = sd_smooth_union(b, s, 0.2f); o[4] = sd_smooth_intersection(b, s, 0.2f);
    o[5] = sd_smooth_difference(b, s, 0.2f);
    const float3 from = normalize(float3{a[1], a[2], a[0]}) * 4.0f, way = normalize(p - from);
    const float t = sd_march(scene, from, way, 50.0f); o[6] = t < 0.0f ? 0.0f : scene(from + way * t); o[7] = t;
    const float3 n = sd_normal(scene, from + way * t); o[8] = length(n); o[9] = dot(n, way);
    const float3 r = sd_repeat(p, float3{1.0f, 2.0f, 3.0f}); o[10] = r.x - p.x; o[11] = (r.y - p.y) / 2; o[12] = r.z;"""
    found = run(device, "sdf", body, rows, 13, scene).astype(float)
    box = (abs(rows) < 1).all(1)
    ball = ((rows - 1) ** 2).sum(1) < 0.49
    for column, wanted in ((0, box | ball), (1, box & ball), (2, box & ~ball)):
        np.testing.assert_array_equal(found[:, column] < 0, wanted)
        difference = found[:, column + 3] - found[:, column]
        sign = -1 if column == 0 else 1
        assert (sign * difference >= -1e-6).all() and (sign * difference <= 0.05 + 1e-6).all()
    met = found[:, 7] >= 0
    assert 20 < met.sum() < 400
    assert np.abs(found[met, 6]).max() < 1e-3
    np.testing.assert_allclose(found[met, 8], 1, atol=1e-4)
    assert (found[met, 9] < 0.05).mean() > 0.97  # but at edges, a normal faces the ray
    np.testing.assert_allclose(found[:, 10:12], np.round(found[:, 10:12]), atol=1e-5)
    assert (abs(found[:, 12]) <= 1.5).all()


MODES = {"CLAMP": "nearest", "REPEAT": "grid-wrap", "MIRROR": "reflect", "ZERO": "grid-constant"}


@pytest.mark.parametrize("edge", MODES)
@pytest.mark.parametrize("size", [(1, 1), (7, 5), (33, 31)])
def test_textures(device: Device, edge: str, size: tuple[int, int]) -> None:
    """Bilinear elements are those of scipy, far beyond all edges too; nearest ones are those of the pixel."""
    height, width = size
    image = np.random.default_rng(1).normal(size=size).astype(np.float32)
    places = numbers(500, 2, -70, 100)
    places[:200] = numbers(200, 2, 0, 1) * (width, height)
    pixels = ", ".join(f"{value:.9g}" for value in image.ravel().astype(float))
    before = f"__device__ const float pixels[] = {{{pixels}}};"
    body = f"""const Texture<float> t = texture(pixels, {width}, {height}, Edge::{edge});
    o[0] = t.linear(float2{{a[0], a[1]}}); o[1] = t.nearest(float2{{a[0], a[1]}});"""
    found = run(device, "texture", body, places, 2, before)
    x, y = places.T.astype(float)
    mode = MODES[edge]
    wanted = ndimage.map_coordinates(image.astype(float), [y - 0.5, x - 0.5], order=1, mode=mode)
    np.testing.assert_allclose(found[:, 0], wanted, atol=2e-5)
    wanted = ndimage.map_coordinates(image, [np.floor(y), np.floor(x)], order=0, mode=mode)
    np.testing.assert_array_equal(found[:, 1], wanted)


@pytest.mark.parametrize("edge", MODES)
@pytest.mark.parametrize("size", [(1, 1, 1), (5, 7, 3)])
def test_volumes(device: Device, edge: str, size: tuple[int, int, int]) -> None:
    """Trilinear elements are those of scipy, beyond all edges too; nearest ones are those of the pixel."""
    field = np.random.default_rng(3).normal(size=size).astype(np.float32)
    places = numbers(400, 3, -20, 30)
    places[:200] = numbers(200, 3, 0, 1) * size[::-1]
    pixels = ", ".join(f"{value:.9g}" for value in field.ravel().astype(float))
    body = f"""const Volume<float> t = volume(pixels, {size[2]}, {size[1]}, {size[0]}, Edge::{edge});
    o[0] = t.linear(float3{{a[0], a[1], a[2]}}); o[1] = t.nearest(float3{{a[0], a[1], a[2]}});"""
    found = run(device, "texture", body, places, 2, f"__device__ const float pixels[] = {{{pixels}}};")
    at, mode = places.T[::-1].astype(float), MODES[edge]
    wanted = ndimage.map_coordinates(field.astype(float), at - 0.5, order=1, mode=mode)
    np.testing.assert_allclose(found[:, 0], wanted, atol=2e-5)
    np.testing.assert_array_equal(found[:, 1], ndimage.map_coordinates(field, np.floor(at), order=0, mode=mode))


def test_cubic_textures(device: Device) -> None:
    """Bicubic elements are a spline whose slopes are the mean of those to both neighbours, along both axes."""
    height, width = 9, 11
    image = np.random.default_rng(2).normal(size=(height, width)).astype(np.float32)
    places = numbers(300, 2, 2.6, 7.4)
    pixels = ", ".join(f"{value:.9g}" for value in image.ravel().astype(float))
    body = f"o[0] = texture(pixels, {width}, {height}).cubic(float2{{a[0], a[1]}});"
    found = run(device, "texture", body, places, 1, f"__device__ const float pixels[] = {{{pixels}}};")

    def spline(values: NDArray[np.float64]) -> CubicHermiteSpline:
        return CubicHermiteSpline(np.arange(len(values)), values, np.gradient(values, axis=0))

    wanted = [spline(spline(image.astype(float))(y - 0.5))(x - 0.5) for x, y in places.astype(float)]
    np.testing.assert_allclose(found[:, 0], wanted, atol=1e-5)
