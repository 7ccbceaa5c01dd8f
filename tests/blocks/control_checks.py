"""Checks of the examples with loops, append buffers and feedback against numpy, on any device."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from tests.blocks import control_oracles as oracles
from warploom import Engine, UpdateLevel
from warploom.engine.device.device import Device
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import load_patch
from warploom.engine.protocol.messages import SetInput

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"


def example(name: str, **parameters: dict[str, Any]) -> Patch:
    """Return an example that other parameters, given by node, make small."""
    patch = load_patch(EXAMPLES / f"{name}.loom")
    for node, values in parameters.items():
        patch.set(node, **values)
    return patch


def check_mandelbrot(device: Device | str) -> None:
    """Check each point's count of iterations, and that the loop ends once its slowest point has ended."""
    patch = example("mandelbrot", points={"width": 161, "height": 107}, step={"most": 100, "steps": 7})
    with Engine(patch, device) as engine:
        for view in ({}, {"real": -0.743, "imaginary": 0.13, "span": 0.02}, {"real": 2.7, "span": 0.5}):
            patch.set("points", **view)
            for _ in range(2):
                assert not engine.step().diagnostics
            points, counts = engine.read(patch["step"]["points_out"]), engine.read(patch["step"]["counts_out"])
            _, expected, inside = oracles.mandelbrot(points[..., 2:], 100)
            np.testing.assert_array_equal(counts, expected)
            turns = int(engine.read(patch["loop"]["turns"])[0])
            assert turns == oracles.mandelbrot_turns(points[..., 2:], 7, 100)
            image = engine.read(patch["color"]["image"])
            assert (image[inside, :3] == 0).all() and (image[~inside, :3].max(1) > 0).all()
        assert turns == 1


def check_jacobi(device: Device | str) -> None:
    """Check that plate and iterations equal numpy's bits, approach the exact solution, and continue in each frame."""
    edges = {"top": 1.0, "bottom": 0.0, "left": 0.5, "right": 0.25}
    patch = example("jacobi", plate={"shape": "17, 26"}, edges=edges, wanting={"value": 1e-5})
    plate = np.zeros((17, 26), np.float32)
    with Engine(patch, device) as engine:
        for change in ({}, {}, {"top": 0.75, "right": 1.0}):
            if change:
                patch.set("edges", **change)
                edges |= change
            report = engine.step()
            assert not report.diagnostics
            assert not change or report.update_level is UpdateLevel.HOT
            plate[:, 0], plate[:, -1], plate[0], plate[-1] = (edges[e] for e in ("left", "right", "top", "bottom"))
            plate, turns = oracles.solve_jacobi(plate, 1e-5)
            np.testing.assert_array_equal(engine.read(patch["store"]["out"]), plate)
            assert engine.read(patch["loop"]["turns"]).tolist() == [turns]
            exact = oracles.solve_laplace(edges["top"], edges["bottom"], edges["left"], edges["right"], (17, 26))
            np.testing.assert_allclose(plate, exact, atol=1e-3)


def check_nested(device: Device | str) -> None:
    """Check that waves and drops equal numpy's, even if a round of drops spans several frames."""
    small = {"shape": "41, 59"}
    patch = example("nested", heights=small, velocities=small, every={"period": 7}, drop={"radius": 6.0})
    turns = 0
    with Engine(patch, device) as engine:
        for count in (6, 6, 6, 0, 1, 15):
            patch.set("turns", count=count)
            assert not engine.step().diagnostics
            turns += count
        found = engine.read(patch["step"]["heights_out"])
    expected, drops = oracles.rain((41, 59), turns, 7, radius=6.0)
    assert drops == 5
    np.testing.assert_allclose(found, expected, atol=2e-5)


def check_append(device: Device | str) -> None:
    """Check that the selection and its count equal numpy's, and that only the selected particles are drawn."""
    patch = example("append", emitter={"count": 20_000}, select={"low": 1.0})
    for draw in ("all", "high"):
        patch.set(draw, width=320, height=180)
    with Engine(patch, device) as engine:
        for _ in range(40):
            assert not engine.step().diagnostics
        everyone, found = engine.read(patch["integrate"]["out"]), engine.read(patch["select"]["selected"])
        count = int(engine.read(patch["select"]["selected_count"])[0])
        a, b, both = (engine.read(patch[n][p]) for n, p in (("all", "image"), ("high", "image"), ("mix", "out")))
        patch.set("select", low=900.0)
        engine.step()
        assert engine.read(patch["select"]["selected_count"]).tolist() == [0]
        assert engine.read(patch["high"]["image"])[..., :3].max() == 0
    expected = everyone[(everyone["age"] < everyone["life"]) & (everyone["position"][:, 1] >= 1.0)]
    assert count == len(expected) > 1000
    assert sorted(p.tobytes() for p in found[:count]) == sorted(p.tobytes() for p in expected)
    assert b[..., :3].max() > 0.1
    np.testing.assert_allclose(both[..., :3], (a + b - a * b)[..., :3], atol=1e-5)


def check_feedback(device: Device | str) -> None:
    """Check that each picture is the new one with the previous one screened over it, except for the first."""
    patch = example("feedback", render={"width": 160, "height": 96})
    last = np.zeros((96, 160, 4), np.float32)
    with Engine(patch, device) as engine:
        for _ in range(25):
            assert not engine.step().diagnostics
            a, before, b, out = (
                engine.read(patch[n][p])
                for n, p in (("render", "image"), ("delay", "out"), ("blur", "out"), ("mix", "out"))
            )
            np.testing.assert_array_equal(before, last)
            np.testing.assert_allclose(out[..., :3], (a + 0.95 * (b - a * b))[..., :3], atol=1e-5)
            last = out
    trails = (last[..., :3] - a[..., :3]).max(2) > 0.02
    assert trails.mean() > 0.001


def check_life(device: Device | str) -> None:
    """Check that the first cells are the bright pixels, and that each frame is a generation of Conway's rule."""
    patch = example("life", small={"width": 61, "height": 43})
    around = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]])
    with Engine(patch, device) as engine:
        for number in range(12):
            assert not engine.step().diagnostics
            cells, found = engine.read(patch["cells"]["out"]), engine.read(patch["rule"]["out"])
            if number == 0:
                bright = engine.read(patch["small"]["out"])[..., :3] @ [0.2126, 0.7152, 0.0722]
                sure = np.abs(bright - 0.22) > 1e-5
                np.testing.assert_array_equal(cells[sure], (bright > 0.22)[sure])
            near = ndimage.convolve(cells, around, mode="nearest")
            np.testing.assert_array_equal(found, (near == 3) | ((near == 2) & (cells == 1)))
    assert 0 < found.mean() < 0.5


def check_coral(device: Device | str) -> None:
    """Check that the loop's steps are those of Gray and Scott's equations, frame after frame."""
    patch = example("coral", begin={"width": 47, "height": 31}, state={"shape": "31, 47"})
    spread = np.array([[0.05, 0.2, 0.05], [0.2, -1, 0.2], [0.05, 0.2, 0.05]])
    with Engine(patch, device) as engine:
        assert not engine.step().diagnostics
        first = engine.read(patch["begin"]["out"]).astype(float)
        u, v = first[..., 0], first[..., 1]
        assert 0.02 < v.mean() < 0.1
        for _ in range(2):
            for _ in range(12):
                made = u * v * v
                change = [ndimage.convolve(each, spread, mode="nearest") for each in (u, v)]
                u, v = u + change[0] - made + 0.0545 * (1 - u), v + change[1] / 2 + made - (0.062 + 0.0545) * v
            np.testing.assert_allclose(engine.read(patch["put"]["out"]), np.stack([u, v], -1), atol=1e-4)
            engine.step()


def check_smoke(device: Device | str) -> None:
    """Check that the smoke rises in a flow without sources, and that the air is still when nothing moves it."""
    size = {"shape": "31, 47"}
    loop = {"loop": {"limit": 400}, "wanting": {"value": 1e-3}}
    sizes = {"velocity": size, "pressure": size, "smoke": size}
    wild = sizes | {"forces": {"lift": 500.0, "stir": 100.0}}
    patch = example("smoke", **sizes, **loop)
    heights = []
    with Engine(patch, device) as engine:
        for _ in range(24):
            assert not engine.step().diagnostics
            flow = np.pad(engine.read(patch["rest"]["out"]).astype(float), ((0, 1), (0, 1), (0, 0)))
            assert np.abs(np.diff(flow[:-1, :, 0], axis=1) + np.diff(flow[:, :-1, 1], axis=0)).max() < 0.01
            smoke = engine.read(patch["keep_smoke"]["out"]).sum(axis=(1, 2))
            heights.append((smoke @ np.arange(31)) / smoke.sum())
    assert np.abs(flow).max() > 1 and heights[-1] < heights[4] - 1
    patch.set("forces", lift=0.0, stir=0.0)
    with Engine(patch, device) as engine:
        for _ in range(3):
            engine.step()
        assert not engine.read(patch["rest"]["out"]).any() and engine.read(patch["keep_smoke"]["out"]).any()
    with Engine(example("smoke", **wild), device) as engine:
        for x, y in ((0.1, 0.1), (0.9, 0.9), (0.1, 0.9), (0.9, 0.1)):
            engine.post(SetInput("mouse.x", x))
            engine.post(SetInput("mouse.y", y))
            assert not engine.step().diagnostics  # the loop ends by itself, however wildly it is stirred


CHECKS = (
    check_smoke,
    check_life,
    check_coral,
    check_mandelbrot,
    check_jacobi,
    check_nested,
    check_append,
    check_feedback,
)
