"""Steps: the value blocks of the running value graph, each with its outputs and what they drive."""

from __future__ import annotations

import math
from typing import Any

from engine.blocktypes.ports import ZEROS
from engine.blocktypes.value_blocks import Moment, ValueBlock
from engine.catalogue.block_errors import code_diagnostic
from engine.diagnostics import Diagnostic, PatchError, WarploomError, error
from engine.types.bits import same
from engine.values.listening import Listener
from engine.values.wiring import Drive

_CONVERT: dict[str, Any] = {"float": float, "int": int, "bool": bool}


class ValueOutput:
    """A value output: its last good value, and the parameters that it drives."""

    __slots__ = ("drives", "kind", "name", "value")

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind: type = _CONVERT[kind]
        self.value: float = ZEROS[kind]
        self.drives: tuple[Drive, ...] = ()


class ValueStep:
    """Runs one value block in each frame.

    When its code raises, that is `problem` for as long as it lasts, and the outputs keep their last values.
    """

    def __init__(self, block: ValueBlock) -> None:
        self.block = block
        self.outputs = [ValueOutput(spec.name, spec.type) for spec in block.value_outputs()]
        #: The source that the block needs, and the listener for it.
        self.source = ""
        self.listener: Listener | None = None
        #: Why the source may not be listened to.
        self.refused: Diagnostic | None = None
        self.problem: Diagnostic | None = None
        self._start_problem: Diagnostic | None = None
        self._settings_problem: Diagnostic | None = None
        self._has_run = False
        self._is_rewired = True

    def begin(self) -> None:
        """Have the block forget its past."""
        self._start_problem = None
        try:
            self.block.begin()
        except (Exception, SystemExit) as problem:  # noqa: BLE001 - a block's code may raise anything
            self._start_problem = failure(self.block, "start", problem)

    def check(self) -> None:
        """Have the block check its parameters; it runs only if they are valid."""
        self.source, self._settings_problem = read_settings(self.block)

    def rewire(self) -> None:
        """Pass on all outputs in the next run, changed or not, since they drive other parameters."""
        self._is_rewired = True

    def drive_again(self) -> None:
        """Pass on all outputs as they are."""
        if self._has_run:
            for output in self.outputs:
                for drive in output.drives:
                    drive.put(output.value)

    def run(self, now: Moment) -> bool:
        """Update the block and pass on its outputs; return whether its diagnostics have changed."""
        problem, changed = self._start_problem or self._settings_problem, False
        if problem is None:
            try:
                self.block.update(now)
                changed = self._pass_on()
            except (Exception, SystemExit) as raised:  # noqa: BLE001 - a block's code may raise anything
                problem = failure(self.block, "update", raised)
            else:
                self._has_run = True
                if self.refused is not None:
                    problem = self.refused
                elif self.listener is not None:
                    problem = self.listener.problem_at(self.block.node)
        if problem is not None:
            changed |= self._restore()
        self._is_rewired = False
        if problem == self.problem:
            return changed
        self.problem = problem
        return True

    def _pass_on(self) -> bool:
        attributes: dict[str, Any] = self.block.__dict__
        changed = False
        for output in self.outputs:
            value = attributes[output.name]
            is_as_declared = type(value) is output.kind
            if not is_as_declared:
                attributes[output.name] = _converted(output, value)
            elif not math.isfinite(value):
                raise PatchError(f"output {output.name} must be a finite number, got {value}")
        for output in self.outputs:  # once all of them are good
            value = attributes[output.name]
            if self._is_rewired or not same(value, output.value):
                output.value = value
                for drive in output.drives:
                    changed |= drive.put(value)
        return changed

    def _restore(self) -> bool:
        """Restore the last good values of the outputs, also in newly driven parameters."""
        changed = False
        for output in self.outputs:
            self.block.__dict__[output.name] = output.value
            if self._is_rewired and self._has_run:
                for drive in output.drives:
                    changed |= drive.put(output.value)
        return changed


def read_settings(block: ValueBlock) -> tuple[str, Diagnostic | None]:
    """Return the source that a value block needs, and what is wrong with its parameters, or None."""
    try:
        block.check()
        source: Any = block.source()
        if not isinstance(source, str):
            raise PatchError(f"source of {block.id} must be a text such as 'osc:127.0.0.1:9000', got {source!r}")
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - a block's code may raise anything
        return "", failure(block, "check", problem)
    return source, None


def failure(block: ValueBlock, method: str, problem: BaseException) -> Diagnostic:
    """Return an exception of a block's code as an error on its node, with the line."""
    if isinstance(problem, WarploomError):
        return error(str(problem), node=block.node)
    return code_diagnostic(problem, f"{method} of {block.id}", block.source_file(), block.node)


def _converted(output: ValueOutput, value: Any) -> float:
    """Return a value of another type as the declared one; PatchError when it isn't a finite number."""
    try:
        number = float(value)
        good = math.isfinite(number) and not isinstance(value, str)
    except (TypeError, ValueError, OverflowError):
        good = False
    if not good:
        raise PatchError(f"output {output.name} must be a finite number, got {value!r}")
    return round(number) if output.kind is int else output.kind(value)
