"""The Help menu."""

from functools import partial

from warploom.app.commands.actions import Command, Menu
from warploom.app.commands.command_window import CommandWindow
from warploom.app.commands.needs import Needs
from warploom.app.docks.help import Help, open_example


def help_menu(window: CommandWindow, needs: Needs) -> Menu:
    """Return the menu."""
    items: list[Command | Menu | None] = [
        Command("block_help", "&Help on the block", lambda: window.reveal(Help), "help", ("F1",), needs=needs.patch),
        Command(
            "block_example",
            "&Example of the block",
            partial(open_example, window),
            keys=("Shift+F1",),
            help="Open a patch in which the selected block runs",
            needs=needs.node,
        ),
        Command(
            "guide",
            "&What Warploom can do",
            window.show_guide,
            keys=("Ctrl+F1",),
            help="Every feature, and how to use it",
        ),
        Command(
            "palette",
            "&Command palette …",
            window.show_palette,
            keys=("Ctrl+Shift+P",),
            help="Find any command by its name",
        ),
        Command("shortcuts", "Shortcuts and &gestures", window.show_shortcuts, keys=("Ctrl+/",)),
        Command("tour", "&Tour of the first three minutes", window.tour.begin),
        Command("about", "&About Warploom", window.show_about),
    ]
    return Menu("help", "&Help", items)
