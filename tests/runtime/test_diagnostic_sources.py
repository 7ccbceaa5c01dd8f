"""Each source of diagnostics, by a person's mistake; low occupancy is in `check/test_kernel_checks.py`."""

from pathlib import Path

import numpy as np
import pytest

from tests.runtime.conftest import SCALE, Kernels
from tests.runtime.small_blocks import array, bump
from warploom import Engine, Patch
from warploom.api import Block, BlockBuilder, Kernel, Out, f32, port
from warploom.engine.diagnostics import Diagnostic, KernelFault, Mend, Severity, Source
from warploom.engine.patch.changes import PortRef


def found(patch: Patch) -> list[Diagnostic]:
    """Return the diagnostics of the first frame."""
    with Engine(patch, "host") as engine:
        return list(engine.step().diagnostics)


def summary(item: Diagnostic) -> tuple[Source, Severity, str | None, str | None]:
    return item.source, item.severity, item.node, item.port


def scaling(**parameters: object) -> Patch:
    patch = Patch()
    data = patch.add("io.array", data=np.arange(8, dtype=np.float32))
    scale = patch.add("test_run.scale", node_id="scale", **parameters)
    patch.connect(data["out"], scale["x"])
    return patch


@pytest.mark.parametrize("text", [None, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry fill( {"])
def test_ptx_that_does_not_load(text: str | None, tmp_path: Path) -> None:
    """A missing PTX file, and one whose contents are no PTX, are load errors with a remedy."""
    file = tmp_path / "kernel.ptx"
    if text is not None:
        file.write_text(text)

    class Fill(Block, id="test_sources.fill"):
        """Fill."""

        out: Out[f32] = port(shape="[4]", doc="Numbers.")

        def describe(self, build: BlockBuilder) -> None:
            build.launch(Kernel(str(file), "fill"), num_threads=4, args=(self.out,))

    patch = Patch()
    patch.add("test_sources.fill", node_id="fill")
    (problem,) = found(patch)
    assert summary(problem) == (Source.KERNEL_LOAD, Severity.ERROR, "fill", None)
    assert "kernel.ptx" in problem.message and problem.remedy


def test_a_source_that_does_not_compile(kernels: Kernels) -> None:
    """A kernel that doesn't compile is an error at its node, with the line."""
    kernels.write("scale.cu", SCALE.replace("x[i] * factor", "x[i] * factr"))
    (problem,) = found(scaling())
    assert summary(problem) == (Source.COMPILE, Severity.ERROR, "scale", None)
    assert problem.line == 3 and "factr" in problem.message


def test_a_launch_that_fails(kernels: Kernels) -> None:
    """A launch that fails raises an error, and the last report names the node of the kernel."""
    kernels.write("scale.cu", SCALE.replace("out[i] =", "out[i + (1 << 28)] ="))
    with Engine(scaling(), "host") as engine:
        with pytest.raises(KernelFault):
            engine.step()
        report = engine.take_report()
        assert report is not None and report.failed
        assert [summary(item) for item in report.diagnostics] == [(Source.LAUNCH, Severity.ERROR, "scale", None)]
        assert len(report.sightings) == 1


def test_a_wrong_type() -> None:
    """An input of a wrong element type has an error with both types."""
    patch = Patch()
    data = patch.add("io.array", data=np.arange(8, dtype=np.float32))
    scale = patch.add("test_small.bump", node_id="bump")
    patch.connect(data["out"], scale["x"])
    patch.set(data, data=np.arange(8, dtype=np.float64))
    (problem,) = found(patch)
    assert summary(problem) == (Source.VALIDATION, Severity.ERROR, "bump", "x")
    assert (problem.expected, problem.found) == ("f32", "f64")


def test_a_missing_connection() -> None:
    """An input without a connection is incomplete, and its error offers to connect it."""
    patch = Patch()
    patch.add("test_small.bump", node_id="bump")
    (problem,) = found(patch)
    assert summary(problem) == (Source.VALIDATION, Severity.ERROR, "bump", "x")
    assert problem.mend is Mend.CONNECT and problem.is_incomplete


def test_a_buffer_near_its_capacity() -> None:
    """A buffer near its capacity gets a warning that says how full it is."""
    patch = Patch()
    pour = patch.add("test_small.pour", node_id="pour", capacity=20)
    patch.connect(array(patch, *range(19))["out"], pour["x"])
    (problem,) = found(patch)
    assert summary(problem) == (Source.CAPACITY, Severity.WARNING, "pour", "out")
    assert "95 % of its capacity (19 of 20)" in problem.message


def test_a_buffer_of_another_engine() -> None:
    """The other engine may free the buffer, so it is refused; a buffer of the same engine is used in place."""
    lender, patch = Patch(), Patch()
    source = patch.add("io.external", node_id="lent")
    last = bump(patch, source)
    with Engine(lender, "host") as other, Engine(patch, "host") as engine:
        theirs = other.device.upload(np.arange(4, dtype=np.float32))
        patch.set(source, array=theirs)
        (problem,) = engine.step().diagnostics
        assert summary(problem) == (Source.ENGINE, Severity.ERROR, "lent", "out")
        assert "another engine" in problem.message
        mine = engine.device.upload(theirs.download())
        patch.set(source, array=mine)
        assert not engine.step().diagnostics
        engine.step()
        assert engine.read(last["out"]).tolist() == [2, 3, 4, 5]
        assert mine.download().tolist() == [2, 3, 4, 5]
        patch.set(source, array=theirs)
        (problem,) = engine.step().diagnostics
        assert problem.source is Source.ENGINE
        assert engine.read(PortRef("lent", "out")).tolist()[0] >= 2
        assert theirs.download().tolist() == [0, 1, 2, 3]
