"""The welcome page."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QFont
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from app.documents.gallery import find_examples
from app.window.welcome import ExampleCard, Welcome


def test_the_welcome_page_offers_examples_and_recent_files(qtbot: QtBot, tmp_path: Path) -> None:
    """A click on an example's card opens the example, and recent files are listed."""
    (tmp_path / "one.loom").write_text('{"nodes": [{"id": "a", "position": [0, 0]}]}')
    page = Welcome(find_examples(tmp_path))
    qtbot.addWidget(page)
    page.show()
    (card,) = page.findChildren(ExampleCard)
    with qtbot.waitSignal(page.example_requested) as opened:
        card.click()
    assert opened.args == [tmp_path / "one.loom"]
    page.show_recent([tmp_path / "one.loom"])
    assert page.recent.count() == 1


def test_a_card_shows_its_blocks_in_the_colours_of_their_categories(qtbot: QtBot, tmp_path: Path) -> None:
    """A card shows its blocks as on the canvas, in their categories' hues."""
    nodes = [
        {"id": str(x), "type": kind, "position": [x, 0]} for x, kind in enumerate(("math.saxpy", "image.gaussian_blur"))
    ]
    nodes[1]["position"] = [400, 0]
    (tmp_path / "one.loom").write_text(json.dumps({"nodes": nodes}))
    (example,) = find_examples(tmp_path)
    card = ExampleCard(example)
    qtbot.addWidget(card)
    picture = card.grab().toImage()
    row = [picture.pixelColor(x, 68).hsvHue() for x in range(picture.width())]
    hues = (178, 285)  # of the categories Math and Image, in `app.theme.colours`
    found = [known for hue in row for known in hues if abs(hue - known) < 6]
    assert tuple(dict.fromkeys(found)) == hues


def test_a_long_description_has_room_in_any_font(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> None:
    """All cards are equally high, and high enough for the longest description."""
    (tmp_path / "one.loom").write_text('{"nodes": []}')
    (example,) = find_examples(tmp_path)
    before = qapp.font()
    page = Welcome([example, replace(example, description="many words " * 16)])
    qtbot.addWidget(page)
    font = QFont(before)
    font.setPixelSize(18)
    try:
        qapp.setFont(font)
        page.show()
        cards = page.findChildren(ExampleCard)
        qtbot.waitUntil(lambda: len({card.height() for card in cards}) == 1)
        for card in cards:
            text = card.findChildren(QLabel)[1]
            assert text.height() >= text.heightForWidth(text.width())
    finally:
        qapp.setFont(before)


def test_recent_files_come_before_the_examples(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recent files come before the examples, each with its folder relative to the home folder."""
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    (tmp_path / "one.loom").write_text('{"nodes": []}')
    page = Welcome(find_examples(tmp_path))
    qtbot.addWidget(page)
    page.show_recent([tmp_path / "a.loom", tmp_path / "work" / "b.loom"])
    page.show()
    links = [page.recent.itemAt(row).widget() for row in range(page.recent.count())]
    assert [link.text().split() for link in links if isinstance(link, QPushButton)] == [["a", "~"], ["b", "~/work"]]
    (card,) = page.findChildren(ExampleCard)
    qtbot.waitUntil(lambda: links[-1].y() < card.y())


def test_a_dropped_patch_is_opened(qtbot: QtBot, tmp_path: Path) -> None:
    """A dropped patch is opened, and other files are refused."""
    page, opened = Welcome([]), list[Path]()
    qtbot.addWidget(page)
    page.open_requested.connect(opened.append)
    for name, taken in (("a.png", False), ("a.loom", True)):
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(tmp_path / name))])
        about = (data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
        entered = QDragEnterEvent(QPoint(5, 5), Qt.DropAction.CopyAction, *about)
        page.dragEnterEvent(entered)
        assert entered.isAccepted() is taken
        page.dropEvent(QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, *about))
    assert opened == [tmp_path / "a.loom"]
