"""Images, shape [height, width]: filters, sizes, morphology.

Beyond the border the nearest pixel counts. Where a sum is infinite, a device may give the largest number instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from warploom.engine.libraries.call import LibraryCall, OperandError
from warploom.engine.types import DType, f32, float4, u8, uchar4
from warploom.engine.types.layout import Layout

#: Pixels with one number and with four, which are all treated alike.
FLOATS: tuple[DType, ...] = (f32, float4)
BYTES: tuple[DType, ...] = (u8, uchar4)

MORPHOLOGIES = ("erode", "dilate", "open", "close")


class _Image(LibraryCall):
    """The common part of the calls: `image` may have gaps between its rows, `out` has none."""

    library = "images"
    inputs: ClassVar[tuple[str, ...]] = ("image",)
    outputs = ("out",)
    accepted: ClassVar[tuple[DType, ...]] = FLOATS

    def image_in(self, inputs: Mapping[str, Layout]) -> Layout:
        """Return the image's layout. Raise OperandError if it isn't one that the call takes."""
        image = inputs["image"]
        if image.dtype not in self.accepted:
            names = ", ".join(map(str, self.accepted))
            raise OperandError("image", f"pixels must be one of {names}, got {image.dtype}; convert them before")
        row_stride(image, "image")
        return image


@dataclass(frozen=True)
class Filter(_Image):
    """out[y, x] = sum over j, i of weights[j, i] image[y + h // 2 - j, x + w // 2 - i]: a convolution.

    `weights` are f32 [h, w], both odd, and the same for all channels; `image` and `out` are f32 or float4.
    """

    inputs = ("image", "weights")

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of the filtered image."""
        image, weights = self.image_in(inputs), inputs["weights"]
        _window("weights", weights, f32)
        return {"out": Layout(image.dtype, image.shape)}


@dataclass(frozen=True)
class Box(_Image):
    """The mean of the pixels in a window about each, of odd height and width; f32 or float4."""

    height: int = 3
    width: int = 3

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of the blurred image."""
        image = self.image_in(inputs)
        return {"out": Layout(image.dtype, image.shape)}


@dataclass(frozen=True)
class Resize(_Image):
    """An image of 2 rows and columns or more in a smaller size: each pixel is the mean of the pixels that it covers.

    Pixels are f32 or float4. A pixel that several pixels of the result cover counts for each of them by the share that
    it covers.
    """

    height: int = 1
    width: int = 1

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of the resized image."""
        image = self.image_in(inputs)
        made = self.height, self.width
        if min(image.shape) < 2:
            raise OperandError(
                "image", f"image must have 2 rows and columns or more to be resized, got {list(image.shape)}"
            )
        if not (made[0] < image.shape[0] and made[1] < image.shape[1]):
            text = f"image must be larger than {list(made)} along both axes for the mode area, got {list(image.shape)}"
            raise OperandError("image", f"{text}; choose linear")
        return {"out": Layout(image.dtype, made)}


@dataclass(frozen=True)
class Morphology(_Image):
    """The smallest or the largest value of each channel under a mask that is laid over each pixel.

    "erode" takes the smallest, "dilate" the largest; "open" erodes and then dilates, "close" the other way round.
    `mask` is u8 [h, w], both odd: elements that are not 0 count, and there must be one. Pixels are f32, float4, u8 or
    uchar4. With NaN under the mask, the result is undefined; where all values are infinite, a GPU may return the
    largest finite number instead.
    """

    operation: str = "erode"

    choices = {"operation": MORPHOLOGIES}  # noqa: RUF012 - never changed
    inputs = ("image", "mask")
    accepted = (*FLOATS, *BYTES)

    @property
    def steps(self) -> tuple[str, ...]:
        """The calls in sequence: "erode" or "dilate"."""
        return {"open": ("erode", "dilate"), "close": ("dilate", "erode")}.get(self.operation, (self.operation,))

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of the result."""
        image, mask = self.image_in(inputs), inputs["mask"]
        _window("mask", mask, u8)
        return {"out": Layout(image.dtype, image.shape)}


def row_stride(image: Layout, slot: str) -> int:
    """Return how many pixels lie from one row to the next. Raise OperandError if it isn't an image with whole rows."""
    if len(image.shape) != 2:
        raise OperandError(slot, f"image must have 2 dimensions, got shape {list(image.shape)}")
    (height, width), (row, column) = image.shape, image.element_strides
    if (width > 1 and column != 1) or (height > 1 and row < width):
        text = (
            f"rows of an image must have no gaps and not overlap, got strides [{row}, {column}]; put a Copy before it"
        )
        raise OperandError(slot, text)
    return row if height > 1 else width


def _window(slot: str, layout: Layout, dtype: DType) -> None:
    if layout.dtype != dtype:
        raise OperandError(slot, f"elements must be {dtype}, got {layout.dtype}")
    if len(layout.shape) != 2 or any(size % 2 == 0 for size in layout.shape):
        raise OperandError(slot, f"{slot} must have 2 dimensions, both odd, got shape {list(layout.shape)}")
    if layout.strides is not None:
        raise OperandError(slot, f"{slot} must have no gaps, got {layout}; put a Copy before it")
