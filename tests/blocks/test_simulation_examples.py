"""The examples of simulations obey their laws, show pictures, and are saved by the editor without changes."""

import numpy as np
import pytest

from tests.blocks.control_checks import EXAMPLES
from warploom import Engine
from warploom.engine.patch.files import dump_patch, load_patch
from warploom.engine.protocol.messages import SetInput


@pytest.mark.parametrize("name", ["wake", "trails", "dam", "cloth", "sculpture", "ocean", "butterflies"])
def test_example_is_what_the_editor_saves(name: str) -> None:
    """Loading and saving an example changes nothing, so a diff of it shows only edits."""
    path = EXAMPLES / f"{name}.loom"
    assert dump_patch(load_patch(path)) == path.read_text("utf-8")


def test_a_wake_turns_both_ways_behind_the_pillar() -> None:
    """The pillar follows the mouse; behind it the fluid is slower, and turns one way above and the other way below."""
    patch = load_patch(EXAMPLES / "wake.loom")
    with Engine(patch, device="host") as engine:
        engine.post(SetInput("mouse.y", 0.4))
        for _ in range(16):
            assert not engine.step().diagnostics
        solid, velocity = engine.read(patch["solid"]["out"]), engine.read(patch["fluid"]["velocity"])
        density, image = engine.read(patch["fluid"]["density"]), engine.read(patch["light"]["out"])
    rows, columns = np.nonzero(solid)
    assert rows.mean() == pytest.approx(0.4 * 160, abs=1) and columns.mean() == pytest.approx(0.2 * 320, abs=1)
    assert not velocity[solid > 0].any()
    turning = np.gradient(velocity[..., 1], axis=1) - np.gradient(velocity[..., 0], axis=0)
    above, below = turning[48:62, 76:86].mean(), turning[66:80, 76:86].mean()
    assert above * below < 0 and velocity[64, 78, 0] < 0.06 < velocity[20, 78, 0]
    assert 0.9 < density.min() < density.max() < 1.1 and image[..., :3].std() > 0.02


def test_trails_are_the_ways_of_the_birds() -> None:
    """Trails have the places of the last frames, and are drawn where the birds are."""
    patch = load_patch(EXAMPLES / "trails.loom")
    patch.set("birds", count=300)
    patch.set("draw", width=320, height=180)
    kept = []
    with Engine(patch, device="host") as engine:
        for _ in range(9):
            assert not engine.step().diagnostics
            kept.append(engine.read(patch["move"]["out"])["position"])
        lines = engine.read(patch["trails"]["lines"]).view(np.float32).reshape(48, 300, 4)
        image = engine.read(patch["tone"]["out"])
    np.testing.assert_array_equal(lines[:9, :, :3], kept[::-1])
    connected = np.where(np.arange(48) < 8, 1, np.where(np.arange(48) == 8, -1, 0))
    np.testing.assert_array_equal(lines[..., 3], np.broadcast_to(connected[:, None], (48, 300)))
    assert 0.005 < (image[..., :3].max(2) > 0.1).mean() < 0.6


def test_a_dam_breaks_over_the_ball() -> None:
    """The water flows to the other wall, stays in its box and out of the ball, and only loses energy."""
    patch = load_patch(EXAMPLES / "dam.loom")
    for node, name in (("column", "size"), ("water", "count")):
        patch.set(node, **{name: 16 * 26 * 5})
    patch.set("draw", width=320, height=180)
    energies = []
    with Engine(patch, device="host") as engine:
        for frame in range(45):
            report = engine.step()
            assert not report.diagnostics
            if frame % 4 == 0:
                water = engine.read(patch["flow"]["out"])
                energies.append((9.8 * water["position"][:, 1] + (water["velocity"] ** 2).sum(1) / 2).mean())
        image = engine.read(patch["draw"]["image"])
    at = water["position"]
    assert (
        at[:, 0].max() > 0.95 and np.abs(at[:, 0]).max() <= 1 and np.abs(at[:, 2]).max() <= 0.4 and at[:, 1].min() >= 0
    )
    assert np.linalg.norm(at - [report.values["ball.x"], 0.22, 0], axis=1).min() > 0.1
    assert max(energies) <= 1.02 * energies[0] and energies[-1] < 0.9 * energies[0]
    assert 0.05 < (image[..., 3] > 0).mean() < 0.8


def test_cloth_blows_in_the_wind() -> None:
    """The cloth hangs by its corners, is moved by the wind, keeps its size, and has lit and shaded folds."""
    patch = load_patch(EXAMPLES / "cloth.loom")
    patch.set("draw", width=320, height=180)
    with Engine(patch, device="host") as engine:
        for frame in range(40):
            assert not engine.step().diagnostics
            if frame == 10:
                early = engine.read(patch["cloth"]["points"])
        at = engine.read(patch["cloth"]["points"]).view(np.float32).reshape(48, 72, 4)[..., :3]
        image = engine.read(patch["draw"]["image"])
    np.testing.assert_allclose(at[0, [0, -1]], [[-0.9, 1.7, 0], [0.9, 1.7, 0]], atol=1e-6)
    spacing = 1.8 / 71
    lengths = np.linalg.norm(np.diff(at, axis=0), axis=-1) / spacing
    assert 0.6 < lengths.mean() < 1.2 and at[..., 2].std() > 0.02
    assert np.abs(at.reshape(-1, 3) - early.view(np.float32).reshape(-1, 4)[:, :3]).max() > 0.1
    covered = image[..., 3] > 0
    assert 0.05 < covered.mean() < 0.6 and image[covered][:, 0].std() > 0.05


def test_the_sculpture_turns_in_its_light() -> None:
    """The ball in the middle is red, the ring turns around it, and the ground has light and shadow."""
    patch = load_patch(EXAMPLES / "sculpture.loom")
    patch.set("scene", width=104, height=58)
    pictures = []
    with Engine(patch, device="host", time_step_s=0.5) as engine:
        for _ in range(2):
            assert not engine.step().diagnostics
            pictures.append(engine.read(patch["film"]["out"]))
        hits = engine.read(patch["scene"]["image"])[..., 3]
    red, green, blue = pictures[0][26, 52, :3]
    assert red > 2 * green and red > 2 * blue
    assert 0.02 < (np.abs(pictures[1] - pictures[0]).max(2) > 0.02).mean() < 0.6
    assert 0.6 < hits.mean() < 1 and hits[-1].all()
    ground = pictures[0][45:, :, :3].mean(2)
    assert ground.min() < 0.6 * ground.max()


def test_the_ocean_is_the_sum_of_its_waves() -> None:
    """Heights, and the ways to sharper crests, are those of numpy's FFT, with the waves of deep water."""
    patch = load_patch(EXAMPLES / "ocean.loom")
    patch.set("draw", width=160, height=90)
    with Engine(patch, device="host", time_step_s=0.7) as engine:
        for _ in range(3):
            assert not engine.step().diagnostics
        chance, points = engine.read(patch["chance"]["out"]), engine.read(patch["choppy"]["out"])
        heights, image = engine.read(patch["heights"]["out"]), engine.read(patch["sky"]["out"])
    given = chance[:256].astype(float).view(complex)
    kx, kz = np.meshgrid(*[np.fft.fftfreq(256, 90 / 256) * 2 * np.pi] * 2)
    k = np.hypot(kx, kz) + 1e-6
    along, longest = (kx * np.cos(0.6) + kz * np.sin(0.6)) / k, 7**2 / 9.81
    power = np.exp(-1 / (k * longest) ** 2 - (k * 0.25) ** 2) / k**4 * along**2 * np.where(along > 0, 1, 0.04)
    size = np.where(k < 1e-3, 0, np.sqrt(power) * 0.33 * 2000)
    waves = given * size * np.exp(-1j * np.sqrt(9.81 * k) * 1.4)
    expected = np.fft.ifft2(waves).real
    np.testing.assert_allclose(heights, expected, atol=2e-3 * expected.std())
    at = points.view(np.float32).reshape(256, 256, 4)
    aside = [np.fft.ifft2(1j * share / k * waves).real for share in (kx, kz)]
    grid = (np.arange(256) - 127.5) * 90 / 255
    np.testing.assert_allclose(at[..., 0], grid + aside[0], atol=5e-3)
    np.testing.assert_allclose(at[..., 2], grid[:, None] + aside[1], atol=5e-3)
    assert 0.4 < expected.std() < 1 and image[45:, :, 2].mean() > image[45:, :, 0].mean()


def test_butterflies_fly_where_they_look() -> None:
    """Each copy lies around its particle, its middle line points where the particle flies, and all are drawn."""
    patch = load_patch(EXAMPLES / "butterflies.loom")
    patch.set("swarm", count=200)
    patch.set("draw", width=320, height=180)
    with Engine(patch, device="host") as engine:
        for _ in range(10):
            assert not engine.step().diagnostics
        swarm, points = engine.read(patch["move"]["out"]), engine.read(patch["copies"]["points_out"])
        mesh, image = engine.read(patch["shape"]["out"]), engine.read(patch["draw"]["image"])
    copies = points.view(np.float32).reshape(200, 20, 4)[..., :3] - swarm["position"][:, None]
    shape = mesh.view(np.float32).reshape(20, 4)[:, :3].astype(float)
    np.testing.assert_allclose(
        np.linalg.norm(copies, axis=2), np.linalg.norm(shape, axis=1)[None].repeat(200, 0), atol=1e-5
    )
    way = swarm["velocity"] / np.linalg.norm(swarm["velocity"], axis=1, keepdims=True)
    np.testing.assert_allclose(np.einsum("ijk,ik->ij", copies, way), shape[None, :, 2].repeat(200, 0), atol=1e-5)
    assert 0.02 < image[..., 3].mean() < 0.5
