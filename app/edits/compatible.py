"""The connection that a drag would make, and the best end of a block type for it; the patch has the rules."""

import math
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from warploom.engine.blocktypes.adaptive import adapted
from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.block_types import is_ours
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.blocktypes.updated_blocks import UpdatedBlock
from warploom.engine.catalogue.block_errors import code_diagnostic
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import PatchError
from warploom.engine.kernel_blocks.graph_block import ComputeBlock
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.rules import End, ends_of, fits, is_target
from warploom.engine.types import NAMED, f32
from warploom.engine.user_code.runner import CodeRunner

#: The block that computes a formula of inputs of any type.
EXPRESSION = "kernel.expression"

#: Bounds so many times as far apart as a parameter's value say nothing about its usual values.
_ENORMOUS = 1000


def refusal(patch: Patch, start: PortRef, end: PortRef) -> str | None:
    """Return why a connection dragged from `start` to `end` is refused; None when it is allowed."""
    try:
        patch.check_connection(*ends(patch, start, end))
    except PatchError as problem:
        return str(problem)
    return None


def ends(patch: Patch, start: PortRef, end: PortRef) -> tuple[PortRef, PortRef]:
    """Return (source, target) of a connection dragged from `start`, which may be either."""
    spec = patch.find_end(start)
    return (end, start) if spec is not None and is_target(spec) else (start, end)


def best_end(block_type: type[Block], other: End) -> End | None:
    """Return the port, value output or parameter of a block type that `other` connects to best, or None.

    The same type is better than any type or a converted one, and a required input is better than an optional one.
    """
    fitting = (spec for spec in ends_of(block_type) if fits(spec, other))
    return min(fitting, key=lambda spec: _preference(spec, other), default=None)


def reading(block_type: type[Block], source: End | None) -> dict[str, Any]:
    """Return parameter values with which a new node reads the elements of `source`; {} if its inputs are given."""
    if block_type.id != EXPRESSION or not isinstance(source, PortSpec) or source.is_input:
        return {}
    is_usual = source.dtype == f32 or str(source.dtype) not in NAMED
    return {} if is_usual else {"reads": f"x: {source.dtype}"}


def _as_new(block_type: type[Block], source: End | None) -> type[Block]:
    """Return the type that a new node would have, whose ports may follow from its formula or op graph."""
    if not issubclass(block_type, ComputeBlock):
        return block_type
    return adapted(block_type, reading(block_type, source), Path, trusted=False).block_type


def fitting_types(
    found: list[type[Block]],
    spec: End,
    uses: Callable[[type[Block]], int] = lambda _: 0,
    source: End | None = None,
) -> list[type[Block]]:
    """Return the block types that have an end for `spec`; those that accept any type, or convert it, come last.

    `source` is what the new block will read, if that isn't `spec`.

    For a value, value blocks come first, although it could drive a parameter of nearly any block. Of those that fit
    equally well, the ones with most `uses` come first.
    """
    ends = [(block_type, best_end(_as_new(block_type, source or spec), spec)) for block_type in found]
    fitting = [
        (
            block_type,
            (
                not isinstance(spec, PortSpec) and not block_type.is_value,
                _preference(end, spec)[0],
                -uses(block_type),
            ),
        )
        for block_type, end in ends
        if end is not None
    ]
    return [block_type for block_type, _ in sorted(fitting, key=lambda pair: pair[1])]


def spanning(block_type: type[Block], parameter: ParameterSpec, value: float) -> dict[str, Any]:
    """Return parameter values with which a value block keeps to the range of the parameter that it will drive.

    Without bounds, or if they are a thousand times as far apart as the value and 1, the range is from 0 to twice the
    value, or from -1 to 1 if the value is 0. A PatchError reports an error in the block's code.
    """
    if not issubclass(block_type, UpdatedBlock):
        return {}
    low = -math.inf if parameter.minimum is None else parameter.minimum
    high = math.inf if parameter.maximum is None else parameter.maximum
    if high - low > _ENORMOUS * max(abs(value), 1.0):
        reach = abs(value) or 1.0
        low, high = max(float(value) - reach, low), min(float(value) + reach, high)
    if parameter.type == "bool":
        low, high, value = 0.0, 1.0, 0.5  # so that even a small swing switches it

    def ask() -> dict[str, Any]:
        found = block_type.spanning(low, high, float(value))
        return {name: _within(block_type.parameter(name), number) for name, number in found.items()}

    def failed(problem: BaseException) -> dict[str, Any]:
        diagnostic = code_diagnostic(problem, f"spanning of {block_type.id}", block_type.source_file())
        raise PatchError(f"{diagnostic.message}; {diagnostic.remedy}")

    is_safe = is_ours(block_type) or block_type.apart is not None
    with closing(CodeRunner()) as code:  # so that the block's code can't block the editor
        return code.run(ask, failed, ours=is_safe)


def _preference(spec: End, other: End) -> tuple[bool, bool]:
    if isinstance(spec, PortSpec):
        return spec.dtype.kind == "any", spec.optional
    return (spec.type == "bool") != (not isinstance(other, PortSpec) and other.type == "bool"), False


def _within(spec: ParameterSpec, number: float) -> float:
    number = number if spec.minimum is None else max(number, spec.minimum)
    return number if spec.maximum is None else min(number, spec.maximum)
