"""The first page."""

import json
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


def test_a_card_shows_its_blocks_in_the_colours_of_their_categories(qtbot: QtBot, tmp_path: Path) -> None:
    """Blocks lie as on the canvas, each in its hue."""
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
    hues = (178, 285)  # of Math and Image, in `app.theme.colours`
    found = [known for hue in row for known in hues if abs(hue - known) < 6]
    assert tuple(dict.fromkeys(found)) == hues
