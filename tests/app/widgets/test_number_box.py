"""A number box takes exactly the number that was typed, or none."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from warploom.app.widgets.number_box import NumberBox, read_number


class Panel(QWidget):
    """Shows a box and another control, and records the keys that they pass on."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[int] = []
        self._row = QHBoxLayout(self)
        self._row.addWidget(QLineEdit())

    def add(self, box: NumberBox, value: float = 5.0) -> None:
        """Show a box with a value, and give it the focus."""
        self._row.addWidget(box)
        box.show()
        box.show_value(value)
        box.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Record a key."""
        self.keys.append(event.key())


@pytest.fixture
def panel(qtbot: QtBot) -> Panel:
    """A panel in an active window."""
    panel = Panel()
    qtbot.addWidget(panel)
    panel.show()
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    return panel


def type_over(box: NumberBox, text: str) -> None:
    """Replace a box's text from the keyboard."""
    box.selectAll()
    QTest.keyClick(box, Qt.Key.Key_Delete)
    QTest.keyClicks(box, text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1/3", 1 / 3), ("-1,5", -1.5), ("4/2", 2.0), ("1e-3", 1e-3), ("+2E2", 200.0), (".5", 0.5), ("1.", 1.0),
        ("2*(3+4)", 14.0), ("-(1 - 4) / 2", 1.5), ("1,5*2,5", 3.75), ("--2", 2.0), ("007", 7.0), ("1.05", 1.05),
        (" 10.007 ", 10.007),
    ],
)  # fmt: skip
@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Tab])
def test_numbers_and_arithmetic_are_read(panel: Panel, text: str, value: float, key: Qt.Key) -> None:
    """Numbers and arithmetic are entered once, by Enter or by leaving the box, and are shown with the unit."""
    box = NumberBox(None, None, whole=False, unit="m")
    panel.add(box)
    taken: list[float] = []
    box.valueChanged.connect(taken.append)
    type_over(box, text)
    QTest.keyClick(box, key)
    assert taken == [value]
    assert box.hasFocus() == (key == Qt.Key.Key_Return)
    assert box.text() == f"{value:.6g} m"


@pytest.mark.parametrize(
    "text",
    [
        "1/0", "((2)", "1e400", "1/1e400", "1e300*1e300", "", "-", "0x10", "1,2,3", "1,000.5", "1 2", "2**9", "9//2",
        "(1)(2)", "()", "...", "e", "nan", "inf", "1_000", "1j", "five", "2 # 3", "1" * 201,
    ],
)  # fmt: skip
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("enters", [True, False])
def test_what_is_no_number_is_not_taken(panel: Panel, text: str, whole: bool, enters: bool) -> None:
    """A text that is no number restores the box's value, and Enter is not passed on to the surrounding form."""
    box = NumberBox(None, None, whole=whole, unit="m")
    panel.add(box)
    taken: list[float] = []
    box.valueChanged.connect(taken.append)
    type_over(box, text)
    if enters:
        QTest.keyClick(box, Qt.Key.Key_Return)
    else:
        box.clearFocus()
    assert (taken, box.value(), box.text()) == ([], 5.0, "5 m")
    assert panel.keys == []


@pytest.mark.parametrize(
    ("text", "value"), [("4/2", 2), ("7/3", 2), ("5/2", 3), ("2.6", 3), ("-0,4", 0), ("999", 8), ("-9*9", -8)]
)
def test_a_whole_number_box_rounds_and_clamps(panel: Panel, text: str, value: int) -> None:
    """A box for whole numbers rounds and clamps to its range."""
    box = NumberBox(-8, 8, whole=True, unit="")
    panel.add(box)
    type_over(box, text)
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert (box.value(), box.text()) == (value, str(value))


def test_a_number_out_of_range_is_clamped(panel: Panel) -> None:
    """A number out of range is clamped at both bounds."""
    box = NumberBox(0.25, 8, whole=False, unit="")
    panel.add(box)
    for text, value in (("999", 8.0), ("1/8", 0.25), ("8", 8.0), ("-1e300", 0.25)):
        type_over(box, text)
        QTest.keyClick(box, Qt.Key.Key_Return)
        assert box.value() == value


@pytest.mark.parametrize("text", ["-7", "((2)", ""])
def test_escape_forgets_what_was_typed(panel: Panel, text: str) -> None:
    """The first Escape restores the value and leaves the box; with nothing typed, Escape is passed on."""
    box = NumberBox(None, None, whole=False, unit="m")
    panel.add(box)
    taken: list[float] = []
    box.valueChanged.connect(taken.append)
    type_over(box, text)
    QTest.keyClick(box, Qt.Key.Key_Escape)
    assert (taken, box.text(), box.hasFocus(), panel.keys) == ([], "5 m", False, [])
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Escape)
    assert panel.keys == [Qt.Key.Key_Escape]
    box.clearFocus()
    assert taken == []


def test_enter_keeps_the_digits_that_are_not_shown(panel: Panel) -> None:
    """A box shows six digits, but Enter on an unchanged box keeps all digits of the value."""
    box = NumberBox(None, None, whole=False, unit="")
    panel.add(box, 0.123456789)
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert box.value() == 0.123456789


@pytest.mark.parametrize("unit", ["", "dB"])
def test_different_values_stay_various(panel: Panel, unit: str) -> None:
    """Visiting a box of different values, Enter, and an unreadable text set nothing and show "various"."""
    box = NumberBox(None, None, whole=False, unit=unit)
    panel.add(box)
    box.show_mixed()
    for text in ("", "1/0"):
        box.setFocus()
        QTest.keyClicks(box, text)
        box.clearFocus()
        assert (box.text(), box.has_typed_text) == ("", False)
        box.setFocus()
        QTest.keyClicks(box, text)
        QTest.keyClick(box, Qt.Key.Key_Return)
        assert (box.text(), box.has_typed_text) == ("", False)
    box.setFocus()
    QTest.keyClicks(box, f"4.5 {unit}")
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert (box.value(), box.text()) == (4.5, f"4.5 {unit}".rstrip())


def test_deep_parentheses_are_refused() -> None:
    """Deeply nested parentheses are refused without an error or a crash."""
    assert read_number("(" * 100 + "1" + ")" * 99) is None
    assert read_number("-" * 199 + "1") == -1.0


def test_a_click_selects_the_number_and_the_next_one_places_the_cursor(panel: Panel, qtbot: QtBot) -> None:
    """What is typed after the first click replaces the number; after the second one, it is added to it."""
    box = NumberBox(0, 1000, whole=False, unit="px")
    panel.add(box)
    box.clearFocus()
    edit = box.lineEdit()
    QTest.mouseClick(edit, Qt.MouseButton.LeftButton)
    QTest.keyClicks(edit, "12")
    QTest.keyClick(edit, Qt.Key.Key_Return)
    assert box.value() == 12.0
    box.clearFocus()
    for _ in range(2):
        QTest.mouseClick(edit, Qt.MouseButton.LeftButton, pos=edit.cursorRect().center())
        QTest.qWait(QApplication.doubleClickInterval() + 20)
    QTest.keyClick(edit, Qt.Key.Key_Home)
    QTest.keyClicks(edit, "3")
    QTest.keyClick(edit, Qt.Key.Key_Return)
    assert box.value() == 312.0


@pytest.mark.parametrize("reason", [Qt.FocusReason.TabFocusReason, Qt.FocusReason.OtherFocusReason])
def test_a_click_selects_a_number_that_has_the_focus(panel: Panel, reason: Qt.FocusReason) -> None:
    """A page or a window manager may give the focus before the click. After Enter, a click selects again."""
    box = NumberBox(0, 1000, whole=False, unit="px")
    panel.add(box)
    box.clearFocus()
    box.setFocus(reason)
    for text in ("12", "34"):
        QTest.mouseClick(box.lineEdit(), Qt.MouseButton.LeftButton)
        QTest.keyClicks(box.lineEdit(), text)
        QTest.keyClick(box.lineEdit(), Qt.Key.Key_Return)
        assert box.value() == float(text)


@pytest.mark.parametrize("value", [3.5532e-05, 0.46982109, -123456.0, 1.5e10, 0.0])
@pytest.mark.parametrize("width", [40, 60, 90, 200])
def test_a_narrow_box_shows_a_rounded_number_and_keeps_its_value(qtbot: QtBot, value: float, width: int) -> None:
    """The end of a number, such as its exponent, is never cut off where two digits have room."""
    box = NumberBox(None, None, whole=False, unit="", fits=True)
    qtbot.addWidget(box)
    box.resize(width, 26)
    box.show()
    box.show_value(value)
    box.resize(200, 26)
    box.resize(width, 26)
    text = box.lineEdit().text()
    needed = box.fontMetrics().horizontalAdvance(text)
    assert needed <= box.lineEdit().width() - 4 or float(text) == float(f"{value:.1g}")
    assert float(text) == pytest.approx(value, rel=0.5)
    assert width < 200 or float(text) == pytest.approx(value, rel=1e-5)
    assert box.value() == pytest.approx(value, abs=1e-12) and not box.has_typed_text
