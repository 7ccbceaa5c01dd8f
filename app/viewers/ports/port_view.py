"""The base class of the views of a port's contents."""

from PySide6.QtCore import QMimeData, Signal
from PySide6.QtWidgets import QWidget

from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.sampling import Sample, Sampling

#: The most samples a second that a view shows.
RATE = 20.0
#: The name of the first sampling of a view; `OTHER` is that of the port that it is compared with.
MAIN, OTHER = "", "other"


class PortView(QWidget):
    """Shows the samples of one port, and says what it needs of the port.

    `samplings` are requested again after each `wanted`.
    """

    #: Choices above what is shown; a low viewer hides them.
    controls: QWidget | None = None
    #: The names of a table's columns; () if they have none.
    columns: tuple[str, ...] = ()
    #: Something else of the port is needed: another part, another size.
    wanted = Signal()
    #: What is under the pointer, for people; "" for nothing.
    probed = Signal(str)

    def samplings(self, port: PortRef, dtype: str, shape: tuple[int, ...]) -> dict[str, Sampling]:
        """Return what is needed of a port with this element type and shape, by names."""
        raise NotImplementedError

    def show_sample(self, name: str, sample: Sample) -> None:
        """Show a sample that has data."""
        raise NotImplementedError

    @property
    def body(self) -> QWidget:
        """What shows the contents, without the choices above it."""
        raise NotImplementedError

    def copied(self) -> QMimeData:
        """Return what is shown, for other programs; without an override, as a picture."""
        data = QMimeData()
        data.setImageData(self.body.grab().toImage())
        return data

    def name_columns(self, columns: tuple[str, ...]) -> None:
        """Show names of a table's columns, from now on."""
        self.columns = columns

    def end(self) -> None:
        """End the view, which is then deleted."""

    def begin(self) -> None:
        """Another port is shown from now on."""
