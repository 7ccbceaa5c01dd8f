"""The Edit menu: the history, the selection, connections, groups and regions."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtWidgets import QMenu

from warploom.app.commands.actions import Command, Menu
from warploom.app.commands.command_window import CommandWindow
from warploom.app.commands.menus.entries import add_entry
from warploom.app.commands.needs import Needs
from warploom.app.inspector.inspector import Inspector

#: Regions to wrap blocks in, by the last part of their types' ids, which blocks and ops share.
WRAPS = {
    "if": ("&If", "If"),
    "if_else": ("If &else", "If else"),
    "switch": ("&Switch", "Switch"),
    "while": ("&While", "While"),
    "for": ("&For", "For"),
}


def edit_menu(window: CommandWindow, needs: Needs) -> Menu:
    """Return the menu."""
    session, canvas, edits = window.session, window.canvas, window.canvas.edits
    patch, node, selection = needs.patch, needs.node, needs.selection
    items: list[Command | Menu | None] = [
        Command("undo", "&Undo", session.undo, "undo", ("Ctrl+Z",), needs=needs.undoable, says=needs.undo_text),
        Command(
            "redo",
            "&Redo",
            session.redo,
            "redo",
            ("Ctrl+Shift+Z", "Ctrl+Y"),
            needs=needs.redoable,
            says=needs.redo_text,
        ),
        None,
        Command("cut", "Cu&t", edits.cut, keys=("Ctrl+X",), needs=needs.copyable, canvas_only=True),
        Command("copy", "&Copy", edits.copy, "copy", ("Ctrl+C",), needs=needs.copyable, canvas_only=True),
        Command(
            "paste",
            "&Paste",
            canvas.paste,
            "paste",
            ("Ctrl+V",),
            help="Paste blocks; or files, a picture or cells of a table from another program",
            needs=patch,
            canvas_only=True,
        ),
        Command("duplicate", "&Duplicate", edits.duplicate, "duplicate", ("Ctrl+D",), needs=needs.copyable),
        Command(
            "duplicate_fed",
            "Duplicate with inputs",
            partial(edits.duplicate, with_inputs=True),
            keys=("Shift+D",),
            help="Add copies that are fed by what feeds the selected blocks",
            needs=needs.copyable,
            canvas_only=True,
        ),
        Command("delete", "De&lete", edits.delete, "delete", ("Del", "Backspace"), needs=selection, canvas_only=True),
        None,
        Command("select_all", "Select &all", canvas.select_all, keys=("Ctrl+A",), needs=patch, canvas_only=True),
        Command(
            "select_feeding",
            "Select what feeds it",
            partial(canvas.keyboard.select_along, -1),
            keys=("[",),
            help="Select all blocks that the selected ones depend on, too",
            needs=node,
            canvas_only=True,
        ),
        Command(
            "select_fed",
            "Select what it feeds",
            partial(canvas.keyboard.select_along, 1),
            keys=("]",),
            help="Select all blocks that depend on the selected ones, too",
            needs=node,
            canvas_only=True,
        ),
        Command(
            "add_block",
            "Add &block …",
            canvas.open_search,
            "add",
            ("Tab",),
            "Search the block library",
            needs=patch,
            canvas_only=True,
        ),
        Command(
            "insert_block",
            "&Insert block …",
            canvas.insert_block,
            "add",
            help="Add a block in the middle of the connection",
            needs=needs.connection,
        ),
        Command(
            "replace_block",
            "Replace bloc&k …",
            canvas.replace_block,
            keys=("R",),
            help="Put a block of another type here; connections and values that fit are kept",
            needs=node,
            canvas_only=True,
        ),
        Command(
            "swap_inputs",
            "Swap inputs",
            edits.swap_inputs,
            keys=("S",),
            help="Swap what feeds the first two inputs; if one is connected, move it to the next one",
            needs=node,
            canvas_only=True,
        ),
        Command(
            "reset_values",
            "Reset values",
            edits.reset_values,
            help="Return all numbers, switches and choices of the selected blocks to their defaults",
            needs=node,
        ),
        Command(
            "disconnect",
            "Di&sconnect",
            edits.disconnect_all,
            keys=("Ctrl+Shift+D",),
            needs=needs.wired,
            canvas_only=True,
        ),
        Command(
            "connect",
            "Co&nnect …",
            canvas.keyboard.connect,
            keys=("L",),
            help="Choose a port of the selected block, and what to connect it to",
            needs=node,
            canvas_only=True,
        ),
        Command(
            "select_connection",
            "Select next connection",
            canvas.keyboard.select_connection,
            keys=("Shift+L",),
            help="Select the connections of the selected block, one after the other",
            needs=patch,
            canvas_only=True,
        ),
        Command(
            "check_values",
            "Check values …",
            edits.check_values,
            help="Check every frame for NaN, infinity and numbers out of range",
            needs=needs.checkable,
        ),
        Command(
            "remove_check",
            "Remove check",
            edits.remove_check,
            help="Stop checking these values",
            needs=needs.check,
        ),
        Command(
            "rename",
            "Rena&me",
            lambda: window.reveal(Inspector).begin_rename(),
            keys=("F2",),
            needs=needs.one_node,
            canvas_only=True,
        ),
        None,
        Command(
            "group",
            "&Group",
            edits.group,
            keys=("Ctrl+G",),
            help="Put the selected blocks into a group, which can be opened",
            needs=node,
            canvas_only=True,
        ),
        Command(
            "ungroup",
            "Ungr&oup",
            edits.ungroup,
            keys=("Ctrl+Shift+G",),
            help="Dissolve the selected groups; their blocks stay",
            needs=needs.group,
            canvas_only=True,
        ),
        Menu("function", "&Function", _function_commands(window, needs)),
        Menu("wrap_in", "&Wrap in", [_wrap(window, needs, kind) for kind in WRAPS], needs=node),
        Menu(
            "move_into",
            "Mo&ve into",
            needs=node,
            fill=partial(_list_regions, window),
            if_empty="No other region or group here",
        ),
        Command(
            "take_out",
            "Tak&e out",
            edits.take_out,
            help="Move the blocks out to the scope around their region or group",
            needs=needs.member,
        ),
        Command(
            "run_in_order",
            "Run in order",
            edits.run_in_order,
            help="The selected blocks run from left to right, each after the one before, without connections",
            needs=needs.several,
        ),
        Command(
            "remove_orders",
            "Remove orders",
            edits.remove_orders,
            help="The selected blocks run when their connections allow it",
            needs=needs.ordered,
        ),
        None,
        Command(
            "open_graph",
            "Open inner patc&h",
            partial(_open_inner_patch, window),
            help="Open the group, or the ops, library calls or layers inside the selected block (Enter)",
            needs=needs.inner_patch,
        ),
    ]
    return Menu("edit", "&Edit", items)


def _function_commands(window: CommandWindow, needs: Needs) -> Sequence[Command | Menu | None]:
    edits = window.canvas.edits
    return [
        Command(
            "make_function",
            "&Make function",
            edits.make_function,
            help="Copies of the selected group change together with it from now on",
            needs=needs.plain_group,
        ),
        Command(
            "duplicate_linked",
            "Duplicate &linked",
            edits.duplicate_linked,
            keys=("Ctrl+Alt+D",),
            help="Add a copy of the selected group that changes together with it",
            needs=needs.group,
            canvas_only=True,
        ),
        Command(
            "make_unique",
            "Make &unique",
            edits.make_unique,
            help="Detach the selected group: it changes alone from now on",
            needs=needs.instance,
        ),
        None,
        Menu("add_function", "&Add", fill=partial(_list_functions, window), if_empty="No functions in this patch"),
    ]


def _list_functions(window: CommandWindow, menu: QMenu) -> None:
    """List the functions of the patch, each of which adds a group."""
    edits = window.canvas.edits
    for name in edits.functions():
        add_entry(menu, name, partial(edits.add_instance, name))


def _wrap(window: CommandWindow, needs: Needs, kind: str) -> Command:
    text, kind_name = WRAPS[kind]
    return Command(
        f"wrap_{kind}",
        text,
        partial(window.canvas.edits.wrap, kind),
        help=f"Put the selected blocks into a new {kind_name}",
        needs=needs.region_type(kind),
    )


def _list_regions(window: CommandWindow, menu: QMenu) -> None:
    """List the regions that the selected blocks may move into."""
    edits = window.canvas.edits
    for scope, title in edits.scopes_to_enter().items():
        add_entry(menu, title, partial(edits.move_into, scope))


def _open_inner_patch(window: CommandWindow) -> None:
    """Open the patch inside the selected block."""
    for node in window.canvas.selected()[:1]:
        window.kernel.open(node)
