"""Rewriting of whole functions."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace

from engine.device.host.translate.lowering.lockstep import generic_functions, in_lockstep
from engine.device.host.translate.lowering.parameters import with_own_parameters
from engine.device.host.translate.lowering.spins import racy_functions, with_yields
from engine.device.host.translate.lowering.writer import LOWERED, Writer
from engine.diagnostics import KernelError
from engine.ptx.tree import Function, Guard, Label


def lowered(functions: Mapping[str, Function]) -> dict[str, Function]:
    """Return functions in which nothing is left that a table of this package rewrites, and spin loops yield."""
    racy, generic = racy_functions(functions), generic_functions(functions)
    return {name: _lowered(function, racy, generic=name in generic) for name, function in functions.items()}


def _lowered(function: Function, racy: Set[str], *, generic: bool) -> Function:
    if function.body is None:
        return function
    if max(function.directives.get("reqnctapercluster", ()), default=1) > 1:
        raise KernelError(
            f"PTX line {function.line}: kernel {function.name} must run in clusters of one thread block on the host "
            "device; use global memory between thread blocks",
            line=function.line,
        )
    function = with_own_parameters(function)
    writer = Writer(dict(function.registers))
    for item in function.body or ():
        lower = None if isinstance(item, Label) else LOWERED.get(item.opcode)
        if lower is None or isinstance(item, Label):
            writer.done.append(item)
            continue
        writer.begin(item)
        after = writer.label("after")
        if item.guard is not None:
            writer.jump(after, Guard(item.guard.register, not item.guard.negated))
        lower(writer, replace(item, guard=None))
        if item.guard is not None:
            writer.place(after)
    rewritten = replace(
        function,
        body=(*writer.prologue, *writer.done),
        registers=writer.registers,
        variables=(*function.variables, *writer.variables),
    )
    return with_yields(in_lockstep(rewritten, generic=generic), racy)
