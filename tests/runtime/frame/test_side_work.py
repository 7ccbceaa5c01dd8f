"""Each kind of work beside frames is reported in profiles, at every level."""

from pathlib import Path

import numpy as np

from tests.runtime.conftest import SCALE, Kernels
from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.device.device import Device
from warploom.engine.profiling.side_work import SideKind, SideWork
from warploom.engine.protocol.sampling import ObservePorts, picture_of

COMPILE, LOAD, UPDATE, UPLOAD, READBACK, DOWNLOAD, SAVE = SideKind


def told(engine: Engine) -> dict[tuple[SideKind, str], SideWork]:
    return {(work.kind, work.name): work for work in engine.profile().side_work}


def test_each_kind_is_told_when_it_was_done(device: Device, kernels: Kernels, tmp_path: Path) -> None:
    """Work beside frames is listed by source, level, port, viewer and file; a plain frame adds none."""
    patch = Patch()
    numbers = patch.add("io.array", node_id="numbers", data=np.ones(100, np.float32))
    scale = patch.add("test_run.scale", node_id="scale")
    patch.connect(numbers["out"], scale["x"])
    board = patch.add("image.checkerboard", width=8, height=4)
    patch.connect(board["out"], patch.add("io.viewer", node_id="viewer")["image"])
    with Engine(patch, device, profiling=ProfilingLevel.NONE) as engine:
        engine.step()
        first = told(engine)
        assert first[UPLOAD, "numbers.out"].size_bytes == 400
        assert first[UPDATE, "cold"].count == first[LOAD, "scale.cu"].count == 1
        assert all(work.last_ns > 0 for work in first.values())
        assert {kind for kind, _ in first} == {COMPILE, LOAD, UPDATE, UPLOAD}
        engine.step()
        assert told(engine) == first

        patch.set("scale", factor=3.0)
        patch.set("numbers", data=np.zeros(100, np.float32))
        engine.post(kernels.write("scale.cu", SCALE.replace("x[i]", "2.0f * x[i]")))
        engine.step()
        patch.set("scale", factor=4.0)
        engine.step()
        then = told(engine)
        assert then[COMPILE, "scale.cu"].count == then[LOAD, "scale.cu"].count == 2
        assert then[UPLOAD, "numbers.out"].count == 2
        assert {name for kind, name in then if kind is UPDATE} == {"cold", "warm", "code", "hot"}
        assert then[UPDATE, "hot"].count == 1

        assert engine.read(scale["out"]).shape == (100,)
        engine.post(ObservePorts({"viewer": picture_of("viewer")}))
        engine.step()
        engine.save_outputs(tmp_path / "out")
        last = told(engine)
        assert last[DOWNLOAD, "scale.out"].count == 2, "read, and saved"
        assert last[DOWNLOAD, "scale.out"].size_bytes == 400
        assert last[SAVE, "scale.out.npy"].count == last[SAVE, "viewer.png"].count == 1
        assert last[READBACK, "viewer"].size_bytes == 4 * 8 * 4 and last[READBACK, "viewer"].last_ns >= 0
