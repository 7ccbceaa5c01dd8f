"""The first page."""

from pathlib import Path

from pytestqt.qtbot import QtBot

from app.documents.gallery import find_examples
from app.window.welcome import ExampleCard, Welcome


def test_the_welcome_page_offers_examples_and_recent_files(qtbot: QtBot, tmp_path: Path) -> None:
    """A click on a card opens its example."""
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
