"""Ports: the typed inputs, outputs and value outputs that a block type declares, and the handles `describe` gets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, overload

from engine.blocktypes.checks import declaring, flag, number, prose, text, texts, whole
from engine.blocktypes.extents import Extent
from engine.types import DType, any_type
from engine.types.bits import ByBits

T = TypeVar("T")
#: More axes than any buffer has.
MOST_AXES = 64


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
        return Extent(f"{self.name}.dim{whole(self.name, 'axis', axis, 0, MOST_AXES)}")

    def stride(self, axis: int) -> Extent:
        """Distance between neighbours along one dimension, in elements."""
        return Extent(f"{self.name}.stride{whole(self.name, 'axis', axis, 0, MOST_AXES)}")

    def last(self, axis: int) -> Extent:
        """Size of a dimension that is counted from the last one backwards; 1 when there is none."""
        return Extent(f"{self.name}.last{whole(self.name, 'axis', axis, 0, MOST_AXES)}")

    def last_stride(self, axis: int) -> Extent:
        """Distance between neighbours along such a dimension, in elements; 0 when there is none."""
        return Extent(f"{self.name}.laststride{whole(self.name, 'axis', axis, 0, MOST_AXES)}")


class In(BufferHandle, Generic[T]):
    """An input port of element type T: the block reads it, or changes it when an output is `inplace` on it."""


class Out(BufferHandle, Generic[T]):
    """An output port of element type T; the block writes it."""

    @property
    def counter(self) -> BufferHandle:
        """The counter of an append buffer, one u32: kernels add 1 to reserve a place for an element."""
        return BufferHandle(counter_name(self.name))


def count_name(append: str) -> str:
    """Name of the output port that holds how many elements an append buffer has."""
    return f"{append}_count"


def counter_name(append: str) -> str:
    """Name of the internal buffer that counts the reservations in an append buffer, which may exceed its capacity."""
    return f"{append}_counter"


@dataclass(frozen=True, eq=False)
class PortSpec(ByBits):
    """A port as its block type declares it.

    `dtype` may be `any_type`. Then `dtype_rule` says what an output becomes ("same(x)", "data", "view", or "given" by
    the block), or what an input must be ("same(x)", or "number" for single real numbers and booleans). `inplace` names
    the input whose memory an output reuses. A `state` output keeps its contents from frame to frame.

    A `strided` input takes layouts that are not contiguous. A `delayed` input is read in the next frame, so its writer
    may run later in this one. `default` is what an output holds when its region is skipped; with None, it must not
    leave its region. The count of an `append` output is a port of its own. `advised` makes a check of the patch mention
    an optional input that is not connected. `replaces` are names that it had before.
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
    replaces: tuple[str, ...] = ()

    @property
    def is_input(self) -> bool:
        """True for an input port."""
        return self.direction == "in"


@dataclass
class PortDeclaration:
    """What `port(...)` returns: the class attribute that becomes a `PortSpec` and, on a block, a handle.

    `spec` lacks direction and element type until the class is complete: the annotation gives them.
    """

    spec: PortSpec
    handle: type[BufferHandle] = BufferHandle

    def __set_name__(self, owner: type, name: str) -> None:
        self.spec = replace(self.spec, name=name)

    def __get__(self, instance: object | None, owner: type) -> Any:
        return self if instance is None else self.handle(self.spec.name)


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
    replaces: tuple[str, ...] = (),
) -> Any:
    """Declare a port; the annotation gives its direction and element type.

    `shape` is an output's shape rule, or the shape an input must have ("same", the default, accepts any). `rank` is the
    number of dimensions an input must have, or an output always has. `optional` lets an input stay unconnected, which a
    check of the patch mentions unless `advised` is False. `inplace` names the input whose memory an output reuses. A
    `state` output keeps its contents from frame to frame and over rebuilds. `dtype` is the rule for a port of
    `any_type`: "same(port)", "data", "view" or "given" for an output, "same(port)" or "number" (a single real number or
    boolean) for an input.

    `strided` says that the kernels take an input's strides (`self.x.stride(0)`), `delayed` that an input is not read
    before the next frame. `default` is what an output holds when its region is skipped, None when no value makes sense.
    An `append` output is filled from the front; its count is the output `<name>_count` (`self.out.counter`).

    `replaces` are names that the port had before: what files and running patches connect to these goes to it.
    """
    with declaring("port") as where:
        spec = PortSpec(
            *("", "", any_type),
            doc=prose(where, "doc", doc),
            shape=text(where, "shape", shape),
            rank=None if rank is None else whole(where, "rank", rank, 0, MOST_AXES),
            optional=flag(where, "optional", optional),
            inplace=None if inplace is None else text(where, "inplace", inplace),
            state=flag(where, "state", state),
            dtype_rule=None if dtype is None else text(where, "dtype", dtype),
            strided=flag(where, "strided", strided),
            delayed=flag(where, "delayed", delayed),
            default=None if default is None else number(where, "default", default),
            append=flag(where, "append", append),
            advised=flag(where, "advised", advised),
            replaces=texts(where, "replaces", replaces),
        )
    return PortDeclaration(spec)


Number = TypeVar("Number", float, int, bool)

#: What a value output holds before its block has run, by its type.
ZEROS: dict[str, float | int | bool] = {"float": 0.0, "int": 0, "bool": False}


@dataclass(frozen=True)
class ValueSpec:
    """A value output as its block type declares it; `type` is float, int or bool."""

    name: str
    type: str
    doc: str
    unit: str = ""
    replaces: tuple[str, ...] = ()


class Value(Generic[Number]):
    """A value output of type Number: on a block, an attribute that `update` sets."""

    def __init__(self, doc: str, unit: str, replaces: tuple[str, ...]) -> None:
        self.doc = doc
        self.unit = unit
        self.replaces = replaces
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Value[Number]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Number: ...
    def __get__(self, instance: object | None, owner: type) -> Value[Number] | Number:
        # Only called on the class: a block has each output among its own attributes.
        return self


def value_port(*, doc: str, unit: str = "", replaces: tuple[str, ...] = ()) -> Any:
    """Declare a value output; its annotation gives the type: `Value[float]`, `Value[int]` or `Value[bool]`.

    `replaces` are names that it had before: what it drove by these it drives.
    """
    with declaring("value_port") as where:
        return Value[Any](prose(where, "doc", doc), prose(where, "unit", unit), texts(where, "replaces", replaces))
