"""The layout of ports and names within a node."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.canvas.drawing.node_layout import layout
from app.theme.port_style import PortKind
from app.view_models.node_view_model import NodeViewModel, PortViewModel

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
