"""The fields of declared ports beyond type and shape, and the views that `describe` makes."""

import re
from collections.abc import Callable
from types import new_class
from typing import Any

import pytest

from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, port, u32
from warploom.engine.blocktypes.describing import describe
from warploom.engine.descriptions.checks import BlockDefinitionError
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.entries import ReshapeView, SliceView, View
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.descriptions.shapes.extents import Extent

K = Kernel("k.cu", "k")


def described(action: Callable[[Any, BlockBuilder], None]) -> BlockDescription:
    """Return the description of a block with `action` as its `describe`."""

    class Sample(Block, id="test_port_fields.sample"):
        """Output a view of the input."""

        x: In[f32] = port(strided=True, doc="X.")
        late: In[f32] = port(delayed=True, optional=True, doc="Late.")
        rows: Out[f32] = port(shape="view", default=None, doc="Rows.")

        def describe(self, build: BlockBuilder) -> None:
            action(self, build)

    return describe(Sample("node", {}))


def test_ports_keep_what_they_declare() -> None:
    """Input fields `strided` and `delayed` are kept, and so is an output's default for frames that skip its region."""
    x, late, rows = described(lambda self, build: build.view(self.rows, self.x, SliceView(0))).ports
    assert (x.strided, x.delayed) == (True, False)
    assert (late.strided, late.delayed) == (False, True)
    assert (rows.default, x.default) == (None, 0.0)


def test_a_view_is_recorded_and_strides_are_extents() -> None:
    """A view is recorded without an entry, and its strides are extents."""
    found = described(lambda self, build: build.view(self.rows, self.x, SliceView(0, 2)))
    assert (found.views, found.entries) == ((View("rows", "x", SliceView(0, 2)),), ())
    seen: list[Extent] = []
    described(lambda self, build: seen.extend([self.x.stride(1), self.x.stride(0) * 2]))
    assert [extent.text for extent in seen] == ["x.stride1", "(x.stride0 * 2)"]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            lambda s, b: b.view(s.x, s.rows, SliceView(0)),
            "target of a view must be an output of this block, got In(name='x')",
        ),
        (lambda s, b: b.view(s.rows, s.rows, SliceView(0)), "source of a view must be an input, got 'rows'"),
        (
            lambda s, b: (b.view(s.rows, s.x, SliceView(0)), b.view(s.rows, s.x, ReshapeView((-1,)))),
            "output 'rows' must be made a view once, got a second view",
        ),
    ],
)
def test_a_view_shows_one_input_in_one_output(action: Callable[[Any, Any], Any], message: str) -> None:
    """A view of anything but an input, or a second view of one output, is refused."""
    with pytest.raises(ValueError, match=re.escape(message)):
        described(action)


def test_an_append_buffer_has_its_count_beside_it() -> None:
    """An append buffer is followed by a port for its count, which is one number."""

    class Appends(Block, id="test_port_fields.appends"):
        """Fill a buffer from the front."""

        points: Out[f32] = port(shape="[64]", append=True, default=None, doc="Points.")
        after: Out[f32] = port(shape="[1]", doc="After.")

        def describe(self, build: BlockBuilder) -> None:
            build.launch(K, num_threads=64, args=(self.points, self.points.counter, self.after))

    assert list(Appends.ports) == ["points", "points_count", "after"]
    count = Appends.ports["points_count"]
    assert count == PortSpec("points_count", "out", u32, "Number of elements in points.", "[1]", default=None)


@pytest.mark.parametrize(
    ("ports", "message"),
    [
        ({"x": (In, port(append=True, doc="X."))}, "an append buffer must be an output, got the input x"),
        ({"x": (Out, port(shape="[1]", strided=True, doc="X."))}, "only an input may be strided or delayed"),
        ({"x": (Out, port(shape="[1]", delayed=True, doc="X."))}, "only an input may be strided or delayed"),
        (
            {"x": (Out, port(shape="[8]", append=True, doc="X.")), "x_count": (Out, port(shape="[1]", doc="Y."))},
            "x_count must not be declared, since the count of x gets this name",
        ),
    ],
)
def test_declarations_that_make_no_sense_are_refused(ports: dict[str, Any], message: str) -> None:
    """A port declaration that contradicts itself is refused when the class is defined."""
    body: dict[str, Any] = {
        "__doc__": "Wrong.",
        "__annotations__": {name: direction[f32] for name, (direction, _) in ports.items()},
        "__module__": __name__,
        **{name: made for name, (_, made) in ports.items()},
    }
    with pytest.raises(BlockDefinitionError, match=message):
        new_class("Wrong", (Block,), {"id": "test_port_fields.wrong"}, lambda namespace: namespace.update(body))
