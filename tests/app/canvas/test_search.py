"""Searching for a block type and placing it."""

from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from tests.app.app_support import move_pointer
from tests.app.canvas.canvas_support import Hand, place
from warploom.app.canvas.canvas import Canvas
from warploom.app.canvas.notice import EmptyHint
from warploom.app.canvas.search.search_popup import SearchPopup
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch


def popup(canvas: Canvas) -> SearchPopup:
    """Return the canvas's search popup."""
    found = canvas.findChild(SearchPopup)
    assert found is not None
    return found


def titles(search: SearchPopup) -> list[str]:
    """Return the titles in the popup's list."""
    return [row.text(0) for row in search.rows()]


def test_the_search_opens_and_enter_places_the_block_there(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """Typing finds block types, and Enter places one at the pointer and selects it."""
    hand.click(QPointF(200, -200))
    canvas.open_search()
    search = popup(canvas)
    assert search.isVisible()
    QTest.keyClicks(search.field, "wallaby")
    assert titles(search) == ["Scale"]
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    assert not search.isVisible()
    assert canvas.selected() == ["scale_2"]
    x, y = patch.nodes["scale_2"].position
    assert abs(x - 200) <= 8
    assert abs(y + 200) <= 24
    assert patch.undo() == "Add Scale"


def test_a_double_click_on_the_canvas_opens_the_search(canvas: Canvas, hand: Hand) -> None:
    """A double-click on the canvas opens the search."""
    hand.double_click(QPointF(-300, 250))
    assert popup(canvas).isVisible()


def test_the_arrow_keys_choose_and_escape_closes(canvas: Canvas, patch: Patch) -> None:
    """The arrow keys choose a row of the search, and Escape closes it."""
    canvas.open_search(QPoint(100, 100))
    search = popup(canvas)
    search.field.setText("quokka")
    assert len(titles(search)) == 7
    QTest.keyClick(search.field, Qt.Key.Key_Down)
    QTest.keyClick(search.field, Qt.Key.Key_Down)
    QTest.keyClick(search.field, Qt.Key.Key_Up)
    assert search.list.currentItem() is search.rows()[1]
    QTest.keyClick(search.field, Qt.Key.Key_Escape)
    assert not search.isVisible()
    assert len(patch.nodes) == 3


def test_the_search_stays_inside_the_canvas(canvas: Canvas) -> None:
    """A search that is opened in a corner stays inside the canvas."""
    canvas.open_search(QPoint(995, 695))
    assert canvas.rect().contains(popup(canvas).geometry())


def test_nothing_found_says_so_and_offers_to_write_it(canvas: Canvas, patch: Patch) -> None:
    """A search without results shows a message, the blocks in which a person writes what is missing, and the help."""
    canvas.open_search(QPoint(10, 10))
    search = popup(canvas)
    search.field.setText("xyzzy")
    assert search.nothing.isVisible()
    assert search.nothing.text().startswith("No block matches “xyzzy”.\nWrite one yourself, or press F1 for help")
    assert titles(search) == ["Expression", "CUDA Kernel", "Value Expression"]
    assert canvas.rect().contains(search.geometry()) and search.list.height() >= 3 * 40
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    assert patch.nodes["expression"].type == "kernel.expression"


@pytest.mark.feature("drop_to_create")
def test_a_connection_dropped_on_the_canvas_offers_what_fits_and_connects_it(
    canvas: Canvas, hand: Hand, patch: Patch
) -> None:
    """A connection dropped on the canvas lists only block types that fit; placing and connecting is one step."""
    hand.drag(hand.port("scale", "out", is_input=False), QPointF(300, 0))
    search = popup(canvas)
    search.field.setText("quokka")
    assert titles(search) == ["Scale", "Show"]
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    assert patch.source_of(PortRef("scale_2", "x")) == PortRef("scale", "out")
    assert patch.undo() == "Add Scale"
    assert "scale_2" not in patch.nodes


@pytest.mark.feature("insert")
def test_a_block_can_be_inserted_on_a_connection(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """A double-click on a connection lists block types that fit between its ends, and inserts the chosen one."""
    path = hand.scene.connections[patch.connections[0]].path()
    hand.double_click(path.pointAtPercent(0.5))
    search = popup(canvas)
    search.field.setText("quokka")
    assert titles(search) == ["Scale", "Show"]
    search.field.setText("sparks")
    assert search.nothing.text().startswith("No block that fits here matches “sparks”.")
    search.field.setText("quokka")
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    assert {str(c) for c in patch.connections} == {"source.out -> scale_2.x", "scale_2.out -> scale.x"}
    patch.undo()
    assert {str(c) for c in patch.connections} == {"source.out -> scale.x"}


def test_a_block_lies_in_the_middle_of_a_long_connection(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """Where there is room, its middle is where the connection was double-clicked."""
    patch.move("scale", (160.0, -160.0))
    patch.move("source", (-320.0, -160.0))
    path = hand.scene.connections[patch.connections[0]].path()
    point = path.pointAtPercent(0.5)
    move_pointer(hand.view.viewport(), hand.view.mapFromScene(point))
    hand.double_click(point)
    popup(canvas).field.setText("quokka")
    QTest.keyClick(popup(canvas).field, Qt.Key.Key_Return)
    assert abs(place(hand, "scale_2").center().x() - point.x()) <= 8


def test_blocks_made_for_the_type_come_before_those_that_take_any(canvas: Canvas, hand: Hand) -> None:
    """Block types made for the element type come before those that take any type."""
    hand.drag(hand.port("source", "out", is_input=False), QPointF(300, -250))
    found = titles(popup(canvas))
    assert found.index("Scale") < found.index("Show")


def test_the_search_covers_no_more_than_its_rows_need(canvas: Canvas) -> None:
    """The popup is only as high as its rows need."""
    canvas.open_search(QPoint(100, 100))
    search = popup(canvas)
    QTest.keyClicks(search.field, "quokka")
    before = search.height()
    QTest.keyClicks(search.field, " wallaby")
    assert search.height() < before - 80


def test_a_block_added_by_keyboard_is_in_view(canvas: Canvas, patch: Patch) -> None:
    """A block added without a pointer over the canvas is placed in the middle of the view."""
    canvas.setFocus()
    hand = Hand(canvas)
    hand.view.cursor_position = QPoint(-1, -1)
    canvas.open_search()
    QTest.keyClicks(popup(canvas).field, "wallaby")
    QTest.keyClick(popup(canvas).field, Qt.Key.Key_Return)
    seen = hand.view.mapToScene(hand.view.viewport().rect()).boundingRect()
    assert seen.contains(hand.scene.rect_of(["scale_2"]))


def test_a_block_placed_at_the_rim_is_brought_into_view(canvas: Canvas, hand: Hand) -> None:
    """A block placed at the edge of the view is scrolled into view."""
    canvas.open_search(QPoint(canvas.width() - 4, canvas.height() - 4))
    QTest.keyClicks(popup(canvas).field, "wallaby")
    QTest.keyClick(popup(canvas).field, Qt.Key.Key_Return)
    seen = hand.view.mapToScene(hand.view.viewport().rect()).boundingRect()
    assert seen.contains(hand.scene.rect_of(["scale_2"]))


@pytest.mark.feature("palette")
def test_without_a_text_the_search_is_a_palette(canvas: Canvas, patch: Patch) -> None:
    """An empty search lists all block types under headings, which keys and the mouse fold and unfold."""
    canvas.open_search(QPoint(100, 100))
    search = popup(canvas)
    categories = {block.category for block in patch.catalogue.all()}
    assert titles(search) == sorted(categories)
    QTest.keyClick(search.field, Qt.Key.Key_Down)
    QTest.keyClick(search.field, Qt.Key.Key_Right)
    heading = search.list.currentItem()
    inside = sorted(block.title for block in patch.catalogue.all() if block.category == heading.text(0))
    assert titles(search)[1 : 2 + len(inside)] == [heading.text(0), *inside]
    QTest.keyClick(search.field, Qt.Key.Key_Down)
    QTest.keyClick(search.field, Qt.Key.Key_Left)
    assert titles(search) == sorted(categories)
    place = search.list.visualItemRect(heading).center()
    QTest.mouseClick(search.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert len(titles(search)) == len(categories) + len(inside)
    QTest.keyClick(search.field, Qt.Key.Key_Escape)
    canvas.open_search(QPoint(100, 100))
    assert len(titles(search)) == len(categories) + len(inside), "what was unfolded stays so"


def test_blocks_placed_last_come_first(canvas: Canvas, patch: Patch) -> None:
    """Block types that were placed last are listed first, and Enter places the very last one."""
    search = popup(canvas)
    for text in ("quokka wallaby", "quokka that counts", "quokka wallaby"):
        canvas.open_search(QPoint(100, 100))
        QTest.keyClicks(search.field, text)
        QTest.keyClick(search.field, Qt.Key.Key_Return)
    canvas.open_search(QPoint(100, 100))
    assert titles(search)[:3] == ["Recent", "Scale", "Count"]
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    assert patch.nodes[canvas.selected()[0]].type == "test_canvas.scale"


def test_an_unfolded_group_never_leaves_the_canvas(canvas: Canvas) -> None:
    """The popup stays inside the canvas when groups are unfolded."""
    canvas.open_search(QPoint(500, 695))
    search = popup(canvas)
    for _ in titles(search):
        QTest.keyClick(search.field, Qt.Key.Key_Right)
        QTest.keyClick(search.field, Qt.Key.Key_Down)
    assert search.list.verticalScrollBar().maximum() > 0
    assert canvas.rect().contains(search.geometry())


def test_the_hint_of_an_empty_canvas_gives_way_to_the_search(qtbot: QtBot) -> None:
    """The hint of an empty canvas is hidden during a search, and returns if nothing was placed."""
    canvas = Canvas()
    qtbot.addWidget(canvas)
    canvas.set_patch(Patch())
    canvas.show()
    hint = canvas.findChild(EmptyHint)
    assert hint is not None and hint.isVisible()
    canvas.open_search()
    assert not hint.isVisible()
    QTest.keyClick(popup(canvas).field, Qt.Key.Key_Escape)
    assert hint.isVisible()


def test_a_block_placed_at_the_last_one_goes_beside_it(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """With the pointer still at the block that was just placed, the next one goes to its right, in one line with it."""
    point = hand.view.mapFromScene(QPointF(200, -200))
    move_pointer(hand.view.viewport(), point)
    for _ in range(3):
        canvas.open_search()
        QTest.keyClicks(popup(canvas).field, "wallaby")
        QTest.keyClick(popup(canvas).field, Qt.Key.Key_Return)
    places = [place(hand, node) for node in ("scale_2", "scale_3", "scale_4")]
    assert [str(patch.source_of(PortRef(node, "x"))) for node in ("scale_3", "scale_4")] == [
        "scale_2.out",
        "scale_3.out",
    ]
    assert all(0 < right.left() - left.right() < 100 for left, right in pairwise(places))
    assert len({rect.top() for rect in places}) == 1


def test_a_block_that_is_searched_for_an_input_goes_before_it(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """Its right edge, and so its output, is left of the input, however wide its title is."""
    patch.add("math.saxpy", node_id="sum", position=(600.0, 400.0))
    for text, node in (("uniform numbers", "uniform"), ("state", "state")):
        canvas.search_for(PortRef("sum", "x"))
        QTest.keyClicks(popup(canvas).field, text)
        QTest.keyClick(popup(canvas).field, Qt.Key.Key_Return)
        assert patch.source_of(PortRef("sum", "x")) == PortRef(node, "out")
        assert 0 < place(hand, "sum").left() - place(hand, node).right() < 100
        patch.undo()


def test_a_block_that_is_called_so_comes_before_those_that_fit(canvas: Canvas) -> None:
    """A typed title is found first, even if other blocks fit better whose help has the word."""
    canvas.select(["scale"])
    canvas.open_search(None)
    search = popup(canvas)
    QTest.keyClicks(search.field, "picture")
    assert titles(search)[0] == "Picture"


@pytest.mark.parametrize(("text", "is_driven"), [("map", True), ("gaussian blur", False)])
def test_a_value_drives_no_parameter_that_nobody_chose(
    canvas: Canvas, hand: Hand, patch: Patch, text: str, is_driven: bool
) -> None:
    """A block that is added while a value is selected is driven by it only if it is made for values, as Map is."""
    value = patch.add("value.lfo", position=(-400.0, -300.0))
    canvas.select([value.id])
    move_pointer(hand.view.viewport(), hand.view.mapFromScene(QPointF(200, -200)))
    canvas.open_search()
    QTest.keyClicks(popup(canvas).field, text)
    QTest.keyClick(popup(canvas).field, Qt.Key.Key_Return)
    assert any(connection.source.node == value.id for connection in patch.connections) is is_driven


def test_what_examples_connect_to_such_a_port_comes_first(canvas: Canvas) -> None:
    """A new person who drops a connection finds common blocks first; blocks that the person uses come before them."""
    patch = Patch()
    sobel = patch.add("image.sobel", node_id="sobel")
    canvas.set_patch(patch)
    search = popup(canvas)
    canvas.search_for(sobel["out"])
    assert {"Viewer", "Mix"} <= set(titles(search)[:5])
    for number in range(2):
        patch.add("image.vignette", node_id=f"v{number}")
    canvas.search_for(sobel["out"])
    assert titles(search)[0] == "Vignette"
    canvas.search_for(sobel["image"])
    assert "Viewer" not in titles(search)
