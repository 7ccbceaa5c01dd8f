"""A saved kernel reaches the running graph; a broken one is reported with its place and changes nothing."""

from pathlib import Path

import numpy as np
import pytest

from tests.processes import broken_compilers
from tests.runtime.conftest import COUNT, SCALE, Kernels
from tests.waiting import until
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.device.host.modules import build
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import NodeState

OUT = PortRef("scale", "out")
CODE, COLD, NONE, HOT = UpdateLevel.CODE, UpdateLevel.COLD, UpdateLevel.NONE, UpdateLevel.HOT


@pytest.fixture
def patch(kernels: Kernels) -> Patch:
    """An array of 1 and 2, scaled by 2, beside a counter."""
    patch = Patch()
    data = patch.add("io.array", node_id="data", data=np.array([1, 2], np.float32))
    scale = patch.add("test_run.scale", node_id="scale")
    patch.add("test_run.count", node_id="count")
    patch.connect(data["out"], scale["x"])
    return patch


def test_a_saved_kernel_is_swapped_in(patch: Patch, kernels: Kernels) -> None:
    """A saved kernel is swapped in at level CODE; state and parameters stay, and HOT updates reach the new kernel."""
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set("scale", factor=3.0)
        engine.step()
        engine.post(kernels.write("scale.cu", SCALE.replace("x[i] * factor", "x[i] * factor + 100")))
        report = engine.step()
        assert report.update_level is CODE
        assert report.updates[0].cause == "scale.cu saved"
        assert engine.read(OUT).tolist() == [103, 106]
        assert engine.read(PortRef("count", "out")).tolist() == [3, 3, 3]
        patch.set("scale", factor=5.0)
        assert engine.step().update_level is HOT
        assert engine.read(OUT).tolist() == [105, 110]


def test_a_file_that_no_kernel_uses_costs_nothing(patch: Patch, kernels: Kernels) -> None:
    """Saving a file that no kernel uses is no update."""
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.post(kernels.write("other.cu", SCALE))
        assert engine.step().update_level is NONE


def test_a_broken_kernel_leaves_the_last_good_one_running(patch: Patch, kernels: Kernels) -> None:
    """A broken kernel is an error with file and line while the last good one runs, until the next good save."""
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.post(kernels.write("scale.cu", SCALE.replace("x[i] * factor", "x[i] * fctor")))
        report = engine.step()
        assert report.update_level is NONE
        assert report.nodes["scale"].state is NodeState.ERROR
        assert report.nodes["count"].state is NodeState.OK
        (problem,) = report.diagnostics
        assert (problem.node, Path(problem.file or "").name, problem.line) == ("scale", "scale.cu", 3)
        assert 'identifier "fctor" is undefined' in problem.message
        patch.set("scale", factor=4.0)
        assert engine.step().update_level is HOT
        assert engine.read(OUT).tolist() == [4, 8]
        engine.post(kernels.write("scale.cu", SCALE.replace("x[i] * factor", "x[i] - factor")))
        report = engine.step()
        assert (report.update_level, report.diagnostics) == (CODE, ())
        assert report.nodes["scale"].state is NodeState.OK
        assert engine.read(OUT).tolist() == [-3, -2]


def test_a_broken_header_heals_when_the_header_does(patch: Patch, kernels: Kernels) -> None:
    """A corrected header corrects its kernel, even if the last good version did not include the header."""
    with Engine(patch, device="host") as engine:
        engine.step()
        kernels.write("twice.h", "#define TWICE(x) (2 * y)\n")
        engine.post(kernels.write("scale.cu", '#include "twice.h"\n' + SCALE.replace("x[i] *", "TWICE(x[i]) *")))
        assert engine.step().nodes["scale"].state is NodeState.ERROR
        engine.post(kernels.write("twice.h", "#define TWICE(x) (2 * x)\n"))
        report = engine.step()
        assert (report.update_level, report.diagnostics) == (CODE, ())
        assert engine.read(OUT).tolist() == [4, 8]
        engine.post(kernels.write("twice.h", "#define TWICE(x) (x + x + x)\n"))
        assert engine.step().update_level is CODE
        assert engine.read(OUT).tolist() == [6, 12]


def test_a_kernel_that_never_compiled_keeps_its_block_out_until_it_does(patch: Patch, kernels: Kernels) -> None:
    """A block whose kernel doesn't compile is left out while the rest runs, until a good save adds the block."""
    broken = kernels.write("scale.cu", "nonsense")
    with Engine(patch, device="host") as engine:
        report = engine.step()
        assert report.nodes["scale"].state is NodeState.ERROR
        assert engine.read(PortRef("count", "out")).tolist() == [1, 1, 1]
        engine.post(kernels.write("scale.cu", SCALE))
        assert engine.step().update_level is COLD
        assert engine.read(OUT).tolist() == [2, 4]
        assert broken.paths


def test_a_bug_of_the_translator_is_reported_as_ours_and_stops_nothing_else(
    patch: Patch, kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug of the translator is an error at the node with the kernel's file, and the last good kernel runs."""
    with Engine(patch, device="host") as engine:
        engine.step()
        with monkeypatch.context() as change:
            change.setattr(build, "translate", broken_compilers.with_a_bug)
            engine.post(kernels.write("scale.cu", SCALE.replace("x[i] * factor", "x[i] * factor + 99")))
            report = engine.step()
        assert report.nodes["scale"].state is NodeState.ERROR
        (problem,) = report.diagnostics
        assert Path(problem.file or "").name == "scale.cu"
        assert "this is a bug in Warploom" in problem.message
        assert not problem.remedy
        engine.step()
        assert engine.read(OUT).tolist() == [2, 4]
        assert engine.read(PortRef("count", "out")).tolist() == [3, 3, 3]


def test_another_signature_of_the_same_length_is_rebuilt(patch: Patch, kernels: Kernels) -> None:
    """A signature of the same length with other types causes a rebuild, and each value arrives as the new type."""
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.post(kernels.write("scale.cu", SCALE.replace("float factor", "double factor")))
        report = engine.step()
        assert report.update_level is COLD
        assert "with other parameters" in report.updates[-1].cause
        assert engine.read(OUT).tolist() == [2, 4]
        assert engine.read(PortRef("count", "out")).tolist() == [2, 2, 2]


def test_a_signature_that_the_block_does_not_serve_is_an_error_on_the_node(patch: Patch, kernels: Kernels) -> None:
    """A signature that doesn't fit its block is an error at the node while the old kernel runs."""
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.post(kernels.write("scale.cu", SCALE.replace("int n)", "int n, int more)")))
        report = engine.step()
        assert report.nodes["scale"].state is NodeState.ERROR
        assert "kernel takes 5 arguments, got 4" in report.nodes["scale"].message
        assert engine.read(OUT).tolist() == [2, 4]
        engine.post(kernels.write("scale.cu", SCALE.replace("x[i] * factor", "x[i] + factor")))
        report = engine.step()
        assert report.diagnostics == ()
        assert report.nodes["scale"].state is NodeState.OK
        assert engine.read(OUT).tolist() == [3, 4]


def test_a_missing_entry_point_is_an_error(patch: Patch, kernels: Kernels) -> None:
    """After a kernel is renamed, the error lists the names in the file."""
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.post(kernels.write("scale.cu", SCALE.replace("scale(", "scaled(")))
        report = engine.step()
        assert report.nodes["scale"].state is NodeState.ERROR
        assert "entry point scale must be one of scaled in scale.cu" in report.nodes["scale"].message
        assert engine.read(OUT).tolist() == [2, 4]


def test_a_deleted_kernel_file_does_not_stop_the_engine(patch: Patch, kernels: Kernels) -> None:
    """After a kernel file is deleted, loaded kernels run on, and saves of other kernels are followed."""
    with Engine(patch, device="host") as engine:
        engine.step()
        (kernels.folder / "scale.cu").unlink()
        engine.post(kernels.write("count.cu", COUNT.replace("+= step", "+= 10 * step")))
        report = engine.step()
        assert report.nodes["scale"].state is NodeState.ERROR
        assert engine.read(OUT).tolist() == [2, 4]
        assert engine.read(PortRef("count", "out")).tolist() == [11, 11, 11]


def test_saves_reach_a_watching_engine(patch: Patch, kernels: Kernels) -> None:
    """With `watch_files`, no message about the save is needed."""
    with Engine(patch, device="host") as engine:
        engine.watch_files([kernels.folder])
        engine.step()
        kernels.write("scale.cu", SCALE.replace("x[i] * factor", "-x[i]"))
        levels = [NONE]
        until(lambda: levels.append(engine.step().update_level) or levels[-1] is not NONE)
        assert levels[-1] is CODE
        assert engine.read(OUT).tolist() == [-1, -2]


def test_structure_comes_before_code(patch: Patch, kernels: Kernels) -> None:
    """In a frame with an edit of structure and a saved kernel, the COLD update comes before the CODE update."""
    with Engine(patch, device="host") as engine:
        engine.step()
        for factor, edit in ((3.0, lambda: patch.add("test_run.count")), (1e39, None), (2.0, None)):
            patch.set("scale", factor=factor)
            if edit is not None:
                edit()
            if factor < 1e39:
                engine.post(kernels.write("scale.cu", SCALE.replace("x[i] * factor", f"x[i] * factor + {factor:.0f}")))
            levels = [record.level for record in engine.step().updates]
            assert levels == ([COLD, CODE] if factor < 1e39 else [])
        assert engine.read(OUT).tolist() == [4, 6]
