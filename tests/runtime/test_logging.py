"""The engine logs each update with its cause and cost, and each problem, and next to nothing in a frame."""

import logging
import re
import sys
from collections import Counter
from types import FrameType

import numpy as np
import pytest

from tests.runtime.conftest import SCALE, Kernels
from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.logs import LogBuffer, Logged, set_level
from warploom.engine.protocol.messages import Reset, SetProfiling


def told(log_buffer: LogBuffer) -> list[tuple[str, str, str]]:
    """Return level, module and text of the new records, with # for every number."""
    found = [(logging.getLevelName(r.level), r.logger.rpartition(".")[2], r.text) for r in log_buffer.take()[0]]
    return [(level, module, re.sub(r"\d+(\.\d+)?", "#", text)) for level, module, text in found]


@pytest.fixture
def patch(kernels: Kernels) -> Patch:
    """An array that is scaled by 2."""
    patch = Patch()
    data = patch.add("io.array", node_id="data", data=np.arange(3, dtype=np.float32))
    scale = patch.add("test_run.scale", node_id="scale")
    patch.connect(data["out"], scale["x"])
    return patch


def test_the_life_of_an_engine_is_logged(patch: Patch, kernels: Kernels, log_buffer: LogBuffer) -> None:
    """Each build, swap and setting has one record; parameters, and frames without an update, have none."""
    with Engine(patch, "host") as engine:
        for edit in (
            lambda: None,
            lambda: None,
            lambda: patch.set("scale", factor=3.0),
            lambda: patch.rename("scale", "Louder"),
            lambda: patch.add("test_run.count", node_id="count"),
            lambda: patch.undo(),
            lambda: engine.post(kernels.write("scale.cu", SCALE.replace("* factor", "* factor + 1"))),
            lambda: engine.post(SetProfiling(ProfilingLevel.NONE)),
            lambda: engine.post(Reset()),
        ):
            edit()
            engine.step()
    took = "# ms (frames waited #)"
    assert told(log_buffer)[1:] == [
        ("INFO", "updater", f"COLD: first build, by engine; # nodes, # kernel, {took}"),
        ("INFO", "updater", f"COLD: block count, by edit; # nodes, # kernels, {took}"),
        ("INFO", "updater", f"COLD: removed block count, by undo; # nodes, # kernel, {took}"),
        ("INFO", "updater", f"CODE: scale.cu saved, by kernel file; # nodes, # kernel, {took}"),
        ("INFO", "cuda_engine", "measuring at the level NONE"),
        ("INFO", "state_keeper", "all state begins again at frame #"),
        ("INFO", "engine", "engine on host is closed"),
    ]


def test_details_of_a_build_are_logged_when_they_are_wanted(
    patch: Patch, kernels: Kernels, log_buffer: LogBuffer
) -> None:
    """At level DEBUG, compiles, loads, allocations and WARM updates are logged."""
    kernels.write("scale.cu", SCALE + "// No other test has compiled this text.\n")
    set_level(log_buffer, logging.DEBUG)
    with Engine(patch, "host") as engine:
        engine.step()
        texts = [text for level, _, text in told(log_buffer) if level == "DEBUG"]
        begun = texts.index("preparing first build")
        assert any(text.startswith("compiled scale.cu for compute_# in # ms") for text in texts[begun:])
        assert "loaded scale.cu for compute_# in # ms: scale" in texts[begun:]
        assert "allocated # bytes" in texts[begun:]
        patch.set("data", data=np.ones(3, np.float32))
        engine.step()
        assert any(text.startswith("WARM: ") for level, _, text in told(log_buffer) if level == "DEBUG")


def test_what_is_wrong_is_logged_when_it_comes_up(patch: Patch, kernels: Kernels, log_buffer: LogBuffer) -> None:
    """Each problem is logged once, however long it stays; its end, and blocks that wait, are logged at level DEBUG."""
    set_level(log_buffer, logging.DEBUG)
    with Engine(patch, "host") as engine:
        engine.step()
        told(log_buffer)
        kernels_wrong = kernels.write("scale.cu", "wrong")
        for message in (kernels_wrong, None, None):
            if message is not None:
                engine.post(message)
            engine.step()
        patch.add("math.saxpy", node_id="later")
        engine.step()
        found = [item for item in told(log_buffer) if item[1] == "diagnostics_log"]
        assert [(level, text.partition(" ")[0]) for level, _, text in found if level == "ERROR"] == [
            ("ERROR", "scale:")
        ]
        assert all("later" in text for level, _, text in found if level == "DEBUG") and len(found) > 1
        engine.post(kernels.write("scale.cu", SCALE))
        engine.step()
        gone = [text for level, _, text in told(log_buffer) if text.startswith("no longer: ")]
        assert len(gone) == 1 and "scale.cu" in gone[0]


def moved(engine: Engine, patch: Patch, log_buffer: LogBuffer, frames: int) -> list[Logged]:
    """Move a slider in every frame, and return the log records about it."""
    for _ in range(frames):
        patch.set("scale", factor=patch.value("scale", "factor") + 1)
        engine.step()
    return [told for told in log_buffer.take()[0] if told.text.startswith("HOT: ")]


def test_parameter_writes_are_counted_and_told_once_a_second(
    patch: Patch, log_buffer: LogBuffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames that write parameters are logged once a second, and each is counted once."""
    set_level(log_buffer, logging.DEBUG)
    now_ns = 10_000_000_000
    monkeypatch.setattr("warploom.engine.runtime.frame.reporter.time.perf_counter_ns", lambda: now_ns)
    with Engine(patch, "host", profiling=ProfilingLevel.NONE) as engine:
        engine.step()
        first = moved(engine, patch, log_buffer, 40)
        assert [told.text for told in first] == ["HOT: 1 frame wrote parameters, 1 in all"]
        now_ns += 1_000_000_000
        assert [told.text for told in moved(engine, patch, log_buffer, 1)] == [
            "HOT: 40 frames wrote parameters, 41 in all"
        ]
        moved(engine, patch, log_buffer, 5)
        now_ns += 1_000_000_000
        engine.step()  # a frame without a write
        assert [told.text for told in log_buffer.take()[0]] == ["HOT: 5 frames wrote parameters, 46 in all"]
        set_level(log_buffer, logging.INFO)
        now_ns += 1_000_000_000
        assert moved(engine, patch, log_buffer, 5) == []


def calls_of_logging(engine: Engine, patch: Patch | None, frames: int) -> Counter[str]:
    """Count the calls of `logging`'s functions in frames, each with a moved slider if there is a patch."""
    calls: Counter[str] = Counter()

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_globals.get("__name__") == "logging":
            calls[frame.f_code.co_name] += 1

    for number in range(frames):
        if patch is not None:
            patch.set("scale", factor=float(number))
        sys.setprofile(look)
        try:
            engine.core.frame(free_running=True)
        finally:
            sys.setprofile(None)
    return calls


def test_a_frame_pays_at_most_a_check_of_the_level(patch: Patch, log_buffer: LogBuffer) -> None:
    """A frame without a write makes no call of `logging`; one with a write only checks the level."""
    with Engine(patch, "host") as engine:
        engine.step()
        assert not calls_of_logging(engine, None, 20)
        calls_of_logging(engine, patch, 1)  # so that `logging` has cached the level
        calls = calls_of_logging(engine, patch, 20)
        assert calls.keys() <= {"isEnabledFor"} and calls.total() <= 20
