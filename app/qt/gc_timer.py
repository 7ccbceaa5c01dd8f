"""Python's garbage collection in the editor, on the UI's thread only."""

import gc
import sys

from PySide6.QtCore import QObject, QTimer

_BUSY_MS, _QUIET_MS = 20, 500
#: Python's own thresholds: the new objects before a young collection, and the young collections before a middle one.
_YOUNG, _MIDDLE = 700, 10
#: Growth of the memory blocks in use, since the last full collection, that triggers the next one. With 5000 blocks, a
#: full collection takes 250 ms.
_GROWTH = 2.0


class GcTimer(QObject):
    """Collects garbage on the thread that created it, instead of Python's own collection, until `close`.

    Qt objects in a reference cycle are destroyed on the thread that collects them. On the engine's thread, this would
    stop a timer or destroy a widget of another thread: Qt warns, and then hangs or crashes.
    """

    _has_frozen = False

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._was_enabled = gc.isenabled()
        gc.disable()
        # A full collection would take 75 ms to look through the imported modules, which stay. To unfreeze them later
        # would also affect objects that others froze.
        if not GcTimer._has_frozen:
            GcTimer._has_frozen = True
            gc.freeze()
        self._blocks = sys.getallocatedblocks()
        self._timer = QTimer(self, interval=_QUIET_MS)
        self._timer.timeout.connect(self._collect)
        self._timer.start()

    def set_busy(self, busy: bool) -> None:
        """Check more often while an engine runs, since its worker may allocate much."""
        self._timer.setInterval(_BUSY_MS if busy else _QUIET_MS)

    def close(self) -> None:
        """Return collection to Python. A second call does nothing."""
        self._timer.stop()
        if self._was_enabled:
            gc.enable()

    def _collect(self) -> None:
        young, middle, _ = gc.get_count()
        if young < _YOUNG:
            return
        if sys.getallocatedblocks() >= _GROWTH * self._blocks:
            gc.collect()
            self._blocks = sys.getallocatedblocks()
        else:
            gc.collect(1 if middle >= _MIDDLE else 0)
