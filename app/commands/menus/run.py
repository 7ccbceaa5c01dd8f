"""The Run menu: playing, pacing, profiling and the engine."""

from collections.abc import Sequence
from functools import partial

from warploom.app.commands.actions import Command, Menu
from warploom.app.commands.command_window import CommandWindow
from warploom.app.commands.menus.film import film_menu
from warploom.app.commands.needs import Needs
from warploom.app.docks.pins.pins import Pins
from warploom.app.docks.profiler.profiler import Profiler
from warploom.app.docks.recorder import Recorder
from warploom.app.view_models.profile.texts import LEVELS
from warploom.engine.protocol.messages import Reset, SaveOutputs
from warploom.engine.protocol.pacing import PacingMode

#: Fixed rates to choose from, in frames per second, as in film, television and displays.
PACING_RATES = (24, 25, 30, 50, 60, 120, 240)


def run_menu(window: CommandWindow, needs: Needs) -> Menu:
    """Return the menu."""
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
        film_menu(window, needs),
        None,
        Command(
            "save_outputs",
            "Save &outputs",
            lambda: session.post(SaveOutputs()),
            "snapshot",
            ("Ctrl+E",),
            help="Write the files of all save blocks",
            needs=patch,
            words="render export",
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
            "pin_test",
            "Pin as &test …",
            lambda: window.reveal(Pins).ask(),
            "constant",
            help="Keep what an output of the selection holds after a frame, as a test that is part of the patch",
            needs=needs.wired,
        ),
        Command(
            "check_pins",
            "Chec&k pins",
            lambda: window.reveal(Pins).check_all(),
            keys=("Ctrl+Shift+T",),
            help="Run the patch from frame 0 in another engine, and compare its pinned outputs",
            needs=patch,
        ),
        Command(
            "export_profile",
            "E&xport profile …",
            lambda: window.reveal(Profiler).export(),
            "save",
            help="Write the last measured frame as CSV or JSON, or a trace of the next frames for Perfetto",
            needs=engine,
        ),
        Command(
            "export_record",
            "Export flight recor&d …",
            lambda: window.reveal(Recorder).export(),
            "save",
            help="Write the frames and events of the flight recorder as CSV or JSON",
            needs=engine,
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
            needs=needs.compiles,
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
