"""Puts numbers in place of some of a kernel's parameters, in its PTX or in its CUDA C++.

The parameters stay, so that the kernel takes the same arguments for all constants.
"""

import re
import struct
from collections.abc import Iterator, Mapping
from typing import TypeVar

from engine.device.arguments import ArgumentError, pack
from engine.diagnostics import KernelError
from engine.ptx import KernelParameter, KernelSignature, parse
from engine.ptx.text import closing, code_of, cuda_parameters, entry_bodies
from engine.ptx.tree import Address, Function, Instruction, Register, Sink, Symbol, Vector, type_size

#: A load from a parameter, with its guard.
_LOAD = re.compile(r"(@!?[%\w$]+\s+)?\bld(?:\.[\w:]+)*?\.param\b[\w.:]*\s+([^;\[]+?)\s*,\s*\[\s*([%\w$]+)[^\]]*\]\s*;")
_FLOATS = {2: "<e", 4: "<f", 8: "<d"}
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
    loads = [each for each in function.instructions if not given.keys().isdisjoint(_symbols(each.operands))]
    code = code_of(text)
    start = dict(entry_bodies(code))[signature.name]
    end = closing(code, start, "{", "}")
    found = [each for each in _LOAD.finditer(code, start, end) if each[3] in given]
    if len(found) != len(loads):
        raise _not_loaded(next(iter(given.values()))[0])
    done, parts = 0, list[str]()
    for place, load in zip(found, loads, strict=True):
        moves = _moves(load, place[2], function, *given[place[3]])
        parts += [text[done : place.start()], " ".join(f"{place[1] or ''}{move}" for move in moves)]
        done = place.end()
    return "".join([*parts, text[done:]])


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


def _not_loaded(parameter: KernelParameter) -> KernelError:
    return KernelError(
        f"parameter {parameter.name} must be read by ld.param alone to become a constant, got other uses of it"
    )


def _moves(load: Instruction, target: str, function: Function, parameter: KernelParameter, data: bytes) -> list[str]:
    """Return instructions that move a parameter's bytes to the registers of a load; `target` is their text."""
    into, source = load.operands
    registers = into.elements if isinstance(into, Vector) else (into,)
    names = target.strip("{}").split(",")
    if not isinstance(source, Address) or len(names) != len(registers):
        raise _not_loaded(parameter)
    kind, size = load.modifiers[-1], type_size(load.modifiers[-1])
    offset = source.offset + (source.base.offset if isinstance(source.base, Symbol) else 0)
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
    lists = cuda_parameters(code, signature.name)
    bodies = [(spans, found) for end, spans in lists if (found := re.compile(r"\s*\{").match(code, end))]
    if len(bodies) != 1:
        return None
    spans, body = bodies[0]
    if len(spans) != len(signature.parameters) or "#" in code[spans[0][0] : spans[-1][1]]:
        return None
    edits, made = [], ""
    for index, parameter, value in _constants(signature, constants):
        name = _LAST_WORD.search(code, *spans[index])
        if name is None:
            return None
        taken = f"decltype(warploom_{name[0]})"
        made += f" {taken} {name[0]} = static_cast<{taken}>({_literal(parameter, value)});"
        edits.append((name.start(), f"warploom_{name[0]}", name.end()))
    for begin, new, stop in sorted([*edits, (body.end(), made, body.end())], reverse=True):
        text = text[:begin] + new + text[stop:]
    return text


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
