"""The welcome page."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QEnterEvent, QFont, QImageReader
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from warploom.app.documents.gallery import find_examples
from warploom.app.theme.apply import apply_theme
from warploom.app.welcome.example_card import ExampleCard
from warploom.app.welcome.welcome import Welcome


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


def test_a_card_shows_what_its_example_makes(qtbot: QtBot) -> None:
    """A card shows the first picture of the film; under the pointer the film plays, and then the picture returns."""
    example = next(found for found in find_examples() if found.path.stem == "feedback")
    card = ExampleCard(example)
    qtbot.addWidget(card)
    card.show()
    first = QImageReader(str(example.film)).read()
    size = card.width(), 158
    shown = card.grab().toImage().copy(0, 0, *size)
    there = [(x, y) for x in range(20, 260, 40) for y in range(20, 140, 30)]
    expected = first.scaled(*size, mode=Qt.TransformationMode.SmoothTransformation)
    far = [abs(shown.pixelColor(*at).lightness() - expected.pixelColor(*at).lightness()) for at in there]
    assert sum(far) / len(far) < 12
    assert max(shown.pixelColor(*at).lightness() for at in there) > 60
    pointer = QPointF(20, 20)
    card.setAttribute(Qt.WidgetAttribute.WA_UnderMouse)
    QApplication.sendEvent(card, QEnterEvent(pointer, pointer, pointer))
    assert card.film is not None
    qtbot.waitUntil(lambda: card.film is not None and card.film.currentFrameNumber() > 0)
    inside = 10, 10, 260, 140  # the border shows the focus
    assert card.grab().toImage().copy(*inside) != shown.copy(*inside)
    card.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, False)
    QApplication.sendEvent(card, QEvent(QEvent.Type.Leave))
    assert card.film is None
    assert card.grab().toImage().copy(*inside) == shown.copy(*inside)


@pytest.mark.parametrize(("width", "columns"), [(340, 1), (720, 2), (1000, 3), (1440, 4)])
def test_cards_have_as_many_columns_as_fit(qtbot: QtBot, width: int, columns: int) -> None:
    """Cards lie in one to four columns, without a horizontal scroll bar."""
    page = Welcome(find_examples())
    qtbot.addWidget(page)
    page.resize(width, 600)
    page.show()
    qtbot.waitUntil(lambda: len({card.x() for card in page.findChildren(ExampleCard)}) == columns)
    qtbot.waitUntil(lambda: page.horizontalScrollBar().maximum() == 0)


@pytest.mark.feature("templates")
def test_examples_are_found_by_words_and_blocks(qtbot: QtBot) -> None:
    """Cards without the words disappear with their headings; Enter opens the first one that is left."""
    page = Welcome(find_examples())
    qtbot.addWidget(page)
    page.resize(1300, 800)
    page.show()

    def shown() -> set[str]:
        return {card.example.path.stem for card in page.findChildren(ExampleCard) if card.isVisible()}

    def headings() -> list[str]:
        return [label.text() for label in page.findChildren(QLabel, "sectionTitle") if label.isVisible()]

    every, all_headings = shown(), headings()
    QTest.keyClicks(page.filter, "Gaussian blur")
    assert "photo" in shown() and shown() < every
    found = [card.example for card in page.findChildren(ExampleCard) if card.isVisible()]
    assert any("image.gaussian_blur" in example.types for example in found)
    page.filter.clear()
    QTest.keyClicks(page.filter, "handwritten")
    assert (shown(), headings()) == ({"digits"}, ["Analysis and learning"])
    with qtbot.waitSignal(page.example_requested) as opened:
        QTest.keyClick(page.filter, Qt.Key.Key_Return)
    assert opened.args is not None and opened.args[0].stem == "digits"
    QTest.keyClicks(page.filter, "xyz")
    assert shown() == set() and page._nothing.isVisible()
    page.filter.clear()
    assert (shown(), headings()) == (every, all_headings) and not page._nothing.isVisible()


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


def test_cards_follow_the_size_of_the_editor(qtbot: QtBot, qapp: QApplication) -> None:
    """At 150 % a shown page has wider cards in fewer columns at once, with room for their texts; then as before."""
    apply_theme(qapp, "dark")
    page = Welcome(find_examples())
    qtbot.addWidget(page)
    page.resize(1300, 800)
    page.show()
    card = page.findChildren(ExampleCard)[0]
    before = card.size()
    try:
        apply_theme(qapp, "dark", 1.5)
        qtbot.waitUntil(lambda: card.width() == round(1.5 * before.width()))
        assert page._columns == 2
        assert all(each.height() >= each.heightForWidth(each.width()) for each in page.findChildren(ExampleCard))
    finally:
        apply_theme(qapp, "dark")
    qtbot.waitUntil(lambda: card.size() == before)


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
    """A dropped patch is opened, other files and addresses are passed on, and other texts are refused."""
    page, opened, passed = Welcome([]), list[Path](), list[list[QUrl]]()
    qtbot.addWidget(page)
    page.open_requested.connect(opened.append)
    page.dropped.connect(lambda data: passed.append(data.urls()))
    picture, patch = (QUrl.fromLocalFile(str(tmp_path / name)) for name in ("a.png", "a.loom"))
    address, text = QUrl("https://example.org/a.png"), QUrl("words")
    for url in (picture, patch, address, text):
        data = QMimeData()
        data.setUrls([url])
        about = (data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
        entered = QDragEnterEvent(QPoint(5, 5), Qt.DropAction.CopyAction, *about)
        page.dragEnterEvent(entered)
        assert entered.isAccepted() is (url is not text)
        if entered.isAccepted():
            page.dropEvent(QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, *about))
    assert opened == [tmp_path / "a.loom"]
    assert passed == [[picture], [address]]
