"""`Trials`: has the code before and the code now run on the inputs that a block has at present."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, Signal

from warploom.app.docks.dock import Editor
from warploom.app.view_models.code.places import CodePlace
from warploom.app.view_models.code.trial import Outcome, Trial, run_trial
from warploom.engine.blocktypes.block_types import is_ours
from warploom.engine.diagnostics import WarploomError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import FrameReport


@dataclass(frozen=True)
class Versions:
    """A place of code with two texts."""

    place: CodePlace
    before: str
    now: str


class Trials(QObject):
    """Captures a block's inputs, and runs it with two versions of its code, one after the other, on another thread."""

    #: The outcomes of the versions before and now.
    finished = Signal(Outcome, Outcome)
    #: Why there can be no trial.
    refused = Signal(str)

    def __init__(self, editor: Editor, parent: QObject) -> None:
        super().__init__(parent)
        self._editor = editor
        self._report: FrameReport | None = None
        self.is_running = False
        editor.bridge.report.connect(self._keep)

    def _keep(self, report: FrameReport) -> None:
        self._report = report

    def start(self, node: str | None, versions: Versions) -> bool:
        """Run both versions of a node's code. Return False, with `refused`, if that is not possible."""
        patch, client = self._editor.session.patch, self._editor.session.engine
        if patch is None or client is None or node is None or node not in patch.nodes:
            self.refused.emit("Select the block whose code is to be compared, and let the engine run")
            return False
        if self.is_running:
            return False
        try:
            read = self._reads(patch, node)
            make = self._maker(patch, node, versions.place)
        except WarploomError as problem:
            self.refused.emit(str(problem))
            return False
        self.is_running = True

        def work() -> list[Outcome]:
            try:
                inputs = {name: (kind, np.asarray(client.read(port))) for name, (kind, port) in read[0].items()}
                driven = {name: client.read(port).item() for name, port in read[1].items()}
                trial = make(inputs, driven)
                return [run_trial(trial, text) for text in (versions.before, versions.now)]
            except WarploomError as problem:
                return [Outcome(problem=str(problem))] * 2

        cancelled = [Outcome(problem="the comparison was cancelled")] * 2
        self._editor.beside.run("Comparing the two versions …", work, self._finish, lambda: self._finish(cancelled))
        return True

    def _finish(self, found: list[Outcome] | None) -> None:
        self.is_running = False
        before, now = found or [Outcome(problem="the block could not be run; the log has the reason")] * 2
        self.finished.emit(before, now)

    def _reads(self, patch: Patch, node: str) -> tuple[dict[str, tuple[str, PortRef]], dict[str, PortRef]]:
        """Return what to read for each connected input, with its element type, and for each driven parameter."""
        block_type, inputs = patch.block_type(node), dict[str, tuple[str, PortRef]]()
        assert block_type is not None
        buffers = self._report.buffers if self._report is not None else {}
        for spec in block_type.inputs():
            source = patch.source_of(PortRef(node, spec.name))
            if source is not None:
                known = buffers.get(str(source))
                inputs[spec.name] = (str(known.dtype if known is not None else spec.dtype), source)
        names = [name for name in block_type.parameters if patch.source_of(PortRef(node, name)) is not None]
        return inputs, {name: PortRef(node, name) for name in names}

    def _maker(self, patch: Patch, node: str, place: CodePlace) -> Callable[[Any, Any], Trial]:
        """Return a function that makes the trial of the captured inputs and driven values."""
        block_type = patch.block_type(node)
        assert block_type is not None
        values = dict(patch.nodes[node].parameters)
        own = block_type.source_file()
        is_beside = not is_ours(block_type) and own is not None
        blocks = self._editor.session.blocks if is_beside else None
        if place.file and blocks is not None and not place.path.is_relative_to(blocks):
            raise WarploomError(f"{place.path.name} must lie in the folder of blocks {blocks} to be compared")
        outputs = tuple(port.name for port in block_type.outputs())
        client = self._editor.session.engine
        device = client.info.name if client is not None else "auto"
        file = place.path if place.file else None
        type_id = patch.nodes[node].type
        return lambda inputs, driven: Trial(
            type_id, {**values, **driven}, inputs, outputs, device, file, place.parameter, blocks
        )
