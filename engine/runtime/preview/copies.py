"""Copies: what is copied out of a graph's memory for a sample, and in which way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import msgspec

from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.compiler.inlining.inline import owner
from warploom.engine.compiler.plan import Plan
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import MemoryPart, Stream, part_of
from warploom.engine.diagnostics import Diagnostic, warning
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.sampling import Reduction, Sample, Sampling
from warploom.engine.runtime.preview.downscaler import Downscaler
from warploom.engine.runtime.preview.reading import lasting_place
from warploom.engine.runtime.preview.reducing import part_of_shape
from warploom.engine.runtime.preview.slot import Slot
from warploom.engine.types import Array, uchar4
from warploom.engine.types.layout import Layout

#: A larger buffer is looked at in parts.
MOST_BYTES = 256 << 20
_PIXEL_BYTES = 4


@dataclass(eq=False)
class Watch:
    """What is sampled: the request, the time at which the next sample is due, and the identity of the last one.

    `refused` says why there was no memory for a picture.
    """

    name: str
    sampling: Sampling
    slot: Slot
    due_ns: int = 0
    key: object = None
    value: Array | None = None
    making: Future[None] | None = None
    refused: Diagnostic | None = None

    @property
    def is_picture(self) -> bool:
        """True for the picture that a viewer shows."""
        return self.sampling.is_picture

    @property
    def is_free(self) -> bool:
        """True when no sample is under way, and no picture waits for its reader."""
        return self.slot.is_free and (self.making is None or self.making.done())


@dataclass(frozen=True, eq=False)
class Copy(ABC):
    """Bytes that are copied now into the slot of a watch.

    With `is_staged`, they go through the slot's own device memory, which frees the graph's memory much sooner. `key` is
    the identity of the sample.
    """

    watch: Watch
    sampling: Sampling
    frame: int
    key: object
    is_staged: bool

    @property
    @abstractmethod
    def size_bytes(self) -> int:
        """The bytes in the slot."""

    @property
    def room_bytes(self) -> int:
        """The bytes that the slot must have."""
        return self.size_bytes

    @abstractmethod
    def begin(self, compiled: CompiledGraph, device: Device, downscaler: Downscaler, stream: Stream) -> None:
        """Copy bytes out of the graph's memory, on a stream."""

    def transfer(self, stream: Stream) -> None:
        """Copy staged bytes to the host."""
        if self.is_staged:
            stream.copy(self.watch.slot.pinned, self.watch.slot.memory, self.size_bytes)


class PictureSource(msgspec.Struct, frozen=True):
    """A viewer's picture in the graph's memory: its buffer's owner, offset and extent in bytes, size and strides."""

    owner: PortRef
    offset: int
    span_bytes: int
    size: tuple[int, int]  # width and height
    strides: tuple[int, int]  # elements from row to row and from column to column

    @property
    def is_dense(self) -> bool:
        """True when pixels follow each other without gaps."""
        return self.strides == (self.size[0], 1)


def picture_sources(plan: Plan) -> tuple[dict[str, PictureSource], list[Diagnostic]]:
    """Return the picture of each viewer by its node of the patch, and a diagnostic for each that can't be shown.

    A composite shows the picture of the first viewer inside it. Pictures without pixels are left out.
    """
    found: dict[str, PictureSource] = {}
    problems = []
    shown = [(block.id, display) for block in plan.description.nodes for display in block.description.displays]
    for node, display in sorted(shown, key=lambda item: item[0]):
        if display.path is not None or owner(node) in found:
            continue
        port = plan.inlined.output(PortRef(node, display.buffer))
        layout, place = plan.layouts[port], plan.buffers.places[port]
        if layout.dtype != uchar4 or len(layout.shape) != 2:
            text = f"shown buffer must be 2-D uchar4, got {layout.dtype} of shape {list(layout.shape)}"
            problems.append(warning(text, node=owner(node)))
            continue
        height, width = layout.shape
        row, column = layout.strides or (width, 1)
        if width and height:
            found[owner(node)] = PictureSource(
                place.owner, place.offset, layout.span_bytes, (width, height), (row, column)
            )
    return found, problems


@dataclass(frozen=True, eq=False)
class PictureCopy(Copy):
    """A viewer's picture in a size of (width, height); if it is reduced, the pixel at `probe`, (x, y), follows it."""

    source: PictureSource
    size: tuple[int, int]
    probe: tuple[int, int] | None

    @property
    def size_bytes(self) -> int:
        """The bytes of the pixels."""
        return _PIXEL_BYTES * (self.size[0] * self.size[1] + (self.probe is not None))

    @property
    def room_bytes(self) -> int:
        """The bytes of the pixels and of a probed one, which the kernel always writes."""
        return _PIXEL_BYTES * (self.size[0] * self.size[1] + 1)

    def begin(self, compiled: CompiledGraph, device: Device, downscaler: Downscaler, stream: Stream) -> None:
        """Copy the pixels, or reduce them to the size."""
        source, slot = self.source, self.watch.slot
        memory = part_of(compiled.memory[source.owner], source.offset, source.span_bytes)
        if self.size != source.size or not source.is_dense:
            probe = self.probe or (0, 0)
            downscaler.reduce(stream, memory, source.size, source.strides, slot.memory, self.size, probe)
        else:
            stream.copy(slot.memory if self.is_staged else slot.pinned, memory, self.size_bytes)

    def take(self, copy: Callable[[Any], Any]) -> Sample:
        """Return the picture, which `copy` copies, and free the slot; called once, by the reader's thread."""
        slot, (width, height), (columns, rows) = self.watch.slot, self.size, self.source.size
        try:
            pixels = slot.pinned.array[: self.size_bytes].reshape(-1, _PIXEL_BYTES)
            probed = pixels[-1].copy() if self.probe is not None else None
            data = copy(pixels[: width * height].reshape(height, width, _PIXEL_BYTES))
            shape, part = (rows, columns), ((0, rows), (0, columns))
            return Sample(self.watch.name, self.sampling, self.frame, str(uchar4), shape, part, data, probed)
        finally:
            slot.is_free = True


def picture_copy(
    watch: Watch, source: PictureSource | None, launch: int, frame: int, device: Device, downscaler: Downscaler
) -> PictureCopy | None:
    """Return the copy for a viewer's picture of a launch, or None if there is nothing new that can be copied."""
    if source is None or (not source.is_dense and downscaler.kernel is None):
        return None  # only the kernel can gather this picture; its absence has been reported
    sampling, size = watch.sampling, source.size
    # Without a transfer, copying a picture takes less time than scaling it down.
    if sampling.size and device.info.has_own_memory and downscaler.kernel is not None:
        size = fitted_size(size, (sampling.size[1], sampling.size[0]))
    probe = None
    if size != source.size and sampling.probe is not None:  # a whole picture has all pixels
        y, x = sampling.probe
        probe = (x, y) if 0 <= x < source.size[0] and 0 <= y < source.size[1] else None
    key = launch, source, size, probe
    is_staged = device.info.has_own_memory or size != source.size or not source.is_dense
    return PictureCopy(watch, sampling, frame, key, is_staged, source, size, probe) if watch.key != key else None


def fitted_size(whole: tuple[int, int], place: tuple[int, int]) -> tuple[int, int]:
    """Return (width, height) of a picture in the proportions of `whole` that fits in `place` and is no larger."""
    scale = min(place[0] / whole[0], place[1] / whole[1], 1.0)
    return max(1, round(whole[0] * scale)), max(1, round(whole[1] * scale))


@dataclass(frozen=True, eq=False)
class PortCopy(Copy):
    """Some bytes of a port: rows of a buffer from `first_row` on.

    With `rows`, these are all that is copied, of `layout.shape[1:]` each; `memory` is then that of the whole buffer.
    With `is_reduced`, the device takes the means of cells, and the cells of `layout` are all that is copied.
    """

    layout: Layout
    whole: Layout
    memory: MemoryPart
    first_row: int = 0
    rows: tuple[int, ...] = ()
    is_reduced: bool = False

    @property
    def size_bytes(self) -> int:
        """The bytes of the layout."""
        return self.layout.span_bytes

    def begin(self, compiled: CompiledGraph, device: Device, downscaler: Downscaler, stream: Stream) -> None:
        """Copy the rows, or the means of their cells."""
        slot, place, size = self.watch.slot, self.memory, self.size_bytes
        if self.is_reduced:
            downscaler.reduce_cells(stream, place, self.whole, slot.memory, self.layout)
        elif self.rows:
            size //= len(self.rows)
            for number, row in enumerate(self.rows):
                source = part_of(place.whole, place.offset + row * size, size)
                if self.is_staged:
                    stream.copy(part_of(slot.memory, number * size, size), source, size)
                else:  # a copy on the host is done at once
                    device.read(source, slot.pinned.array[number * size : (number + 1) * size])
        else:
            stream.copy(slot.memory if self.is_staged else slot.pinned, place, size)


def port_copy(
    watch: Watch, compiled: CompiledGraph | None, key: object, frame: int, device: Device, downscaler: Downscaler
) -> PortCopy | str | None:
    """Return the copy for a sample of a port: a text if there is none, None if the port must be read otherwise."""
    sampling = watch.sampling
    inner = None if compiled is None else compiled.plan.inlined.output(sampling.port)
    if compiled is None or inner not in compiled.plan.layouts:
        return f"{sampling.port} is not part of the running graph"
    whole, place = compiled.plan.layouts[inner], lasting_place(compiled, sampling.port)
    layout, first_row = _rows(whole, sampling)
    is_staged = device.info.has_own_memory
    if place is not None and (rows := _single_rows(whole, sampling)):
        reduces = is_staged and _can_reduce(whole, sampling) and downscaler.can_reduce(whole.dtype)
        picked = Layout(whole.dtype, (len(rows), sampling.size[1] if reduces else whole.shape[1]))
        return PortCopy(watch, sampling, frame, key, is_staged, picked, whole, place, 0, rows, reduces)
    if layout.span_bytes > MOST_BYTES:
        return f"{whole} has {whole.span_bytes >> 20} MB, of which {MOST_BYTES >> 20} can be shown at once"
    if place is None or not layout.span_bytes:
        return None
    row_bytes = whole.span_bytes // whole.shape[0] if whole.shape and layout is not whole else 0
    part = part_of(place.whole, place.offset + first_row * row_bytes, layout.span_bytes)
    return PortCopy(watch, sampling, frame, key, is_staged, layout, whole, part, first_row)


def _can_reduce(whole: Layout, sampling: Sampling) -> bool:
    """True when the means of cells are wanted, so that not all columns of their rows must be transferred."""
    is_smaller = len(sampling.size) == 2 and sampling.size[1] < whole.shape[1] and not sampling.field
    return is_smaller and part_of_shape(sampling, whole.shape) == tuple((0, extent) for extent in whole.shape)


def _single_rows(layout: Layout, sampling: Sampling) -> tuple[int, ...]:
    """Return the first row of each cell, if a sample needs no others."""
    if not (sampling.in_place and sampling.reduction is Reduction.MEAN and len(layout.shape) == 2 and sampling.size):
        return ()
    begin, end = part_of_shape(sampling, layout.shape)[0]
    count = sampling.size[0]
    is_needed = sampling.bins or sampling.probe is not None or layout.strides is not None
    if is_needed or count >= end - begin or not layout.size_bytes:
        return ()
    return tuple(begin + number * (end - begin) // count for number in range(count))


def _rows(layout: Layout, sampling: Sampling) -> tuple[Layout, int]:
    """Return the layout of the rows that a sample needs, and the first of them; statistics need all."""
    if sampling.bins or layout.strides is not None or not layout.shape:
        return layout, 0
    begin, end = part_of_shape(sampling, layout.shape)[0]
    probe = sampling.probe
    if probe is not None and len(probe) == len(layout.shape) and probe[0] < layout.shape[0]:
        begin, end = min(begin, probe[0]), max(end, probe[0] + 1)
    if (begin, end) == (0, layout.shape[0]):
        return layout, 0
    return Layout(layout.dtype, (end - begin, *layout.shape[1:])), begin
