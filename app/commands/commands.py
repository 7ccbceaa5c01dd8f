"""All commands of the editor, each at its place in a menu. Add new ones here."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from app.commands.actions import Command, Menu
from app.commands.code_menu import code_menu
from app.commands.command_window import CommandWindow
from app.commands.needs import Needs
from app.commands.organise_menu import organise_menu
from app.docks.help import Help
from app.inspector.inspector import Inspector
from app.view_models.profile.texts import LEVELS
from engine.protocol.messages import Reset, SaveOutputs
from engine.protocol.pacing import PacingMode

#: Fixed rates to choose from, in frames per second, as in film, television and displays.
PACING_RATES = (24, 25, 30, 50, 60, 120, 240)

#: Sizes of the whole editor, in percent of the usual one.
SCALES = (75, 100, 125, 150, 175, 200)

#: Regions to wrap blocks in, by the last part of their types' ids, which blocks and ops share.
WRAPS = {"if": ("&If", "If"), "if_else": ("If &else", "If else"), "while": ("&While", "While"), "for": ("&For", "For")}

#: Context menus for items of the canvas: commands, and menus of the menu bar by their ids.
CONTEXT_MENUS: dict[str, tuple[str | None, ...]] = {
    "node": (
        *("rename", None, "cut", "copy", "duplicate", "delete", None, "disconnect", "fit_selection", "look", None),
        *("group", "ungroup", "function", "wrap_in", "move_into", "take_out", None),
        *("bypass", "disable", "align", "presets", None),
        *("open_graph", "block_help", "open_code", "edit_copy"),
    ),
    "connection": (
        *("look", None, "insert_block", "disconnect", None),
        *("add_dot", "straighten", None, "check_values", "remove_check"),
    ),
    "frame": ("edit_frame", "frame_colour", "select_in_frame", None, "cut", "copy", "duplicate", "delete"),
    "canvas": ("add_block", "add_frame", "new_block", "paste", None, "select_all", "fit", "lay_out"),
}

TOOLBAR = ("new", "open", "save", None, "undo", "redo", None, "add_block", "fit", None, "reset", "play", "step")


def make_menus(window: CommandWindow) -> list[Menu]:
    """Return the menus of a window, with its commands."""
    needs = Needs(window)
    makers = (_file_menu, _edit_menu, organise_menu, code_menu, _run_menu, _view_menu, _help_menu)
    return [make(window, needs) for make in makers]


def _file_menu(window: CommandWindow, needs: Needs) -> Menu:
    files, patch = window.files, needs.patch
    items: list[Command | Menu | None] = [
        Command("new", "&New patch", files.new, "new", ("Ctrl+N",)),
        Command("open", "&Open …", files.open, "open", ("Ctrl+O",)),
        Menu("recent", "Open &recent", fill=partial(_list_recent, window), if_empty="No recent files"),
        None,
        Command("save", "&Save", files.save, "save", ("Ctrl+S",), needs=patch),
        Command("save_as", "Save &as …", files.save_as, keys=("Ctrl+Shift+S",), needs=patch),
        None,
        Command(
            "trust",
            "&Trust …",
            files.trust_again,
            help="Choose again whether to trust the block files beside the patch, and what the patch may do",
            needs=patch,
        ),
        None,
        Command("close", "&Close patch", files.close, keys=("Ctrl+W",), help="Go back to the examples", needs=patch),
        Command("quit", "&Quit", window.close, keys=("Ctrl+Q",)),
    ]
    return Menu("file", "&File", items)


def _edit_menu(window: CommandWindow, needs: Needs) -> Menu:
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
        Command("paste", "&Paste", edits.paste, "paste", ("Ctrl+V",), needs=patch, canvas_only=True),
        Command("duplicate", "&Duplicate", edits.duplicate, "duplicate", ("Ctrl+D",), needs=needs.copyable),
        Command("delete", "De&lete", edits.delete, "delete", ("Del", "Backspace"), needs=selection, canvas_only=True),
        None,
        Command("select_all", "Select &all", canvas.select_all, keys=("Ctrl+A",), needs=patch, canvas_only=True),
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
            "disconnect", "D&isconnect", edits.disconnect_all, keys=("Ctrl+Shift+D",), needs=selection, canvas_only=True
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
            "Select ne&xt connection",
            canvas.keyboard.select_connection,
            keys=("Shift+L",),
            help="Select the connections of the selected block, one after the other",
            needs=selection,
            canvas_only=True,
        ),
        Command(
            "check_values",
            "Check &values …",
            canvas.check_values,
            help="Check every frame for NaN, infinity and numbers out of range",
            needs=needs.checkable,
        ),
        Command(
            "remove_check",
            "Remove c&heck",
            canvas.remove_check,
            help="Stop checking these values",
            needs=needs.check,
        ),
        Command(
            "rename",
            "&Rename",
            lambda: window.reveal(Inspector).begin_rename(),
            keys=("F2",),
            needs=node,
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
            "U&ngroup",
            edits.ungroup,
            keys=("Ctrl+Shift+G",),
            help="Dissolve the selected groups; their blocks stay",
            needs=needs.group,
            canvas_only=True,
        ),
        Menu("function", "F&unction", _function_commands(window, needs)),
        Menu("wrap_in", "&Wrap in", [_wrap(window, needs, kind) for kind in WRAPS], needs=node),
        Menu(
            "move_into",
            "Move i&nto",
            needs=node,
            fill=partial(_list_regions, window),
            if_empty="No other region or group here",
        ),
        Command(
            "take_out",
            "&Take out",
            edits.take_out,
            help="Move the blocks out to the scope around their region or group",
            needs=needs.member,
        ),
        None,
        Command(
            "open_graph",
            "Open inn&er patch",
            partial(_open_inner_patch, window),
            help="Open the group, or the ops, library calls or layers inside the selected block (Enter)",
            needs=needs.inner_patch,
        ),
    ]
    return Menu("edit", "&Edit", items)


def _run_menu(window: CommandWindow, needs: Needs) -> Menu:
    session, patch, engine = window.session, needs.patch, needs.engine
    items: list[Command | Menu | None] = [
        Command(
            "play",
            "&Play or pause",
            lambda: session.set_running(not session.running),
            "pause",
            ("Space",),
            needs=engine,
        ),
        Command("step", "&Step one frame", session.step, "step", (".",), "Pause, and run one frame", engine),
        Command(
            "reset",
            "&Reset state",
            lambda: session.post(Reset()),
            "to_start",
            ("Ctrl+R",),
            help="Start again at frame 0",
            needs=engine,
        ),
        Menu("pacing", "&Frame pacing", _pacings(window)),
        None,
        Command(
            "save_outputs",
            "Save &outputs",
            lambda: session.post(SaveOutputs()),
            "snapshot",
            ("Ctrl+E",),
            help="Write the files of all save blocks",
            needs=patch,
        ),
        None,
        Menu("profiling", "&Profiling", _profiling(window)),
        Command(
            "fuse",
            "&Fuse kernels",
            session.toggle_fusing,
            help="Compile neighbouring blocks that compute element by element into one kernel",
            checked=session.fuses,
        ),
        None,
        Command(
            "restart_engine",
            "Restart &engine",
            window.restarts.restart,
            help="Restart the engine after a device failure",
            needs=patch,
        ),
        Command(
            "cancel_compiles",
            "&Cancel compiling",
            session.cancel_compiles,
            help="End the compiles under way; the rest of the patch runs, and the blocks show what was cancelled",
            needs=patch,
        ),
        Command(
            "run_muted",
            "Try failed &blocks again",
            session.run_muted,
            help="Run the blocks again in which the device failed, or whose compile was cancelled",
            needs=patch,
        ),
        Command(
            "lift_time_limit",
            "Lift &time limit",
            session.lift_time_limit,
            help="Let kernels on the CPU run for more than 10 s, and launches on a GPU for more than 4 s",
            needs=patch,
        ),
    ]
    return Menu("run", "&Run", items)


def _view_menu(window: CommandWindow, needs: Needs) -> Menu:
    canvas, state, patch, node = window.canvas, window.state, needs.patch, needs.node
    items: list[Command | Menu | None] = [
        Command("fit", "&Fit patch", canvas.fit, "fit", ("Home",), needs=patch, canvas_only=True),
        Command("fit_selection", "Fit se&lection", canvas.fit_selection, keys=("F",), needs=node, canvas_only=True),
        None,
        Command(
            "heat",
            "&Heat map",
            window.toggle_heat,
            keys=("H",),
            help="Colour each block by its share of the frame",
            checked=state.shows_heat,
            canvas_only=True,
        ),
        Command(
            "thumbnails",
            "Th&umbnails",
            window.toggle_thumbnails,
            keys=("T",),
            help="Show a small picture, plot or the numbers of what each block makes below it",
            checked=state.shows_thumbnails,
            canvas_only=True,
        ),
        Command(
            "path",
            "&Critical path",
            window.toggle_path,
            help="Show or hide the critical path, which decides the frame's time, and the slack of other blocks",
            checked=state.shows_path,
        ),
        None,
        Command(
            "look",
            "&Look at the selection",
            window.looking.look,
            keys=("V",),
            help="Show what the selected block or connection holds, without a viewer block",
            needs=needs.selection,
            canvas_only=True,
        ),
        Command(
            "pin_look",
            "&Pin what is shown",
            window.looking.pin_shown,
            keys=("Shift+V",),
            help="Keep showing this port in a viewer of its own",
            needs=needs.selection,
            canvas_only=True,
        ),
        Menu("theme", "&Theme", [_theme(window, name) for name in ("dark", "light")]),
        Menu("scale", "&Size of the editor", [_scale(window, percent) for percent in SCALES]),
        None,
        Command(
            "lists",
            "L&ists",
            window.toggle_lists,
            keys=("Ctrl+J",),
            help="Open or close the problems and the other lists below the canvas",
            needs=patch,
        ),
        Menu("layouts", "&Layout of the docks", fill=partial(_list_layouts, window), needs=patch),
        Menu("viewers", "&Viewers", fill=partial(_list_viewers, window), if_empty="No viewers in this patch"),
    ]
    return Menu("view", "&View", items)


def _help_menu(window: CommandWindow, needs: Needs) -> Menu:
    items: list[Command | Menu | None] = [
        Command("block_help", "&Help on the block", lambda: window.reveal(Help), "help", ("F1",), needs=needs.patch),
        Command(
            "block_example",
            "&Example of the block",
            window.show_block_example,
            keys=("Shift+F1",),
            help="Open a patch in which the selected block runs",
            needs=needs.node,
        ),
        Command(
            "palette",
            "&Command palette …",
            window.show_palette,
            keys=("Ctrl+Shift+P",),
            help="Find any command by its name",
        ),
        Command("shortcuts", "Shortcuts and &gestures", window.show_shortcuts, keys=("Ctrl+/",)),
        Command("tour", "&Tour of the first three minutes", window.take_tour),
        Command("about", "&About Warploom", window.show_about),
    ]
    return Menu("help", "&Help", items)


def _wrap(window: CommandWindow, needs: Needs, kind: str) -> Command:
    text, kind_name = WRAPS[kind]
    return Command(
        f"wrap_{kind}",
        text,
        partial(window.canvas.edits.wrap, kind),
        help=f"Put the selected blocks into a new {kind_name}",
        needs=needs.region_type(kind),
    )


def _theme(window: CommandWindow, name: str) -> Command:
    run = partial(window.set_theme, name)
    return Command(f"theme_{name}", f"&{name.capitalize()}", run, checked=window.state.theme == name, group="theme")


def _scale(window: CommandWindow, percent: int) -> Command:
    run = partial(window.set_scale, percent / 100)
    checked = round(100 * window.state.scale) == percent
    return Command(f"scale_{percent}", f"{percent} %", run, checked=checked, group="scale")


def _list_layouts(window: CommandWindow, menu: QMenu) -> None:
    """List the arrangements of the docks, with entries that keep the present one and delete others."""
    _add(menu, "First layout", partial(window.use_layout, ""))
    names = window.layout_names()
    for name in names:
        _add(menu, name, partial(window.use_layout, name))
    menu.addSeparator()
    _add(menu, "Save this layout …", window.save_layout)
    if names:
        gone = menu.addMenu("Delete")
        for name in names:
            _add(gone, name, partial(window.delete_layout, name))


def _pacings(window: CommandWindow) -> Sequence[Command]:
    """Return the choices of frame pacing; one of them is always checked."""
    session, display, free = window.session, PacingMode.DISPLAY, PacingMode.FREE
    choices: list[tuple[str, str, str, PacingMode, float | None]] = [
        ("display", "&Display's rate", "The refresh rate of the window's screen", display, None),
        *((str(rate), f"{rate} a second", "", PacingMode.FIXED, float(rate)) for rate in PACING_RATES),
        ("free", "&Free", "As many frames as the device can run", free, None),
    ]
    return [
        Command(
            f"pacing_{name}",
            text,
            partial(session.set_pacing, mode, rate),
            help=help_text,
            checked=mode is session.pacing.mode and rate in (None, session.pacing.rate),
            group="pacing",
        )
        for name, text, help_text, mode, rate in choices
    ]


def _profiling(window: CommandWindow) -> Sequence[Command]:
    """Return the choices of profiling; one of them is always checked."""
    session = window.session
    return [
        Command(
            f"profiling_{level.name.lower()}",
            text,
            partial(session.set_profiling, level),
            help=help_text,
            checked=level is session.profiling,
            group="profiling",
        )
        for level, (text, help_text) in LEVELS.items()
    ]


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
        _add(menu, name, partial(edits.add_instance, name))


def _open_inner_patch(window: CommandWindow) -> None:
    """Open the patch inside the selected block."""
    for node in window.canvas.selected()[:1]:
        window.kernel.open(node)


def _list_recent(window: CommandWindow, menu: QMenu) -> None:
    """List the recent files that still exist."""
    for path in window.state.existing_recent():
        _add(menu, path.name, partial(window.files.open_path, path)).setToolTip(str(path))


def _list_viewers(window: CommandWindow, menu: QMenu) -> None:
    """List the viewers of the patch, with actions that show and hide them."""
    menu.addActions([dock.toggleViewAction() for dock in window.viewers.docks.values()])


def _list_regions(window: CommandWindow, menu: QMenu) -> None:
    """List the regions that the selected blocks may move into."""
    edits = window.canvas.edits
    for scope, title in edits.scopes_to_enter().items():
        _add(menu, title, partial(edits.move_into, scope))


def _add(menu: QMenu, title: str, run: Callable[[], object]) -> QAction:
    action = menu.addAction(title.replace("&", "&&"))
    action.triggered.connect(lambda: run())
    return action
