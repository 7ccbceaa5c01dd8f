"""The File menu: patches and their files."""

from functools import partial

from PySide6.QtWidgets import QMenu

from warploom.app.commands.actions import Command, Menu
from warploom.app.commands.command_window import CommandWindow
from warploom.app.commands.menus.entries import add_entry
from warploom.app.commands.needs import Needs


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


def _list_recent(window: CommandWindow, menu: QMenu) -> None:
    """List the recent files that still exist."""
    for path in window.state.existing_recent():
        add_entry(menu, path.name, partial(window.files.open_path, path)).setToolTip(str(path))
