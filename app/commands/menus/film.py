"""The Film menu inside Run: the timeline, its in and out, and keys of parameters."""

from functools import partial

from warploom.app.commands.actions import Command, Menu
from warploom.app.commands.command_window import CommandWindow
from warploom.app.commands.needs import Needs
from warploom.app.docks.timeline.timeline import TimelineDock
from warploom.app.edits import keyframes
from warploom.engine.patch.changes import PortRef


def film_menu(window: CommandWindow, needs: Needs) -> Menu:
    """Return the menu."""
    playhead, patch, engine = window.playhead, needs.patch, needs.engine

    def dock() -> TimelineDock:
        return window.reveal(TimelineDock)

    return Menu(
        "film",
        "Fil&m",
        [
            Command(
                "timeline",
                "&Timeline",
                dock,
                help="Show the film's controls and the curves",
                needs=patch,
                words="render export animation keyframes",
            ),
            Command(
                "film_start",
                "Go to &in",
                lambda: playhead.seek(playhead.timeline.first),
                "to_start",
                ("Alt+Home",),
                needs=engine,
                canvas_only=True,
            ),
            Command(
                "film_end",
                "Go to &out",
                lambda: playhead.seek(playhead.timeline.end),
                keys=("Alt+End",),
                needs=engine,
                canvas_only=True,
            ),
            Command(
                "step_back",
                "Step &back one frame",
                lambda: playhead.seek(playhead.frame - 1),
                "step_back",
                (",",),
                needs=engine,
            ),
            None,
            Command(
                "toggle_keys",
                "Add or remove &keys",
                lambda: _toggle_keys(window),
                "key",
                ("K",),
                help="Of the selected blocks' animated parameters, or of all, in the present frame",
                needs=patch,
                canvas_only=True,
            ),
            Command(
                "previous_key",
                "&Previous key",
                partial(_go_to_key, window, -1),
                "previous_key",
                ("Ctrl+,",),
                needs=engine,
            ),
            Command("next_key", "&Next key", partial(_go_to_key, window, 1), "next_key", ("Ctrl+.",), needs=engine),
            Command(
                "auto_key",
                "&Auto key",
                lambda: playhead.set_modes(auto_key=not playhead.auto_key),
                "record",
                help="Setting a parameter that has keys sets a key in the present frame",
                checked=playhead.auto_key,
            ),
            None,
            Command("set_in", "Set i&n here", lambda: dock().set_edge("first"), keys=("Alt+I",), needs=patch),
            Command("set_out", "Set o&ut here", lambda: dock().set_edge("last"), keys=("Alt+O",), needs=patch),
            Command(
                "loop_film", "&Loop", lambda: _toggle_loop(window), "loop", help="Play from out on to in", needs=patch
            ),
            Command(
                "exact_frames",
                "&Exact frames",
                lambda: playhead.set_modes(exact=not playhead.exact),
                help="Going to a frame of a patch with state runs the frames before it",
                checked=playhead.exact,
            ),
        ],
    )


def _toggle_keys(window: CommandWindow) -> None:
    patch, playhead = window.session.patch, window.playhead
    assert patch is not None
    chosen = set(window.canvas.selected())
    inside = {node for group in chosen if patch.is_group(group) for node in patch.within(group)} | chosen
    targets: list[PortRef] = [t for t in keyframes.animated(patch) if not inside or t.node in inside]
    targets = [target for target in targets if patch.source_of(target) is None]
    if targets:
        playhead.toggle_keys(targets)
    else:
        window.note("No parameter is animated yet: press the diamond beside a parameter")


def _go_to_key(window: CommandWindow, step: int) -> None:
    patch, playhead = window.session.patch, window.playhead
    curves = keyframes.animated(patch).values() if patch is not None else ()
    time_s = keyframes.neighbour(curves, playhead.key_time_s, playhead.timeline.rate, step)
    if time_s is not None:
        playhead.seek(playhead.timeline.frame_at(time_s))


def _toggle_loop(window: CommandWindow) -> None:
    if window.session.patch is not None:
        window.session.patch.set_timeline(loop=not window.playhead.timeline.loop)
