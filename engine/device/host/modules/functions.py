"""Functions that many modules call are compiled once, and kept in the cache: a new process need not compile them again.

These are the runtime's functions, and device functions that use only registers. The mathematics of op graphs is written
as such functions, so editing a graph compiles only its kernel.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from msgspec.structs import replace

from warploom.engine.device.host.modules import cache, native
from warploom.engine.diagnostics import KernelError
from warploom.engine.host_compiler.module import translate_function
from warploom.engine.host_compiler.opcodes.calls import LINKED
from warploom.engine.ptx import parse
from warploom.engine.ptx.tree import Address, Float, Function, Instruction, Integer, PtxModule, Register, Symbol

#: A function as LLVM and NVRTC write it: inside, only labels begin at the start of a line.
_FUNCTION = re.compile(r"^\.func[^;{]*?\b([\w$]+)\([^;{]*\n\{\n(?:[\t $/][^\n]*\n|\n)*\}\n", re.MULTILINE)
_HEADER = re.compile(r"^\.(?:version|target|address_size)\b.*\n", re.MULTILINE)
# fmt: off
#: Instructions that can't fail and don't depend on other threads or memory.
_OPCODES = frozenset((
    "abs", "add", "and", "bfe", "bfi", "bfind", "bra", "brev", "clz", "cnot", "copysign", "cos", "cvt", "div", "ex2",
    "fma", "ld", "lg2", "lop3", "mad", "max", "min", "mov", "mul", "neg", "not", "or", "popc", "prmt", "rcp", "rem",
    "ret", "rsqrt", "selp", "set", "setp", "shf", "shl", "shr", "sin", "slct", "sqrt", "st", "sub", "tanh", "testp",
    "xor",
))
# fmt: on


@dataclass(frozen=True)
class SharedFunction:
    """A function's declaration for other modules, and its object code."""

    declaration: Function
    code: bytes


def take_out_functions(ptx: str, processor: tuple[str, str]) -> tuple[str, list[SharedFunction]]:
    """Return PTX with shareable functions replaced by empty lines, and these functions."""
    header = "".join(_HEADER.findall(ptx))
    taken: list[SharedFunction] = []
    for found in _FUNCTION.finditer(ptx) if ".func" in ptx else ():
        text, name = found.group(), found[1]
        rest = ptx.replace(text, "\n" * text.count("\n"), 1)
        if _is_only_called(name, rest) and (function := _shared(header, text, name, processor)) is not None:
            ptx = rest
            taken.append(function)
    return ptx, taken


def with_declarations(module: PtxModule, functions: list[SharedFunction]) -> PtxModule:
    """Return a module with declarations of shared functions, which it may call."""
    declared = {function.declaration.name: function.declaration for function in functions}
    return replace(module, functions={**module.functions, **declared})


@lru_cache(maxsize=256)
def object_code(text: str, processor: tuple[str, str]) -> bytes:
    """Return the optimised object code of LLVM text that is part of many modules, from the cache if it is there."""
    key = cache.key(text, *processor)
    code = cache.load_code(key)
    if code is None:
        code = native.compile_object(text, processor)
        cache.store_code(key, code)
    return code


def _is_only_called(name: str, text: str) -> bool:
    """Whether a text declares and calls a function without taking its address."""
    lines = re.findall(rf"^.*(?<![\w$]){re.escape(name)}(?![\w$]).*", text, re.MULTILINE)
    return all(line.lstrip().startswith(("call", ".func")) for line in lines)


@lru_cache(maxsize=256)
def _shared(header: str, text: str, name: str, processor: tuple[str, str]) -> SharedFunction | None:
    """Return the only function of a text in compiled form; None if it must stay in its module."""
    try:
        function = parse(header + text).functions[name]
        if not _is_pure(function):
            return None
        code = object_code(translate_function(function, native.triple(), *processor), processor)
    except KernelError:  # its whole module is translated instead, which reports the error
        return None
    return SharedFunction(replace(function, body=None, linkage=LINKED), code)


def _is_pure(function: Function) -> bool:
    own = {variable.name for variable in (*function.parameters, *function.results)}
    return not function.variables and all(_is_own(item, function, own) for item in function.instructions)


def _is_own(instruction: Instruction, function: Function, own: set[str]) -> bool:
    """Whether an instruction works only on registers, numbers, parameters and results."""
    if instruction.opcode not in _OPCODES or "ftz" in instruction.modifiers:
        return False
    if instruction.opcode == "bra":
        return True
    if instruction.opcode in ("ld", "st") and "param" not in instruction.modifiers:
        return False
    return all(
        isinstance(item, Integer | Float)
        or (isinstance(item, Register) and item.name in function.registers)
        or (isinstance(item, Address) and isinstance(item.base, Symbol) and item.base.name in own)
        for item in instruction.operands
    )
