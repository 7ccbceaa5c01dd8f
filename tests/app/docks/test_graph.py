"""The launched graph beside the patch: one box for each operation, the selection in both directions."""

import random

import msgspec
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from tests.app.app_support import press
from tests.fuzzing import seeds
from tests.profiling.spans import span
from tests.runtime.check.pinning import moving
from warploom.app.docks.plan.graph import LaunchedGraph
from warploom.app.docks.plan.graph_view import LaunchedGraphView
from warploom.app.theme.fonts import SMALL, ui_font
from warploom.app.view_models.profile.launched_graph import blocks_of, lay_out, times_of, titles
from warploom.app.window.main_window import MainWindow
from warploom.engine.compiler.inspection.data import FramePlan, PlannedOperation


def click(view: LaunchedGraphView, index: int) -> None:
    """Click at the corner of a node's box, where no other one lies over it."""
    place = view.place(index).topLeft().toPoint() + QPoint(3, 3)
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=place)


@pytest.mark.feature("graph_map")
def test_a_node_selects_its_blocks_and_a_block_marks_its_nodes(qtbot: QtBot, real_window: MainWindow) -> None:
    """A click on a box selects the blocks whose work it does; blocks and groups mark the boxes of theirs."""
    window, patch = real_window, moving(100)
    window.session.set_running(False)
    window.resize(1400, 900)
    dock = window.reveal(LaunchedGraph)
    assert dock.currentIndex() == 0 and "a click selects its blocks" in dock.hint.text()
    window.session.replace(patch)
    window.reveal(LaunchedGraph)
    window.session.step()
    qtbot.waitUntil(lambda: dock.currentIndex() == 1)
    assert window.session.engine is not None
    plan, view = window.session.engine.plan(), dock.view
    assert plan is not None and set(view.drawing.boxes) == set(range(len(plan.operations)))
    assert f"{len(plan.operations)} nodes: kernel × " in dock.summary.text() and "Each kernel" in dock.summary.text()
    view.fit()
    busy = [index for index, operation in enumerate(plan.operations) if operation.nodes]
    for index in busy:
        click(view, index)
        assert window.canvas.selected() == blocks_of(plan.operations[index])
        assert index in view.marked
    for node in patch.nodes:
        window.canvas.select([node])
        assert view.marked == {index for index in busy if node in blocks_of(plan.operations[index])}
    window.canvas.select([])
    view.choose(busy[0])
    QTest.keyClick(view, Qt.Key.Key_Down)
    assert view.chosen == min(busy[0] + 1, len(plan.operations) - 1)
    window.canvas.select(["total", "scale"])
    press(window, Qt.Key.Key_G, Qt.KeyboardModifier.ControlModifier)
    (group,) = window.canvas.selected()
    assert patch.is_group(group)
    expected = {index for index in busy if {"total", "scale"} & set(blocks_of(plan.operations[index]))}
    assert view.marked == expected
    assert "Total" in "".join(titles(plan, str.title))


def random_plan(seed: int, count: int) -> FramePlan:
    """Return a plan of random operations, some in regions inside regions."""
    draw, operations = random.Random(seed), list[PlannedOperation]()
    for index in range(count):
        regions = [(n, body) for n, each in enumerate(operations) if each.kind == "region" for body in ("", "else")]
        region, body = draw.choice([(-1, ""), *regions[-4:]])
        earlier = [n for n, each in enumerate(operations) if (each.region, each.body) == (region, body)]
        kind = draw.choice(("kernel", "kernel", "kernel", "fill", "copy", "captured", "region"))
        operations.append(
            PlannedOperation(
                kind=kind,
                name=f"k{index}",
                title=f"n{index}",
                work=f"kernel k{index}",
                nodes=(f"n{index}",),
                after=tuple(sorted(draw.sample(earlier[-6:], min(len(earlier), draw.randint(0, 2))))),
                region=region,
                body=body,
            )
        )
    return FramePlan(tuple(operations), (), 0, 0, 0)


@pytest.mark.parametrize("seed", seeds(8))
def test_boxes_are_apart_and_arrows_go_to_the_right(seed: int) -> None:
    """Boxes of one body don't overlap; those inside a region lie in its box; what follows is further right."""
    plan = random_plan(seed, 60)
    drawing = lay_out(plan.operations)
    assert len(drawing.boxes) == len(plan.operations)
    for index, one in enumerate(plan.operations):
        box = drawing.boxes[index]
        assert box.x >= 0 and box.x + box.width <= drawing.width and box.y + box.height <= drawing.height
        if one.region >= 0:
            around = drawing.boxes[one.region]
            assert around.x < box.x and box.x + box.width < around.x + around.width
            assert around.y < box.y and box.y + box.height < around.y + around.height
        for earlier in one.after:
            assert drawing.boxes[earlier].x + drawing.boxes[earlier].width < box.x
        for number, other in enumerate(plan.operations[:index]):
            second = drawing.boxes[number]
            if (other.region, other.body) == (one.region, one.body):
                assert (
                    box.x >= second.x + second.width
                    or second.x >= box.x + box.width
                    or box.y >= second.y + second.height
                    or second.y >= box.y + box.height
                )
    assert all(way[0][0] < way[-1][0] for way in drawing.arrows.values())


def test_times_are_of_the_operation_that_was_measured() -> None:
    """A span of an operation counts if the name is the same, and a block's own if the block has one operation."""
    plan = random_plan(1, 4)
    measured = msgspec.structs.replace(span("n1"), name="k1", operation=1, mean_ns=10)
    stale = msgspec.structs.replace(measured, name="other", operation=2)
    whole = msgspec.structs.replace(measured, node="n3", name="", operation=-1, mean_ns=30)
    assert times_of(plan, [measured, stale, whole]) == {1: 10, 3: 30}


def test_a_thousand_nodes_are_painted_and_chosen(qtbot: QtBot) -> None:
    """The whole and a part of a large graph can be painted at every scale."""
    plan, view, size = random_plan(2, 1000), LaunchedGraphView(), ui_font(SMALL).pixelSize()
    qtbot.addWidget(view)
    view.resize(900, 240)
    view.show_graph(plan, lay_out(plan.operations), titles(plan, str))
    view.show_times({0: 1000})
    for _ in range(3):
        view.grab()
        view.fit()
        view.show_selection(frozenset(["n500"]))
    assert view.marked == {500}
    assert ui_font(SMALL).pixelSize() == size
    view.zoom(30, view.place(500).center())
    view.grab()
    assert view.index_at(view.place(500).topLeft() + QPoint(3, 3).toPointF()) == 500
