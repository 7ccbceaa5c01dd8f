"""An engine in another process gives the same results as one in this process."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tests.protocol.engine_process import COMMAND, the_child
from tests.waiting import next_report
from warploom import Engine, Patch, UpdateLevel, forget_blocks, trust_blocks
from warploom.engine.blocktypes.value_blocks import ValueBlock
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.diagnostics import DeviceError, Diagnostic, PatchError, WarploomError
from warploom.engine.patch.changes import Change, NodeRemoved, ParameterChanged, PortRef
from warploom.engine.patch.files import save_patch
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.protocol import pipe
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.messages import (
    EditCost,
    Edited,
    FrameReport,
    ObserveProfile,
    Saved,
    SaveOutputs,
    SetProfiling,
    SetRunning,
    UpdateRecord,
)
from warploom.engine.protocol.pipe import connect
from warploom.engine.protocol.sampling import ObservePorts, picture_of
from warploom.engine.runtime.engine import open_engine

Connect = Callable[[Patch], Client]


def here(patch: Patch) -> Client:
    """Run a patch with an engine in this process."""
    return Engine(patch, "host")


def in_a_child(patch: Patch) -> Client:
    """Run a patch with an engine in a child process."""
    return connect(patch, COMMAND, "host")


def saxpy_patch() -> Patch:
    """Return 3 x + y over 0..999 and ones."""
    patch = Patch()
    x = patch.add("io.array", node_id="x", data=np.arange(1000, dtype=np.float32))
    y = patch.add("io.array", node_id="y", data=np.ones(1000, np.float32))
    saxpy = patch.add("math.saxpy", node_id="saxpy", a=3.0)
    patch.connect(x["out"], saxpy["x"])
    patch.connect(y["out"], saxpy["y"])
    return patch


def comparable(report: FrameReport) -> dict[str, Any]:
    """Return the parts of a report that don't depend on time."""
    return {
        "frame": report.frame,
        "level": report.update_level,
        "nodes": {node: (n.type, n.state, n.message, n.kernels) for node, n in report.nodes.items()},
        "buffers": report.buffers,
        "diagnostics": report.diagnostics,
        "updates": [(u.level, u.cause, u.source, u.nodes) for u in report.updates],
        "time": report.time_s,
        "hot": report.hot_updates,
        "launches": report.launches,
        "kernels": report.statistics.kernels,
    }


def a_session(client: Client, patch: Patch) -> list[Any]:
    """Edit a patch in every way, and return all of the engine's reports and answers."""

    def cost(change: Change) -> EditCost:
        told = client.cost_of(change)
        assert told.estimate_ns is None or told.estimate_ns >= 0
        return replace(told, estimate_ns=None)

    told: list[Any] = [client.info, comparable(client.step()), client.read(patch["saxpy"]["out"]).tolist()]
    told += [cost(NodeRemoved(patch.nodes["x"])), cost(ParameterChanged("saxpy", "a", 1.0, 3.0))]
    patch.set("saxpy", a=-2.0)
    told += [comparable(client.step()), client.read(patch["saxpy"]["out"]).tolist()]
    with patch.edit("more"):
        more = patch.add("math.saxpy", node_id="more", a=0.5)
        patch.connect(patch["saxpy"]["out"], more["x"])
        patch.connect(patch["y"]["out"], more["y"])
    told += [comparable(client.step()), client.read(more["out"]).tolist()]
    patch.set("x", data=np.linspace(0, 1, 7, dtype=np.float32))
    told += [comparable(client.step())]  # x now has another size than y
    patch.set("x", data=np.arange(1000, dtype=np.float32))
    told += [comparable(client.step())]
    patch.disconnect(more["y"])
    told += [comparable(client.step()), cost(NodeRemoved(patch.nodes["more"]))]
    patch.undo()
    told += [comparable(client.step()), client.read(more["out"]).tolist()]
    told += [(s.track, s.name) for s in client.trace(2)]
    client.post(SetProfiling(ProfilingLevel.DEEP_SYNC))
    client.post(ObserveProfile(True))
    told += [client.step().frame]
    profile = client.take_profile()
    assert profile is not None and profile.spans and profile.buffers
    told += [profile.frame, [(span.node, span.name, span.turns) for span in profile.spans], profile.buffers]
    told += [e if isinstance(e, Diagnostic) else (e.level, e.cause, e.source) for e in client.take_events()]
    record = client.flight_record()
    told += [record.frames.dtype, record.frames[["frame", "level"]].tolist(), record.budget_ns]
    told += [(each.update.frame, each.update.cause) for each in record.updates]
    return [*told, *((each.appeared, each.resolved) for each in record.diagnostics)]


def test_a_child_process_says_what_an_engine_here_says() -> None:
    """An engine in a child process returns the reports, arrays, costs, traces and events of one in this process."""
    here_patch, child_patch = saxpy_patch(), saxpy_patch()
    with here(here_patch) as engine:
        expected = a_session(engine, here_patch)
    with in_a_child(child_patch) as client:
        told = a_session(client, child_patch)
    assert any(item == (-2.0 * np.arange(1000) + 1).tolist() for item in told)
    assert told == expected


def test_value_outputs_of_each_type_cross_the_pipe() -> None:
    """Reports have the same values with the same types: truth, whole numbers and others, of all value blocks."""

    def told(connected: Connect) -> str:
        patch = Patch()
        library = [t for t in default_catalogue().all() if t.__module__.startswith("warploom.blocks.")]
        types = [t for t in library if issubclass(t, ValueBlock)]
        for block_type in types:
            patch.add(block_type.id, **({"seed": 1} if "seed" in block_type.parameters else {}))
        assert {spec.type for t in types for spec in t.values_out.values()} == {"bool", "int", "float"}
        with connected(patch) as client:
            client.step()
            return str(sorted(client.step().values.items()))

    assert told(in_a_child) == told(here)


@pytest.mark.parametrize("connected", [here, in_a_child])
def test_a_slider_moves_while_the_engine_plays(connected: Connect) -> None:
    """A move of the slider reaches a frame as one parameter write; after pausing, frames are stepped by hand."""
    patch = saxpy_patch()
    with connected(patch) as client:
        client.start(rate=200.0)
        next_report(client, lambda r: not r.preparing and r.frame > 2)
        patch.set("saxpy", a=4.0)
        next_report(client, lambda r: r.hot_updates == 1)
        assert client.read(patch["saxpy"]["out"]).tolist() == (4.0 * np.arange(1000) + 1).tolist()
        client.post(SetRunning(False))
        paused = next_report(client, lambda r: not r.running)
        client.stop()
        assert client.step().frame >= paused.frame
        records = [event for event in client.take_events() if isinstance(event, UpdateRecord)]
        assert [record.level for record in records] == [UpdateLevel.COLD]


@pytest.mark.parametrize("connected", [here, in_a_child])
def test_pictures_and_saved_files_arrive(connected: Connect, tmp_path: Path) -> None:
    """A picture equals numpy's conversion of the image.

    A file is saved beside the patch, even after the patch moves.
    """
    patch = Patch()
    board = patch.add("image.checkerboard", width=8, height=4, cell=2, dark=0.0, light=1.0)
    viewer = patch.add("io.viewer", node_id="viewer")
    save = patch.add("io.save_image", node_id="save", file="board.png")
    patch.connect(board["out"], viewer["image"])
    patch.connect(board["out"], save["image"])
    rows, columns = np.indices((4, 8)) // 2
    light = (rows + columns) % 2 == 1
    with connected(patch) as client:
        client.post(ObservePorts({"viewer": picture_of("viewer")}))
        client.step()
        preview = client.take_sample("viewer")
        assert preview is not None
        assert preview.data.shape == (4, 8, 4)
        assert set(np.unique(preview.data[..., 0] > 128)) == {False, True}
        dark_first = bool(preview.data[0, 0, 0] > 128)
        np.testing.assert_array_equal(preview.data[..., 0] > 128, light ^ dark_first)
        assert client.take_sample("viewer") is None
        save_patch(patch, tmp_path / "board.loom")
        client.post(SaveOutputs("save"))
        client.step()
        saved = [event for event in client.take_events() if isinstance(event, Saved)]
        assert [file.path for file in saved] == [str(tmp_path / "board.png")]
        assert (tmp_path / "board.png").is_file()


def test_the_death_of_a_child_is_reported_in_one_message() -> None:
    """The end of a child is in the last report, one event and every later question's error; closing raises none."""
    patch = saxpy_patch()
    with in_a_child(patch) as client:
        client.step()
        client.take_report()
        os.kill(the_child(), signal.SIGKILL)
        report = next_report(client, lambda r: r.failed)
        assert set(report.nodes) == {"x", "y", "saxpy"}
        assert not report.running
        (told,) = [event for event in client.take_events() if isinstance(event, Diagnostic)]
        assert report.diagnostics == (told,)
        assert told.message == "engine's process must keep running, but it was ended by SIGKILL"
        patch.set("saxpy", a=1.0)  # the document can still be edited
        for ask in (client.step, client.stop, lambda: client.read(patch["saxpy"]["out"])):
            with pytest.raises(DeviceError, match="engine's process must keep running"):
                ask()
        assert client.take_events() == []


def test_a_question_that_waits_is_refused_when_the_child_dies() -> None:
    """A question that waits for its answer ends with an error."""
    with in_a_child(saxpy_patch()) as client:
        pid = the_child()
        os.kill(pid, signal.SIGSTOP)
        timer = threading.Timer(0.2, os.kill, (pid, signal.SIGKILL))
        timer.start()
        with pytest.raises(DeviceError, match="ended by SIGKILL"):
            client.step()
        timer.join()


def test_closing_ends_the_child() -> None:
    """The child ends with status 0, and later questions are refused, as by a closed engine in this process."""
    client = in_a_child(saxpy_patch())
    client.step()
    client.close()
    client.close()
    with pytest.raises(WarploomError, match="engine must be open, got one that was closed"):
        client.step()
    with pytest.raises(subprocess.CalledProcessError):
        the_child()


def test_closing_a_killed_child_raises_nothing() -> None:
    """Nothing is raised by `close` for a process that was killed, whether its end is noticed before or meanwhile."""
    for is_noticed in (False, True):
        client = in_a_child(saxpy_patch())
        os.kill(the_child(), signal.SIGKILL)
        if is_noticed:
            with pytest.raises(DeviceError, match="ended by SIGKILL"):
                client.step()
        client.close()


def test_a_child_ends_with_its_parent() -> None:
    """The child ends even if its parent is killed; then the standard error that both share is closed."""
    code = (
        "import os; from warploom import Patch; from warploom.engine.protocol.pipe import connect;"
        "from warploom.engine.protocol.child import liveness; liveness.HELLO_S = 600.0;"
        "from tests.protocol.engine_process import COMMAND;"
        "connect(Patch(), COMMAND, 'host').start(); os._exit(5)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (5, b"")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["no-such-program"], "engine command must be one that runs, got .*: No such file or directory"),
        ([sys.executable, "-c", "pass"], "but it ended with status 0"),
        ([sys.executable, "-c", "print('Welcome!', flush=True); input()"], "no message: .*, got b'Welcome!'"),
        (
            [sys.executable, "-c", r"print('\0\0\0\0\0\0\0\1x', end='', flush=True); input()"],
            "an older one or no engine",
        ),
    ],
)
def test_a_command_that_is_no_engine_is_named(command: list[str], message: str) -> None:
    """A command that is no engine is a DeviceError that says how the command ended."""
    with pytest.raises(DeviceError, match=message):
        connect(saxpy_patch(), command)


@pytest.mark.parametrize("connected", [here, in_a_child])
def test_what_an_engine_refuses_is_the_same_exception(connected: Connect) -> None:
    """The exception has the class and message that an engine in this process raises."""
    patch = saxpy_patch()
    with connected(patch) as client:
        with pytest.raises(PatchError, match="outputs must come from a running patch"):
            client.save_outputs()
        with pytest.raises(PatchError, match=r"port nobody.out must be part of the running graph"):
            client.read(PortRef("nobody", "out"))


def test_an_unknown_device_is_refused() -> None:
    """An unknown device is refused with the same error as in this process."""
    with pytest.raises(DeviceError, match='device must be "auto", "host" or "cuda:0"'):
        connect(Patch(), COMMAND, "abacus")


def test_memory_of_the_users_own_is_refused_on_its_node() -> None:
    """An array in this process's memory is an error at its node, and the rest of the patch can still be edited."""
    patch = saxpy_patch()
    patch.add("io.external", node_id="mine", array=np.ones(4, np.float32))
    with in_a_child(patch) as client:
        (told,) = client.step().diagnostics
        assert told.node == "mine"
        assert "got one in another process than the engine; use io.array for a copy of it" in told.message


def test_blocks_that_the_person_trusts_run_in_the_child(tmp_path: Path) -> None:
    """Output that trusted blocks print to stdout is not taken for messages."""
    (tmp_path / "loud.py").write_text(
        "from warploom.api import Block, BlockBuilder, Out, f32, port\n"
        "print('loud')\n"
        "class Loud(Block, id='test_pipe.loud', category='Test'):\n"
        "    'Prints.'\n"
        "    out: Out[f32] = port(shape='[4]', doc='Zeros.')\n"
        "    def describe(self, build: BlockBuilder) -> None:\n"
        "        'Zeros.'\n"
        "        print('louder' * 10000)\n"
        "        build.fill(self.out)\n"
    )
    trust_blocks(tmp_path)
    try:
        patch = Patch()
        loud = patch.add("test_pipe.loud")
        with in_a_child(patch) as client:
            assert client.step().diagnostics == ()
            assert client.read(loud["out"]).tolist() == [0.0] * 4
    finally:
        forget_blocks(tmp_path)


def test_values_of_wrong_types_are_refused_and_the_engine_goes_on() -> None:
    """A value of a wrong type raises an error with the field's name, and the engine continues."""
    with in_a_child(saxpy_patch()) as client:
        with pytest.raises(WarploomError, match=r"frames must be a whole number of at least 0, got 1\.5"):
            client.trace(1.5)  # type: ignore[arg-type]
        with pytest.raises(WarploomError, match="real_time must be True or False, got 'no'"):
            client.step(real_time="no")  # type: ignore[arg-type]
        with pytest.raises(WarploomError, match="deterministic must be True or False, got 1"):
            client.start(deterministic=1)  # type: ignore[arg-type]
        with pytest.raises(WarploomError, match=r"port must be one of a node"):
            client.read("saxpy.out")  # type: ignore[arg-type]
        with pytest.raises(WarploomError, match="running of SetRunning must be True or False, got 'yes'"):
            client.post(SetRunning("yes"))  # type: ignore[arg-type]
        client.step()
        assert client.read(PortRef("saxpy", "out"))[2] == 7


def test_an_answer_to_no_question_ends_the_connection() -> None:
    """A program that is no engine fails to connect, instead of hanging."""
    program = """
import sys
from warploom.engine.protocol.child.encoding import Refused, encode
from warploom.engine.protocol.child.frames import write_frame
from warploom.engine.protocol.child.hello import hello
write_frame(sys.stdout.buffer, encode(hello()))
write_frame(sys.stdout.buffer, encode(Refused(77, "Odd", "text")))
"""
    with pytest.raises(DeviceError, match="an answer must be to a question that was asked, got number 77"):
        connect(saxpy_patch(), [sys.executable, "-c", program], "host")


@pytest.mark.parametrize("command", ["", " ", "warploom 'engine", "warploom\0engine"])
def test_invalid_commands_are_refused(command: str) -> None:
    """A command that is empty, or has an open quotation or a NUL, is refused."""
    with pytest.raises(DeviceError, match="engine command must be one that runs"):
        open_engine(saxpy_patch(), "host", command, profiling=ProfilingLevel.NONE)


def test_a_command_may_be_one_string(monkeypatch: pytest.MonkeyPatch) -> None:
    """The string is split as by a shell, and refused if a shell could not split it."""
    started: list[list[str]] = []

    def start(command: Sequence[str]) -> None:
        started.append(list(command))
        raise DeviceError("stop here")

    monkeypatch.setattr(pipe, "start_process", start)
    with pytest.raises(DeviceError, match="stop here"):
        connect(Patch(), "ssh 'a host' warploom engine")
    assert started == [["ssh", "a host", "warploom", "engine"]]
    with pytest.raises(DeviceError, match="engine command must be one that runs"):
        connect(Patch(), "warploom 'engine")
    for wrong in (None, 3, b"warploom engine", ["warploom", None]):
        with pytest.raises(DeviceError, match="engine command must be text, or a list of words, got"):
            connect(Patch(), wrong)


def test_a_child_that_still_starts_is_not_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that still starts ignores the terminal's Ctrl+C, and ends when its client closes it."""
    start = subprocess.Popen

    def interrupted(*command: Any, **how: Any) -> subprocess.Popen[bytes]:
        process = start(*command, **how)
        os.kill(process.pid, signal.SIGINT)
        return process

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    before = signal.getsignal(signal.SIGINT)
    with in_a_child(saxpy_patch()) as client:
        assert signal.getsignal(signal.SIGINT) is before
        assert client.step().frame == 0


def test_an_interrupted_question_is_not_waited_for(interrupts: None) -> None:
    """A Ctrl+C during a question ends the child, although it is busy with a million frames."""
    client = in_a_child(saxpy_patch())
    me = threading.main_thread().ident
    assert me is not None
    threading.Timer(0.3, signal.pthread_kill, (me, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        client.trace(1_000_000)
    client.close()
    with pytest.raises(subprocess.CalledProcessError):
        the_child()


@pytest.mark.parametrize("connected", [here, in_a_child])
def test_no_frame_runs_half_of_an_edit(connected: Connect) -> None:
    """While frames run, two products that every edit changes together are each other's negative in each frame."""
    patch, draw = Patch(), random.Random(8)
    sources = [patch.add("io.array", data=np.full(5, value, np.float32)) for value in (1, 2)]
    pair = [patch.add("math.scale_offset") for _ in range(2)]
    between = [patch.add("buffer.constant") for _ in range(30)]
    total = patch.add("math.add")
    for product, port in zip(pair, "xy", strict=True):
        patch.connect(product["out"], total[port])

    def change(turn: int) -> None:
        patch.set(pair[0], scale=turn % 9)
        source = draw.choice(sources)
        patch.connect(source["out"], pair[0]["x"])
        for node in between:
            patch.set(node, value=turn)
        patch.connect(source["out"], pair[1]["x"])
        patch.set(pair[1], scale=-(turn % 9))

    change(0)
    with connected(patch) as engine:
        engine.step()
        engine.start(rate=None)
        for turn in range(1, 41):
            if turn % 8:
                with patch.edit("both"):
                    change(turn)
            else:
                patch.undo()
            assert not engine.read(total["out"]).any()
        engine.stop()
        assert not [happening for happening in engine.take_events() if isinstance(happening, Diagnostic)]


def test_a_question_of_another_thread_leaves_an_open_edit_whole() -> None:
    """Only the thread of an edit sends the changes so far, ahead of any message that it posts."""
    patch = Patch()
    node = patch.add("buffer.constant", value=1.0)
    with Engine(patch, "host") as engine:
        engine.step()
        with patch.edit("both"):
            patch.set(node, value=2.0)
            other = threading.Thread(target=lambda: [engine.profile(), engine.step()])
            other.start()
            other.join()
            assert (engine.core.context.parameters.values[node.id]["value"]) == 1.0
            patch.set(node, value=3.0)
            engine.post(SetRunning(True))
            assert [type(message) for message in engine.core.inbox] == [Edited, SetRunning]
        engine.step()
        assert (engine.read(node["out"]) == 3).all()
