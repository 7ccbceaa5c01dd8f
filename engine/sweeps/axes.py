"""Axes: the parameters that a sweep varies, with their values as texts of a command line or as Python values."""

import glob
import math
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from warploom.engine.blocktypes.parameters import ParameterSpec, parse_text
from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import PatchError, cut
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch

#: The most values of an axis, and the most runs of a sweep.
MOST_RUNS = 1_000_000
#: How far, in steps, the end of a range may lie beyond a value that counts as the end.
_NEAR = Fraction(1, 10**6)

Value = bool | int | float | str


class Axis(NamedTuple):
    """The values that a sweep gives to one parameter, "NODE.PARAM"."""

    target: str
    values: tuple[Value, ...]


def grid_axis(patch: Patch, target: str, values: object) -> Axis:
    """Return the axis of a parameter.

    `values` is a text, which is a range `start:stop:step` or values with commas between them, or a sequence of Python
    values. Raise PatchError if there is no such parameter or a value doesn't fit it.
    """
    spec = parameter_of(patch, target)
    try:
        if not isinstance(values, str):
            given = list(values) if isinstance(values, Iterable) else [values]
            found = [spec.coerce(value) for value in given]
        elif ":" in values and spec.type in ("float", "int"):
            found = [_number(spec, value) for value in range_values(values)]
        else:
            found = [parse_text(spec, text.strip()) for text in values.split(",")]
    except PatchError as problem:
        raise PatchError(f"values of {target}: {problem}") from problem
    if not found:
        raise PatchError(f"values of {target} must be one or more, got none")
    return Axis(target, tuple(dict.fromkeys(found)))


def files_axis(patch: Patch, target: str, pattern: str) -> Axis:
    """Return the axis of a parameter that names a file, over the files that match a pattern, sorted by name.

    A relative pattern starts at the current folder; `**` stands for all folders below. Raise PatchError if no file
    matches.
    """
    spec = parameter_of(patch, target)
    if spec.type != "path":
        raise PatchError(f"files of {target} must be for a parameter that names a file, got one of type {spec.type}")
    if not isinstance(pattern, str):
        raise PatchError(f"files of {target} must be a pattern, got {shown(pattern)}")
    matches = glob.glob(pattern, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
    found = sorted(path for path in matches if Path(path).is_file())
    if not found:
        place = "" if Path(pattern).is_absolute() else f" in {Path.cwd()}"
        raise PatchError(f"files of {target} must match {cut(pattern, 300)!r}, got none{place}")
    return Axis(target, tuple(str(Path(path).absolute()) for path in found))


def range_values(text: str) -> list[Fraction]:
    """Return the numbers of `start:stop:step`; the step is 1 if it is left out.

    The end is included where a step hits it within rounding. The numbers are exact, so 0:1:0.1 has 0.3.
    """
    parts = text.split(":")
    try:
        start, stop, step = map(Fraction, parts if len(parts) == 3 else [*parts, "1"])
    except (ValueError, ZeroDivisionError):
        raise PatchError(f"range must be start:stop:step with finite numbers, got {shown(text)}") from None
    if step == 0:
        raise PatchError(f"range must have a step other than 0, got {shown(text)}, which never ends")
    count = math.floor((stop - start) / step + _NEAR)
    if count < 0:
        raise PatchError(f"range must have a step that leads from its start to its end, got {shown(text)}")
    if count >= MOST_RUNS:
        raise PatchError(f"range must have at most {MOST_RUNS:,} values, got {shown(text)}")
    nearest = min if step > 0 else max
    return [nearest(start + number * step, stop) for number in range(count + 1)]


def parameter_of(patch: Patch, target: str) -> ParameterSpec:
    """Return the parameter "NODE.PARAM". Raise PatchError if there is none, or runs can't set it."""
    node, dot, name = target.partition(".")
    if not dot:
        raise PatchError(f"parameter must be NODE.PARAM, got {shown(target)}")
    try:
        spec = patch.parameter(node, name)
    except PatchError as problem:
        raise PatchError(f"parameter {cut(target, 200)}: {problem}") from problem
    if spec.type in ("array", "external", "object"):
        raise PatchError(f"parameter {target} must be a number, switch, text or file, got one of type {spec.type}")
    source = patch.source_of(PortRef(node, spec.name))
    if source is not None:
        raise PatchError(f"parameter {target} must not be driven, got a connection from {source}: delete it first")
    if spec.name in patch.nodes[node].curves:
        raise PatchError(f"parameter {target} must not be animated, got keys: delete them first")
    return spec


def _number(spec: ParameterSpec, value: Fraction) -> Any:
    return spec.coerce(int(value) if value.denominator == 1 else float(value))
