"""A saved block file reaches the running engine: good versions replace blocks, broken ones leave the last good one."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.catalogue.block_texts import KERNEL, BlockFolder, block_text
from tests.catalogue.conftest import HeldRunner
from tests.waiting import next_report, until
from warploom import Engine, Patch, UpdateLevel, forget_blocks, trust_blocks
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.diagnostics import Diagnostic, Severity
from warploom.engine.patch.files import load_patch, save_patch
from warploom.engine.protocol.messages import FrameReport, NodeState

X = np.array([1.0, 2.0, 3.0], np.float32)


class Live:
    """A patch of one live block between an array and a sum, and its engine."""

    def __init__(self, folder: BlockFolder, text: str, **values: Any) -> None:
        self.folder = folder
        folder.write("scale.py", text)
        assert trust_blocks(folder.path) == []
        self.patch = Patch()
        self.x = self.patch.add("io.array", data=X)
        self.scale = self.patch.add("live.scale", **values)
        self.patch.connect(self.x["out"], self.scale["x"])
        self.engine = Engine(self.patch, device="host")

    def save(self, text: str, name: str = "scale.py") -> None:
        """Save the block's file, and wait until it has been loaded."""
        block_folders.reload([self.folder.write(name, text)]).result()

    def step(self) -> FrameReport:
        """Run a frame."""
        return self.engine.step()

    def out(self, port: str = "out") -> list[float]:
        """Return the contents of the block's output, as a list."""
        return [float(value) for value in self.engine.read(self.scale[port])]

    def problem(self) -> Diagnostic:
        """Return the only problem, which must be on the block."""
        (problem,) = self.engine.step().diagnostics
        assert problem.node == self.scale.id
        return problem


@pytest.fixture
def live(folder: BlockFolder) -> Any:
    """Make patches with a live block; their engines are closed at the end."""
    made: list[Live] = []

    def make(text: str, **values: Any) -> Live:
        made.append(Live(folder, text, **values))
        return made[-1]

    yield make
    for one in made:
        one.engine.close()


MakeLive = Callable[..., Live]


def test_a_changed_description_is_cold_and_keeps_the_values(live: MakeLive) -> None:
    """A version that launches other work is a COLD update, and keeps the gain and the undo history."""
    one = live(block_text(), gain=3.0)
    assert one.step().update_level is UpdateLevel.COLD
    assert one.out() == [3, 6, 9]
    one.save(block_text(factor="100.0"))
    report = one.step()
    assert report.update_level is UpdateLevel.COLD
    assert report.updates[-1].cause == "new version of live.scale"
    assert one.out() == [100, 200, 300]
    assert one.patch.value(one.scale, "gain") == 3.0
    assert one.patch.history.undo_name != "new version of live.scale"


def test_code_that_asks_for_the_same_rebuilds_nothing(live: MakeLive) -> None:
    """Comments, help and ranges rebuild nothing; a new default is a HOT update."""
    one = live(block_text(gain="2.0"))
    one.step()
    one.save(block_text(gain="5.0, max=9") + "\n# a comment\n")
    report = one.step()
    assert report.update_level is UpdateLevel.HOT
    assert report.updates == ()
    assert one.out() == [5, 10, 15]
    one.save(block_text(gain="5.0, max=9") + "\n# another comment\n")
    assert one.step().update_level is UpdateLevel.NONE


def test_the_newest_value_is_kept(live: MakeLive) -> None:
    """The last of several values that were written from the inbox survives a new version."""
    one = live(block_text())
    one.step()
    for gain in (2.0, 3.0, 4.0):
        one.patch.set(one.scale, gain=gain)
        one.step()
    one.save(block_text(factor="self.gain", extra='more: float = param(1.0, doc="More.")') + "\n")
    one.step()
    assert one.out() == [4, 8, 12]
    one.patch.reset(one.scale, "gain")
    one.step()
    assert one.out() == [1, 2, 3]


def test_a_value_set_after_a_new_default_is_kept(live: MakeLive) -> None:
    """A value that is set between two changes of the default is kept."""
    one = live(block_text(gain="2.0"))
    one.step()
    one.save(block_text(gain="5.0"))
    one.step()
    for gain in (7.0, 8.0):
        one.patch.set(one.scale, gain=gain)
        one.step()
    one.save(block_text(gain="6.0"))
    one.step()
    assert one.out() == [8, 16, 24]


def test_a_parameter_that_is_gone_comes_back_with_its_value(live: MakeLive) -> None:
    """The value of a removed parameter stays in the patch, and applies again once the parameter is back."""
    one = live(block_text())
    one.patch.set(one.scale, gain=2.0)
    one.step()
    one.patch.set(one.scale, gain=7.0)
    one.step()
    one.save(block_text().replace("gain: float", "strength: float").replace("self.gain", "self.strength"))
    one.step()
    assert one.out() == [1, 2, 3]
    one.save(block_text())
    one.step()
    assert one.out() == [7, 14, 21]


def test_a_value_that_no_longer_fits_gets_its_default_and_the_node_says_so(live: MakeLive) -> None:
    """A value that a new version refuses is kept and reported; the default is used until it fits or is set again."""
    one = live(block_text(), gain=50.0)
    one.step()
    one.save(block_text(gain="0.5, max=1"))
    assert one.out() == [50, 100, 150]
    problem = one.problem()
    assert problem.severity is Severity.ERROR
    assert problem.message == "parameter gain must be at most 1, got 50.0; its default 0.5 stands in"
    assert problem.remedy == "set gain again"
    assert one.out() == [0.5, 1, 1.5]
    one.save(block_text(gain="0.5, max=100"))
    assert one.step().diagnostics == ()
    assert one.out() == [50, 100, 150]
    one.save(block_text(gain="0.5, max=1"))
    one.problem()
    path = one.folder.path.parent / "p.loom"
    save_patch(one.patch, path)
    loaded = load_patch(path)
    assert loaded.nodes["scale"].parameters == {"gain": 50.0}
    assert loaded.value("scale", "gain") == 0.5
    one.patch.set(one.scale, gain=1.0)
    assert one.step().diagnostics == ()
    assert one.out() == [1, 2, 3]
    one.patch.undo()
    assert one.problem().message.startswith("parameter gain must be at most 1, got 50.0")
    assert one.out() == [0.5, 1, 1.5]
    one.patch.redo()
    assert one.step().diagnostics == ()
    assert one.out() == [1, 2, 3]


FAILURES = [
    (block_text() + "\n1 / 0\n", "block file scale.py raised ZeroDivisionError: division by zero (scale.py:18)", 18),
    (
        block_text(describe="raise ValueError('no')"),
        "describe of live.scale raised ValueError: no (scale.py:14)",
        14,
    ),
    (
        block_text(extra="def __init__(self, *_: object) -> None:\n        raise OSError('never')"),
        "construction of live.scale raised OSError: never (scale.py:11)",
        11,
    ),
]


@pytest.mark.parametrize(("text", "message", "line"), FAILURES, ids=["file", "describe", "construction"])
def test_code_that_fails_marks_the_node_and_the_last_version_runs_on(
    live: MakeLive, text: str, message: str, line: int
) -> None:
    """A failing version is reported with file and line, while the last good one still runs; fixed code replaces it."""
    one = live(block_text(), gain=2.0)
    one.step()
    one.save(text)
    report = one.step()
    assert report.update_level is UpdateLevel.NONE
    (problem,) = report.diagnostics
    path = one.folder.path / "scale.py"
    assert (problem.message, problem.file, problem.line) == (message, str(path), line)
    assert (problem.node, problem.severity) == (one.scale.id, Severity.ERROR)
    assert report.nodes[one.scale.id].state is NodeState.ERROR
    one.patch.set(one.scale, gain=3.0)
    assert one.step().update_level is UpdateLevel.HOT
    assert one.out() == [3, 6, 9]
    after = one.patch.add("math.scale_offset", scale=10.0)
    one.patch.connect(one.scale["out"], after["x"])
    assert one.step().update_level is UpdateLevel.COLD
    assert one.engine.read(after["out"]).tolist() == [30, 60, 90]
    one.save(block_text(factor="4.0"))
    assert one.step().diagnostics == ()
    assert one.engine.read(after["out"]).tolist() == [40, 80, 120]


def test_a_node_placed_while_the_file_fails_gets_the_last_version(live: MakeLive) -> None:
    """A node that is placed while its file fails runs the last good version and shows the file's error."""
    one = live(block_text())
    one.save("1 / 0\n" + block_text())
    second = one.patch.add("live.scale", gain=2.0)
    one.patch.connect(one.x["out"], second["x"])
    report = one.step()
    assert [item.node for item in report.diagnostics] == [one.scale.id, second.id]
    assert one.engine.read(second["out"]).tolist() == [2, 4, 6]


def test_a_type_that_is_gone_leaves_a_placeholder_and_the_last_graph(live: MakeLive) -> None:
    """While a type is missing, the last graph runs; when the type is back, the node has its values and connections."""
    one = live(block_text(), gain=2.0)
    one.step()
    one.save(block_text("live.other"))
    problem = one.problem()
    assert problem.message == "block type must be in the catalogue, got live.scale"
    assert one.out() == [2, 4, 6]
    one.save(block_text(factor="self.gain + 0 if False else 5.0"))
    assert one.step().diagnostics == ()
    assert one.out() == [5, 10, 15]
    assert one.patch.value(one.scale, "gain") == 2.0


def test_a_type_that_comes_later_brings_its_placeholders_to_life(folder: BlockFolder) -> None:
    """Placeholders of an untrusted folder become blocks once a person trusts the folder."""
    folder.write("scale.py", block_text())
    trust_blocks(folder.path)
    patch = Patch()
    x = patch.add("io.array", data=X)
    scale = patch.add("live.scale", gain=2.0)
    patch.connect(x["out"], scale["x"])
    path = folder.path.parent / "p.loom"
    save_patch(patch, path)
    forget_blocks(folder.path)
    block_folders.reload([]).result()
    with Engine(load_patch(path), device="host") as engine:
        (problem,) = engine.step().diagnostics
        assert problem.message == (
            f"block type live.scale must come from files that are trusted, got {folder.path / 'scale.py'}, "
            "which nobody has trusted"
        )
        assert "--trust" in problem.remedy
        trust_blocks(folder.path)
        assert engine.step().diagnostics == ()
        assert engine.read(engine.patch["scale"]["out"]).tolist() == [2, 4, 6]


def test_a_port_that_vanished_leaves_a_dangling_connection(live: MakeLive) -> None:
    """A connection to a removed port is a warning and is kept in the file; it works again with the port."""
    one = live(block_text())
    after = one.patch.add("math.scale_offset", scale=10.0)
    made = one.patch.connect(one.scale["out"], after["x"])
    second = one.patch.add("live.scale", gain=2.0)
    one.patch.connect(one.x["out"], second["x"])
    extra = "y: In[f32] = port(optional=True, doc='More.')"
    one.save(block_text(extra=extra))
    more = one.patch.connect(one.x["out"], second["y"])
    assert one.step().diagnostics == ()
    one.save(block_text())
    (problem,) = one.step().diagnostics
    assert (problem.severity, problem.node, problem.port) == (Severity.WARNING, second.id, "y")
    assert problem.message == f"connection {more} must use an input that {second.id} has, got 'y': it is left out"
    assert problem.remedy == "connect it to another input, or delete it"
    assert more in one.patch.connections
    assert one.engine.read(after["out"]).tolist() == [10, 20, 30]
    path = one.folder.path.parent / "p.loom"
    save_patch(one.patch, path)
    assert set(load_patch(path).connections) == set(one.patch.connections)
    one.save(block_text(extra=extra))
    assert one.step().diagnostics == ()
    one.save(block_text())
    one.patch.disconnect(more)
    assert one.step().diagnostics == ()
    one.patch.undo()
    assert len(one.step().diagnostics) == 1
    one.patch.undo()  # undoes the connection
    assert more not in one.patch.connections
    assert one.step().diagnostics == ()
    assert made in one.patch.connections


def test_an_output_that_vanished_leaves_the_last_graph_running(live: MakeLive) -> None:
    """A reader of a removed output is an error, and the last graph runs until another connection corrects it."""
    one = live(block_text(), gain=2.0)
    after = one.patch.add("math.scale_offset", scale=10.0)
    one.patch.connect(one.scale["out"], after["x"])
    one.step()
    one.save(block_text(out="result"))
    found = {(item.node, item.severity) for item in one.step().diagnostics}
    assert found == {(one.scale.id, Severity.WARNING), (after.id, Severity.ERROR)}
    assert one.engine.read(after["out"]).tolist() == [20, 40, 60]
    one.patch.connect(one.scale["result"], after["x"])
    assert one.step().diagnostics == ()
    assert one.engine.read(after["out"]).tolist() == [20, 40, 60]


def test_after_edits_of_code_an_engine_runs_what_a_fresh_one_runs(live: MakeLive) -> None:
    """After each of several versions, right or broken, the engine computes what a new engine computes."""
    texts = [
        block_text(factor="2.0"),
        "1 / 0",
        block_text(gain="3.0"),
        block_text(describe="raise ValueError"),
        block_text(extra='more: float = param(1.0, doc="More.")', factor="self.more"),
        block_text("live.other"),
        block_text(gain="4.0, min=4"),
        block_text(),
    ]
    one = live(block_text())
    one.step()
    for index, text in enumerate(texts):
        one.patch.set(one.x, data=X + index)
        one.save(text)
        report = one.step()
        with Engine(one.patch, device="host") as fresh:
            if not fresh.step().diagnostics and not report.diagnostics:
                assert one.engine.read(one.scale["out"]).tolist() == fresh.read(one.scale["out"]).tolist()
    assert one.out() == [8, 9, 10]


def test_a_composite_in_a_patch_follows_its_children(live: MakeLive) -> None:
    """A composite follows new versions of its children, although its own file is unchanged."""
    from tests.catalogue.test_loading import COMPOSITE

    one = live(block_text())
    one.save(COMPOSITE, "twice.py")
    twice = one.patch.add("live.twice", gain=5.0)
    one.patch.connect(one.x["out"], twice["x"])
    one.step()
    assert one.engine.read(twice["out"]).tolist() == [5, 10, 15]
    one.save(block_text(factor="3.0"))
    assert one.step().update_level is UpdateLevel.COLD
    assert one.engine.read(twice["out"]).tolist() == [9, 18, 27]


def test_saves_reach_a_running_engine(live: MakeLive) -> None:
    """Files and folders that are added while the engine runs are followed, and so is a block saved with its kernel."""
    one = live(block_text(), gain=2.0)
    one.engine.watch_files()
    one.engine.start(rate=None)
    next_report(one.engine, lambda report: report.nodes.get("scale") is not None)
    temporary = one.folder.path / "scale.py~tmp"
    temporary.write_text(block_text(factor="7.0"))
    temporary.replace(one.folder.path / "scale.py")
    records: list[object] = []
    while not any(getattr(item, "cause", "") == "new version of live.scale" for item in records):
        records += one.engine.take_events()
        time.sleep(0.002)
    assert one.out() == [7, 14, 21]
    one.folder.write("scale.py", "1 / 0")
    next_report(one.engine, lambda report: bool(report.diagnostics))
    assert one.out() == [7, 14, 21]
    two = KERNEL.replace("float gain, int count", "float gain, float offset, int count").replace(
        "gain * x[i]", "gain * x[i] + offset"
    )
    (one.folder.path / "scale.cu").write_text(two)
    one.folder.write("scale.py", block_text(factor="self.gain, 1.0"))
    next_report(one.engine, lambda report: not report.diagnostics and not report.preparing)
    until(lambda: one.out() == [3, 5, 7])
    one.folder.write("more/late.py", block_text("live.late"))
    until(lambda: one.patch.catalogue.get("live.late") is not None)
    one.engine.stop()


def test_a_file_that_hangs_holds_up_no_frame(live: MakeLive, held: HeldRunner) -> None:
    """The engine's frames continue while a block file hangs."""
    one = live(block_text(), gain=2.0)
    one.engine.start(rate=None)
    begun = one.folder.path / "begun"
    hangs = f"open({str(begun)!r}, 'w').close()\nwhile True: pass"
    done = block_folders.reload([one.folder.write("scale.py", hangs)])
    until(begun.exists)
    first = next_report(one.engine, lambda report: True).frame
    next_report(one.engine, lambda report: report.frame > first + 5)
    assert not done.done()
    held.end_time()
    done.result()
    one.engine.stop()
    assert one.out() == [2, 4, 6]


def test_a_value_set_while_the_type_was_missing_counts(live: MakeLive) -> None:
    """A value that is set while the type is missing is a HOT update of the last good graph."""
    one = live(block_text(), gain=2.0)
    one.step()
    one.save(block_text("live.other"))
    one.step()
    one.patch.reset(one.scale, "gain")
    one.save(block_text())
    assert one.step().update_level is UpdateLevel.HOT
    assert one.out() == [1, 2, 3]


def test_a_value_that_only_the_next_version_takes_is_kept(live: MakeLive) -> None:
    """A value that undo restores, and that the current version refuses, applies with the next version."""
    one = live(block_text())
    one.patch.set(one.scale, gain=5.0)
    one.patch.reset(one.scale, "gain")
    one.step()
    one.save(block_text(gain="0.5, max=1"))
    one.patch.undo()
    one.step()
    assert one.out() == [0.5, 1, 1.5]
    one.save(block_text())
    one.step()
    assert one.out() == [5, 10, 15]
