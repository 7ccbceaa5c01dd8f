"""Ports: the typed inputs and outputs that a block type declares, and the handles its `describe` works with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, overload

from engine.blocktypes.extents import Extent
from engine.types import DType

T = TypeVar("T")


@dataclass(frozen=True)
class BufferHandle:
    """A buffer as `describe` sees it: a name, and extents that are known once shapes are."""

    name: str

    @property
    def size(self) -> Extent:
        """Number of elements."""
        return Extent(f"{self.name}.size")

    def dim(self, axis: int) -> Extent:
        """Size of one dimension."""
        return Extent(f"{self.name}.dim{axis}")

    def stride(self, axis: int) -> Extent:
        """Distance of neighbours along one dimension, in elements."""
        return Extent(f"{self.name}.stride{axis}")

    def last(self, axis: int) -> Extent:
        """Size of a dimension that is counted from the last one backwards; 1 when there is none."""
        return Extent(f"{self.name}.last{axis}")

    def last_stride(self, axis: int) -> Extent:
        """Distance of neighbours along such a dimension, in elements; 0 when there is none."""
        return Extent(f"{self.name}.laststride{axis}")


class In(BufferHandle, Generic[T]):
    """An input port of element type T; the block reads it (and changes it, when an output is `inplace` on it)."""


class Out(BufferHandle, Generic[T]):
    """An output port of element type T; the block writes it."""

    @property
    def counter(self) -> BufferHandle:
        """The counter that kernels add to for each element that wants a place in an append buffer: one u32."""
        return BufferHandle(counter_name(self.name))


def count_name(append: str) -> str:
    """Name of the output port that holds how many elements an append buffer has."""
    return f"{append}_count"


def counter_name(append: str) -> str:
    """Name of the internal buffer that holds how many elements wanted a place in an append buffer."""
    return f"{append}_counter"


@dataclass(frozen=True)
class PortSpec:
    """A port as its block type declares it.

    `dtype` may be `any_type`; `dtype_rule` then says what it becomes ("same(x)", "data", "view", or "given" by the
    block), or what an input must be ("same(x)", or "number" for single real numbers and booleans). `inplace` names the
    input whose memory an output continues to use. A `state` output keeps its contents from frame to frame.

    A `strided` input takes layouts that are not contiguous; a `delayed` one is not needed in the frame in which it is
    written, so what is connected to it may come later. `default` is what an output holds when the region it lies in
    is skipped, None when it must not leave its region. An `append` output has its count in a port of its own.
    An optional input that is `advised` is mentioned by a check of the patch while nothing is connected to it.
    """

    name: str
    direction: str  # "in" or "out"
    dtype: DType
    doc: str
    shape: str
    rank: int | None = None
    optional: bool = False
    inplace: str | None = None
    state: bool = False
    dtype_rule: str | None = None
    strided: bool = False
    delayed: bool = False
    default: float | None = 0.0
    append: bool = False
    advised: bool = True

    @property
    def is_input(self) -> bool:
        """True for an input port."""
        return self.direction == "in"


@dataclass
class PortDeclaration:
    """What `port(...)` returns: the class attribute that becomes a `PortSpec` and, on a block, a handle."""

    arguments: dict[str, Any]
    name: str = ""
    handle: type[BufferHandle] = field(default=BufferHandle)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type) -> Any:
        return self if instance is None else self.handle(self.name)


def port(
    *,
    doc: str,
    shape: str = "same",
    rank: int | None = None,
    optional: bool = False,
    inplace: str | None = None,
    state: bool = False,
    dtype: str | None = None,
    strided: bool = False,
    delayed: bool = False,
    default: float | None = 0.0,
    append: bool = False,
    advised: bool = True,
) -> Any:
    """Declare a port; the annotation gives its direction and element type.

    `shape` is an output's shape rule, or the shape an input must have ("same", the default, asks for none); `rank` is
    the number of dimensions an input must have, or an output always has; `optional` lets an input stay unconnected,
    which a check of the patch mentions unless `advised` is False; `inplace` names the input whose memory an output
    takes over; a `state` output survives from frame to frame and over rebuilds; `dtype` is the rule for a port of
    `any_type`: "same(port)", "data", "view" or "given" for an output, "same(port)" or "number" (a single real number
    or boolean) for an input.

    `strided` says that the kernels take an input's strides (`self.x.stride(0)`); `delayed` that an input is not needed
    before the next frame; `default` is what an output holds when its region is skipped, None when nothing makes sense;
    an `append` output is filled from the front, and its count is the output `<name>_count` (`self.out.counter`).
    """
    return PortDeclaration(
        {
            "doc": doc,
            "shape": shape,
            "rank": rank,
            "optional": optional,
            "inplace": inplace,
            "state": state,
            "dtype_rule": dtype,
            "strided": strided,
            "delayed": delayed,
            "advised": advised,
            "default": default,
            "append": append,
        }
    )


# Value outputs: the numbers that a value block gives out, as its type declares them.


Number = TypeVar("Number", float, int, bool)

#: What an output holds before its block has run, by the names of the types that it may have.
ZEROS: dict[str, float | int | bool] = {"float": 0.0, "int": 0, "bool": False}


@dataclass(frozen=True)
class ValueSpec:
    """A value output as its block type declares it; `type` is float, int or bool."""

    name: str
    type: str
    doc: str
    unit: str = ""


class Value(Generic[Number]):
    """A value output of type Number: on a block it reads as what the block's `update` last set it to."""

    def __init__(self, doc: str, unit: str) -> None:
        self.doc = doc
        self.unit = unit
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Value[Number]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Number: ...
    def __get__(self, instance: object | None, owner: type) -> Value[Number] | Number:
        # Reached only on the class: a block has each output in its own attributes from the start.
        return self


def value_port(*, doc: str, unit: str = "") -> Any:
    """Declare a value output; its annotation gives the type: `Value[float]`, `Value[int]` or `Value[bool]`."""
    return Value[Any](doc, unit)
