"""The File menu: patches and their files."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMenu

from warploom.app.canvas.patch_picture import FORMS, save_patch_picture
from warploom.app.commands.actions import Command, Menu
from warploom.app.commands.command_window import CommandWindow
from warploom.app.commands.menus.entries import add_entry
from warploom.app.commands.needs import Needs
from warploom.app.documents.dialogs import ask_export
from warploom.engine.patch.files import EXAMPLES_FOLDER


def file_menu(window: CommandWindow, needs: Needs) -> Menu:
    """Return the menu."""
    files, patch = window.files, needs.patch
    items: list[Command | Menu | None] = [
        Command("new", "&New patch", files.new, "new", ("Ctrl+N",)),
        Command(
            "new_window",
            "New &window",
            window.open_window,
            keys=("Ctrl+Shift+N",),
            help="Start another editor: blocks are copied and pasted between both",
        ),
        Command("open", "&Open …", files.open, "open", ("Ctrl+O",)),
        Menu("recent", "Open &recent", fill=partial(_list_recent, window), if_empty="No recent files"),
        Command(
            "show_in_folder",
            "Show in &folder",
            partial(_show_in_folder, window),
            help="Open the folder of the patch in the file manager",
            needs=needs.file,
        ),
        None,
        Command("save", "&Save", files.save, "save", ("Ctrl+S",), needs=patch),
        Command("save_as", "Save &as …", files.save_as, keys=("Ctrl+Shift+S",), needs=patch),
        Command(
            "collect",
            "&Collect files",
            files.collect,
            help="Copy the kernels, pictures, sounds, films and blocks that the patch uses beside it, and save it",
            needs=patch,
        ),
        Command(
            "save_patch_picture",
            "Save picture of the &patch …",
            partial(_save_picture, window),
            help="Write the whole canvas into a file, as PNG or SVG",
            needs=patch,
            words="export image screenshot figure",
        ),
        None,
        Command(
            "trust",
            "&Trust …",
            window.trust.ask_again,
            help="Choose again whether to trust the block files beside the patch, and what the patch may do",
            needs=patch,
        ),
        None,
        Command("close", "&Close patch", files.close, keys=("Ctrl+W",), help="Go back to the examples", needs=patch),
        Command("quit", "&Quit", window.close, keys=("Ctrl+Q",)),
    ]
    return Menu("file", "&File", items)


def _show_in_folder(window: CommandWindow) -> None:
    path = window.session.path
    if path is not None:
        folder = path.resolve().parent
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            window.note(f"folder must be shown by a file manager, got none that opens {folder}")


def _save_picture(window: CommandWindow) -> None:
    """Ask for a file, and write what the canvas shows into it."""
    canvas, session = window.canvas, window.session
    if not canvas.scene.nodes:
        window.note("Nothing to save: no block is shown")
        return
    is_own = session.path is not None and session.path.resolve().parent != EXAMPLES_FOLDER
    folder = session.path.parent if session.path is not None and is_own else Path.home()
    path = ask_export(canvas, "Save picture of the patch", folder / f"{session.name}.png", FORMS)
    if path is not None:
        try:
            save_patch_picture(canvas.scene, canvas.thumbnails, path)
        except OSError as problem:
            window.note(f"picture must be writable to {path}, got: {problem}")
        else:
            window.note(f"Saved {path}")


def _list_recent(window: CommandWindow, menu: QMenu) -> None:
    """List the recent files that still exist."""
    for path in window.state.existing_recent():
        add_entry(menu, path.name, partial(window.files.open_path, path)).setToolTip(str(path))
    if not menu.isEmpty():
        menu.addSeparator()
        add_entry(menu, "Clear this list", window.files.forget_recent)
