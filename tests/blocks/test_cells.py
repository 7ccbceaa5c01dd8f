"""Cellular automata and heat, compared with numpy, with closed forms, and by the laws that they obey."""

from typing import Any

import numpy as np
import pytest

from tests.blocks.running import apply, problems, run
from warploom import Patch
from warploom.engine.device.device import Device

SHAPES = [(1, 1), (1, 9), (33, 31), (5, 1023)]


def around(field: Any, *, is_torus: bool, mode: str = "constant") -> list[Any]:
    """Return the fields of the eight neighbours of each cell, those above, below, left and right first."""
    wide = np.pad(field, 1, mode="wrap" if is_torus else mode)
    height, width = field.shape
    steps = [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
    return [wide[1 + y : 1 + y + height, 1 + x : 1 + x + width] for y, x in steps]


def automaton(states: Any, born: str, survives: str, count: int, *, is_torus: bool) -> Any:
    """Return the states after a step; the highest one is alive."""
    last = count - 1
    near = sum((other == last).astype(int) for other in around(states, is_torus=is_torus))
    lives = ((states == 0) & np.isin(near, [*map(int, born)])) | (
        (states == last) & np.isin(near, [*map(int, survives)])
    )
    return np.where(lives, last, np.maximum(states - 1, 0))


def heat(field: Any, rate: float, steps: int, border: str, conducts: Any = None) -> Any:
    """Return the heat after a time step, in f64."""
    field = field.astype(float)
    conducts = np.ones_like(field) if conducts is None else conducts.astype(float)
    is_torus, mode = border == "torus", "edge" if border == "insulated" else "constant"
    shares = around(conducts, is_torus=is_torus, mode="edge")[:4]
    for _ in range(steps):
        flow = sum(
            2 * conducts * share / np.maximum(conducts + share, 1e-30) * (other - field)
            for share, other in zip(shares, around(field, is_torus=is_torus, mode=mode)[:4], strict=True)
        )
        field = field + min(rate / steps, 0.25) * flow
    return field


@pytest.mark.parametrize("torus", [True, False])
@pytest.mark.parametrize(
    ("rule", "parts"),
    [
        ("B3/S23", ("3", "23", 2)),
        ("b36 / s23", ("36", "23", 2)),
        ("B2/S/C3", ("2", "", 3)),
        ("2/345/4", ("2", "345", 4)),
    ],
)
def test_cells_live_by_their_rule(device: Device, rule: str, parts: tuple[str, str, int], torus: bool) -> None:
    """Four steps give the states that counting all neighbours gives, whatever the shape of the field."""
    patch, expected, ports = Patch(), [], []
    for shape in SHAPES:
        states = np.random.default_rng(3).integers(0, parts[2], shape)
        cells = patch.add("io.array", data=(states / (parts[2] - 1)).astype(np.float32))["out"]
        for _ in range(4):
            node = patch.add("field.cellular_automaton", rule=rule, torus=torus)
            patch.connect(cells, node["cells"])
            cells = node["out"]
            states = automaton(states, *parts, is_torus=torus)
        expected.append(states / (parts[2] - 1))
        ports.append(cells)
    for found, wanted in zip(run(patch, *ports, device=device), expected, strict=True):
        np.testing.assert_array_equal(found, wanted.astype(np.float32))


def test_a_glider_goes_around_a_torus() -> None:
    """After four times as many steps as the torus has cells along an edge, a glider is where it was."""
    field = np.zeros((6, 6), np.float32)
    field[[0, 1, 2, 2, 2], [1, 2, 0, 1, 2]] = 1
    patch = Patch()
    cells = patch.add("io.array", data=field)["out"]
    for _ in range(24):
        node = patch.add("field.cellular_automaton")
        patch.connect(cells, node["cells"])
        cells = node["out"]
    np.testing.assert_array_equal(run(patch, cells)[0], field)


@pytest.mark.parametrize("rule", ["", "B9/S2", "B3", "B3/S23/1", "B3/S23/C300", "life"])
def test_a_rule_that_cannot_be_read_is_refused(rule: str) -> None:
    """The message has the rule, and an example of one that can be read."""
    patch = Patch()
    node = patch.add("field.cellular_automaton", rule=rule)
    patch.connect(patch.add("io.array", data=np.ones((3, 3), np.float32))["out"], node["cells"])
    ((where, _, text),) = problems(patch)
    assert where == node.id and "rule must be like B3/S23" in text and repr(rule) in text


@pytest.mark.parametrize("border", ["insulated", "torus", "cold"])
@pytest.mark.parametrize("conducts", [False, True])
def test_heat_spreads_as_numpy_says(device: Device, border: str, conducts: bool) -> None:
    """The heat is numpy's for some shapes, rates and steps; only a cold edge takes heat away."""
    patch, expected, ports = Patch(), [], []
    chance = np.random.default_rng(5)
    for shape, rate, steps in zip(SHAPES, (0.2, 0.7, 3.0, 100.0), (1, 3, 12, 2), strict=True):
        field = chance.random(shape, np.float32)
        share = chance.integers(0, 3, shape).astype(np.float32) / 2 if conducts else None
        node = patch.add("field.heat", rate=rate, steps=steps, border=border)
        patch.connect(patch.add("io.array", data=field)["out"], node["field"])
        if share is not None:
            patch.connect(patch.add("io.array", data=share)["out"], node["conductivity"])
        expected.append((heat(field, rate, steps, border, share), field.sum(dtype=float)))
        ports.append(node["out"])
    for found, (wanted, total) in zip(run(patch, *ports, device=device), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=2e-6)
        assert border == "cold" or found.sum(dtype=float) == pytest.approx(total, rel=1e-6)


def test_a_spot_becomes_a_gaussian() -> None:
    """The variance of a spot grows by twice the rate along each axis, and its shape is that of the heat equation."""
    field = np.zeros((101, 101), np.float32)
    field[50, 50] = 1
    found = apply("field.heat", {"field": field}, rate=20.0, steps=100)
    y, x = np.mgrid[-50:51, -50:51]
    assert (found * x**2).sum(dtype=float) == pytest.approx(40, rel=1e-4)
    assert (found * x * y).sum(dtype=float) == pytest.approx(0, abs=1e-4)
    gaussian = np.exp(-(x**2 + y**2) / 80) / (80 * np.pi)
    np.testing.assert_allclose(found, gaussian, atol=0.01 * gaussian.max())


def test_heat_is_stable_for_any_rate() -> None:
    """At any rate, no cell leaves the range of the field, and what is held back spreads no further than it may."""
    field = np.random.default_rng(1).choice([-1.0, 1.0], (33, 65)).astype(np.float32)
    for rate in (0.0, 1.0, 250.0):
        found = apply("field.heat", {"field": field}, rate=rate, steps=3)
        assert np.abs(found).max() <= 1
        np.testing.assert_allclose(found, heat(field, min(rate, 0.75), 3, "insulated"), atol=2e-6)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_substances_react_as_numpy_says(device: Device, steps: int) -> None:
    """Two substances spread on a torus and react, whatever the shape; at rest, nothing changes."""
    patch, expected, ports = Patch(), [], []
    for shape in SHAPES:
        field = np.random.default_rng(2).random((*shape, 2), np.float32)
        node = patch.add("field.reaction_diffusion", steps=steps, feed=0.03, kill=0.06, spread_a=0.9, spread_b=0.4)
        pairs = patch.add("buffer.reinterpret", dtype="float2")
        patch.connect(patch.add("io.array", data=field.reshape(shape[0], -1))["out"], pairs["x"])
        patch.connect(pairs["out"], node["field"])
        a, b = field.astype(float).transpose(2, 0, 1)
        for _ in range(steps):
            near = [around(each, is_torus=True) for each in (a, b)]
            spread = [0.2 * sum(n[:4]) + 0.05 * sum(n[4:]) for n in near]
            made = a * b * b
            a, b = a + 0.9 * (spread[0] - a) - made + 0.03 * (1 - a), b + 0.4 * (spread[1] - b) + made - 0.09 * b
        expected.append(np.stack([a, b], -1))
        ports.append(node["out"])
    for found, wanted in zip(run(patch, *ports, device=device), expected, strict=True):
        np.testing.assert_allclose(found.reshape(wanted.shape), wanted, atol=2e-6)
