"""Edits of a paused engine are each shown at once, while state and delays stand still."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime.conftest import SCALE, Kernels
from tests.runtime.small_blocks import bump
from tests.runtime.update.update_support import contents, copy_of, differences, errors, outputs
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.device.device import Device
from warploom.engine.protocol.messages import FrameReport, SetRunning


def with_delays() -> Patch:
    """A number that doubles and grows in each frame, the same inside a loop, and a copy that is two frames old."""
    patch = Patch()
    one = patch.add("buffer.constant", node_id="one", shape="3", value=1.0)
    patch.add("io.array", node_id="other", data=np.array([7, 8, 9], np.float32))
    loop = patch.add("control.for", node_id="loop", count=3)
    for name, region in (("top", ""), ("inner", loop)):
        delay = patch.add("buffer.frame_delay", node_id=name, region=region, initial=1.0)
        patch.connect(one["out"], delay["like"])
        again = patch.add("test_run.scale", node_id=f"{name}_scale", region=region, factor=1.5)
        patch.connect(delay["out"], again["x"])
        patch.connect(again["out"], delay["x"])
    for before, name in (("top_scale", "old"), ("old", "older")):
        delay = patch.add("buffer.frame_delay", node_id=name)
        patch.connect(patch[before]["out"], delay["x"])
    last = patch.add("test_run.scale", node_id="last")
    patch.connect(patch["older"]["out"], last["x"])
    bump(patch, patch.add("buffer.constant", node_id="zero", shape="3"), loop)
    return copy_of(patch)


def show(engine: Engine) -> FrameReport:
    """Run frames as the engine's thread does until all edits are followed; return the last report."""
    highest = engine.core.frame(free_running=True)
    while engine.core.updates.pending:
        report = engine.core.frame(free_running=True)
        highest = max(highest, report, key=lambda r: r.update_level)
    return highest


Edit = Callable[[Patch], Any]
EDITS: dict[str, tuple[Edit, str]] = {
    "live": (lambda p: p.set("last", factor=3.0), "HOT"),
    "live in a loop": (lambda p: p.set("bump", amount=3.0), "HOT"),
    "contents": (lambda p: p.set("other", data=np.array([1, 2, 3], np.float32)), "WARM"),
    "larger": (lambda p: p.set("zero", shape="300"), ""),
    "added": (lambda p: p.connect(p["older"]["out"], p.add("test_run.scale", node_id="more")["x"]), "COLD"),
    "another delay": (
        lambda p: p.connect(p["top_scale"]["out"], p.add("buffer.frame_delay", node_id="a")["x"]),
        "COLD",
    ),
    "led elsewhere": (lambda p: p.connect(p["other"]["out"], p["last"]["x"]), "COLD"),
    "moved": (lambda p: p.move_into("last", "loop"), "COLD"),
    "out of the loop": (lambda p: p.move_into("bump", ""), "COLD"),
}


@pytest.mark.parametrize("frames", [1, 2, 3])
@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_a_paused_engine_is_shown_and_leaves_no_trace_when_undone(
    kernels: Kernels, device: Device, name: str, frames: int
) -> None:
    """An edit of a paused engine is shown at once; after its undo, contents are those of an engine without it."""
    edit, level = EDITS[name]
    patch = with_delays()
    with Engine(patch, device=device) as engine, Engine(copy_of(patch), device=device) as other:
        for _ in range(frames):
            assert not errors(engine.step())
            other.step()
        # A loop begins with the result of its last iteration, even when the frame is shown again.
        ports = {port for port in outputs(patch) if port.node not in ("inner", "inner_scale")}
        engine.post(SetRunning(False))
        edit(patch)
        report = show(engine)
        assert not errors(report) and report.frame == frames - 1
        assert not level or report.update_level is UpdateLevel[level]
        shown = contents(engine, ports)
        fixed = {port for port in ports if port.node in ("top", "top_scale", "old", "older")}
        assert not differences(contents(engine, fixed), contents(other, fixed))
        patch.undo()
        show(engine)
        assert not differences(contents(engine, ports), contents(other, ports))
        patch.redo()
        show(engine)
        assert not differences(contents(engine, ports), shown)
        patch.undo()
        show(engine)
        engine.post(SetRunning(True))
        for _ in range(3):
            assert engine.step().frame == other.step().frame
            assert not differences(contents(engine, ports), contents(other, ports))


@pytest.mark.parametrize("seed", range(3))
def test_pauses_steps_and_edits_in_any_order_end_where_frames_alone_do(
    kernels: Kernels, device: Device, seed: int
) -> None:
    """After edits, pauses and steps in any order, outputs equal those of an engine that ran the frames alone."""
    chance = random.Random(seed)
    patch = with_delays()
    with Engine(patch, device=device) as engine, Engine(copy_of(patch), device=device) as other:
        forget = patch.subscribe(lambda change: other.patch.restore([change]))
        engine.step()
        other.step()
        for _ in range(25):
            kind = chance.choice(("edit", "edit", "undo", "pause", "play", "save", "show", "frame", "frame"))
            if kind == "edit":
                name = chance.choice(sorted(EDITS.keys() - {"added", "another delay"}))
                EDITS[name][0](patch)
            elif kind == "undo":
                patch.undo()
            elif kind in ("pause", "play"):
                engine.post(SetRunning(kind == "play"))
            elif kind == "save":
                factor = chance.choice(("* factor", "+ factor"))
                message = kernels.write("scale.cu", SCALE.replace("* factor", factor))
                engine.post(message)
                other.post(message)
            elif kind == "show" and not engine.core.player.running and not engine.core.inbox:
                assert not errors(show(engine))
            elif kind == "frame":
                report = engine.step()
                assert not errors(report) and report.frame == other.step().frame
                assert not differences(contents(engine, outputs(patch)), contents(other, outputs(patch)))
        forget()
