"""The View menu: what the canvas shows, viewers, theme, size and layouts."""

from functools import partial

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from warploom.app.commands.actions import Command, Menu
from warploom.app.commands.command_window import CommandWindow
from warploom.app.commands.menus.entries import add_entry
from warploom.app.commands.needs import Needs
from warploom.app.docks.recorder import Recorder

#: Sizes of the whole editor, in percent of the usual one.
SCALES = (75, 100, 125, 150, 175, 200)


def view_menu(window: CommandWindow, needs: Needs) -> Menu:
    """Return the menu."""
    canvas, state, patch, node = window.canvas, window.state, needs.patch, needs.node
    overlays = window.overlays
    items: list[Command | Menu | None] = [
        Command("fit", "&Fit patch", canvas.fit, "fit", ("Home",), needs=patch, canvas_only=True),
        Command("fit_selection", "Fit se&lection", canvas.fit_selection, keys=("F",), needs=node, canvas_only=True),
        Command(
            "zoom_in",
            "Zoom &in",
            partial(canvas.keyboard.zoom, 1),
            keys=("Ctrl++", "Ctrl+="),
            needs=patch,
            canvas_only=True,
        ),
        Command(
            "zoom_out", "Zoom &out", partial(canvas.keyboard.zoom, -1), keys=("Ctrl+-",), needs=patch, canvas_only=True
        ),
        None,
        Command(
            "heat",
            "&Heat map",
            overlays.toggle_heat,
            keys=("H",),
            help="Colour each block by its share of the frame",
            checked=state.shows_heat,
            canvas_only=True,
        ),
        Command(
            "thumbnails",
            "Th&umbnails",
            overlays.toggle_thumbnails,
            keys=("T",),
            help="Show a small picture, plot or the numbers of what each block makes below it",
            checked=state.shows_thumbnails,
            canvas_only=True,
        ),
        Command(
            "activity",
            "Activity of connections",
            overlays.toggle_activity,
            keys=("W",),
            help="Show which connections carry new data: still ones are faint, skipped ones dotted, broken ones red",
            checked=state.shows_activity,
            canvas_only=True,
        ),
        Command(
            "path",
            "&Critical path",
            overlays.toggle_path,
            help="Show or hide the critical path, which decides the frame's time, and the slack of other blocks",
            checked=state.shows_path,
        ),
        Command(
            "slowest",
            "Slo&west frame",
            lambda: window.reveal(Recorder).choose_slowest(),
            help="Show the slowest of the last frames: the times of its blocks, and what viewers showed",
            needs=needs.engine,
        ),
        Command(
            "live",
            "Bac&k to live",
            lambda: window.bridge.look_back(None),
            help="Show the present again, after a frame of the recorder (Esc)",
            needs=needs.past,
        ),
        None,
        Command(
            "look",
            "&Look at the selection",
            window.looking.look,
            keys=("V",),
            help="Show what the selected block or connection holds, without a viewer block",
            needs=needs.wired,
            canvas_only=True,
        ),
        Command(
            "pin_look",
            "&Pin what is shown",
            window.looking.pin_shown,
            keys=("Shift+V",),
            help="Keep showing this port in a viewer of its own",
            needs=needs.wired,
            canvas_only=True,
        ),
        Command(
            "record",
            "&Record what is shown …",
            window.looking.record_shown,
            keys=("Shift+R",),
            help="Write frames of this port into files, or end a recording",
            needs=needs.patch,
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
        Menu("docks", "&Docks"),
        Command(
            "next_part",
            "&Next part of the window",
            partial(window.go_to_part, 1),
            keys=("F6",),
            help="Give the keyboard to the next dock, or to the canvas",
            needs=patch,
        ),
        Command("previous_part", "P&revious part", partial(window.go_to_part, -1), keys=("Shift+F6",), needs=patch),
        Menu("layouts", "&Layout of the docks", fill=partial(_list_layouts, window), needs=patch),
        Command(
            "full_screen",
            "F&ull screen of the viewer",
            window.viewers.fill_screen,
            keys=("F11",),
            help="Fill another display, or this one, with the viewer in front, or end that",
            needs=patch,
        ),
        Menu("displays", "Full screen &on", fill=partial(_list_displays, window), if_empty="No viewers in this patch"),
        Menu("viewers", "&Viewers", fill=partial(_list_viewers, window), if_empty="No viewers in this patch"),
    ]
    return Menu("view", "&View", items)


def _theme(window: CommandWindow, name: str) -> Command:
    run = partial(window.set_theme, name)
    return Command(f"theme_{name}", f"&{name.capitalize()}", run, checked=window.state.theme == name, group="theme")


def _scale(window: CommandWindow, percent: int) -> Command:
    run = partial(window.set_scale, percent / 100)
    checked = round(100 * window.state.scale) == percent
    return Command(f"scale_{percent}", f"{percent}%", run, checked=checked, group="scale")


def _list_layouts(window: CommandWindow, menu: QMenu) -> None:
    """List the arrangements of the docks, with entries that keep the present one and delete others."""
    add_entry(menu, "Default layout", partial(window.use_layout, ""))
    names = window.layout_names()
    for name in names:
        add_entry(menu, name, partial(window.use_layout, name))
    menu.addSeparator()
    add_entry(menu, "Save this layout …", window.save_layout)
    if names:
        gone = menu.addMenu("Delete")
        for name in names:
            add_entry(gone, name, partial(window.delete_layout, name))


def _list_viewers(window: CommandWindow, menu: QMenu) -> None:
    """List the viewers of the patch, with actions that show and hide them."""
    menu.addActions([dock.toggleViewAction() for dock in window.viewers.docks.values()])


def _list_displays(window: CommandWindow, menu: QMenu) -> None:
    """List the displays, for each viewer, with actions that fill them."""
    viewers = window.viewers
    for node, dock in viewers.docks.items():
        under = menu.addMenu(dock.windowTitle()) if len(viewers.docks) > 1 else menu
        for display in QGuiApplication.screens():
            size = display.geometry().size() * display.devicePixelRatio()
            here = ", with this window" if display is window.screen() else ""
            text = f"{display.name()}: {size.width()} × {size.height()}{here}"
            add_entry(under, text, partial(viewers.fill_screen, node, display))
