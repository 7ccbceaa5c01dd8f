"""Thumbnails: below each block in view, a small picture, plot or the numbers of what it makes.

No frame takes longer for them: an output that a frame does not keep has one only while the patch is still or paused.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import prod

import numpy as np
from PySide6.QtCore import QObject, QPointF, QRectF, QSizeF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QImage, QPainter, QPainterPath, QPen, QPolygonF
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from warploom.app.canvas.drawing.node_painter import NEAR, TIME, text_growth
from warploom.app.canvas.drawing.overview_painter import FAR_FROM
from warploom.app.canvas.graph_view import GraphView
from warploom.app.canvas.items.layer import EXTENT
from warploom.app.canvas.items.scene import GraphScene
from warploom.app.theme import colours
from warploom.app.theme.fonts import SMALL, ui_font
from warploom.app.theme.port_style import PORT_STYLES, PortKind, PortStyle
from warploom.app.view_models.looking.fitting import ViewKind, kinds_for
from warploom.app.view_models.looking.numbers import element_text
from warploom.app.view_models.looking.series import curves_of, drawn_axis, drawn_part
from warploom.app.view_models.looking.tone import Tone, components_of, picture_of
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.inner_patch import InnerPatch
from warploom.engine.protocol.messages import BufferReport, FrameReport
from warploom.engine.protocol.sampling import Reduction, Sample, Sampling

#: How often the blocks in view are looked for, and the most thumbnails in detail, those when zoomed out, and samples of
#: each a second.
_LOOK_MS, _MOST, _MOST_FAR, _RATE = 300, 24, 64, 4.0
_GAP, _MOST_WIDTH, _MOST_HEIGHT, _PLOT_HEIGHT, _TEXT_HEIGHT = 5.0, 160.0, 110.0, 36.0, 16.0
#: Pixels per unit of the scene, so that a thumbnail is sharp when it is zoomed in; below, when it is zoomed out.
_DENSITY, _DENSITY_FAR = 1.5, 0.5
#: A thumbnail's least height where another block is close.
_LEAST_HEIGHT = 12.0
#: A buffer with so many elements is shown as numbers.
_FEW = 4
#: The most curves of a plot.
_MOST_CURVES = 6
#: Below connections and nodes, above regions' boxes: a thumbnail covers nothing but the canvas.
_BEHIND = -1.5


class _Layer(QGraphicsItem):
    """Paints the thumbnails of nodes at their present places."""

    def __init__(self, scene: GraphScene) -> None:
        super().__init__()
        self.setZValue(_BEHIND)
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemUsesExtendedStyleOption)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        self._graph = scene
        self.pictures: dict[str, QImage] = {}
        self.texts: dict[str, str] = {}
        #: The free height below nodes that have a thumbnail.
        self.rooms: dict[str, float] = {}

    def boundingRect(self) -> QRectF:
        """Return the area of the scene."""
        return EXTENT

    def shape(self) -> QPainterPath:
        """Return an empty area: a thumbnail is not hit by the pointer."""
        return QPainterPath()

    def area(self, node: str) -> QRectF:
        """Return the place of a node's thumbnail; a text may be longer than its node."""
        view = self._graph.nodes.get(node)
        if view is None:
            return QRectF()
        width, height = min(view.place.width(), _MOST_WIDTH), _TEXT_HEIGHT
        if node in self.texts:
            width += _MOST_WIDTH
        if (picture := self.pictures.get(node)) is not None and picture.width():
            height = width * picture.height() / picture.width()
            most = min(_MOST_HEIGHT, self.rooms.get(node, _MOST_HEIGHT))
            if height > most:
                width, height = width * most / height, most
        return QRectF(view.place.left(), view.place.bottom() + _GAP, width, height)

    def measure_rooms(self, nodes: Iterable[str], scale: float) -> None:
        """Find the free height below nodes at a zoom; a thumbnail becomes smaller rather than reach other blocks."""
        frames = self._graph.frames.views.values()
        for node in nodes:
            place = self._graph.nodes[node].place
            below = QRectF(place.left(), place.bottom() + 1, place.width(), _GAP + _MOST_HEIGHT + TIME)
            tops = [view.place.top() - TIME for view in self._graph.nodes_in(below) if view.place.top() > below.top()]
            entered = (frame for frame in frames if frame.rect.intersects(below) and frame.rect.top() > below.top())
            tops += [frame.rect.top() - frame.title_above(scale) for frame in entered]
            room = max(min(tops, default=below.bottom()) - place.bottom() - _GAP, _LEAST_HEIGHT)
            if room != self.rooms.get(node):
                before = self.area(node)
                self.rooms[node] = room
                self._graph.update(before.united(self.area(node)).adjusted(-1, -1, 1, 1))

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Paint what is in the exposed part."""
        exposed, theme = option.exposedRect, colours.current()
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        for node, picture in self.pictures.items():
            area = self.area(node)
            if area.intersects(exposed):
                painter.drawImage(area, picture)
        if self.texts:
            scale = option.levelOfDetailFromTransform(painter.worldTransform())
            painter.setFont(ui_font(round(SMALL * text_growth(scale))))
            painter.setPen(QColor(theme.text_dim))
        for node, text in self.texts.items():
            area = self.area(node)
            if area.intersects(exposed):
                painter.drawText(area, Qt.AlignmentFlag.AlignLeft, text)


class Thumbnails(QObject):
    """Requests what the blocks in view make, and shows it. While hidden or zoomed out, nothing is requested."""

    #: The samplings that are needed, by node.
    wanted = Signal(dict)

    def __init__(self, scene: GraphScene, view: GraphView) -> None:
        super().__init__(view)
        self._scene, self._view = scene, view
        self._layer = _Layer(scene)
        self._patch: Patch | None = None
        self._ports: dict[str, tuple[PortRef, BufferReport]] = {}
        self._buffers: Mapping[str, BufferReport] | None = None
        self._asked: dict[str, Sampling] = {}
        self._is_shown = False
        scene.addItem(self._layer)
        self._timer = QTimer(self, interval=_LOOK_MS)
        self._timer.timeout.connect(self._ask)

    def set_shown(self, shown: bool) -> None:
        """Show or hide thumbnails."""
        self._is_shown = shown
        self._scene.below = QSizeF(2 * _MOST_WIDTH + 1, _GAP + _MOST_HEIGHT + 1) if shown else QSizeF()
        self._timer.start() if shown else self._timer.stop()
        self._ask()

    def set_patch(self, patch: Patch) -> None:
        """Follow another patch; the inside of a block has no buffers of its own."""
        self._patch = None if isinstance(patch, InnerPatch) else patch
        self._buffers, self._ports = None, {}
        if self._layer.scene() is None:  # the scene was emptied
            self._scene.addItem(self._layer)
        self._ask()

    def show_report(self, report: FrameReport) -> None:
        """Note which buffers there are."""
        if report.buffers is self._buffers:
            return
        self._buffers, self._ports = report.buffers, {}
        for name, buffer in report.buffers.items():
            node, _, port = name.rpartition(".")
            if node not in self._ports and _can_show(buffer.dtype, buffer.shape):
                patch, seen = self._patch, PortRef(node, port)
                is_known = patch is not None and node in patch.nodes
                leaf = patch.leaf(seen) if patch is not None and is_known else None  # an engine knows no groups
                self._ports[node] = leaf or seen, buffer

    def text_of(self, node: str) -> str:
        """Return the last numbers of a small buffer that a node makes; "" for others."""
        return self._layer.texts.get(node, "")

    def room(self, node: str) -> float:
        """Return the height that a node's thumbnail takes below it; 0 for a node that gets none."""
        if not self._is_shown or node not in self._ports or node not in self._scene.nodes:
            return 0.0
        width = min(self._scene.nodes[node].place.width(), _MOST_WIDTH)
        sampling = _sampling(*self._ports[node], width)
        match sampling.reduction:
            case Reduction.MEAN:
                height = min(width * sampling.size[-2] / sampling.size[-1], _MOST_HEIGHT)
            case Reduction.EXTREMES:
                height = _PLOT_HEIGHT
            case _:
                height = _TEXT_HEIGHT
        return _GAP + height

    def take(self, node: str, sample: Sample) -> None:
        """Show a sample of a node's output, or nothing if it has no contents."""
        view = self._scene.nodes.get(node)
        if view is None or node not in self._asked or sample.sampling.port != self._asked[node].port:
            return
        if sample.data is None:  # an older picture would be taken for the present one
            self._forget([node])
            return
        before = self._layer.area(node)
        if sample.sampling.reduction is Reduction.PICK:
            text = " ".join(element_text(each) for each in components_of(sample.data, len(sample.shape)).reshape(-1))
            if text == self._layer.texts.get(node):
                return
            self._layer.texts[node] = text
        elif sample.sampling.reduction is Reduction.MEAN:
            self._layer.pictures[node] = _picture(sample)
        else:
            port = view.ports.get((sample.sampling.port.port, False))
            style = PORT_STYLES[port.model.kind if port else PortKind.FLOAT]
            aspect = _PLOT_HEIGHT / min(view.place.width(), _MOST_WIDTH)
            columns = self._ports[node][1].columns if node in self._ports else ()
            self._layer.pictures[node] = _plot(sample, style, aspect, columns)
        self._scene.update(before.united(self._layer.area(node)).adjusted(-1, -1, 1, 1))

    def clear(self) -> None:
        """Show nothing until other samples follow."""
        self._forget(self._asked)

    def refresh(self) -> None:
        """Use another theme's colours from the next samples on."""
        self._layer.update()

    def _ask(self) -> None:
        """Request the samples of the blocks in view, and forget those that are gone."""
        wanted: dict[str, Sampling] = {}
        if self._is_shown and self._patch is not None and self._view.isVisible() and self._view.zoom >= FAR_FROM:
            seen = self._view.mapToScene(self._view.viewport().rect()).boundingRect()
            is_near = self._view.zoom >= NEAR
            for node, (port, buffer) in self._ports.items():
                view = self._scene.nodes.get(node)
                if view is None or not view.place.intersects(seen) or len(wanted) >= (_MOST if is_near else _MOST_FAR):
                    continue
                sampling = _sampling(port, buffer, view.place.width(), _DENSITY if is_near else _DENSITY_FAR)
                if is_near or sampling.reduction is not Reduction.PICK:  # numbers would be too small to read
                    wanted[node] = sampling
        self._forget((self._layer.pictures.keys() | self._layer.texts.keys()) - wanted.keys())
        self._layer.measure_rooms(wanted, self._view.zoom)
        if wanted != self._asked:
            self._asked = wanted
            self.wanted.emit(wanted)

    def _forget(self, nodes: Iterable[str]) -> None:
        layer = self._layer
        for node in nodes:
            area = layer.area(node)
            layer.pictures.pop(node, None)
            layer.texts.pop(node, None)
            layer.rooms.pop(node, None)
            self._scene.update(area.adjusted(-1, -1, 1, 1))


@lru_cache(maxsize=1024)
def _can_show(dtype: str, shape: tuple[int, ...]) -> bool:
    kinds, count = kinds_for(dtype, shape), prod(shape)
    return count > 0 and (ViewKind.IMAGE in kinds or (ViewKind.TABLE is not kinds[0] or count <= _FEW))


def _sampling(port: PortRef, buffer: BufferReport, width: float, density: float = _DENSITY) -> Sampling:
    shape = buffer.shape
    columns = round(min(width, _MOST_WIDTH) * density)
    if kinds_for(buffer.dtype, shape)[0] is ViewKind.IMAGE:
        rest = len(shape) - 2
        scale = min(1.0, columns / shape[-1], _MOST_HEIGHT * density / shape[-2])
        size = max(1, round(shape[-2] * scale)), max(1, round(shape[-1] * scale))
        part = (*((0, 1) for _ in range(rest)), *((0, extent) for extent in shape[-2:]))
        return Sampling(port, part, (*(1 for _ in range(rest)), *size), Reduction.MEAN, rate=_RATE, in_place=True)
    if int(np.prod(shape)) <= _FEW:
        return Sampling(port, rate=_RATE, in_place=True)
    part, along = drawn_part(shape, prod(shape)), drawn_axis(shape)
    cells = tuple(columns if axis == along else end for axis, (_, end) in enumerate(part))
    return Sampling(port, part, cells, Reduction.EXTREMES, rate=_RATE, in_place=True)


def _picture(sample: Sample) -> QImage:
    assert sample.data is not None
    numbers = components_of(sample.data, len(sample.shape))
    pixels, _ = picture_of(numbers.reshape(-1, *numbers.shape[-3:])[0], Tone())
    height, width, _ = pixels.shape
    return QImage(np.ascontiguousarray(pixels).data, width, height, 4 * width, QImage.Format.Format_RGBX8888).copy()


def _plot(sample: Sample, style: PortStyle, aspect: float, columns: Sequence[str] = ()) -> QImage:
    """Return a small plot of the first lanes or components, from their least to their greatest number.

    Columns with names have different units, so each has a range of its own.
    """
    along, theme = drawn_axis(sample.shape), colours.current()
    width = max(sample.sampling.size[along], 2)
    height = max(round(width * aspect), 5)
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(QColor(theme.dock))
    curves = []
    for curve in curves_of(sample)[:_MOST_CURVES]:
        finite = np.isfinite(curve.y)
        curves.append((curve.x[finite], curve.y[finite]))
    if not (found := [y for _, y in curves if len(y)]):
        return image
    whole = min(float(y.min()) for y in found), max(float(y.max()) for y in found)
    begin, end = sample.part[along] if sample.part else (0, 1)
    painter = QPainter(image)
    for number, (x, y) in reversed([*enumerate(curves)]):  # the first one on top
        low, high = (float(y.min()), float(y.max())) if columns and len(y) else whole
        across = (x - begin) * ((width - 1) / max(end - begin - 1, 1))
        down = (height - 4) * (1 - (y - low) / (high - low)) + 2 if high > low else np.full(len(y), height / 2)
        ink = QColor(style.colour(theme) if len(curves) == 1 else colours.CURVES[number])
        painter.setPen(QPen(ink, 1))
        painter.drawPolyline(QPolygonF([QPointF(*at) for at in zip(across.tolist(), down.tolist(), strict=True)]))
    painter.end()
    return image
