"""The menu of commands that keep a patch in order."""

from functools import partial

from app.commands.actions import Command, Menu
from app.commands.needs import Needs
from app.docks.dock import Editor
from engine.patch.organise.annotations import COLOURS

_ALIGNMENTS = {
    "left": "&Left edges",
    "centre": "&Centres",
    "right": "&Right edges",
    "top": "&Top edges",
    "middle": "&Middles",
    "bottom": "&Bottom edges",
}


def organise_menu(window: Editor, needs: Needs) -> Menu:
    """Return the menu."""
    organise, node = window.canvas.organise, needs.node
    items: list[Command | Menu | None] = [
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
                Command(f"align_{way}", text, partial(organise.align, way), needs=node)
                for way, text in _ALIGNMENTS.items()
            ]
            + [
                None,
                Command("distribute_x", "Distribute &horizontally", partial(organise.distribute, 0), needs=node),
                Command("distribute_y", "Distribute &vertically", partial(organise.distribute, 1), needs=node),
            ],
            needs=node,
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
            "edit_frame", "&Edit frame …", window.canvas.edit_frame, help="Title, comment, colour", needs=needs.frame
        ),
        Menu(
            "frame_colour",
            "Frame &colour",
            [
                Command(f"frame_{name}", name.capitalize(), partial(organise.colour_frames, name), needs=needs.frame)
                for name in COLOURS
            ],
            needs=needs.frame,
        ),
        Command("select_in_frame", "Select &in frame", organise.select_in_frames, needs=needs.frame),
        None,
        Command(
            "add_dot",
            "Add d&ot",
            organise.add_dot,
            help="Lead the selected connection through a point. Dragging a connection's middle does the same",
            needs=needs.connection,
        ),
        Command("straighten", "&Straighten", organise.straighten, help="Remove all dots", needs=needs.connection),
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
