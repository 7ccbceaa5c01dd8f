"""The commands of the Code menu: reading, changing and making code."""

from functools import partial

from warploom.app.commands.actions import Command, Menu
from warploom.app.commands.command_window import CommandWindow
from warploom.app.commands.needs import Needs
from warploom.app.docks.code.code import Code
from warploom.app.docks.console import Console


def code_menu(window: CommandWindow, needs: Needs) -> Menu:
    """Return the menu."""
    patch, node = needs.patch, needs.node
    items: list[Command | Menu | None] = [
        Command(
            "open_code",
            "&Open code",
            partial(_open_code, window),
            "code",
            ("Ctrl+K",),
            help="Show the block's kernel, or the file that defines it, to read and change it",
            needs=node,
        ),
        Command(
            "edit_copy",
            "&Edit a copy of the block",
            lambda: window.code.making.edit_copy(),
            "duplicate",
            help="Make a copy of the block's code beside the patch, and let the block use it",
            needs=node,
        ),
        None,
        Command(
            "new_block",
            "New &block …",
            lambda: window.code.making.new_block(),
            "new",
            help="Make a block of your own beside the patch, and open its code",
            needs=patch,
        ),
        Command(
            "new_kernel",
            "New &kernel …",
            lambda: window.code.making.new_kernel(),
            "new",
            help="Make a kernel file beside the patch, and open it",
            needs=patch,
        ),
        None,
        Command(
            "console",
            "&Python console",
            lambda: window.reveal(Console).begin(),
            "code",
            ("Ctrl+`",),
            help="Call the open patch and its engine from Python",
            needs=patch,
        ),
    ]
    return Menu("code", "&Code", items)


def _open_code(window: CommandWindow) -> None:
    """Show the code of the selected block, and put the cursor into it."""
    dock = window.reveal(Code)
    for node in window.canvas.selected()[:1]:
        if not dock.show_node(node):
            window.note("The selected block has no code")
    dock.text.setFocus()
