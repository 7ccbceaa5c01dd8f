"""Modal questions and messages: few, and each with one clear text."""

import logging
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QFileDialog, QInputDialog, QLineEdit, QMessageBox, QPushButton, QWidget

from warploom.app.documents.code_files.new_code_dialog import NewCodeDialog
from warploom.app.documents.trust.changes_dialog import ChangesDialog
from warploom.app.documents.trust.contents import FileChange
from warploom.app.documents.trust.trust import Trust
from warploom.app.theme.icons import icon
from warploom.app.widgets.banner import shorten
from warploom.engine.figures import plural
from warploom.engine.patch.files import SUFFIX

_log = logging.getLogger(__name__)
_NAMES_SHOWN = 6
_LINES_SHOWN = 10
_NAME_WIDTH = 300
_FILTER = f"Patches (*{SUFFIX})"


class UnsavedChoice(Enum):
    """What to do with unsaved changes."""

    SAVE = "save"
    SAVE_AS = "save as"
    DISCARD = "discard"
    CANCEL = "cancel"


def ask_about_changes(parent: QWidget, name: str) -> UnsavedChoice:
    """Ask what to do with the unsaved changes of a patch; `name` is its name."""
    box = _box(parent, "Unsaved changes", f"Save the changes to {name}?", icon("save"))
    box.setInformativeText("Without saving, they are lost.")
    buttons = QMessageBox.StandardButton
    box.setStandardButtons(buttons.Save | buttons.Discard | buttons.Cancel)
    for button in box.buttons():
        button.setIcon(QIcon())  # Qt's own pictures have another style
    box.setDefaultButton(buttons.Save)
    answers = {buttons.Save: UnsavedChoice.SAVE, buttons.Discard: UnsavedChoice.DISCARD}
    return answers.get(buttons(box.exec()), UnsavedChoice.CANCEL)


def ask_to_overwrite(parent: QWidget, text: str, lines: Sequence[str]) -> UnsavedChoice:
    """Ask whether to save over a file that another program has changed; `lines` list the differences."""
    box = _box(parent, "File changed", text, icon("warning", "warning"))
    box.setInformativeText(
        "\n".join(
            [*map(in_a_line, shorten(lines, _LINES_SHOWN)), "", "If you overwrite the file, these changes are lost."]
        )
    )
    overwrite = box.addButton("Overwrite", QMessageBox.ButtonRole.DestructiveRole)
    elsewhere = box.addButton("Save mine as …", QMessageBox.ButtonRole.AcceptRole)
    cancel = box.addButton("Cancel", QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(elsewhere)
    box.setEscapeButton(cancel)
    box.exec()
    answers = {overwrite: UnsavedChoice.SAVE, elsewhere: UnsavedChoice.SAVE_AS}
    return next((answer for button, answer in answers.items() if box.clickedButton() is button), UnsavedChoice.CANCEL)


def ask_to_recover(parent: QWidget, name: str, lines: Sequence[str]) -> bool:
    """Ask whether to open unsaved work after a crash; `name` is the file's name, and `lines` list the differences."""
    begins = "Compared with the file, the unsaved work has:" if name else "It has:"
    name = name or "a patch that had no file yet"
    box = _box(
        parent, "Recover unsaved work", f"Warploom ended without saving {name}. Open the unsaved work?", icon("recent")
    )
    shown = map(in_a_line, shorten(lines, _LINES_SHOWN))
    box.setInformativeText(
        "\n".join(
            [
                begins,
                *shown,
                "",
                "If you don't open the unsaved work, it is deleted.",
            ]
        )
    )
    recover = box.addButton("Open", QMessageBox.ButtonRole.AcceptRole)
    box.addButton("Delete", QMessageBox.ButtonRole.DestructiveRole)
    box.setDefaultButton(recover)
    box.setEscapeButton(recover)  # dismissing the dialog must not lose work
    box.exec()
    return box.clickedButton() is recover


def ask_to_trust(parent: QWidget, folder: Path, names: Sequence[str]) -> Trust:
    """Ask whether the block files `names`, in a folder beside a patch, may run."""
    box = _box(
        parent,
        "Blocks beside this patch",
        "Trust the blocks that lie beside this patch?",
        icon("warning", "warning"),
    )
    shown = ", ".join(names[:_NAMES_SHOWN]) + (f" and {len(names) - _NAMES_SHOWN} more" * (len(names) > _NAMES_SHOWN))
    shown, place = in_a_line(shown), in_a_line(str(folder))
    box.setInformativeText(
        f"{place}\nholds {plural(len(names), 'Python file')}: {shown}.\n\nIf trusted, they run now and whenever one is "
        "saved, and can do everything that you can do on this computer: read and delete files, use the network. Trust "
        "only files that you wrote or have read. If they change while the patch is closed, you are asked again.\n\n"
        "Without trust, their nodes stay as placeholders, and nothing is lost."
    )
    box.addButton("Trust", QMessageBox.ButtonRole.AcceptRole)
    always = box.addButton("Always trust this folder", QMessageBox.ButtonRole.AcceptRole)
    no = box.addButton("Don't trust", QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(no)
    box.setEscapeButton(no)
    box.exec()
    if box.clickedButton() is no:
        return Trust.NO
    return Trust.ALWAYS if box.clickedButton() is always else Trust.ONCE


def show_changes(parent: QWidget, changed: Sequence[FileChange]) -> None:
    """Show what changed in trusted files, until the person closes the window."""
    ChangesDialog(parent, changed).exec()


def in_a_line(name: str) -> str:
    """Return a file's name without line breaks and other characters that would let it pass for part of the question."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in name)


def ask_new_code(
    parent: QWidget, title: str, kinds: Sequence[str], name_of: Callable[[str], str]
) -> tuple[str, str] | None:
    """Ask for the name and the kind of a new block or kernel."""
    dialog = NewCodeDialog(parent, title, kinds, name_of)
    is_made = dialog.exec() == NewCodeDialog.DialogCode.Accepted
    dialog.deleteLater()
    return (dialog.name.text(), dialog.kind.currentText()) if is_made else None


def ask_name(parent: QWidget, title: str, text: str, then: Callable[[str], object]) -> None:
    """Ask for a name, with `text` as the suggestion, and pass it to `then`."""
    dialog = QInputDialog(parent, windowTitle=title)
    dialog.setLabelText("Name")
    dialog.setTextValue(text)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.textValueSelected.connect(then)
    dialog.open()  # it makes its parts
    layout = dialog.layout()
    assert layout is not None
    layout.setContentsMargins(16, 12, 16, 12)
    dialog.findChild(QLineEdit).setMinimumWidth(_NAME_WIDTH)
    for button in dialog.findChildren(QPushButton):
        button.setIcon(QIcon())


def ask_folder(parent: QWidget, title: str, suggestion: Path) -> Path | None:
    """Ask for a folder."""
    name = QFileDialog.getExistingDirectory(parent, title, str(suggestion))
    return Path(name) if name else None


def ask_open(parent: QWidget, folder: Path) -> Path | None:
    """Ask for a patch to open."""
    name, _ = QFileDialog.getOpenFileName(parent, "Open patch", str(folder), f"{_FILTER};;All files (*)")
    return Path(name) if name else None


def ask_save(parent: QWidget, suggestion: Path) -> Path | None:
    """Ask where to save a patch; a missing suffix is added."""
    return ask_export(parent, "Save patch", suggestion, {SUFFIX: "Patches"})


def ask_export(parent: QWidget | None, title: str, suggestion: Path, forms: Mapping[str, str]) -> Path | None:
    """Ask for a file to write; `forms` has the kinds of files by suffix. A missing suffix is added."""
    filters = {f"{form} (*{suffix})": suffix for suffix, form in forms.items()}
    while True:
        name, chosen = QFileDialog.getSaveFileName(parent, title, str(suggestion), ";;".join(filters))
        if not name:
            return None
        path = Path(name)
        if path.name.endswith(tuple(forms)):
            return path  # the dialog has asked whether to replace it
        path = path.with_name(path.name + filters.get(chosen, next(iter(forms))))
        if not path.exists() or _ask_to_replace(parent, path):
            return path
        suggestion = path


def _ask_to_replace(parent: QWidget | None, path: Path) -> bool:
    box = _box(parent, "File exists", in_a_line(f"Replace {path.name}?"), icon("warning", "warning"))
    box.setInformativeText(in_a_line(f"{path.parent} has a file of this name."))
    replace = box.addButton("Replace", QMessageBox.ButtonRole.DestructiveRole)
    cancel = box.addButton("Cancel", QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(cancel)
    box.exec()
    return box.clickedButton() is replace


def show_error(parent: QWidget, title: str, text: str) -> None:
    """Show one message and wait until it is closed."""
    _log.error("%s: %s", title, text)
    box = _box(parent, "Warploom", title, icon("error", "error"))
    box.setInformativeText(text)
    box.exec()


def _box(parent: QWidget | None, title: str, text: str, picture: QIcon | None = None) -> QMessageBox:
    box = QMessageBox(parent, windowTitle=title, text=text)
    box.setContentsMargins(8, 8, 8, 4)
    # Messages quote the contents of files, which must not be interpreted as rich text.
    box.setTextFormat(Qt.TextFormat.PlainText)
    if picture is not None:
        box.setIconPixmap(picture.pixmap(32, 32))
    return box
