"""`Breadcrumb`: which patch, and which kernel in it, the canvas shows."""

from PySide6.QtCore import QMargins, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QToolButton


class Breadcrumb(QFrame):
    """The way from the patch to an op graph; hidden while the canvas shows the patch."""

    #: The person returns to the patch.
    left = Signal()

    def __init__(self) -> None:
        super().__init__(objectName="breadcrumb")
        self.patch = QToolButton(autoRaise=True, objectName="breadcrumbPatch")
        self.patch.setToolTip("Back to the patch (Escape)")
        self.patch.clicked.connect(self.left)
        self.kernel = QLabel(objectName="breadcrumbKernel", textFormat=Qt.TextFormat.PlainText)
        self.state = QLabel(objectName="message", textFormat=Qt.TextFormat.PlainText)
        row = QHBoxLayout(self, contentsMargins=QMargins(8, 4, 12, 4), spacing=4)
        row.addWidget(self.patch)
        row.addWidget(QLabel("›", objectName="faint"))
        row.addWidget(self.kernel)
        row.addStretch(1)
        row.addWidget(self.state)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.hide()

    def show_place(self, patch: str, kernel: str) -> None:
        """Show the names of the patch and of the kernel."""
        self.patch.setText(patch)
        self.kernel.setText(kernel)

    def show_state(self, text: str, *, is_error: bool = False) -> None:
        """Show how the kernel is."""
        self.state.setText(text)
        self.state.setProperty("state", "error" if is_error else "")
        self.state.style().polish(self.state)
