"""The progress of a recording in a viewer, with the button that stops it."""

from PySide6.QtCore import QMargins, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QSizePolicy, QWidget

from warploom.app.viewers.recording.recorder import Recording


class RecordBar(QWidget):
    """Hidden while nothing is recorded."""

    stop_requested = Signal()

    def __init__(self) -> None:
        super().__init__(objectName="viewerFooter")
        self.label = QLabel(objectName="figures")
        self.label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.progress = QProgressBar(textVisible=False)
        self.progress.setFixedSize(80, 6)
        self.stop = QPushButton("Stop", toolTip="End the recording; the files so far are kept")
        self.stop.clicked.connect(self.stop_requested)
        row = QHBoxLayout(self, contentsMargins=QMargins(8, 4, 8, 4), spacing=8)
        for part, stretch in ((self.label, 1), (self.progress, 0), (self.stop, 0)):
            row.addWidget(part, stretch)
        self.hide()

    def show_recording(self, recording: Recording | None) -> None:
        """Show how far a recording is."""
        self.setVisible(recording is not None)
        if recording is not None:
            text = f"{'Writing' if recording.is_ending else 'Recording'} {recording.order.title}: {recording.text}"
            self.label.setText(text)
            self.label.setToolTip(f"{text}\n{recording.order.folder}")
            self.progress.setVisible(recording.order.frames is not None)
            self.progress.setMaximum(recording.order.frames or 1)
            self.progress.setValue(recording.written)
            self.stop.setEnabled(not recording.is_ending)
