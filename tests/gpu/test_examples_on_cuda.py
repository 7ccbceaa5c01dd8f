"""Example patches on a CUDA device: the host's results, live edits, and reloaded kernels."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from warploom import Engine, UpdateLevel
from warploom.engine.device.device import Device
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import load_patch
from warploom.engine.protocol.messages import KernelFilesChanged

pytestmark = pytest.mark.gpu
EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"


def run(patch: Patch, device: Device, frames: int, *ports: str) -> list[np.ndarray]:
    with Engine(patch, device) as engine:
        for _ in range(frames):
            report = engine.step()
            assert not report.diagnostics
        return [engine.read(patch[node][port]) for node, port in (text.split(".") for text in ports)]


def test_photo_gives_the_same_picture_on_both_devices(cuda: Device, host: Device) -> None:
    """Every stage of the photo patch is within 1e-4 of full scale of the host's, as fast maths differs in the last
    bits.
    """
    ports = ("blur.image_out", "sobel.image_out", "tone.image_out")
    patch = load_patch(EXAMPLES / "photo.loom")
    ports = tuple(f"{n}.{patch.block_type(n).outputs()[0].name}" for n in ("load", "blur", "sobel", "tone"))
    for name, on_cuda, on_host in zip(ports, run(patch, cuda, 2, *ports), run(patch, host, 2, *ports), strict=True):
        assert on_cuda.shape == on_host.shape
        np.testing.assert_allclose(on_cuda, on_host, atol=1e-4, rtol=1e-3, err_msg=name)


def test_particles_follow_the_same_paths_on_both_devices(cuda: Device, host: Device) -> None:
    """After 20 frames, the particles' positions on both devices differ by less than a millimetre."""
    patch = load_patch(EXAMPLES / "particles.loom")
    (on_cuda,) = run(patch, cuda, 20, "emitter.particles")
    (on_host,) = run(patch, host, 20, "emitter.particles")
    assert on_cuda["life"].max() > 0
    np.testing.assert_array_equal(on_cuda["life"] > 0, on_host["life"] > 0)
    np.testing.assert_allclose(on_cuda["position"], on_host["position"], atol=1e-3)
    np.testing.assert_allclose(on_cuda["velocity"], on_host["velocity"], atol=1e-2)


def test_rendered_particles_look_the_same_on_both_devices(cuda: Device, host: Device) -> None:
    """The displayed pictures of both devices differ by less than half a step of 255 on average."""
    patch = load_patch(EXAMPLES / "particles.loom")
    pictures = []
    for device in (cuda, host):
        (image,) = run(patch, device, 30, "render.image")
        pictures.append(np.clip(image[..., :3], 0, 1))
    assert pictures[0].std() > 0.01
    assert np.abs(pictures[0] - pictures[1]).mean() < 0.5 / 255


def test_a_dragged_parameter_is_hot_and_takes_effect(cuda: Device) -> None:
    """A change of gravity is HOT and changes velocities in the next frame."""
    patch = load_patch(EXAMPLES / "particles.loom")
    with Engine(patch, cuda) as engine:
        for _ in range(5):
            engine.step()
        before = engine.read(patch["emitter"]["particles"])
        patch.set("forces", gravity=-20.0)
        report = engine.step()
        after = engine.read(patch["emitter"]["particles"])
        assert report.update_level is UpdateLevel.HOT
        alive = (before["life"] > 0) & (after["age"] > before["age"])
        strong = (after["velocity"] - before["velocity"])[alive][:, 1].mean()
        patch.set("forces", gravity=0.0)
        engine.step()
        weak = (engine.read(patch["emitter"]["particles"])["velocity"] - after["velocity"])[alive][:, 1].mean()
        assert strong < weak - 0.1


def test_state_survives_a_rebuild(cuda: Device) -> None:
    """Particles keep their state when a connection is removed and added again."""
    patch = load_patch(EXAMPLES / "particles.loom")
    with Engine(patch, cuda) as engine:
        for _ in range(30):
            engine.step()
        alive = int((engine.read(patch["emitter"]["particles"])["life"] > 0).sum())
        connection = patch.connections_of("forces")[0]
        patch.disconnect(connection)
        report = engine.step()
        assert report.nodes[connection.target.node].state == "error"
        patch.connect(connection.source, connection.target)
        patch.add("image.noise")
        assert engine.step().update_level is UpdateLevel.COLD
        assert int((engine.read(patch["emitter"]["particles"])["life"] > 0).sum()) >= alive > 1000


def test_a_saved_kernel_is_swapped_in(cuda: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A saved kernel replaces the old one at level CODE; after a broken one, the last good kernel keeps running."""
    kernels = tmp_path / "kernels"
    shutil.copytree(Path(__file__).parents[2] / "kernels", kernels)
    monkeypatch.setattr("warploom.engine.kernel_sources.loader.KERNELS_FOLDER", kernels)
    source = kernels / "saxpy.cu"
    patch = Patch()
    x = patch.add("io.array", data=np.arange(1000, dtype=np.float32))
    saxpy = patch.add("math.saxpy", a=3.0)
    patch.connect(x["out"], saxpy["x"])
    patch.connect(x["out"], saxpy["y"])
    with Engine(patch, cuda) as engine:
        engine.step()
        good = source.read_text()
        source.write_text(good + "\nthis is no CUDA\n")
        engine.post(KernelFilesChanged(frozenset({source.resolve()})))
        report = engine.step()
        assert report.nodes[saxpy.id].state == "error"
        np.testing.assert_allclose(engine.read(saxpy["out"]), np.arange(1000) * 4.0)
        source.write_text(good.replace("a * x[i] + y[i]", "a * x[i] - y[i]"))
        assert source.read_text() != good
        engine.post(KernelFilesChanged(frozenset({source.resolve()})))
        report = engine.step()
        assert report.update_level is UpdateLevel.CODE
        assert report.nodes[saxpy.id].state == "ok"
        np.testing.assert_allclose(engine.read(saxpy["out"]), np.arange(1000) * 2.0)
