"""Unhandled errors of the editor, and missing libraries of Qt."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from warploom.app.qt import qt_check
from warploom.app.qt.faults import install_fault_handler
from warploom.app.qt.qt_check import explain, require_qt
from warploom.engine.diagnostics import PatchError, WarploomError

ROOT = Path(__file__).parents[3]


def test_a_fault_is_shown_and_its_details_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """An unhandled exception is one line for the person, and a log record with its traceback."""
    shown: list[str] = []
    remove = install_fault_handler(shown.append, lambda: "a.log")
    try:
        raise_and_hook(ZeroDivisionError("oh"))
        raise_and_hook(PatchError("x must be y, got z"))
    finally:
        remove()
    assert shown == [
        "Unexpected ZeroDivisionError: oh. Your patch is intact; details are in a.log",
        "x must be y, got z",
    ]
    assert [record.getMessage() for record in caplog.records] == shown
    assert "raise_and_hook" in caplog.text.partition("x must be y")[0]
    assert [bool(record.exc_info) for record in caplog.records] == [True, False]


def raise_and_hook(problem: Exception) -> None:
    try:
        raise problem
    except Exception as caught:  # noqa: BLE001  # replaces Qt, which reports whatever a slot raised
        sys.excepthook(type(caught), caught, caught.__traceback__)


def test_a_missing_qt_library_is_named_with_its_remedy() -> None:
    """The message about a missing Qt library names the library and the command that installs it."""
    text = explain("libEGL.so.1: cannot open shared object file: No such file or directory")
    assert "got no libEGL.so.1" in text
    assert "apt-get install" in text
    assert "libegl1" in text
    assert explain("No module named 'PySide6'") == (
        "the editor must be able to load PySide6, got: No module named 'PySide6'"
    )


def test_qt_is_not_loaded_before_it_is_needed() -> None:
    """Edits, view models and the check for Qt's libraries are imported without loading Qt."""
    rooms = [path for room in ("edits", "view_models") for path in sorted((ROOT / "app" / room).glob("[!_]*.py"))]
    modules = ["warploom.app.qt.qt_check", "warploom.app.documents.gallery", "warploom.app.documents.editor_state"]
    modules += [f"warploom.app.{path.parent.name}.{path.stem}" for path in rooms]
    code = f"import {', '.join(modules)}, sys; sys.exit(any(m.startswith('PySide6') for m in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_the_base_says_how_to_install_the_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra `editor`, the message names what is missing and the command; it is checked completely."""
    monkeypatch.setattr(qt_check, "find_spec", lambda name: None if name in ("PySide6", "pyqtgraph") else name)
    with pytest.raises(WarploomError, match=r"got no PySide6, pyqtgraph; .* -m pip install 'warploom\[editor\]'"):
        require_qt()
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["editor"]
    names = {re.split(r"[<>=]", each)[0].removesuffix("-Essentials").removesuffix(".py") for each in extra}
    assert names == set(qt_check.MODULES)
