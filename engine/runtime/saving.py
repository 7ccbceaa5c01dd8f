"""Saving of outputs on request: read back between two frames, written to files beside the frames that follow."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engine.compiler.instantiate import CompiledGraph
from engine.device.protocol import Device
from engine.diagnostics import PatchError, error
from engine.runtime.outbox import Outbox
from engine.runtime.outputs import Output, read_outputs


class Saver:
    """Saves outputs and tells of each file, or why it could not be written, as an event."""

    def __init__(self, device: Device, outbox: Outbox) -> None:
        self._device, self._outbox = device, outbox
        self._writer = ThreadPoolExecutor(1, "warploom-save")  # its thread starts with the first file

    def save(self, compiled: CompiledGraph | None, node: str | None, base: Path, *, wait: bool) -> None:
        """Save what save blocks hold now: those of one node, or all; with `wait` the files are there on return."""
        if compiled is None:
            self._outbox.put_event(error("outputs must come from a running patch, got one not built yet", node=node))
            return
        outputs = [o for o in read_outputs(compiled, self._device, folder=None, base=base, node=node) if o.path]
        writing = self._writer.submit(self._write, outputs, node)
        if wait:
            writing.result()

    def close(self) -> None:
        """Wait for what is being written."""
        self._writer.shutdown()

    def _write(self, outputs: Sequence[Output], node: str | None) -> None:
        for output in outputs:
            try:
                self._outbox.put_event(output.save())
            except PatchError as problem:
                self._outbox.put_event(error(str(problem), node=node or output.node))
