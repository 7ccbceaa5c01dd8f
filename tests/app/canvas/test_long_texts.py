"""Texts of megabytes, from a file or a person, are cut before they are laid out."""

import logging

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from warploom.app.canvas.notice import CanvasNotice
from warploom.app.inspector.code_editor import CodeEditor
from warploom.app.widgets.banner import Banner, Notice
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.diagnostics import MOST_SHOWN, cut, error
from warploom.engine.logs import MOST_CHARACTERS, logged

LONG = "word " * 1_000_000


@pytest.mark.parametrize("length", [0, 1, 49, 50, 51, 52, 90, 10_000])
def test_a_cut_text_fits_and_says_how_long_it_was(length: int) -> None:
    """A cut text states the original length; a text that fits is unchanged, even if it was cut before."""
    text = "x" * length
    found = cut(text, 50)
    assert len(found) <= 50
    assert found == text if length <= 50 else found.endswith(f" ... ({length} characters)")
    assert cut(found, 50) == found


def test_problems_and_log_records_are_cut() -> None:
    """Problems and log records of any source are cut; a traceback keeps its end."""
    problem = error(LONG, remedy=LONG, expected=LONG, found=LONG)
    assert all(len(text) <= MOST_SHOWN for text in (problem.message, problem.remedy, problem.expected, problem.found))
    try:
        raise ValueError(LONG + "the end")
    except ValueError as why:
        record = logging.LogRecord("engine", logging.ERROR, "", 0, LONG, None, (type(why), why, why.__traceback__))
    found = logged(record)
    assert len(found.text) == len(found.trace) == MOST_CHARACTERS
    assert found.trace.endswith("the end")


def test_notices_are_cut(qtbot: QtBot) -> None:
    """Notices beside the pointer and above the canvas are cut."""
    room = QWidget()
    qtbot.addWidget(room)
    notice, banner = CanvasNotice(room), Banner()
    qtbot.addWidget(banner)
    notice.show_at(QPoint(5, 5), LONG, None)
    banner.show_notice(Notice(LONG))
    assert len(notice.text()) <= 1000
    assert len(banner._label.text()) <= 1000


@pytest.mark.parametrize(
    "text",
    ["return 1; " * 50_000, "int x;\n" * 40_000, "int x; // " + "y" * 10_000],
    ids=["one line", "many lines", "a long comment"],
)
def test_long_code_is_shown_whole_and_without_colours(qtbot: QtBot, text: str) -> None:
    """Long code is shown completely but without colours, since colouring it would take seconds."""
    editor = CodeEditor(ParameterSpec(name="code", type="str", default="", language="cuda", doc=""))
    qtbot.addWidget(editor)

    def is_coloured() -> bool:
        editor._highlighter.rehighlight()
        return bool(editor.text.document().firstBlock().layout().formats())

    editor.show_values(["int x;"])
    assert is_coloured()
    editor.show_values([text])
    assert editor.text.toPlainText() == text
    assert not is_coloured()
