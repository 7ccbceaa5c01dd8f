"""The pictures that `tools/look.py` takes of the window: patches, states, docks, banners and popups."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from look_dialogs import Shown, dialogs, menus
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QWidget

from warploom.app.docks.code.code import Code
from warploom.app.docks.recorder import Recorder
from warploom.app.edits.compatible import refusal
from warploom.app.edits.groups import group
from warploom.app.edits.organise.frames import add_frame, change_frames
from warploom.app.widgets.banner import Notice
from warploom.app.window.main_window import MainWindow
from warploom.engine.drawings.rect import Rect
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch

EXAMPLES = Path(__file__).parents[1] / "resources" / "examples"
Wait = Callable[[int], None]
_WRONG = 'extern "C" __global__ void scale(const float* x, float* out, int count) {\n    out[0] = gain * x[0]\n}\n'


def scenes(window: MainWindow, wait: Wait) -> Shown:
    """Yield everything to save, one after the other; the window is changed in between."""
    yield "welcome", window
    window.files.new()
    wait(200)
    yield "empty", window
    yield from _first(window, wait)
    yield from _docks(window, wait)
    yield from _popups(window, wait)
    yield from menus(window)
    yield from _banners(window)
    yield from dialogs(window)
    yield from _used(window, wait)
    window.session.replace(large_patch())
    window.canvas.organise.lay_out()
    _wait_for_frames(window, wait)
    yield from _large(window, wait)
    window.session.replace(broken_patch())
    wait(2500)
    window.canvas.fit()
    yield "errors", window
    window.docks.reveal("problems")
    window.canvas.select(["kernel"])
    wait(300)
    yield "errors-list", window
    window.docks.reveal("code")
    wait(800)
    yield "errors-code", window
    window.docks.close_lists()


def large_patch() -> Patch:
    """Return 40 blocks of every kind, in frames with comments and two groups."""
    patch = Patch()
    rows = (
        ("image.noise", "image.gaussian_blur", "image.sobel", "image.tone", "image.glow", "io.viewer"),
        ("image.checkerboard", "image.invert", "image.resize", "image.convert_color", "image.grayscale"),
        ("particles.emitter", "particles.forces", "particles.integrate", "particles.render_points", "io.viewer"),
        ("random.uniform", "math.scale_offset", "linalg.norm"),
        ("random.normal", "math.scale_offset", "reduce.sum"),
        ("fractal.points", "fractal.mandelbrot_step", "fractal.color_escape"),
        ("random.uniform", "kernel.expression", "reduce.largest"),
        ("image.gradient", "filter.morphology", "filter.mean", "image.relief", "image.mix", "io.viewer"),
        ("io.load_image", "image.color_ramp", "image.noise", "buffer.frame_delay", "kernel.cuda", "image.plot"),
    )
    made = [
        [patch.add(name, position=(220.0 * x, 140.0 * y)) for x, name in enumerate(row)] for y, row in enumerate(rows)
    ]
    for row in made:
        for source, target in pairwise(row):
            _connect(patch, source.id, target.id)
    names = [[node.id for node in row] for row in made]
    patch.rename(names[7][3], "A rather long title that somebody wrote")
    frames = ("Edges", names[0][:4], "blue"), ("Fountain", names[2][:3], "orange"), ("Numbers", names[3], "teal")
    for title, nodes, colour in frames:
        places = [patch.nodes[node].position for node in nodes]
        left, top = min(x for x, _ in places) - 24, min(y for _, y in places) - 60
        right, low = max(x for x, _ in places) + 200, max(y for _, y in places) + 110
        frame = add_frame(patch, Rect(left, top, right - left, low - top), "")
        change_frames(patch, [frame], title=title, comment="What these blocks are for,\nin two lines.", colour=colour)
    group(patch, names[1][1:4], lambda node: (160.0, 60.0))
    group(patch, names[7][1:3], lambda node: (160.0, 60.0))
    return patch


def _wait_for_frames(window: MainWindow, wait: Wait) -> None:
    """Wait until the patch runs; its kernels are compiled first."""
    frames: list[int] = []
    window.bridge.report.connect(lambda report: frames.append(report.frame))
    for _ in range(120):
        wait(500)
        if frames and frames[-1] > 1:
            return


def _connect(patch: Patch, source: str, target: str) -> None:
    """Connect the first ports that fit."""
    for output in _ports(patch, source, is_input=False):
        for entry in _ports(patch, target, is_input=True):
            if refusal(patch, output, entry) is None:
                patch.connect(output, entry)
                return


def _ports(patch: Patch, node: str, *, is_input: bool) -> list[PortRef]:
    block_type = patch.block_type(node)
    assert block_type is not None
    return [PortRef(node, port.name) for port in block_type.ports.values() if port.is_input is is_input]


def broken_patch() -> Patch:
    """Return a patch with a kernel that does not compile, an input that is not connected, and values out of range."""
    patch = Patch()
    noise = patch.add("random.uniform", position=(0.0, 0.0))
    kernel = patch.add("kernel.cuda", position=(220.0, 0.0), code=_WRONG, node_id="kernel")
    _connect(patch, noise.id, kernel.id)
    patch.add("image.gaussian_blur", position=(0.0, 160.0))
    patch.add("io.load_image", position=(220.0, 160.0), file="nowhere/photo.png")
    patch.add("image.invert", position=(440.0, 160.0))
    return patch


def _first(window: MainWindow, wait: Wait) -> Shown:
    window.session.open(EXAMPLES / "particles.loom")
    _wait_for_frames(window, wait)
    window.canvas.fit()
    yield "first", window
    window.canvas.select(["forces"])
    wait(300)
    yield "first-selected", window
    for percent in (50, 20):
        window.canvas.view.resetTransform()
        window.canvas.view.scale(percent / 100, percent / 100)
        window.canvas.view.centerOn(window.canvas.scene.rect_of(["forces"]).center())
        wait(100)
        yield f"first-{percent}", window
    window.canvas.fit()


def _docks(window: MainWindow, wait: Wait) -> Shown:
    for dock in window.docks.names():
        window.docks.reveal(dock)
        wait(600 if dock in ("code", "profiler", "memory") else 300)
        yield f"dock-{dock}", window
    window.docks.reveal("inspector")
    window.canvas.select(["forces", "render"])
    wait(200)
    yield "inspector-several", window
    for node, kinds in (("render", ("image",)), ("forces", ("table", "points", "plot"))):
        window.canvas.select([node])
        window.looking.look()
        wait(400)
        viewer = window.looking.viewer(window.looking.follower)
        for kind in kinds:
            at = next((i for i in range(viewer.kinds.count()) if viewer.kinds.itemText(i).lower() == kind), None)
            if at is not None:
                viewer.kinds.setCurrentIndex(at)
                viewer.kinds.activated.emit(at)
            wait(600)
            yield f"look-{kind}", window


def _used(window: MainWindow, wait: Wait) -> Shown:
    """Yield docks that are empty at first, once they were used."""
    patch, canvas = window.session.patch, window.canvas
    assert patch is not None
    window.docks.reveal("timeline")
    patch.animate("forces", "gravity", [(0, -4.0), (2.5, 4.0), (5, -9.0)])
    canvas.select(["forces"])
    wait(300)
    yield "used-timeline", window
    window.kernel.set_bookmark(1)
    for dock in ("overview", "history"):
        window.docks.reveal(dock)
        wait(300)
        yield f"used-{dock}", window
    window.docks.widget(Recorder).choose_slowest()
    window.docks.reveal("recorder")
    wait(600)
    yield "used-recorder", window
    window.bridge.look_back(None)
    window.docks.reveal("code")
    code = window.docks.widget(Code)
    wait(800)
    code.search.begin(replaces=True)
    code.search.what.setText("wave")
    yield "used-code-find", window
    code.search.end()
    code.bar.compiled.setChecked(True)
    wait(2500)
    yield "used-code-compiled", window
    code.bar.compare.setChecked(True)
    wait(500)
    yield "used-code-compare", window
    code.bar.compare.setChecked(False)
    for dock in ("inspector", "help"):
        window.docks.reveal(dock)
    window.use_layout("")
    window.docks.close_lists()


def _popups(window: MainWindow, wait: Wait) -> Shown:
    canvas = window.canvas
    window.docks.close_lists()
    canvas.select(["forces"])
    window.show_palette()
    yield "palette", window
    canvas.setFocus()
    canvas.keyboard.connect()
    yield "connect", window
    canvas.setFocus()
    canvas.open_search(QPoint(120, 80))
    yield "search", window
    canvas.search.popup.field.setText("blur")
    yield "search-typed", window
    canvas.setFocus()
    canvas.open_find()
    yield "find", window
    canvas.finding.field.setText("points")
    wait(200)
    yield "find-typed", window
    canvas.setFocus()
    canvas._notice.show_at(QPoint(200, 160), "Particles can't go into an image: convert them first", None)
    yield "notice", window
    canvas._notice.hide()
    window.overlays.toggle_heat()
    window.overlays.toggle_path()
    wait(700)
    yield "heat", window
    window.overlays.toggle_heat()
    window.overlays.toggle_path()
    for node in ("forces", "render"):
        text = canvas._tooltip(node)
        yield f"tooltip-{node}", _tooltip(window, text)
    yield "tooltip-badge", _tooltip(window, window.badge._tooltip())
    window.tour.begin()
    wait(300)
    yield "tour", window
    window.tour.end()
    window.use_layout("")
    wait(300)
    yield "reset", window


def _tooltip(window: MainWindow, text: str) -> QWidget:
    """Return a label that looks as a tooltip does."""
    from PySide6.QtWidgets import QLabel

    from warploom.app.widgets.tooltip import as_html

    label = QLabel(as_html(text), window, Qt.WindowType.ToolTip, objectName="shownTooltip")
    label.setStyleSheet(_tooltip_style(window))
    label.adjustSize()
    return label


def _tooltip_style(window: MainWindow) -> str:
    from PySide6.QtWidgets import QApplication

    app = QApplication.instance()
    assert isinstance(app, QApplication)
    rule = app.styleSheet().partition("QToolTip {")[2].partition("}")[0]
    return f"QLabel {{ {rule} }}"


def _banners(window: MainWindow) -> Shown:
    nothing = ("Do this", lambda: None), ("Or that instead", lambda: None)
    error = Notice(
        "The engine stopped: an illegal address in Forces, kernel apply_forces", answers=nothing, state="error"
    )
    lines = tuple(f"Forces: gravity {number} -> {number + 1}" for number in range(7))
    for name, notice in (("error", error), ("warning", Notice("particles.loom was changed", lines, nothing))):
        window.banner.show_notice(notice)
        yield f"banner-{name}", window
    window.banner.show_notice(Notice(""))
    window.banner.hide()


def _large(window: MainWindow, wait: Wait) -> Shown:
    canvas, view = window.canvas, window.canvas.view
    canvas.fit()
    wait(300)
    yield "forty", window
    centre = canvas.scene.rect_of(canvas.scene.nodes).center()
    for percent in (100, 50, 35, 20):
        view.resetTransform()
        view.scale(percent / 100, percent / 100)
        view.centerOn(centre)
        wait(200)
        yield f"forty-{percent}", window
    found = next(node for node in canvas.patch.nodes if canvas.patch.is_group(node))
    window.kernel.open(found)
    wait(400)
    yield "inside-group", window
    window.kernel.leave()
