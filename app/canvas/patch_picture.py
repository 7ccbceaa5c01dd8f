"""The shown patch as a picture for papers and mails: pixels, or lines and texts."""

from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgGenerator

from warploom.app.canvas.items.scene import GraphScene
from warploom.app.canvas.reports.thumbnails import Thumbnails
from warploom.app.theme import colours
from warploom.engine.patch.files import write_atomically

#: The kinds of pictures, by suffix.
FORMS = {".png": "Picture", ".svg": "Drawing"}
#: The room around the blocks, and the pixels for each unit of the scene; large patches get fewer.
_MARGIN, _SCALE, _MOST_SIDE = 32.0, 2.0, 16_000


def save_patch_picture(scene: GraphScene, thumbnails: Thumbnails, path: Path) -> None:
    """Write what the scene shows, all of it, into a file by its suffix. Raise OSError if that can't be done."""
    area = QRectF()
    for node, view in scene.nodes.items():
        area |= view.place.adjusted(0, 0, 0, thumbnails.room(node))
    for frame in scene.frames.views.values():
        area |= frame.rect
    for region in scene.regions.views.values():
        if region.layout is not None:
            area |= region.layout.box
    area = area.marginsAdded(QMarginsF(_MARGIN, _MARGIN, _MARGIN, _MARGIN))
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if path.suffix == ".svg":
        drawing = QSvgGenerator()
        drawing.setOutputDevice(buffer)
        drawing.setSize(area.size().toSize())
        drawing.setViewBox(QRectF(0, 0, area.width(), area.height()))
        drawing.setTitle(path.stem)
        _paint(scene, area, QPainter(drawing), area.size())
    else:
        scale = min(_SCALE, _MOST_SIDE / max(area.width(), area.height()))
        size = area.size() * scale
        image = QImage(size.toSize(), QImage.Format.Format_RGB32)
        _paint(scene, area, QPainter(image), size)
        QImageWriter(buffer, b"png").write(image)
    write_atomically(path, bytes(buffer.data().data()))


def _paint(scene: GraphScene, area: QRectF, painter: QPainter, size: QSizeF) -> None:
    target = QRectF(0, 0, size.width(), size.height())
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillRect(target, QColor(colours.current().canvas))
    scene.render(painter, target, area, Qt.AspectRatioMode.IgnoreAspectRatio)
    painter.end()
