"""The save dialog adds the suffix, and replaces no file without a question."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from warploom.app.documents import dialogs


@pytest.mark.parametrize("name", ["take", "take.2", "take.json", "take."])
@pytest.mark.parametrize("replaces", [True, False])
def test_a_name_without_the_suffix_gets_it(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, replaces: bool
) -> None:
    """A name without the suffix gets it; if that file exists, the person is asked and may choose another name."""
    chosen, asked = [str(tmp_path / name), str(tmp_path / "other.loom")], list[Path]()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (chosen.pop(0), ""))
    monkeypatch.setattr(dialogs, "_ask_to_replace", lambda _, path: asked.append(path) or replaces)
    parent = QWidget()
    qtbot.addWidget(parent)
    wanted = tmp_path / f"{name}.loom"
    assert dialogs.ask_save(parent, tmp_path) == wanted
    assert not asked
    chosen.insert(0, str(tmp_path / name))
    wanted.write_bytes(b"")
    assert dialogs.ask_save(parent, tmp_path) == (wanted if replaces else tmp_path / "other.loom")
    assert asked == [wanted]


def test_a_whole_name_is_asked_about_by_the_dialog_alone(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """For a name with the suffix, only the system's dialog asks; an empty name is no file."""
    file = tmp_path / "a.loom"
    file.write_bytes(b"")
    parent = QWidget()
    qtbot.addWidget(parent)
    for name, found in ((str(file), file), ("", None)):
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, name=name: (name, ""))
        assert dialogs.ask_save(parent, tmp_path) == found
