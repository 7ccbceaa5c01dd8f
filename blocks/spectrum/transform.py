"""The common part of the blocks that transform signals."""

from warploom.api import Block, fft, param


class Transform(Block, abstract=True):
    """A Fourier transform of the last axes."""

    axes: int = param(
        1, min=1, max=3, structural=True, doc="How many of the last axes are transformed; leading axes are batch axes."
    )
    norm: str = param(
        "backward",
        choices=fft.NORMS,
        doc="Which direction divides by the number of elements; ortho divides by its square root in both directions.",
    )
