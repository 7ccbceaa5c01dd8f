"""Viewers that fill a screen: a window without a frame for each, on any display, drawn in step with its refresh."""

from functools import partial

from PySide6.QtCore import QObject, QRectF, QSizeF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QOpenGLContext,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QScreen,
    QShowEvent,
)
from PySide6.QtOpenGLWidgets import QOpenGLWidget
from PySide6.QtWidgets import QWidget

from warploom.engine.protocol.sampling import Sampling, picture_of
from warploom.engine.types import Array

_CURSOR_MS, _HINT_MS = 2000, 3000
_HINT = "Esc or F11 ends the full screen · F fits or fills it"


class _Surface(QOpenGLWidget):
    """Draws a view by OpenGL, which scales the picture and shows it between two refreshes of the display."""

    def __init__(self, view: "ScreenView") -> None:
        super().__init__(view)
        self._view = view
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setGeometry(view.rect())

    def paintGL(self) -> None:
        """Draw the picture."""
        with QPainter(self) as painter:
            self._view.draw_on(painter)


class ScreenView(QWidget):
    """A picture that fills a display: fitted with black beside it, or cut off at two edges.

    Its keys are F, which fits or fills, and Esc and F11, which end it; so does a double click. The pointer hides when
    it rests.
    """

    #: The window was closed.
    closed = Signal()
    #: The size at which pictures are needed changed.
    sampling_changed = Signal()

    def __init__(self, title: str, display: QScreen, *, hints: bool) -> None:
        super().__init__()
        self.setWindowTitle(title)
        self.setWindowFlags(Qt.WindowType.Window | Qt.WindowType.FramelessWindowHint)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.display = display
        self.fills = False
        self._image = QImage()
        self._pixels: object = None  # the image refers to its memory
        self._hints = hints
        self._rests = QTimer(self, singleShot=True, interval=_CURSOR_MS)
        self._rests.timeout.connect(lambda: self.setCursor(Qt.CursorShape.BlankCursor))
        self.setGeometry(display.geometry())
        # Without OpenGL the picture is drawn in memory, and may tear.
        self._surface = _Surface(self) if QOpenGLContext().create() else None

    def sampling(self, node: str) -> Sampling:
        """Return what the display needs of a viewer's pictures: their size in its pixels, and its rate."""
        ratio, rate = self.display.devicePixelRatio(), self.display.refreshRate()
        size = self.display.geometry().size()
        whole = round(size.height() * ratio), round(size.width() * ratio)
        return picture_of(node, () if self.fills else whole, rate if rate > 0 else None)

    def show_pixels(self, pixels: Array) -> None:
        """Show a picture at the next refresh; its memory is kept until another one comes."""
        height, width, _ = pixels.shape
        self._pixels = pixels
        self._image = QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGBX8888)
        self.draw()

    def draw(self) -> None:
        """Draw again, at the next refresh."""
        (self._surface or self).update()

    def shown_rect(self) -> QRectF:
        """Return the place of the picture in the window."""
        mode = Qt.AspectRatioMode.KeepAspectRatioByExpanding if self.fills else Qt.AspectRatioMode.KeepAspectRatio
        room = QRectF(self.rect())
        place = QRectF(room.topLeft(), QSizeF(self._image.size()).scaled(room.size(), mode))
        place.moveCenter(room.center())
        return place

    def draw_on(self, painter: QPainter) -> None:
        """Draw the picture, and at first how to leave it."""
        painter.fillRect(self.rect(), QColor("black"))
        if not self._image.isNull():
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(self.shown_rect(), self._image)
        if self._hints:
            font = painter.font()
            font.setPixelSize(max(14, self.height() // 50))
            painter.setFont(font)
            strip = self.rect().adjusted(0, self.height() - 4 * font.pixelSize(), 0, -2 * font.pixelSize())
            painter.setPen(QColor(0, 0, 0, 200))
            painter.drawText(strip.translated(1, 1), Qt.AlignmentFlag.AlignCenter, _HINT)
            painter.setPen(QColor(255, 255, 255, 220))
            painter.drawText(strip, Qt.AlignmentFlag.AlignCenter, _HINT)

    # Qt

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw in memory, if OpenGL doesn't."""
        if self._surface is None:
            with QPainter(self) as painter:
                self.draw_on(painter)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Draw on all of the window."""
        if self._surface is not None:
            self._surface.setGeometry(self.rect())

    def showEvent(self, event: QShowEvent) -> None:
        """Begin to hide the pointer and the hint."""
        self._rests.start()
        if self._hints:
            QTimer.singleShot(_HINT_MS, self, self._end_hint)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show the pointer for a while."""
        self.unsetCursor()
        self._rests.start()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """End the full screen."""
        self.close()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """End the full screen, or fit or fill it."""
        if event.key() in (Qt.Key.Key_Escape, Qt.Key.Key_F11):
            self.close()
        elif event.key() == Qt.Key.Key_F and not event.modifiers():
            self.fills = not self.fills
            self.sampling_changed.emit()
            self.draw()
        else:
            super().keyPressEvent(event)

    def closeEvent(self, event: object) -> None:
        """Tell the viewer."""
        self.closed.emit()

    def _end_hint(self) -> None:
        self._hints = False
        self.draw()


class Screens(QObject):
    """The viewers that fill a display, by node id; at most one on each display."""

    #: Another viewer needs pictures, or other ones.
    sampling_changed = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self.views: dict[str, ScreenView] = {}
        application = QGuiApplication.instance()
        assert isinstance(application, QGuiApplication)
        application.screenRemoved.connect(self._on_removed)

    @property
    def samplings(self) -> dict[str, Sampling]:
        """What the displays need, by node id."""
        return {node: view.sampling(node) for node, view in self.views.items()}

    def usual(self) -> QScreen:
        """Return the display to use when none was chosen: one on which the window is not, or else its own."""
        own = self._window.screen()
        return next((display for display in QGuiApplication.screens() if display is not own), own)

    def show(self, node: str, title: str, display: QScreen, pixels: Array | None) -> None:
        """Fill a display with a viewer, in place of another one, at first with these pixels.

        The next picture may not come for long: while the patch is paused, and if nothing in it changes.
        """
        for other, view in list(self.views.items()):
            if other == node or view.display is display:
                view.close()
        view = ScreenView(title, display, hints=display is self._window.screen())
        view.sampling_changed.connect(self.sampling_changed)
        view.closed.connect(partial(self._on_closed, node))
        self.views[node] = view
        if pixels is not None:
            view.show_pixels(pixels)
        view.showFullScreen()
        view.activateWindow()
        self.sampling_changed.emit()

    def close(self, node: str) -> None:
        """End the full screen of a viewer, if it has one."""
        if node in self.views:
            self.views[node].close()

    def close_all(self) -> None:
        """End every full screen."""
        for node in list(self.views):
            self.close(node)

    def _on_closed(self, node: str) -> None:
        self.views.pop(node, None)
        self.sampling_changed.emit()

    def _on_removed(self, display: QScreen) -> None:
        for view in list(self.views.values()):
            if view.display is display:
                view.close()
