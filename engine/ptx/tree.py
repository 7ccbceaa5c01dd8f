"""The typed tree of a PTX text: modules, functions, variables, instructions and operands.

Scopes are resolved: each function has one flat body. Names from an inner `{ }` are renamed so that they are unique in
their function.
"""

from __future__ import annotations

from functools import cached_property

import msgspec


class Register(msgspec.Struct, frozen=True):
    """A declared register, or a special register such as `%tid.x`."""

    name: str


class Integer(msgspec.Struct, frozen=True):
    """An integer immediate; negative values keep their sign."""

    value: int


class Float(msgspec.Struct, frozen=True):
    """A floating-point immediate as bits: 32 bits for `0f`, 64 for `0d` and decimal literals."""

    bits: int
    width: int


class Symbol(msgspec.Struct, frozen=True):
    """A variable, function, parameter, label or prototype. `offset` is in bytes, and added to an address."""

    name: str
    offset: int = 0


class Address(msgspec.Struct, frozen=True):
    """A memory operand `[base+offset]`; `coordinates` are the operands after the comma, for textures and tensors."""

    base: Register | Symbol | Integer
    offset: int = 0
    coordinates: tuple[Operand, ...] = ()


class Vector(msgspec.Struct, frozen=True):
    """A brace list `{a, b}`."""

    elements: tuple[Operand, ...]


class OperandList(msgspec.Struct, frozen=True):
    """A parenthesised list: the arguments or results of a call."""

    elements: tuple[Operand, ...]


class Pair(msgspec.Struct, frozen=True):
    """Two destinations `a|p`."""

    first: Operand
    second: Operand


class Negated(msgspec.Struct, frozen=True):
    """A negated predicate operand `!p`."""

    register: Register


class RegisterPart(msgspec.Struct, frozen=True):
    """A register of a video instruction: `selector` names its bytes (`b0`, `b3210`) or half words, "" for all.

    `negative` is set for a negated operand of vmad.
    """

    register: Register
    selector: str
    negative: bool = False


class Sink(msgspec.Struct, frozen=True):
    """The destination `_`, which discards the value."""


Operand = Register | Integer | Float | Symbol | Address | Vector | OperandList | Pair | Negated | RegisterPart | Sink


class Guard(msgspec.Struct, frozen=True):
    """The predicate in front of an instruction: `@p` or `@!p`."""

    register: Register
    negated: bool


class SourceLocation(msgspec.Struct, frozen=True):
    """The place in the source that an instruction comes from, as in `.loc`."""

    file: str
    line: int
    column: int


class Instruction(msgspec.Struct, frozen=True):
    """One instruction: `opcode` is the first word (`ld`), `modifiers` the rest in order (`global`, `v4`, `f32`)."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    line: int
    source: SourceLocation | None = None

    @property
    def text(self) -> str:
        """The opcode with its modifiers, as written."""
        return ".".join((self.opcode, *self.modifiers))


class Label(msgspec.Struct, frozen=True):
    """A position in a body that branches refer to."""

    name: str
    line: int


Statement = Instruction | Label


class SymbolValue(msgspec.Struct, frozen=True):
    """An initial value that is an address: `symbol+offset`, in the generic space if `generic` is set.

    `mask` selects one byte of the address, as in `0xFF00(symbol)`; 0 stands for the whole address.
    """

    name: str
    offset: int = 0
    generic: bool = False
    mask: int = 0


InitialValue = Integer | Float | SymbolValue


class Variable(msgspec.Struct, frozen=True):
    """A variable in `.global`, `.const`, `.shared`, `.local` or `.param` space.

    `count` is the number of elements of `ptx_type`; 0 for an array without a size. `linkage` is "extern", "visible",
    "weak", "common" or ""; "module" marks a local variable of the module that functions use. `is_pointer` is set for a
    parameter marked `.ptr`.
    """

    name: str
    space: str
    ptx_type: str
    count: int
    alignment: int
    line: int
    linkage: str = ""
    initial: tuple[InitialValue, ...] = ()
    is_pointer: bool = False

    @property
    def size_bytes(self) -> int:
        """The bytes of all elements."""
        return self.count * type_size(self.ptx_type)


class Prototype(msgspec.Struct, frozen=True):
    """A `.callprototype`: the shape of an indirect call."""

    name: str
    results: tuple[Variable, ...]
    parameters: tuple[Variable, ...]


class Function(msgspec.Struct, frozen=True, dict=True):
    """A kernel (`is_entry`) or a device function; `body` is None for a declaration.

    `registers` maps a name to its PTX type. `variables` are the function's own `.local`, `.shared` and `.param`
    variables. `targets` holds `.branchtargets` and `.calltargets` lists by label.
    """

    name: str
    is_entry: bool
    line: int
    parameters: tuple[Variable, ...]
    results: tuple[Variable, ...] = ()
    body: tuple[Statement, ...] | None = None
    registers: dict[str, str] = msgspec.field(default_factory=dict)
    variables: tuple[Variable, ...] = ()
    prototypes: dict[str, Prototype] = msgspec.field(default_factory=dict)
    targets: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    directives: dict[str, tuple[int, ...]] = msgspec.field(default_factory=dict)
    linkage: str = ""

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """The body without its labels."""
        return tuple(item for item in self.body or () if isinstance(item, Instruction))


class KernelParameter(msgspec.Struct, frozen=True):
    """One formal parameter of a kernel: its place in the parameter space, and its type.

    `ptx_type` is a PTX scalar type without its dot. It is None if the image does not have it (CUBIN); then the argument
    decides between integer and float. Aggregates passed by value have type "b8" and any size. `declared` is the element
    type of a number as the kernel's source declares it, such as "s16" or "boolean"; "" if no source does. PTX alone is
    not enough: it declares a `short` as `.u16`.
    """

    name: str
    offset: int
    size_bytes: int
    ptx_type: str | None = None
    declared: str = ""


class KernelSignature(msgspec.Struct, frozen=True):
    """A kernel's entry point as its PTX declares it.

    `max_threads` is the product of `.maxntid` (or `.reqntid`), 1024 when neither is given; `required_threads` is
    `.reqntid` or None. `shared_bytes` counts statically declared shared memory.
    """

    name: str
    parameters: tuple[KernelParameter, ...]
    max_threads: int = 1024
    required_threads: tuple[int, int, int] | None = None
    shared_bytes: int = 0
    uses_dynamic_shared: bool = False


class PtxModule(msgspec.Struct, frozen=True):
    """One parsed PTX file."""

    version: tuple[int, int]
    target: str
    functions: dict[str, Function]
    variables: dict[str, Variable]
    signatures: dict[str, KernelSignature]


_SIZES = {f"{letter}{bits}": bits // 8 for letter in "bus" for bits in (8, 16, 32, 64)}
_SIZES |= {"f16": 2, "f32": 4, "f64": 8, "pred": 1, "b128": 16}
_SIZES |= {"f16x2": 4, "bf16x2": 4, "bf16": 2, "tf32": 4, "u128": 16, "s128": 16, "f32x2": 8}
_SIZES |= dict.fromkeys(("u16x2", "s16x2", "u8x4", "s8x4"), 4)
#: The types of registers.
REGISTER_TYPES = frozenset(_SIZES)


def type_size(ptx_type: str) -> int:
    """Bytes of one element of a PTX type; opaque references count as 8."""
    return _SIZES.get(ptx_type, 8)
