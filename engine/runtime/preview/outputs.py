"""Outputs: reading buffers back, and saving those of viewers, save blocks and unconnected outputs."""

import io
import logging
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.compiler.inlining.inline import owner
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.entries import Display
from warploom.engine.diagnostics import Diagnostic, PatchError, Source, error
from warploom.engine.drawings.pictures import encode_picture
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import write_atomically
from warploom.engine.patch.trust import SavePlace
from warploom.engine.platforms.paths import name_key
from warploom.engine.profiling.side_work import SideKind, SideTimes
from warploom.engine.protocol.messages import Saved, SaveOutputs
from warploom.engine.protocol.outbox import Outbox
from warploom.engine.readings import here
from warploom.engine.runtime.model.context import DeviceServices
from warploom.engine.runtime.preview.reading import read_buffer
from warploom.engine.types import bf16, from_bf16, uchar4

_log = logging.getLogger(__name__)


def displays(plan: Plan, node: str | None = None) -> list[tuple[str, Display]]:
    """Return the displays of viewers and save blocks with their nodes, ordered by node id."""
    blocks = sorted(plan.description.nodes, key=lambda block: block.id)
    return [(b.id, d) for b in blocks if node in (None, b.id, owner(b.id)) for d in b.description.displays]


def leaf_outputs(plan: Plan) -> list[PortRef]:
    """Return the unconnected output ports of the patch's nodes."""
    description, inlined = plan.description, plan.inlined
    ports = [
        PortRef(block.id, spec.name)
        for block in description.nodes
        for spec in block.description.outputs
        if "/" not in block.id and spec.name not in block.description.numbers
    ]
    ports += [
        port for port, inner in inlined.outputs.items() if "/" not in port.node and inner.node in description.by_id
    ]
    return sorted({port for port in ports if inlined.output(port) not in description.targets_of}, key=str)


class SaveRefused(PatchError):
    """A patch may not write a file."""

    def __init__(self, why: Diagnostic) -> None:
        super().__init__(f"node {why.node}: {why.message} ({why.remedy})")
        self.why = why


class OutputContents(msgspec.Struct, frozen=True):
    """The contents of a port after a frame, and the file that they are for; without a file, nothing was read."""

    saved: Saved
    path: Path | None
    contents: np.ndarray[Any, Any] | None
    display: Display
    place: SavePlace
    times: SideTimes

    def save(self) -> Saved:
        """Write the file. Raise SaveRefused or another PatchError if that is refused or fails."""
        if self.path is not None and self.contents is not None:
            place, node = self.place, self.saved.node
            if refusal := place.refusal(node, self.path) or place.overwriting(node, self.path):
                raise SaveRefused(refusal)
            with self.times.timed(SideKind.SAVE, self.path.name, self.contents.nbytes):
                place.note(self.path, _write(self.path, self.contents, self.display, node))
        return self.saved


def read_outputs(
    compiled: CompiledGraph, services: DeviceServices, place: SavePlace, node: str | None = None
) -> Iterator[OutputContents]:
    """Read the outputs of one node, or of all, back one by one."""

    def contents(port: PortRef, path: Path | None, display: Display) -> OutputContents:
        layout = compiled.plan.layouts[compiled.plan.inlined.output(port)]
        saved = Saved(port.node, port.port, str(layout.dtype), layout.shape, str(path) if path else None)
        array = None
        if path is not None:
            with services.times.timed(SideKind.DOWNLOAD, str(port), layout.size_bytes):
                array = read_buffer(compiled, services.device, port)
            if (layout.dtype.of or layout.dtype) is bf16:  # which no file has
                array = from_bf16(array)
        if display.with_columns:
            columns = compiled.plan.columns.get(port, ())
            display = replace(display, options=(*display.options, *columns))
        return OutputContents(saved, path, array, display, place, services.times)

    folder = place.folder
    taken: set[str] = set()
    for node_id, display in _written(compiled.plan, displays(compiled.plan, node), folder):
        port = PortRef(node_id, display.buffer)
        layout = compiled.plan.layouts[port]
        suffix = ".png" if layout.dtype == uchar4 and len(layout.shape) == 2 else ".npy"
        name = node_id.replace("/", ".")  # of a block inside a composite
        path = _target(name, display, suffix, place)
        if path is not None:
            if name_key(path) in taken:  # two save blocks may have the same file name
                path = path.with_name(f"{name}.{display.buffer}{path.suffix}")
            taken.add(name_key(path))
        yield contents(port, path, display)
    for port in leaf_outputs(compiled.plan) if node is None else ():
        yield contents(port, folder / f"{port.node}.{port.port}.npy" if folder else None, Display(port.port))


def _written(plan: Plan, shown: list[tuple[str, Display]], folder: Path | None) -> list[tuple[str, Display]]:
    """Return the displays without viewers whose picture a save block writes into the same folder."""
    if folder is None:
        return shown
    connections, saving = plan.description.connections, {node for node, display in shown if display.path}
    saved = {c.source for c in connections if c.target.node in saving}
    seen_too = {c.target.node for c in connections if c.source in saved}
    return [(node, display) for node, display in shown if display.path or node not in seen_too]


def _target(node: str, display: Display, suffix: str, place: SavePlace) -> Path | None:
    if place.folder is not None:
        name = Path(display.path).name if display.path else node + suffix
        return place.folder / name
    return here(place.base / display.path) if display.path else None


def _write(path: Path, array: np.ndarray[Any, Any], display: Display, node: str) -> bytes:
    """Write a file and return its contents."""
    suffix = path.suffix.lower()
    encode = display.encode or (_encode_array if suffix == ".npy" else encode_picture)
    try:
        contents = encode(array, suffix, *display.options)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, contents)
        return contents
    except (OSError, ValueError, PatchError, MemoryError) as problem:
        raise PatchError(
            f"node {node}: output must be writable as {path}, got {problem}; use another name or format, in a folder "
            "that exists (pictures: .png, .jpg, .tif, .exr; arrays: .npy)"
        ) from problem


def _encode_array(array: np.ndarray[Any, Any], suffix: str, depth: str) -> bytes:
    data = io.BytesIO()
    np.save(data, array)
    return data.getvalue()


class Saver:
    """Saves outputs on request: reads them back between two frames, and writes the files beside the next frames.

    Each file, or the reason why it couldn't be written, is an event in the outbox.
    """

    def __init__(self, services: DeviceServices, outbox: Outbox) -> None:
        self._services, self._outbox = services, outbox
        self._writer = ThreadPoolExecutor(1, "warploom-save")  # starts its thread with the first file
        #: The requests, earliest first.
        self.asked: deque[SaveOutputs] = deque()

    def save(self, compiled: CompiledGraph | None, place: SavePlace, *, wait: bool) -> None:
        """Save the earliest request with the current contents; with `wait`, return when the files are written."""
        node = self.asked.popleft().node
        if compiled is None:
            text = "outputs must come from a running patch, got one not built yet"
            self._outbox.put_event(error(text, node=node, source=Source.ENGINE))
            return
        outputs = [o for o in read_outputs(compiled, self._services, place, node) if o.path]
        writing = self._writer.submit(self._write, outputs, node)
        if wait:
            writing.result()

    def close(self) -> None:
        """Wait for the files that are being written."""
        self._writer.shutdown()

    def _write(self, outputs: Sequence[OutputContents], node: str | None) -> None:
        for output in outputs:
            try:
                saved = output.save()
                _log.info("saved %s (%s.%s, %s)", saved.path, saved.node, saved.port, saved.dtype)
                self._outbox.put_event(saved)
            except PatchError as problem:
                _log.error("%s", problem)
                why = problem.why if isinstance(problem, SaveRefused) else error(str(problem), source=Source.ENGINE)
                self._outbox.put_event(replace(why, node=node or output.saved.node))
