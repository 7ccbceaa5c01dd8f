"""Parameters: the values that a person sets on a block.

A *live* parameter is passed to kernels as a scalar, so changing it is one write into an argument block (HOT). A
*structural* parameter takes part in the description (a shape, a file), so changing it describes the block again.
"""

import inspect
import json
import math
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from warploom.engine.blocktypes.found_files import found_file
from warploom.engine.descriptions.checks import shown
from warploom.engine.device.device import Buffer
from warploom.engine.diagnostics import PatchError
from warploom.engine.platforms.paths import path_of, portable
from warploom.engine.types import SCALARS, number_range
from warploom.engine.types.arrays import is_masked


class UserArray:
    """An array of any library whose memory a patch uses without a copy; with None, there is no array. It equals only
    itself.
    """

    # Not a dataclass: msgspec would encode its fields, and so the memory.
    __slots__ = ("array",)

    def __init__(self, array: object = None) -> None:
        self.array = array

    def __repr__(self) -> str:
        return f"UserArray({self.array!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UserArray) and self.array is other.array

    def __hash__(self) -> int:
        return id(self.array)


#: The most characters of a text, such as a kernel in CUDA C++. A window that lays out megabytes stands still.
MOST_TEXT = 1_000_000
#: The deepest nesting of a patch's lists and objects, far below Python's limit of recursion.
MOST_DEPTH = 100
TYPES: dict[Any, str] = {
    float: "float",
    int: "int",
    bool: "bool",
    str: "str",
    Path: "path",
    np.ndarray: "array",
    UserArray: "external",
    dict: "object",
}


#: The range of numbers in kernels, by the names of their types.
_RANGES = {dtype.__name__: number_range(dtype) for dtype in SCALARS if dtype.kind in ("integer", "float")}
_DRIVEN: dict[str, tuple[float, float]] = {
    "float": (-3.4028234663852886e38, 3.4028234663852886e38),
    "int": (-(2**31), 2**31 - 1),
    "bool": (False, True),
}


def shown_number(number: float) -> str:
    """Return a bound as messages show it: whole numbers with all their digits."""
    return str(number) if isinstance(number, int) else f"{number:.15g}"


class ParameterSpec(msgspec.Struct, frozen=True, dict=True):
    """A parameter as its block type declares it; `type` is float, int, bool, str, path, array, external or object.

    `files` describes what a path parameter names: "open image", "save image" or "". `language` is that of a text of
    several lines, such as "cuda"; "" for a line of text. A parameter that `can_be_constant` belongs to a kernel; a
    person can have its value compiled into the kernel, and it is then structural. `number` names the element type in
    which a kernel takes it, such as "s16", and limits its values; `minimum` and `maximum` are the range that a person
    sees. For a `fresh` whole number, such as a seed, each new node gets a value that no other node of the patch has.
    When a boolean that `restarts` becomes true, the node's state begins again. A parameter that `offers` values lists
    them by `Block.offered`. `vector` is the name of the vector that a component belongs to
    (`engine.blocktypes.vector_parameters`).
    """

    name: str
    type: str
    default: Any
    doc: str
    minimum: float | None = None
    maximum: float | None = None
    unit: str = ""
    choices: tuple[str, ...] = ()
    structural: bool = False
    files: str = ""
    replaces: tuple[str, ...] = ()
    language: str = ""
    can_be_constant: bool = False
    number: str = ""
    fresh: bool = False
    restarts: bool = False
    offers: bool = False
    vector: str = ""

    @cached_property
    def bounds(self) -> tuple[float | None, float | None]:
        """The least and the greatest allowed value; None where there is no such bound."""
        low, high = _RANGES.get(self.number, (None, None))
        return low if self.minimum is None else self.minimum, high if self.maximum is None else self.maximum

    @property
    def driven_range(self) -> tuple[float, float]:
        """The least and the greatest value that a connection or keys give the parameter.

        Without bounds of its own, this is the range of f32 and s32, so that kernels can take every value.
        """
        low, high = self.bounds
        least, most = _DRIVEN[self.type]
        return least if low is None else low, most if high is None else high

    @property
    def is_constant(self) -> bool:
        """True when the value is known when the kernel is compiled."""
        return self.can_be_constant and self.structural

    @property
    def is_size(self) -> bool:
        """True when shape rules may name it."""
        return self.structural and self.type == "int" and not self.can_be_constant

    def coerce(self, value: Any) -> Any:
        """Return `value` as this parameter's type. Raise PatchError, which states the rule, if it doesn't fit."""
        try:
            converted: Any = _CONVERT[self.type](value)
        except Exception:  # noqa: BLE001 - a value of another type may raise anything
            converted = None
        low, high = self.bounds
        if converted is None:
            rule = _MUST_BE[self.type]
        elif isinstance(converted, str) and len(converted) > MOST_TEXT:
            rule = f"at most {MOST_TEXT:,} characters long"
        elif self.choices and converted not in self.choices:
            rule = f"one of {', '.join(self.choices)}"
        elif self.type == "int" and not -(2**63) <= converted < 2**64:  # a message's integers
            rule = "a whole number of at most 64 bits"
        elif low is not None and converted < low:
            rule = f"at least {shown_number(low)}"
        elif high is not None and converted > high:
            rule = f"at most {shown_number(high)}"
        else:
            return converted
        raise PatchError(f"parameter {self.name} must be {rule}, got {shown(value)}")


def given(spec: ParameterSpec, patch_values: Mapping[str, Any], folder: Callable[[], Path]) -> Any:
    """Return the value of a parameter, given a node's values in the patch by name. Raise PatchError if it doesn't fit.

    A value under a former name counts too; if there is none, return the default. A path of a file that is read starts
    at `folder()`, see `found_file`.
    """
    called = spec.name
    if called not in patch_values and spec.replaces:
        called = next((old for old in spec.replaces if old in patch_values), called)
    value = patch_values.get(called, spec.default)
    if spec.files and spec.files.startswith("open") and isinstance(value, str) and value:
        value = str(found_file(folder(), value))
    elif spec.files and isinstance(value, str):
        value = str(path_of(value)).replace("\\", "/") if value else value  # a person with Windows may have typed it
    return spec.coerce(value)


def _to_float(value: Any) -> float | None:
    if isinstance(value, (bool, str)):
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def _to_int(value: Any) -> int | None:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)  # a float would change numbers above 2**53
    number = _to_float(value)
    return int(number) if number is not None and number.is_integer() else None


def _to_text(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    value.encode()  # raises for half a surrogate pair, which no message to another process can hold
    return str.__str__(value)


def _to_path(value: Any) -> str | None:
    text = _to_text(value)
    return None if text is None else portable(text)


def is_stored(dtype: np.dtype[Any]) -> bool:
    """Return whether a patch can hold arrays of this type: numbers of at most 64 bits, and complex ones of two."""
    return dtype.kind in "biufc" and dtype.itemsize <= (16 if dtype.kind == "c" else 8)


def _to_array(value: Any) -> np.ndarray[Any, Any] | None:
    array = np.asarray(value)  # raises ValueError for rows of different lengths
    if not is_stored(array.dtype) or not array.size or is_masked(value):
        return None
    if array.dtype.kind == "b" and array.view(np.uint8).max() > 1:
        return None
    flags = array.flags
    if flags.writeable or array.base is not None or not flags.c_contiguous or not array.dtype.isnative:
        # The caller may change the array later, but the patch's contents must only change by an edit.
        array = np.array(array, array.dtype.newbyteorder("="), order="C")
        array.flags.writeable = False
    return array


#: The interfaces by which arrays share memory, in the order in which `engine.device.external` tries them.
_INTERFACES = ("__array_interface__", "__cuda_array_interface__", "__dlpack__")


def _to_external(value: Any) -> UserArray | None:
    if isinstance(value, UserArray):
        return value
    if isinstance(value, Buffer):
        return UserArray(value)
    # Looked up without running the array's code, which may raise; errors are reported when the array is used.
    shares = value is None or any(inspect.getattr_static(value, name, None) is not None for name in _INTERFACES)
    return UserArray(value) if shares else None


def _to_object(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    plain: dict[str, Any] = json.loads(json.dumps(value, allow_nan=False))  # raises TypeError and ValueError
    check_depth(plain, MOST_DEPTH)
    return plain


def check_depth(value: Any, most: int) -> None:
    """Raise RecursionError if lists and objects of JSON are nested more than `most` levels deep."""
    level = [value]
    for _ in range(most):
        inner = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [item for items in inner for item in items if isinstance(item, dict | list)]
        if not level:
            return
    raise RecursionError


_CONVERT = {
    "float": _to_float,
    "int": _to_int,
    "bool": lambda value: bool(value) if isinstance(value, (bool, np.bool_)) else None,
    "str": _to_text,
    "path": lambda value: _to_path(str(value) if isinstance(value, Path) else value),
    "array": _to_array,
    "external": _to_external,
    "object": _to_object,
}
_MUST_BE = {
    "float": "a finite number",
    "int": "a whole number",
    "bool": "true or false",
    "str": "text",
    "path": "a file path",
    "array": "a non-empty array of numbers of at most 64 bits with no masked elements",
    "object": f"a JSON object of at most {MOST_DEPTH} levels",
    "external": f"an array that has one of {', '.join(_INTERFACES)}",
}


def parse_text(spec: ParameterSpec, text: str) -> Any:
    """Return the value a person typed for this parameter (command line, inspector).

    Raise PatchError if the text does not denote such a value.
    """
    if spec.type == "bool" and text.lower() in ("true", "false", "1", "0", "on", "off"):
        return text.lower() in ("true", "1", "on")
    if spec.type in ("float", "int"):
        try:
            return spec.coerce(float(text) if spec.type == "float" else _number(text))
        except (ValueError, OverflowError) as problem:
            raise PatchError(f"parameter {spec.name} must be {_MUST_BE[spec.type]}, got {text!r}") from problem
    if spec.type in ("array", "external", "object"):
        raise PatchError(f"parameter {spec.name} must be set from Python, got text")
    return spec.coerce(text)


def _number(text: str) -> int | float:
    try:
        return int(text)  # exact for any number of digits
    except ValueError:
        number = float(text)
        return int(number) if number.is_integer() else number
