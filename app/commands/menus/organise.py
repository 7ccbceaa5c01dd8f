"""The menu of commands that keep a patch in order."""

from functools import partial

from PySide6.QtWidgets import QMenu

from warploom.app.commands.actions import Command, Menu
from warploom.app.commands.needs import Needs
from warploom.app.docks.dock import Editor
from warploom.app.documents import dialogs
from warploom.app.edits.organise.presets import presets_for
from warploom.engine.patch.organise.annotations import COLOURS, Preset

_ALIGNMENTS = {
    "left": "&Left edges",
    "centre": "&Centres",
    "right": "&Right edges",
    "top": "&Top edges",
    "middle": "&Middles",
    "bottom": "&Bottom edges",
}


_NUMBERS = range(1, 10)


def _go_to(window: Editor, needs: Needs, number: int) -> Command:
    run = partial(window.kernel.go_to_bookmark, number)
    return Command(f"bookmark_{number}", f"&{number}", run, keys=(str(number),), needs=needs.patch, canvas_only=True)


def _set(window: Editor, needs: Needs, number: int) -> Command:
    def run() -> None:
        window.kernel.set_bookmark(number)
        if not window.kernel.is_open:  # otherwise that was refused
            window.note(f"Bookmark {number} is set; {number} returns to it")

    keys = (f"Ctrl+{number}",)
    return Command(f"set_bookmark_{number}", f"&{number}", run, keys=keys, needs=needs.patch, canvas_only=True)


def _list_presets(window: Editor, menu: QMenu) -> None:
    """List the presets for the selected blocks, with actions that save, apply, rename and delete them."""
    canvas, patch, nodes = window.canvas, window.canvas.patch, window.canvas.selected()
    for old in menu.findChildren(QMenu):
        old.deleteLater()
    if not nodes:
        return
    organise, known = canvas.organise, presets_for(patch, nodes)
    for preset in known:
        title = preset.name.replace("&", "&&")
        menu.addAction(title).triggered.connect(partial(organise.apply_preset, preset))
    if known:
        menu.addSeparator()
    save = menu.addAction("&Save as preset …")
    save.triggered.connect(lambda: dialogs.ask_name(window.canvas, "Save preset", "", partial(_save, window, nodes[0])))
    for title, run in (("&Rename", _rename), ("&Delete", _delete)) if known else ():
        each = QMenu(title, menu)
        menu.addMenu(each)
        for preset in known:
            each.addAction(preset.name.replace("&", "&&")).triggered.connect(partial(run, window, preset))


def _save(window: Editor, node: str, name: str) -> None:
    """Save a preset, and say for which blocks it is."""
    canvas = window.canvas
    title, before = name.strip(), len(canvas.patch.history.names)
    was = next((each for each in presets_for(canvas.patch, [node]) if each.name == title), None)
    canvas.organise.save_preset(node, name)
    if len(canvas.patch.history.names) != before:
        kept = f"is kept for blocks of the type {canvas.patch.nodes[node].type}"
        window.note(f"Preset {title} {'is replaced; Undo brings the old one back' if was else kept}")


def _rename(window: Editor, preset: Preset) -> None:
    rename = partial(window.canvas.organise.rename_preset, preset)
    dialogs.ask_name(window.canvas, "Rename preset", preset.name, rename)


def _delete(window: Editor, preset: Preset) -> None:
    window.canvas.organise.delete_preset(preset)


def organise_menu(window: Editor, needs: Needs) -> Menu:
    """Return the menu."""
    organise, node = window.canvas.organise, needs.node
    items: list[Command | Menu | None] = [
        Command(
            "find",
            "&Find …",
            window.canvas.open_find,
            keys=("Ctrl+F",),
            help="Find blocks and frames by title, type, comment, colour and values",
            needs=needs.patch,
            canvas_only=True,
        ),
        Menu("bookmarks", "Go to boo&kmark", [_go_to(window, needs, number) for number in _NUMBERS], needs=needs.patch),
        Menu("set_bookmarks", "Set bookm&ark", [_set(window, needs, number) for number in _NUMBERS], needs=needs.patch),
        Menu("presets", "&Presets", needs=node, fill=partial(_list_presets, window), if_empty="Select a block"),
        None,
        Command(
            "lay_out",
            "&Lay out",
            organise.lay_out,
            keys=("Ctrl+L",),
            help="Place the selected blocks, or the whole patch, in layers with few crossings",
            needs=needs.patch,
        ),
        Menu(
            "align",
            "&Align",
            [
                Command(f"align_{way}", text, partial(organise.align, way), needs=needs.several)
                for way, text in _ALIGNMENTS.items()
            ]
            + [
                None,
                Command("distribute_x", "Distribute &horizontally", partial(organise.distribute, 0), needs=needs.many),
                Command("distribute_y", "Distribute &vertically", partial(organise.distribute, 1), needs=needs.many),
            ],
            needs=needs.several,
        ),
        None,
        Command(
            "add_frame",
            "Add &frame …",
            window.canvas.add_frame,
            keys=("Ctrl+Shift+F",),
            help="Put a titled box around the selected blocks; it moves with them",
            needs=needs.patch,
        ),
        Command(
            "mark",
            "&Title, comment, colour …",
            organise.mark,
            keys=("N",),
            help="Note something on the selected blocks, or on a frame, and give them a colour",
            needs=needs.copyable,
            canvas_only=True,
            words="edit frame note annotate describe",
        ),
        Menu(
            "colour",
            "&Colour",
            [
                *(
                    Command(
                        f"colour_{name}", name.capitalize(), partial(organise.colour, name), name, needs=needs.copyable
                    )
                    for name in COLOURS
                ),
                None,
                Command("colour_none", "Of the &category", partial(organise.colour, ""), needs=node),
            ],
            needs=needs.copyable,
        ),
        Command("select_in_frame", "Select &in frame", organise.select_in_frames, needs=needs.frame),
        None,
        Command(
            "add_dot",
            "Add d&ot",
            organise.add_dot,
            keys=("O",),
            help="Lead the selected connection through a point, which the arrow keys move. Dragging does the same",
            needs=needs.connection,
            canvas_only=True,
        ),
        Command(
            "next_dot",
            "Ne&xt dot",
            organise.choose_next_dot,
            keys=("Shift+O",),
            help="Choose the next dot of the selected connection, for the arrow keys",
            needs=needs.dotted,
            canvas_only=True,
        ),
        Command("delete_dot", "D&elete dot", organise.remove_chosen_dot, help="The chosen one", needs=needs.dotted),
        Command("straighten", "&Straighten", organise.straighten, help="Remove all dots", needs=needs.dotted),
        None,
        Command(
            "bypass",
            "&Bypass",
            organise.bypass,
            keys=("Ctrl+B",),
            help="Leave the selected blocks out: what feeds their input feeds what their output fed. Again: use them",
            needs=node,
        ),
        Command(
            "disable",
            "&Disable",
            organise.disable,
            keys=("Ctrl+Shift+B",),
            help="Leave out the selected blocks and those that can't run without them. Again: use them",
            needs=node,
        ),
    ]
    return Menu("organise", "&Organise", items)
