"""While the engine runs on its own thread, frames continue during updates, and the latest edits run in the end."""

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.fuzzing import many, seeds
from tests.runtime.conftest import SCALE, Kernels
from tests.runtime.update.update_edits import Editor
from tests.runtime.update.update_support import OwnArrays, Sources, contents, copy_of, differences, errors, outputs
from tests.waiting import next_report, until
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.device.device import Device
from warploom.engine.protocol.messages import FrameReport, Reset, SetRunning, UpdateRecord
from warploom.engine.runtime.update import updater as updates
from warploom.engine.runtime.update.prepare import prepare

#: How long the stress test edits.
STRESS_S = many(1)
#: Edits of a running engine. Kernel files that stay broken are left out, since they would only slow the test down.
KINDS: tuple[str, ...] = ("live",) * 8 + (
    "size",
    "grow",
    "rewire",
    "array",
    "cut",
    "open",
    "unplug",
    "remove",
    "add_region",
    "move",
)
KINDS += ("undo", "redo", "undo", "save_kernel", "profile")


def wait_for(engine: Engine, holds: Callable[[FrameReport], bool]) -> FrameReport:
    """Return the next report that satisfies a condition."""
    report = next_report(engine, lambda r: r.failed or holds(r))
    assert not report.failed, report.diagnostics
    return report


def settle(engine: Engine) -> FrameReport:
    """Wait until the engine has followed everything, and return a report from then."""
    until(lambda: not (engine.core.inbox or engine.core.updates.pending))
    engine.take_report()
    return wait_for(engine, lambda r: not r.preparing)


def follow(engine: Engine) -> None:
    """Wait until frames have followed everything that was posted, except for edits that wait for a running job."""
    until(lambda: not engine.core.inbox)
    engine.take_report()
    now = wait_for(engine, lambda r: True)  # the frame after `now`, or an earlier one, reads the last message
    wait_for(engine, lambda r: r.frame > now.frame + 1 and r.preparing)


def test_frames_keep_coming_while_a_job_runs(kernels: Kernels, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a graph is built, frames and live values go on in the old graph, and the new graph continues its state."""
    patch = Patch()
    count = patch.add("test_run.count", node_id="count", size=1)
    scale = patch.add("test_run.scale", node_id="scale")
    patch.connect(count["out"], scale["x"])
    begun, may_finish = threading.Event(), threading.Event()

    def slow(*arguments: Any, **more: Any) -> Any:
        begun.set()
        assert may_finish.wait()
        return prepare(*arguments, **more)

    with Engine(patch, device=device) as engine:
        engine.step()
        monkeypatch.setattr(updates, "prepare", slow)
        engine.start(rate=None)
        with engine.between_frames():  # otherwise the connection would wait for the job that the block begins
            more = patch.add("test_run.scale", node_id="more", factor=100.0)
            patch.connect(scale["out"], more["x"])
        assert begun.wait()
        first = wait_for(engine, lambda r: r.preparing)
        wait_for(engine, lambda r: r.frame > first.frame + 20 and r.preparing)
        patch.set("count", step=0.0)
        patch.set("scale", factor=3.0)
        follow(engine)
        held = engine.read(count["out"]).item()
        scaled = engine.read(scale["out"]).item()
        may_finish.set()  # before anything can fail, since closing waits for the job
        assert held >= first.frame + 20
        assert scaled == 3 * held
        settle(engine)
        assert engine.read(count["out"]).item() == held
        assert engine.read(more["out"]).item() == 300 * held


@pytest.mark.parametrize("seed", seeds(1))
def test_edits_from_another_thread_end_in_what_a_fresh_engine_gives(
    kernels: Kernels, device: Device, seed: int
) -> None:
    """After random edits from another thread, all outputs equal a new engine's in the first frame after a Reset."""
    arrays = OwnArrays(device)
    arrays.add(np.arange(64, dtype=np.float32))
    sources = Sources(kernels.folder)
    editor = Editor(seed, sources, arrays.lent)
    chance = editor.chance
    records: list[UpdateRecord] = []
    try:
        with Engine(editor.patch, device=device) as engine:
            assert not errors(engine.step())
            engine.start(rate=None)
            end_s = time.monotonic() + STRESS_S
            while time.monotonic() < end_s:
                for message in editor.edit(KINDS).messages:
                    engine.post(message)
                if chance.random() < 0.05:
                    engine.post(chance.choice((SetRunning(False), SetRunning(True), Reset())))
                time.sleep(chance.choice((0, 0, 0.001, 0.01)))
                report = engine.take_report()
                if report is not None:
                    assert not report.failed, report.diagnostics
                    editor.see(report.buffers)
                    if errors(report) and chance.random() < 0.2:
                        editor.edit(("undo",))
                records += [event for event in engine.take_events() if isinstance(event, UpdateRecord)]
            engine.post(SetRunning(True))
            engine.post(sources.save("scale.cu", SCALE))
            report = settle(engine)
            while errors(report):
                editor.take_back()
                report = settle(engine)
            engine.stop()
            before = arrays.save()
            engine.post(Reset())
            assert engine.step().frame == 0
            ports = outputs(editor.patch)
            lived = contents(engine, ports)
            arrays.restore(before)
            with Engine(copy_of(editor.patch), device=device, profiling=editor.profiling) as fresh:
                assert not errors(fresh.step())
                assert not differences(lived, contents(fresh, ports))
            assert UpdateLevel.COLD in {record.level for record in records}
            assert all(record.cause and record.cost_ns > 0 for record in records)
    finally:
        arrays.close()
