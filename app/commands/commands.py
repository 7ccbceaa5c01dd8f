"""Every command of the editor, and its place in the menus and the toolbar: the one table to add to."""

from functools import partial
from typing import Protocol

from app.canvas.canvas import Canvas
from app.commands.actions import Command, Menu
from app.documents.editor_state import UserState
from app.documents.file_commands import FileCommands
from app.documents.session import Session
from app.view_models.profile.texts import LEVELS
from engine.protocol.messages import Reset, SaveOutputs
from engine.protocol.pacing import PacingMode

#: Commands that need a selected block.
NEEDS_NODE = ("cut", "copy", "duplicate", "rename", "fit_selection", "open_kernel", "wrap_in", "move_into")
#: Commands that need a selected block that runs an op graph.
NEEDS_OP_GRAPH = ("open_graph",)
#: Commands that need a selected block in a region.
NEEDS_MEMBER = ("take_out",)
#: Commands that need a selected connection.
NEEDS_CONNECTION = ("insert_block",)
#: Commands that need a selected connection that carries numbers, and one that is checked.
NEEDS_CHECKABLE = ("check_values",)
NEEDS_CHECK = ("remove_check",)
#: Commands that need one of the two.
NEEDS_SELECTION = ("delete", "disconnect")
#: Commands that need an open patch.
NEEDS_PATCH = (
    *("save", "save_as", "close", "undo", "redo", "paste", "select_all", "add_block", "fit"),
    *("save_outputs", "restart_engine", "lift_time_limit", "block_help", "trust"),
)
#: Commands that need an engine that runs.
NEEDS_ENGINE = ("play", "step", "reset")

#: The commands that choose what is measured.
PROFILING = {level: f"profiling_{level.name.lower()}" for level in LEVELS}

#: Fixed rates to choose from, in frames a second: of film, of television and of displays.
PACING_RATES = (24, 25, 30, 50, 60, 120, 240)
PACINGS = ("pacing_display", *(f"pacing_{rate}" for rate in PACING_RATES), "pacing_free")

#: Regions to wrap blocks in, by the last part of the ids of their types: that of a block and that of an op.
WRAPS = {"if": ("&If", "If"), "if_else": ("If &else", "If else"), "while": ("&While", "While"), "for": ("&For", "For")}


class CommandWindow(Protocol):
    """What the commands need from the window."""

    files: FileCommands
    session: Session
    canvas: Canvas
    state: UserState

    def close(self) -> bool: ...
    def rename_selected(self) -> None: ...
    def open_kernel_source(self) -> None: ...
    def show_block_help(self) -> None: ...
    def open_op_graph(self) -> None: ...
    def show_shortcuts(self) -> None: ...
    def show_about(self) -> None: ...
    def set_theme(self, name: str) -> None: ...
    def toggle_heat(self) -> None: ...
    def toggle_path(self) -> None: ...


def make_commands(window: CommandWindow) -> list[Command]:
    """Return the commands of a window."""
    files, session, canvas = window.files, window.session, window.canvas
    commands = [
        Command("new", "&New patch", files.new, "new", ("Ctrl+N",)),
        Command("open", "&Open …", files.open, "open", ("Ctrl+O",)),
        Command("save", "&Save", files.save, "save", ("Ctrl+S",)),
        Command("save_as", "Save &as …", files.save_as, keys=("Ctrl+Shift+S",)),
        Command(
            "trust",
            "&Trust …",
            files.trust_again,
            help="Choose again whether to trust the block files beside the patch, and what the patch may do",
        ),
        Command("close", "&Close patch", files.close, keys=("Ctrl+W",), help="Go back to the examples"),
        Command("quit", "&Quit", window.close, keys=("Ctrl+Q",)),
        Command("undo", "&Undo", session.undo, "undo", ("Ctrl+Z",)),
        Command("redo", "&Redo", session.redo, "redo", ("Ctrl+Shift+Z", "Ctrl+Y")),
        Command("cut", "Cu&t", canvas.edits.cut, keys=("Ctrl+X",), canvas_only=True),
        Command("copy", "&Copy", canvas.edits.copy, "copy", ("Ctrl+C",), canvas_only=True),
        Command("paste", "&Paste", canvas.edits.paste, "paste", ("Ctrl+V",), canvas_only=True),
        Command("duplicate", "&Duplicate", canvas.edits.duplicate, "duplicate", ("Ctrl+D",)),
        Command("delete", "De&lete", canvas.edits.delete, "delete", ("Del", "Backspace"), canvas_only=True),
        Command("disconnect", "D&isconnect", canvas.edits.disconnect_all, keys=("Ctrl+Shift+D",), canvas_only=True),
        Command("rename", "&Rename", window.rename_selected, keys=("F2",), canvas_only=True),
        Command("select_all", "Select &all", canvas.select_all, keys=("Ctrl+A",), canvas_only=True),
        Command(
            "add_block",
            "Add &block …",
            canvas.open_search,
            "add",
            ("Tab",),
            "Search the block library",
            canvas_only=True,
        ),
        Command(
            "insert_block",
            "&Insert block …",
            canvas.insert_block,
            "add",
            help="Add a block in the middle of the connection",
        ),
        Command(
            "check_values",
            "Check &values …",
            canvas.check_values,
            help="Check every frame for NaN, infinity and numbers out of range",
        ),
        Command("remove_check", "Remove c&heck", canvas.remove_check, help="Stop checking these values"),
        *(
            Command(
                f"wrap_{kind}",
                text,
                partial(canvas.edits.wrap, kind),
                help=f"Put the selected blocks into a new {kind_name}",
            )
            for kind, (text, kind_name) in WRAPS.items()
        ),
        Command(
            "take_out",
            "&Take out of region",
            canvas.edits.take_out,
            help="Move the blocks out to the scope around their region",
        ),
        Command("fit", "&Fit patch", canvas.fit, "fit", ("Home",), canvas_only=True),
        Command("fit_selection", "Fit se&lection", canvas.fit_selection, keys=("F",), canvas_only=True),
        Command("play", "&Play or pause", lambda: session.set_running(not session.running), "pause", ("Space",)),
        Command("step", "&Step one frame", session.step, "step", (".",), "Pause, and run one frame"),
        Command(
            "reset", "&Reset state", lambda: session.post(Reset()), "to_start", ("Ctrl+R",), "Start again at frame 0"
        ),
        Command(
            "save_outputs",
            "Save &outputs",
            lambda: session.post(SaveOutputs()),
            "snapshot",
            ("Ctrl+E",),
            "Write the files of all save blocks",
        ),
        Command(
            "restart_engine",
            "Restart &engine",
            session.restart_engine,
            help="Restart the engine after a device failure",
        ),
        Command(
            "lift_time_limit",
            "Lift &time limit",
            session.lift_time_limit,
            help="Let kernels on the CPU run for more than 10 s, when they are normally stopped",
        ),
        Command(
            "open_kernel",
            "Open &kernel source",
            window.open_kernel_source,
            "code",
            ("Ctrl+K",),
            "Open the kernel's source in the system's editor",
        ),
        Command(
            "open_graph",
            "Open op &graph",
            window.open_op_graph,
            help="Edit the ops of the selected kernel",
        ),
        Command("block_help", "&Help on the block", window.show_block_help, "help", ("F1",)),
        Command("shortcuts", "Shortcuts and &gestures", window.show_shortcuts, keys=("Ctrl+/",)),
        Command("about", "&About Warploom", window.show_about),
        *(_theme(window, name) for name in ("dark", "light")),
        Command(
            "heat",
            "&Heat map",
            window.toggle_heat,
            keys=("H",),
            help="Colour each block by its share of the frame",
            checked=window.state.shows_heat,
            canvas_only=True,
        ),
        Command(
            "path",
            "&Critical path",
            window.toggle_path,
            help="Show or hide the critical path, which decides the frame's time, and the slack of other blocks",
            checked=window.state.shows_path,
        ),
    ]
    commands.append(
        Command(
            "fuse",
            "&Fuse kernels",
            session.toggle_fusing,
            help="Compile neighbouring blocks that compute element by element into one kernel",
            checked=session.fuses,
        )
    )
    commands.extend(_pacings(session))
    for level, (text, help_text) in LEVELS.items():
        chosen = level is session.profiling
        run = partial(session.set_profiling, level)
        commands.append(Command(PROFILING[level], text, run, help=help_text, checked=chosen, group="profiling"))
    return commands


MENUS = (
    Menu(
        "&File",
        (
            *("new", "open", Menu("Open &recent", id="recent"), None),
            *("save", "save_as", None, "trust", None, "close", "quit"),
        ),
    ),
    Menu(
        "&Edit",
        (
            *("undo", "redo", None, "cut", "copy", "paste", "duplicate", "delete", None, "select_all", "add_block"),
            *("insert_block", "disconnect", "check_values", "remove_check", "rename", None),
            Menu("&Wrap in", tuple(f"wrap_{kind}" for kind in WRAPS), id="wrap_in"),
            Menu("Move i&nto region", id="move_into"),
            *("take_out", None, "open_graph", "open_kernel"),
        ),
        id="edit",
    ),
    Menu(
        "&Run",
        (
            *("play", "step", "reset", Menu("&Frame pacing", PACINGS), None, "save_outputs", None),
            Menu("&Profiling", tuple(PROFILING.values())),
            *("fuse", None, "restart_engine", "lift_time_limit"),
        ),
    ),
    Menu(
        "&View",
        (
            *("fit", "fit_selection", None, "heat", "path", None),
            Menu("&Theme", ("theme_dark", "theme_light")),
            None,
            Menu("&Viewers", id="viewers"),
        ),
        id="view",
    ),
    Menu("&Help", ("block_help", "shortcuts", "about")),
)

#: Menus for what is under the pointer on the canvas: commands, and menus of the menu bar by their ids.
CONTEXT_MENUS: dict[str, tuple[str | None, ...]] = {
    "node": (
        *("rename", None, "cut", "copy", "duplicate", "delete", None, "disconnect", "fit_selection", None),
        *("wrap_in", "move_into", "take_out", None, "open_graph", "block_help", "open_kernel"),
    ),
    "connection": ("insert_block", "disconnect", None, "check_values", "remove_check"),
    "canvas": ("add_block", "paste", None, "select_all", "fit"),
}

TOOLBAR = ("new", "open", "save", None, "undo", "redo", None, "add_block", "fit", None, "reset", "play", "step")


def _theme(window: CommandWindow, name: str) -> Command:
    return Command(
        f"theme_{name}",
        f"&{name.capitalize()}",
        partial(window.set_theme, name),
        checked=window.state.theme == name,
        group="theme",
    )


def _pacings(session: Session) -> list[Command]:
    """Return the choices of frame pacing, of which one is always checked."""
    display, free = PacingMode.DISPLAY, PacingMode.FREE
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
