"""Steps: the value and live blocks of the value graph, each with its outputs and the parameters that these drive."""

import logging
import math
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from warploom.engine.blocktypes.block_types import is_ours
from warploom.engine.blocktypes.declarations import ZEROS
from warploom.engine.blocktypes.live_blocks import BETWEEN_UPDATES, LiveBlock
from warploom.engine.blocktypes.shared_device import LentMemory
from warploom.engine.blocktypes.updated_blocks import Moment, UpdatedBlock
from warploom.engine.catalogue.block_errors import code_diagnostic
from warploom.engine.diagnostics import Diagnostic, PatchError, cut, warning
from warploom.engine.types import Array
from warploom.engine.types.bits import same
from warploom.engine.user_code.limits import TookTooLong
from warploom.engine.user_code.runner import Call, CodeRunner
from warploom.engine.values.plain_data import dump_plain, load_plain
from warploom.engine.values.sources.listening import Listener
from warploom.engine.values.wiring import Drive

_log = logging.getLogger(__name__)
#: The attributes of a block that are no state.
_GIVEN = ("node", "values", "controls", "listener")
_CONVERT: dict[str, Any] = {"float": float, "int": int, "bool": bool}
#: The largest value of each type: messages to another process hold whole numbers of 64 bits.
_LARGEST: dict[str, float] = {"float": sys.float_info.max, "int": 2**63 - 1, "bool": 1}


class ValueOutput:
    """A value output: its last good value, and the parameters that it drives."""

    __slots__ = ("drives", "kind", "largest", "name", "value")

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind: type = _CONVERT[kind]
        self.largest = _LARGEST[kind]
        self.value: float = ZEROS[kind]
        self.drives: tuple[Drive, ...] = ()


class ValueStep:
    """Runs one value or live block in each frame.

    If the block's code raises, the error is `problem` until it runs again, and the outputs keep their last values. The
    outputs also keep them while the code takes longer than a frame waits.
    """

    def __init__(self, block: UpdatedBlock, code: CodeRunner) -> None:
        self.block = block
        self._live = block if isinstance(block, LiveBlock) else None
        #: The arrays that a live block has given, by buffer; the launch takes them.
        self.given: dict[str, Array | LentMemory] = {}
        self._code = code
        self._ours = is_ours(type(block))
        #: The error of an update that took too long. The code isn't run again until one of its parameters changes.
        self.gave_up: Diagnostic | None = None
        self.outputs = [ValueOutput(spec.name, spec.type) for spec in block.value_outputs()]
        #: The source that the block needs; below, the listener for it.
        self.source = ""
        self.listener: Listener | None = None
        #: The reason why the source may not be used.
        self.refused: Diagnostic | None = None
        self.problem: Diagnostic | None = None
        self._start_problem: Diagnostic | None = None
        self._settings_problem: Diagnostic | None = None
        self._has_run = False
        self._is_rewired = True
        #: The update that is running.
        self._call: Call[list[float], Diagnostic] | None = None

    def begin(self) -> None:
        """Reset the block's state, and the values of its outputs."""
        self._finish()
        self.given.clear()
        self.gave_up, self._has_run, self._is_rewired = None, False, True
        for output in self.outputs:
            output.value = ZEROS[output.kind.__name__]
        failed, at = partial(self._failed, "start"), (self.block.node, "start")
        found = self._code.run(self.block.begin, failed, ours=self._ours, at=at)
        self._start_problem = found if isinstance(found, Diagnostic) else None

    def check(self, patience_s: float) -> bool:
        """Let the block check its parameters; it runs only if they are valid.

        If a running update takes longer than `patience_s`, do nothing and return False.
        """
        if self._call is not None and self._call.result(patience_s) is None:
            return False
        self._call = None
        if self.gave_up is None:
            self.source, self._settings_problem = read_settings(self.block, self._code)
        return True

    def rewire(self) -> None:
        """Pass on all outputs in the next run, even unchanged ones, since they drive other parameters."""
        self._is_rewired = True

    def drive_again(self) -> None:
        """Pass on all outputs with their present values."""
        if self._has_run:
            for output in self.outputs:
                for drive in output.drives:
                    drive.put(output.value)

    def run(self, now: Moment, patience_s: float) -> bool:
        """Update the block and pass on its outputs. Return whether its diagnostics have changed.

        An update that takes longer than `patience_s` continues while frames run, and a later run passes on its outputs.
        """
        problem, changed = self.gave_up or self._start_problem or self._settings_problem, False
        if problem is None:
            if self._ours:
                values = self._code.run(partial(self._updated, now), partial(self._failed, "update"), ours=True)
            else:
                if self._call is None:
                    failed, at = partial(self._failed, "update"), (self.block.node, "update")
                    self._call = self._code.begin(partial(self._updated, now), failed, at)
                elif patience_s < math.inf:
                    patience_s = 0  # an earlier step has used up this frame's share
                result = self._call.result(patience_s)
                if result is None:
                    if self._is_rewired:
                        self.drive_again()
                    return False
                values, self._call = result, None
            given = self._live.take_given() if self._live is not None else {}
            if isinstance(values, Diagnostic):
                problem = values
            else:
                self.given |= given
                changed = self._pass_on(values)
                self._has_run = True
                problem = self.refused
                if problem is None and self.listener is not None:
                    problem = self.listener.problem_at(self.block.node)
                if problem is None and self._live is not None:
                    problem = _notice(self._live)
        if problem is not None:
            changed |= self._restore()
        self._is_rewired = False
        if problem == self.problem:
            return changed
        self.problem = problem
        return True

    @property
    def has_state(self) -> bool:
        """True if the outputs of a frame may depend on earlier ones."""
        if self._live is not None:
            return bool(self._live.saved)
        return type(self.block).start is not UpdatedBlock.start or self.block.has_elapsed

    @property
    def is_computing(self) -> bool:
        """True while an update runs, for longer than a frame waits."""
        return self._call is not None

    def dump(self) -> str:
        """Return the block's state and outputs as text. Raise PatchError if they are not plain data."""
        self._finish()
        attributes, found = self.block.__dict__, {}
        names = [name for name in attributes if name not in _GIVEN and name not in self.block.derived]
        if self._live is not None:
            names = [*(output.name for output in self.outputs), *self._live.saved, *BETWEEN_UPDATES]
        for name in names:
            try:
                found[name] = dump_plain(attributes[name])
            except TypeError as problem:
                raise PatchError(
                    f"state of {self.block.node} must be plain data to be saved, got a {problem} in {name}"
                ) from None
        return dump_plain(found)

    def load(self, text: str) -> None:
        """Go on from a state, unless the block has other outputs now."""
        self._finish()
        found = load_plain(text)
        if not all(output.name in found for output in self.outputs):
            return
        for name, value in found.items():
            self.block.__dict__[name] = load_plain(value)
        for output in self.outputs:
            output.value = self.block.__dict__[output.name]
        self._has_run = self._is_rewired = True

    def close(self) -> None:
        """Abandon a running update, and end a live block's life."""
        if self._call is not None:
            self._call.abandon()
        if self._live is not None:
            failed, at = partial(self._failed, "close"), (self.block.node, "close")
            found = self._code.run(self._live.end, failed, ours=self._ours, at=at)
            if isinstance(found, Diagnostic):
                _log.error("%s: %s", found.node, found.message)

    def _finish(self) -> None:
        """Wait for a running update, and ignore its outputs."""
        call, self._call = self._call, None
        if call is not None:
            call.result()

    def _failed(self, method: str, problem: BaseException) -> Diagnostic:
        told = failure(self.block, method, problem)
        if isinstance(problem, TookTooLong):
            self.gave_up = told
        return told

    def _updated(self, now: Moment) -> list[float]:
        """Update the block and return its outputs' values. Raise PatchError when one is no number of its type."""
        if self._live is not None:
            self._live.receive()
        self.block.update(now)
        attributes: dict[str, Any] = self.block.__dict__
        for output in self.outputs:
            value = attributes[output.name]
            if type(value) is not output.kind:
                value = attributes[output.name] = _converted(output, value)
            if not -output.largest <= value <= output.largest:
                kind = "whole number of 64 bits" if output.kind is int else "finite number"
                raise PatchError(f"output {output.name} must be a {kind}, got {cut(str(value), 80)}")
        return [attributes[output.name] for output in self.outputs]

    def _pass_on(self, values: Sequence[float]) -> bool:
        changed = False
        for output, value in zip(self.outputs, values, strict=True):
            if self._is_rewired or not same(value, output.value):
                output.value = value
                for drive in output.drives:
                    changed |= drive.put(value)
        return changed

    def _restore(self) -> bool:
        """Restore the last good values of the outputs, even in newly driven parameters."""
        changed = False
        for output in self.outputs:
            self.block.__dict__[output.name] = output.value
            if self._is_rewired and self._has_run:
                for drive in output.drives:
                    changed |= drive.put(output.value)
        return changed


def _notice(block: LiveBlock) -> Diagnostic | None:
    """Return the warning of a live block, or None."""
    if block.notice:
        return warning(block.notice, node=block.node)
    if block.missed:
        text = f"contents of each frame must be taken in time, got {block.missed} that were dropped"
        return warning(text, node=block.node, remedy="take less of them: smaller buffers, or fewer frames a second")
    return None


def read_settings(block: UpdatedBlock, code: CodeRunner) -> tuple[str, Diagnostic | None]:
    """Return the source that a block needs, and the error in its parameters, or None."""

    def read() -> str:
        block.check()
        source: Any = block.source()
        if not isinstance(source, str):
            raise PatchError(f"source of {block.id} must be a text such as 'osc:127.0.0.1:9000', got {source!r}")
        return source

    failed, at = partial(failure, block, "check"), (block.node, "check")
    found = code.run(read, failed, ours=is_ours(type(block)), at=at)
    return ("", found) if isinstance(found, Diagnostic) else (found, None)


def failure(block: UpdatedBlock, method: str, problem: BaseException) -> Diagnostic:
    """Return an exception in a block's code as an error on its node, with the line."""
    return code_diagnostic(problem, f"{method} of {block.id}", block.source_file(), block.node)


def _converted(output: ValueOutput, value: Any) -> float:
    """Return a value converted to the declared type. Raise PatchError when it isn't a finite number."""
    try:
        number = float(value)
        good = math.isfinite(number) and not isinstance(value, str)
    except (TypeError, ValueError, OverflowError):
        good = False
    if not good:
        raise PatchError(f"output {output.name} must be a finite number, got {value!r}")
    return round(number) if output.kind is int else output.kind(value)
