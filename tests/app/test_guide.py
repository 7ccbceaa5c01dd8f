"""The guide of features: each is used by a test that acts like a person, and the window names present keys."""

import re
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from warploom.app.commands.guide import Guide, features
from warploom.app.window.main_window import MainWindow

_MARK = re.compile(r"@pytest\.mark\.feature\(([^)]*)\)")


def test_each_feature_is_used_by_a_test_like_a_person() -> None:
    """Marks and features are the same; features that work partly say what is missing."""
    texts = (path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].rglob("test_*.py"))
    marked = {name for text in texts for found in _MARK.findall(text) for name in re.findall(r'"(\w+)"', found)}
    assert marked == {feature.id for feature in features()}
    assert len(features()) == 89, "79 expectations of every node editor, and ten ideas"
    assert all(feature.how.endswith(".") for feature in features())
    assert all(len(feature.partly) > 20 for feature in features() if feature.partly)


def test_the_guide_lists_and_finds_features(window: MainWindow) -> None:
    """Ctrl+F1 opens the guide, with places in the menus and the present keys; typed words choose features."""
    window.keys.set("lay_out", ["Ctrl+Shift+Y"])
    window.activateWindow()
    QTest.keyClick(window, Qt.Key.Key_F1, Qt.KeyboardModifier.ControlModifier)
    guide = window.findChild(Guide)
    assert guide is not None and guide.isVisible() and not guide.isModal()
    text = guide.page.toPlainText()
    assert all(feature.title in text for feature in features()) and not re.search(r"[{}]", text)
    assert "Ctrl+Shift+Y (Organise › Lay out)" in text
    QTest.keyClicks(guide.filter, "knife ctrl")
    assert guide.page.toPlainText() == "Nothing has these words."
    guide.filter.clear()
    QTest.keyClicks(guide.filter, "lay layers")
    assert "Align and lay out" in guide.page.toPlainText() and "Heat map" not in guide.page.toPlainText()
