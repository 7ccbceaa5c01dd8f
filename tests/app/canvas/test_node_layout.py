"""The layout of ports and names within a node."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.app.canvas.drawing.node_layout import MOST_GROWTH, PADDING, PORT_TEXT, layout, text_width, title_size
from warploom.app.canvas.drawing.overview_painter import short_title
from warploom.app.theme.fonts import BODY, SMALL
from warploom.app.theme.port_style import PortKind
from warploom.app.view_models.node_view_model import NodeViewModel, PortViewModel, node_view_model
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.patch.document import Patch

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
    """A title grows while the canvas is zoomed out as far as there is room; one that is too long is cut off."""
    for block_type in default_catalogue().all():
        model = NodeViewModel(block_type.title, block_type.category, (), ())
        room = layout(model).width - 2 * PADDING
        size = title_size(model.title, room, MOST_GROWTH)
        assert size >= BODY
        assert text_width(model.title, size, True) <= room, model.title
    long = "A title of more than forty characters, by hand"
    assert title_size(long, text_width(long, BODY, True), MOST_GROWTH) == round(SMALL * MOST_GROWTH)


@pytest.mark.usefixtures("qapp")
def test_names_of_ports_have_room_at_half_size() -> None:
    """The names on both sides of each row of a shipped block fit in the size that they have when zoomed out."""
    patch, size = Patch(), round(SMALL * MOST_GROWTH)
    for block_type in default_catalogue().all():
        model = node_view_model(patch, patch.add(block_type.id).id)
        placed = layout(model)
        used: dict[float, float] = defaultdict(float)
        for port, at in zip((*model.inputs, *model.outputs), (*placed.inputs, *placed.outputs), strict=True):
            if port.live is None:
                used[at.y()] += PORT_TEXT + text_width(port.label, size, False)
        assert max(used.values(), default=0.0) <= placed.width, block_type.id


@given(st.text(max_size=60), st.integers(0, 40))
def test_a_short_title_fits_and_has_letters_of_the_title(title: str, room: int) -> None:
    """A short title is the whole one if that fits, and otherwise has letters of it in their order."""
    short = short_title(title, lambda text: len(text) <= room)
    assert len(short) <= room
    if len(title) <= room:
        assert short == title
    letters = iter(title.upper())
    assert all(letter in letters for letter in short.upper())
    assert short or room == 0 or not title.strip()


def test_short_titles_take_letters_of_all_words() -> None:
    """Of several words, each keeps the same number of letters, or only the first of some words one."""
    shorts = [short_title("Gaussian Blur", lambda text, room=room: len(text) <= room) for room in (13, 9, 4, 2, 1)]
    assert shorts == ["Gaussian Blur", "GaussBlur", "GaBl", "GB", "G"]
