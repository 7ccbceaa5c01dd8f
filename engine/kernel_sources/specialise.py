"""Rewrites some of a kernel's parameters, in its PTX or in its CUDA C++: constants, and numbers in memory.

The parameters of constants stay, so that the kernel takes the same arguments for all constants. A number in memory has
an address in place of its parameter: that of a record, which kernels/numbers.cu writes.
"""

import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

import numpy as np

from warploom.engine.device.arguments import ArgumentError, pack
from warploom.engine.diagnostics import KernelError
from warploom.engine.ptx import KernelParameter, KernelSignature, parse
from warploom.engine.ptx.text import closing, code_of, cuda_parameters, entry_bodies
from warploom.engine.ptx.tree import Address, Function, Instruction, Register, Sink, Symbol, Vector, type_size

#: A load from a parameter, with its guard.
_LOAD = re.compile(r"(@!?[%\w$]+\s+)?\bld(?:\.[\w:]+)*?\.param\b[\w.:]*\s+([^;\[]+?)\s*,\s*\[\s*([%\w$]+)[^\]]*\]\s*;")
_FLOATS = {2: "<e", 4: "<f", 8: "<d"}
#: A number in every type that a parameter may have, the struct Number of kernels/numbers.cu.
NUMBER_RECORD = np.dtype(
    {
        "names": ["f64", "f32", "f16", "bf16", "s64", "u64", "s32", "u32", "s16", "u16", "s8", "u8", "boolean"],
        "formats": ["f8", "f4", "f2", "u2", "i8", "u8", "i4", "u4", "i2", "u2", "i1", "u1", "?"],
        "itemsize": 48,
    },
    align=True,
)
_OFFSETS: dict[str, int] = {name: field[1] for name, field in (NUMBER_RECORD.fields or {}).items()}
T = TypeVar("T")
_LAST_WORD = re.compile(r"[A-Za-z_]\w*(?=\s*$)")


def specialised_ptx(text: str, signature: KernelSignature, constants: Mapping[int, object]) -> str:
    """Return PTX in which an entry point has numbers in place of reads of parameters, given by index.

    A struct is passed as a numpy array. Lines keep their numbers. Raise KernelError when a number does not fit its
    parameter, or when the parameter is not simply loaded: its address is taken, or it is read beyond its end.
    """
    function = parse(text).functions[signature.name]
    given = {
        function.parameters[index].name: (parameter, _packed(parameter, value))
        for index, parameter, value in _constants(signature, constants)
    }
    edits = []
    for place, load in _loads(text, function, {name: parameter for name, (parameter, _) in given.items()}):
        moves = _moves(load, place[2], function, *given[place[3]])
        edits.append((place.span(), " ".join(f"{place[1] or ''}{move}" for move in moves)))
    return _edited(text, edits)


def driven_ptx(text: str, signature: KernelSignature, numbers: Mapping[int, str]) -> str:
    """Return PTX in which an entry point reads parameters from memory.

    `numbers` are the fields of NUMBER_RECORD that they read, by index; each parameter becomes the address of a record.
    Lines keep their numbers. Raise KernelError when a parameter is not simply loaded.
    """
    function = parse(text).functions[signature.name]
    given = {
        function.parameters[index].name: (parameter, field)
        for index, parameter, field in _constants(signature, numbers)
    }
    code = code_of(text)
    start = dict(entry_bodies(code))[signature.name]
    edits = []
    for name in given:
        declared = re.compile(rf"\.param\b[^,()]*?(?<![\w$%]){re.escape(name)}(?![\w$])(?:\s*\[[^\]]*\])?")
        places = [*declared.finditer(code, code.rfind(".entry", 0, start), start)]
        edits += [(place.span(), f".param .u64 {name}") for place in places]
    for place, load in _loads(text, function, {name: parameter for name, (parameter, _) in given.items()}):
        parameter, field = given[place[3]]
        into, source = load.operands
        count = len(into.elements) if isinstance(into, Vector) else 1
        offset = _offset(source) if isinstance(source, Address) else -1
        if not 0 <= offset <= parameter.size_bytes - count * type_size(load.modifiers[-1]):
            raise _not_loaded(parameter)
        kind = ".".join(each for each in load.modifiers if not each.startswith("param"))
        address = f"ld.param.u64 %record, [{place[3]}]; cvta.to.global.u64 %record, %record;"
        load_it = f"{place[1] or ''}ld.global.nc.{kind} {place[2]}, [%record+{_OFFSETS[field] + offset}];"
        edits.append((place.span(), f"{{ .reg .b64 %record; {address} {load_it} }}"))
    return _edited(text, edits)


def number_field(parameter: KernelParameter, kind: str) -> str:
    """Return the field of NUMBER_RECORD with the bytes that a parameter of a kernel has for a number.

    `kind` is the type of the block's parameter: float, int or bool. Raise KernelError if the kernel's is no number.
    """
    known, size = parameter.declared or parameter.ptx_type or "", parameter.size_bytes
    if known in _OFFSETS and (parameter.declared or known[0] in "sf"):
        return known
    if size not in (1, 2, 4, 8):
        raise KernelError(f"parameter {parameter.name} must be a number to be read from memory, got {size} bytes")
    # PTX has `.u16` for a `short` too, and `.b32` for a float.
    return f"f{8 * size}" if kind == "float" and known[:1] == "b" and size > 1 else "s64"


def _edited(text: str, edits: Iterable[tuple[tuple[int, int], str]]) -> str:
    """Return a text with other parts in some places, given by start and end."""
    for (start, end), new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _loads(
    text: str, function: Function, parameters: Mapping[str, KernelParameter]
) -> list[tuple[re.Match[str], Instruction]]:
    """Return the loads of a kernel's parameters, by name, with their places in the PTX.

    Raise KernelError when a parameter has other uses.
    """
    loads = [each for each in function.instructions if not parameters.keys().isdisjoint(_symbols(each.operands))]
    code = code_of(text)
    start = dict(entry_bodies(code))[function.name]
    end = closing(code, start, "{", "}")
    found = [each for each in _LOAD.finditer(code, start, end) if each[3] in parameters]
    if len(found) != len(loads):
        raise _not_loaded(next(iter(parameters.values())))
    return [*zip(found, loads, strict=True)]


def _packed(parameter: KernelParameter, value: object) -> bytes:
    """Return a number's bytes in a parameter. Raise KernelError when it does not fit."""
    try:
        return pack(parameter, value)
    except ArgumentError as problem:
        raise KernelError(str(problem)) from None


def _constants(signature: KernelSignature, constants: Mapping[int, T]) -> Iterator[tuple[int, KernelParameter, T]]:
    for index, value in constants.items():
        if index not in range(len(signature.parameters)):
            count = len(signature.parameters)
            raise KernelError(f"constants of {signature.name} must be for its parameters 0 to {count - 1}, got {index}")
        yield index, signature.parameters[index], value


def _symbols(operands: object) -> Iterator[str]:
    """Yield the names of the symbols in operands, at any depth."""
    for operand in operands if isinstance(operands, tuple) else ():
        if isinstance(operand, Symbol):
            yield operand.name
        elif isinstance(operand, Address) and isinstance(operand.base, Symbol):
            yield operand.base.name
        else:
            yield from _symbols(getattr(operand, "elements", ()))


def _offset(source: Address) -> int:
    return source.offset + (source.base.offset if isinstance(source.base, Symbol) else 0)


def _not_loaded(parameter: KernelParameter) -> KernelError:
    return KernelError(
        f"parameter {parameter.name} must be read by ld.param alone to be replaced, got other uses of it"
    )


def _moves(load: Instruction, target: str, function: Function, parameter: KernelParameter, data: bytes) -> list[str]:
    """Return instructions that move a parameter's bytes to the registers of a load; `target` is their text."""
    into, source = load.operands
    registers = into.elements if isinstance(into, Vector) else (into,)
    names = target.strip("{}").split(",")
    if not isinstance(source, Address) or len(names) != len(registers):
        raise _not_loaded(parameter)
    kind, size = load.modifiers[-1], type_size(load.modifiers[-1])
    offset = _offset(source)
    moves = []
    for at, (name, register) in enumerate(zip(names, registers, strict=True)):
        piece = data[offset + at * size : offset + (at + 1) * size] if offset >= 0 else b""
        if isinstance(register, Sink):
            continue
        declared = function.registers.get(register.name, "") if isinstance(register, Register) else ""
        width = type_size(declared) if declared else 0
        if len(piece) != size or width not in (2, 4, 8):
            raise _not_loaded(parameter)
        number = int.from_bytes(piece, "little", signed=kind.startswith("s")) & ((1 << 8 * width) - 1)
        prefix = {"f32": "0f", "f64": "0d"}.get(declared)
        literal, suffix = (f"{prefix}{number:0{2 * width}X}", declared) if prefix else (f"{number:#x}", f"b{8 * width}")
        moves.append(f"mov.{suffix} {name.strip()}, {literal};")
    return moves


def specialised_cuda(text: str, signature: KernelSignature, constants: Mapping[int, float]) -> str | None:
    """Return CUDA C++ whose kernel of this signature starts with constants in place of parameters, given by index.

    The parameters get other names, and lines keep their numbers. Return None when the search doesn't find exactly one
    definition with all parameters: a macro may make it, or it may be in another file. Raise KernelError when a number
    does not fit.
    """
    code = code_of(text)
    found = _definition(code, signature)
    if found is None:
        return None
    spans, body = found
    edits, made = [], ""
    for index, parameter, value in _constants(signature, constants):
        name = _LAST_WORD.search(code, *spans[index])
        if name is None:
            return None
        taken = f"decltype(warploom_{name[0]})"
        made += f" {taken} {name[0]} = static_cast<{taken}>({_literal(parameter, value)});"
        edits.append((name.span(), f"warploom_{name[0]}"))
    return _edited(text, [*edits, ((body, body), made)])


def driven_cuda(text: str, signature: KernelSignature, numbers: Mapping[int, str]) -> str | None:
    """Return CUDA C++ whose kernel of this signature reads parameters from memory, as `driven_ptx` does.

    Return None where `specialised_cuda` would, or if the kernel is declared more than once.
    """
    code = code_of(text)
    found = _definition(code, signature)
    if found is None or len([*cuda_parameters(code, signature.name)]) != 1:
        return None
    spans, body = found
    edits, made = [], ""
    for index, _, field in _constants(signature, numbers):
        name = _LAST_WORD.search(code, *spans[index])
        if name is None:
            return None
        start, kind = spans[index][0], " ".join(code[spans[index][0] : name.start()].split())
        made += f" {kind} {name[0]} = *({kind}*)(warploom_{name[0]} + {_OFFSETS[field]});"
        lines = "\n" * code.count("\n", start, name.end())
        edits.append(((start, name.end()), f"{lines}const char* warploom_{name[0]}"))
    return _edited(text, [*edits, ((body, body), made)])


def _definition(code: str, signature: KernelSignature) -> tuple[list[tuple[int, int]], int] | None:
    """Return the places of a kernel's parameters in CUDA C++, and the start of its body; None if they are not sure."""
    lists = cuda_parameters(code, signature.name)
    bodies = [(spans, found.end()) for end, spans in lists if (found := re.compile(r"\s*\{").match(code, end))]
    if len(bodies) != 1:
        return None
    spans = bodies[0][0]
    if len(spans) != len(signature.parameters) or "#" in code[spans[0][0] : spans[-1][1]]:
        return None
    return bodies[0]


def _literal(parameter: KernelParameter, value: float) -> str:
    """Return a number as a C++ literal, rounded as the parameter would round it."""
    data = _packed(parameter, value)
    kind = parameter.ptx_type or ""
    if kind.startswith("f") or (isinstance(value, float) and kind.startswith("b")):
        return repr(struct.unpack(_FLOATS[len(data)], data)[0])
    if isinstance(value, bool):
        return "true" if value else "false"
    whole = int(value)
    if whole == -(1 << 63):
        return "-9223372036854775807ll - 1"
    return f"{whole}{'ull' if whole >> 63 > 0 else 'll'}"
