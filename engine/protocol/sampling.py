"""Sampling: what a person looks at in an output port of a running patch, or in a viewer.

A sample is made of the contents that `Client.read` would return after the same frame. Like a read, watching a port
changes no graph and no other port's contents (update level NONE): a buffer whose memory has been reused in the frame,
or that a fused kernel never stored, is computed again for the sample. In a loop, a sample has the contents after the
last turn; in a body that did not run, the port's default. A port of a composite is the port inside that feeds it. A
block that is muted or not in the graph for another reason has no contents: `Sample.missing` says so.
"""

from enum import StrEnum
from typing import Annotated, Any

import msgspec
import numpy as np

from warploom.engine.arguments import shown
from warploom.engine.diagnostics import WarploomError
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.pacing import is_rate

_Count = Annotated[int, msgspec.Meta(ge=0)]


class Reduction(StrEnum):
    """How a cell of several neighbouring elements becomes one."""

    PICK = "pick"  # its first element
    MEAN = "mean"  # NaN if an element is; uint8 stays uint8
    EXTREMES = "extremes"  # the least and the greatest number, on an axis of their own, which is the first
    PICTURE = "picture"  # its light; see `picture_of`


class Sampling(msgspec.Struct, frozen=True):
    """What is wanted of a port.

    `part` has the first index and the one after the last for each axis of the buffer's shape, and `size` the most cells
    along each; missing axes are whole. `field` is that of a struct, with dots for one of a struct inside it. `probe` is
    the index of an element that is wanted exactly. With `bins`, numbers about the whole buffer come along, with a
    histogram of so many bins. `rate` is the most samples a second; None sets no limit. With `in_place`, contents that
    would have to be computed again are missing, unless the patch is still or paused: no frame takes longer for them.
    A mean is then that of the first row of each cell, so that a large picture is not read as a whole. With
    `each_frame`, there is also a sample after a frame in which nothing was launched or the value stayed the same.
    """

    port: PortRef
    part: tuple[tuple[_Count, _Count], ...] = ()
    size: tuple[Annotated[int, msgspec.Meta(ge=1)], ...] = ()
    reduction: Reduction = Reduction.PICK
    field: str = ""
    probe: tuple[_Count, ...] | None = None
    bins: Annotated[int, msgspec.Meta(ge=0, le=4096)] = 0
    rate: float | None = None
    in_place: bool = False
    each_frame: bool = False

    def __post_init__(self) -> None:
        if self.rate is not None and not is_rate(self.rate):
            raise WarploomError(f"rate must be a positive number of samples a second, got {shown(self.rate)}")
        if self.reduction is Reduction.PICTURE and (len(self.size) not in (0, 2) or len(self.probe or "yx") != 2):
            found = f"{self.size} and {self.probe}"
            raise WarploomError(f"size and probe of a picture must have two numbers each, got {found}")

    @property
    def is_picture(self) -> bool:
        """True for the picture that a viewer shows."""
        return self.reduction is Reduction.PICTURE


def picture_of(
    viewer: str,
    size: tuple[int, int] | tuple[()] = (),
    rate: float | None = None,
    probe: tuple[int, int] | None = None,
) -> Sampling:
    """Return what is wanted of the picture that a viewer shows, uchar4[height, width] in sRGB.

    `size` is the room for it, (height, width): the picture keeps its proportions, and has no more pixels than its
    buffer. Where nothing is transferred, all pixels come; then there is no probed one. The next picture is taken once
    the last one was fetched. A viewer without a picture gets no sample, and a diagnostic if there is a reason.
    """
    return Sampling(PortRef(viewer, ""), size=size, reduction=Reduction.PICTURE, rate=rate, probe=probe)


class ObservePorts(msgspec.Struct, frozen=True, tag=True):
    """The samples that are visible, by names that the client chooses; nothing else is read back."""

    samplings: dict[str, Sampling]


class Statistics(msgspec.Struct, frozen=True):
    """Numbers about all elements, one for each component of a vector or complex number.

    `least`, `greatest` and `mean` are those of finite numbers, and NaN if there is none. `bins` count every `step`-th
    element from the least of all to the greatest; each bin but the last excludes its upper end.
    """

    count: int
    least: tuple[float, ...]
    greatest: tuple[float, ...]
    mean: tuple[float, ...]
    nan: tuple[int, ...]
    infinite: tuple[int, ...]
    bins: tuple[tuple[int, ...], ...] = ()
    step: int = 1

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest of all components; 0 and 0 if no number is finite."""
        finite = [(low, high) for low, high in zip(self.least, self.greatest, strict=True) if low <= high]
        return (min(low for low, _ in finite), max(high for _, high in finite)) if finite else (0.0, 0.0)


class Sample(msgspec.Struct, frozen=True, tag=True):
    """A sample of a port after a frame.

    `data` has the cells of the `part`, whose axes are those of `shape`; vectors have an axis of their own, last, and
    bf16 is f32. It is None if something is `missing`, which is a text for people. A value port has the shape ().
    `probed` is the element that `sampling` asks for.
    """

    name: str
    sampling: Sampling
    frame: int
    dtype: str = ""
    shape: tuple[int, ...] = ()
    part: tuple[tuple[int, int], ...] = ()
    data: np.ndarray[Any, Any] | None = None
    probed: np.ndarray[Any, Any] | None = None
    statistics: Statistics | None = None
    missing: str = ""
