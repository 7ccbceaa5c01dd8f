"""The layout of ports and names within a node."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.canvas.drawing.node_layout import MOST_GROWTH, PADDING, layout, text_width, title_size
from app.theme.fonts import BODY
from app.theme.port_style import PortKind
from app.view_models.node_view_model import NodeViewModel, PortViewModel
from engine.catalogue.catalogue import default_catalogue

pytestmark = pytest.mark.usefixtures("qapp")  # fonts need an application


@given(
    st.text(max_size=60),
    st.lists(st.text(max_size=30), max_size=9, unique=True),
    st.lists(st.text(max_size=30), max_size=9, unique=True),
)
def test_every_port_lies_on_its_edge_and_has_a_row_of_its_own(
    title: str, inputs: list[str], outputs: list[str]
) -> None:
    """Each port is on the node's edge in its own row, however many ports there are and however long their names."""
    model = NodeViewModel(
        title,
        "Test",
        tuple(PortViewModel(name, True, PortKind.FLOAT) for name in inputs),
        tuple(PortViewModel(name, False, PortKind.FLOAT) for name in outputs),
    )
    result = layout(model)
    assert {point.x() for point in result.inputs} <= {0.0}
    assert {point.x() for point in result.outputs} <= {result.width}
    for points in (result.inputs, result.outputs):
        rows = [point.y() for point in points]
        assert rows == sorted(set(rows))
        assert all(24 < row < result.height - 4 for row in rows)
    assert result.width % 8 == result.height % 8 == 0


@pytest.mark.usefixtures("qapp")
def test_no_title_of_a_shipped_block_is_cut_off_at_half_size() -> None:
    """A title grows while the canvas is zoomed out, but only as far as the block has room for all of it."""
    for block_type in default_catalogue().all():
        model = NodeViewModel(block_type.title, block_type.category, (), ())
        room = layout(model).width - 2 * PADDING
        size = title_size(model.title, room, MOST_GROWTH)
        assert size >= BODY
        assert text_width(model.title, size, True) <= room, model.title
    long = "A title of more than forty characters, by hand"
    assert title_size(long, text_width(long, BODY, True), MOST_GROWTH) == BODY
