"""All commands of the editor, by the menus that hold them; context menus and the toolbar name them."""

from warploom.app.commands.actions import Menu
from warploom.app.commands.command_window import CommandWindow
from warploom.app.commands.menus.code import code_menu
from warploom.app.commands.menus.edit import edit_menu
from warploom.app.commands.menus.file import file_menu
from warploom.app.commands.menus.help import help_menu
from warploom.app.commands.menus.organise import organise_menu
from warploom.app.commands.menus.run import run_menu
from warploom.app.commands.menus.view import view_menu
from warploom.app.commands.needs import Needs

#: Context menus for items of the canvas: commands, and menus of the menu bar by their ids.
CONTEXT_MENUS: dict[str, tuple[str | None, ...]] = {
    "node": (
        *("rename", "mark", "colour", "replace_block", None, "cut", "copy", "duplicate", "delete", None),
        *("disconnect", "swap_inputs", "reset_values", "fit_selection", "look", None),
        *("group", "ungroup", "function", "wrap_in", "move_into", "take_out", "run_in_order", "remove_orders", None),
        *("bypass", "disable", "lay_out", "align", "presets", None),
        *("pin_test", None, "open_graph", "block_help", "open_code", "edit_copy"),
    ),
    "connection": (
        *("look", None, "insert_block", "disconnect", None),
        *("add_dot", "delete_dot", "straighten", None, "check_values", "remove_check", "pin_test"),
    ),
    "frame": ("mark", "colour", "select_in_frame", None, "cut", "copy", "duplicate", "delete"),
    "canvas": ("add_block", "add_frame", "new_block", "paste", None, "select_all", "fit", "lay_out"),
}

TOOLBAR = ("new", "open", "save", None, "undo", "redo", None, "add_block", "fit", None, "reset", "play", "step")


def make_menus(window: CommandWindow) -> list[Menu]:
    """Return the menus of a window, with its commands."""
    needs = Needs(window)
    makers = (file_menu, edit_menu, organise_menu, code_menu, run_menu, view_menu, help_menu)
    return [make(window, needs) for make in makers]
