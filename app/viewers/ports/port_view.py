"""The base class of the views of a port's contents."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from engine.patch.changes import PortRef
from engine.protocol.sampling import Sample, Sampling

#: The most samples a second that a view shows.
RATE = 20.0
#: The name of the first sampling of a view; `OTHER` is that of the port that it is compared with.
MAIN, OTHER = "", "other"


class PortView(QWidget):
    """Shows the samples of one port, and says what it needs of the port.

    `samplings` are requested again after each `wanted`.
    """

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

    def begin(self) -> None:
        """Another port is shown from now on."""


def number_text(value: object) -> str:
    """Return a number as people read it: whole numbers exactly, others with six digits."""
    if isinstance(value, float) and value == 0:
        return "0"
    if isinstance(value, bool | int):
        return str(value)
    if isinstance(value, complex):
        return f"{value.real:.6g} {value.imag:+.6g}i"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def element_text(element: object) -> str:
    """Return an element of a sample: its number, or the numbers of a vector or struct."""
    listed = element.tolist() if hasattr(element, "tolist") else element
    if isinstance(listed, list | tuple):
        return " ".join(element_text(each) for each in listed)
    return number_text(listed)
