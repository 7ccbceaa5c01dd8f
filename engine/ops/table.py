"""What an op is: its ports, settings and help as plain data, its type rule, and how it is written as LLVM IR."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from engine.diagnostics import Mend
from engine.ops.emission import Emission, OpBuffer, OpValue
from engine.ops.graph import OpNode
from engine.ops.types import BufferType, Type, ValueType

Setting = Literal["float", "int", "bool", "str"]


@dataclass(frozen=True)
class OpInput:
    """An input. With a `default` it also is a setting of its name, which holds while nothing is connected.

    Without one it must be connected, unless it is `optional`. A `delayed` input takes what the op's own region
    computes, in the branch `branch`; its op comes first anyway, so this is not a circle.
    """

    name: str
    doc: str
    default: float | None = None
    optional: bool = False
    delayed: bool = False
    branch: str = ""
    #: It takes a buffer; all other inputs take values.
    takes_buffer: bool = False


@dataclass(frozen=True)
class OpOutput:
    """An output. One that is `inside` may be read in the op's region as well; `is_internal` is as for ops."""

    name: str
    doc: str
    inside: bool = False
    is_internal: bool = False


@dataclass(frozen=True)
class OpSetting:
    """A setting, which a person chooses; it can't be connected."""

    name: str
    type: Setting
    default: Any
    doc: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None


class Misuse(Exception):
    """A type rule refuses an op; `port` is where. With `mend`, the expected type is the one to convert to."""

    def __init__(
        self, message: str, port: str | None = None, expected: str = "", found: str = "", mend: Mend | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.port, self.expected, self.found, self.mend = message, port, expected, found, mend


@dataclass(frozen=True)
class OpCall:
    """The input of a type rule: the types at the inputs (None for an optional input without one), and the settings."""

    op: OpType
    node: OpNode
    inputs: Mapping[str, Type | None]
    settings: Mapping[str, Any]

    def value(self, name: str) -> ValueType:
        """Return the type of an input that must be a number, a boolean or a vector."""
        given = self.inputs[name]
        if not isinstance(given, ValueType):
            raise Misuse(f"{name} must be a value, got {given}; load an element of it", name, "value", str(given))
        return given

    def buffer(self, name: str) -> BufferType:
        """Return the type of an input that must be a buffer."""
        given = self.inputs[name]
        if not isinstance(given, BufferType):
            raise Misuse(
                f"{name} must be a buffer, got {given}; connect the buffer of an input", name, "buffer", str(given)
            )
        return given


@dataclass(frozen=True)
class Signature:
    """The result of a type rule: the type to which each input is converted, and the types of the outputs."""

    inputs: Mapping[str, ValueType] = field(default_factory=dict)
    outputs: Mapping[str, Type] = field(default_factory=dict)


@dataclass(frozen=True)
class Region:
    """What the emitter of an op with regions calls."""

    #: Give the outputs that the region reads.
    begin: Callable[[Mapping[str, OpValue | OpBuffer]], None]
    #: Emit the ops in a branch, at the present place.
    emit: Callable[[str], None]
    #: Return a delayed input, after its branch was emitted.
    back: Callable[[str], OpValue | OpBuffer | None]


@dataclass(frozen=True)
class OpCode:
    """An op as it is emitted: its converted inputs, None where optional ones are not connected, and its settings."""

    signature: Signature
    inputs: Mapping[str, OpValue | OpBuffer | None]
    settings: Mapping[str, Any]
    #: The outputs that something reads.
    used: Collection[str]
    region: Region

    def value(self, name: str) -> OpValue:
        """Return an input that the type rule made a value."""
        given = self.inputs[name]
        assert isinstance(given, OpValue)
        return given

    def buffer(self, name: str) -> OpBuffer:
        """Return an input that the type rule made a buffer."""
        given = self.inputs[name]
        assert isinstance(given, OpBuffer)
        return given


TypeRule = Callable[[OpCall], Signature]
EmitOp = Callable[[Emission, OpCode], Mapping[str, "OpValue | OpBuffer"]]


@dataclass(frozen=True)
class OpType:
    """An op of the table. `rule` infers and checks types; `emit` writes it as LLVM IR."""

    id: str
    title: str
    category: str
    doc: str
    inputs: tuple[OpInput, ...]
    outputs: tuple[OpOutput, ...]
    rule: TypeRule
    emit: EmitOp
    settings: tuple[OpSetting, ...] = ()
    tags: tuple[str, ...] = ()
    #: The branches of the region that the op has; empty for an op that holds no others.
    regions: tuple[str, ...] = ()
    #: It does something besides its outputs, so it stays when no one reads them.
    acts: bool = False
    #: It reads or writes other elements than its thread's own, so it can't be fused.
    roams: bool = False
    #: Threads wait for each other in it, so all must reach it.
    waits: bool = False
    #: Only fusion and blocks of the library put it into a graph, so no palette has it.
    is_internal: bool = False
    #: The axes along which threads must count the elements.
    rank: int = 1

    def input(self, name: str) -> OpInput | None:
        """Return an input by its name."""
        return next((item for item in self.inputs if item.name == name), None)

    def output(self, name: str) -> OpOutput | None:
        """Return an output by its name."""
        return next((item for item in self.outputs if item.name == name), None)

    @cached_property
    def values(self) -> tuple[OpSetting, ...]:
        """All that a person sets on it: the settings, and the inputs that have a default."""
        numbers = (OpSetting(i.name, "float", i.default, i.doc) for i in self.inputs if i.default is not None)
        return (*self.settings, *numbers)


#: The categories in the order in which a palette shows them.
CATEGORIES = (
    "Kernel",
    "Indices",
    "Arithmetic",
    "Functions",
    "Shaping",
    "Logic",
    "Bits",
    "Conversion",
    "Vectors",
    "Buffers",
    "Images",
    "Noise",
    "Control",
    "Threads",
)
#: Every op by its id.
OPS: dict[str, OpType] = {}


def register(op: OpType) -> OpType:
    """Enter an op in the table."""
    if op.id in OPS or op.category not in CATEGORIES:
        raise ValueError(f"op must have a new id and a known category, got {op.id} in {op.category}")
    names = [*(port.name for port in op.inputs), *(port.name for port in op.outputs)]
    if len(set(names)) < len(names):
        raise ValueError(f"ports of an op must have different names, got {names} in {op.id}")
    OPS[op.id] = op
    return op
