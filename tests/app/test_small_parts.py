"""Faults, Qt's libraries, the gallery and kernel files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.documents.gallery import find_examples
from app.qt.faults import install_fault_handler
from app.qt.qt_check import explain
from app.view_models.block_help import kernel_files
from app.window.welcome import ExampleCard, Welcome
from engine.diagnostics import PatchError
from engine.patch.document import Patch

ROOT = Path(__file__).parents[2]


def test_a_fault_is_shown_and_its_details_are_written(tmp_path: Path) -> None:
    """An unhandled exception becomes one line for a person, and a traceback in a file."""
    shown: list[str] = []
    remove = install_fault_handler(shown.append, tmp_path)
    try:
        raise_and_hook(ZeroDivisionError("oh"))
        raise_and_hook(PatchError("x must be y, got z"))
    finally:
        remove()
    assert shown[0].startswith("Unexpected ZeroDivisionError: oh. Your patch is intact")
    assert shown[1] == "x must be y, got z"
    details = (tmp_path / "errors.log").read_text()
    assert "raise_and_hook" in details
    assert "x must be y" not in details


def raise_and_hook(problem: Exception) -> None:
    try:
        raise problem
    except Exception as caught:  # noqa: BLE001  # stands in for Qt, which hands on whatever a slot raised
        sys.excepthook(type(caught), caught, caught.__traceback__)


def test_a_missing_qt_library_is_named_with_its_remedy() -> None:
    """The message names the library and the command."""
    text = explain("libEGL.so.1: cannot open shared object file: No such file or directory")
    assert "got no libEGL.so.1" in text
    assert "apt-get install" in text
    assert "libegl1" in text
    assert explain("No module named 'PySide6'") == (
        "the editor must be able to load PySide6, got: No module named 'PySide6'"
    )


def test_qt_is_not_loaded_before_it_is_needed() -> None:
    """The command line can tell of a missing library, and edits and view models need no window."""
    rooms = [path for room in ("edits", "view_models") for path in sorted((ROOT / "app" / room).glob("[!_]*.py"))]
    modules = ["app.qt.qt_check", "app.documents.gallery", "app.documents.editor_state"]
    modules += [f"app.{path.parent.name}.{path.stem}" for path in rooms]
    code = f"import {', '.join(modules)}, sys; sys.exit(any(m.startswith('PySide6') for m in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_examples_are_read_from_their_files(tmp_path: Path) -> None:
    """Title and description come from the file, a title from its name when it has none; other files are left out."""
    nodes = [{"id": "a", "position": [0, 0]}, {"id": "b", "position": [200, 50]}]
    lines = [{"source": "a.out", "target": "b.x"}]
    first = {"title": "One", "description": "Shows it.", "nodes": nodes, "connections": lines}
    (tmp_path / "1.loom").write_text(json.dumps(first))
    (tmp_path / "my_second.loom").write_text('{"nodes": []}')
    (tmp_path / "broken.loom").write_text("{")
    (tmp_path / "other.txt").write_text("")
    one, two = find_examples(tmp_path)
    assert (one.title, one.description, one.boxes, one.lines) == (
        "One",
        "Shows it.",
        {"a": (0, 0), "b": (200, 50)},
        (("a", "b"),),
    )
    assert two.title == "My second"


def test_shipped_examples_have_a_title_and_a_description() -> None:
    """Every card of the gallery says what it shows."""
    examples = find_examples()
    assert examples
    assert all(example.title and example.description and example.boxes for example in examples)


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
    assert page._recent.count() == 1


@pytest.mark.parametrize("block", ["image.gaussian_blur", "io.viewer"])
def test_kernel_files_of_a_block_are_found(block: str) -> None:
    """The kernels that a shipped block declares exist."""
    block_type = Patch().catalogue.require(block)
    files = kernel_files(block_type)
    assert files
    assert all(path.suffix in (".cu", ".ptx") for path in files)
