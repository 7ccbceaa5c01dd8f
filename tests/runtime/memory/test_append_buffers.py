"""Append buffers: their elements are counted, and they start empty where they must."""

from pathlib import Path
from typing import Any

import pytest

from tests.runtime.small_blocks import Pour, add_to, array, bump, zeros
from warploom import Engine, Patch, UpdateLevel
from warploom.api import Block, BlockBuilder, Composite, CompositeBuilder, In, Kernel, Out, f32, port
from warploom.engine.diagnostics import PatchError, Severity
from warploom.engine.patch.document import NodeRef
from warploom.engine.protocol.messages import Reset


def _poured(values: list[float], **parameters: Any) -> tuple[Patch, NodeRef, NodeRef]:
    patch = Patch()
    source = array(patch, *values)
    pour = patch.add("test_small.pour", **parameters)
    patch.connect(source["out"], pour["x"])
    reader = patch.add("buffer.copy")
    patch.connect(pour["out_count"], reader["x"])
    return patch, pour, reader


@pytest.mark.parametrize(
    ("least", "count", "severity"),
    [(20.0, 0, None), (19.0, 1, None), (12.0, 8, None), (11.0, 9, None), (10.0, 10, "full"), (4.0, 10, "over")],
)
def test_an_append_buffer_counts_what_is_in_it(least: float, count: int, severity: str | None) -> None:
    """The count is the number of appended elements, and at most the capacity if more are appended."""
    patch, pour, reader = _poured(list(range(20)), capacity=10, least=least)
    with Engine(patch, device="host") as engine:
        for _ in range(2):
            report = engine.step()
            assert report.counts == {str(pour["out"]): count}
            assert engine.read(reader["out"]).tolist() == [count]
            found = engine.read(pour["out"], valid=True).tolist()
            assert found == engine.read(pour["out"])[:count].tolist()
            assert len(set(found)) == count and set(found) <= set(range(int(least), 20))
            texts = [(d.node, d.port, d.severity) for d in report.diagnostics]
            assert texts == ([(pour.id, "out", Severity.WARNING)] if severity else [])
            if severity == "full":
                assert "100 % of its capacity (10 of 10)" in report.diagnostics[0].message
            if severity == "over":
                assert "got 16 for 10 places" in report.diagnostics[0].message
        patch.set(pour, least=30.0)
        report = engine.step()
        assert (report.update_level, report.counts[str(pour["out"])]) == (UpdateLevel.HOT, 0)
        assert not report.diagnostics
        with pytest.raises(PatchError, match="must be an append buffer to have a valid part"):
            engine.read(reader["out"], valid=True)


def test_an_append_buffer_in_a_composite_is_counted_by_the_name_it_is_exposed_with() -> None:
    """An append buffer in a composite is counted and reported under its exposed name."""

    class Pouring(Composite, id="test_small.pouring"):
        """Append inside."""

        def compose(self, build: CompositeBuilder) -> None:
            pour = build.add_child(Pour, "pour")
            build.expose_input("x", pour["x"])
            build.expose_output("large", pour["out"])
            build.expose_output("count", pour["out_count"])

    patch = Patch()
    node = patch.add("test_small.pouring")
    patch.connect(array(patch, *range(20))["out"], node["x"])
    with Engine(patch, device="host") as engine:
        report = engine.step()
        assert report.counts == {str(node["large"]): 5}
        found = engine.read(node["large"], valid=True).tolist()
        assert len(found) == len(set(found)) == 5 and set(found) <= set(range(20))
        assert [(d.node, d.port) for d in report.diagnostics] == [(node.id, "large")]


def test_an_append_buffer_that_is_state_goes_on() -> None:
    """Elements of an append buffer that is state stay until a reset, beside a loop that clears its counters."""

    class Gather(Block, id="test_small.gather"):
        """Appends to the elements of earlier frames."""

        x: In[f32] = port(doc="Numbers.")
        out: Out[f32] = port(shape="[14]", append=True, state=True, doc="All so far.")

        def describe(self, build: BlockBuilder) -> None:
            arguments = (self.x, 0.0, self.out, self.out.counter, self.out.size, self.x.size)
            file = str(Path(__file__).parents[1] / "small_blocks.cu")
            build.launch(Kernel(file, "pour"), num_threads=self.x.size, args=arguments)

    patch = Patch()
    node = patch.add("test_small.gather")
    patch.connect(array(patch, 1, 2, 3)["out"], node["x"])
    with Engine(patch, device="host") as engine:
        for frame in range(6):
            if frame == 2:
                bump(patch, zeros(patch), patch.add("control.for", count=2))
            report = engine.step()
            count = min(3 * (frame + 1), 14)
            assert report.counts == {str(node["out"]): count}
            assert engine.read(node["out_count"]).tolist() == [count]
            everything = [1, 2, 3] * (frame + 1)
            found = engine.read(node["out"])[:count].tolist()
            assert all(found.count(value) <= everything.count(value) for value in found)
            assert len(found) == count and set(found) <= {1, 2, 3}
            assert bool(report.diagnostics) == (frame >= 4)
        engine.post(Reset())
        assert engine.step().counts == {str(node["out"]): 3}


def test_an_append_buffer_in_a_loop_starts_empty_in_each_turn() -> None:
    """An append buffer in a loop is empty at the start of each turn, so the counts add up to those of all turns."""
    patch = Patch()
    loop = patch.add("control.for", count=3)
    pour = patch.add("test_small.pour", region=loop, least=2.0)
    patch.connect(array(patch, 1, 2, 3)["out"], pour["x"])
    number = patch.add("buffer.convert", dtype="f32", region=loop)
    patch.connect(pour["out_count"], number["x"])
    total = add_to(patch, zeros(patch), number, "out", loop)
    with Engine(patch, device="host") as engine:
        for turns in (3, 1, 0, 2):
            patch.set(loop, count=turns)
            report = engine.step()
            assert engine.read(total["out"]).tolist() == [2 * turns]
            assert report.counts[str(pour["out"])] == (2 if turns else 0)


def test_a_skipped_append_buffer_has_nothing_in_it() -> None:
    """A skipped append buffer has the count 0 in the report and when read, even if it was full before."""
    patch = Patch()
    holds, choice = zeros(patch, value=1.0), patch.add("control.if")
    patch.connect(holds["out"], choice["condition"])
    pour = patch.add("test_small.pour", region=choice, capacity=2)
    patch.connect(array(patch, 1, 2, 3)["out"], pour["x"])
    reader = patch.add("buffer.copy")
    patch.connect(pour["out_count"], reader["x"])
    with Engine(patch, device="host") as engine:
        for value, count in ((1.0, 2), (0.0, 0), (1.0, 2), (0.0, 0)):
            patch.set(holds, value=value)
            report = engine.step()
            assert engine.read(reader["out"]).tolist() == [count]
            assert report.counts == {str(pour["out"]): count}
            assert len(report.diagnostics) == (1 if value else 0)
