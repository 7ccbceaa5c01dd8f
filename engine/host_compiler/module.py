"""Translation of a whole PTX module to one LLVM module."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from msgspec.structs import replace

from warploom.engine.diagnostics import KernelError
from warploom.engine.host_compiler import abi, special_registers
from warploom.engine.host_compiler.analysis import canonical_floats
from warploom.engine.host_compiler.analysis.control_flow import used
from warploom.engine.host_compiler.code import quoted
from warploom.engine.host_compiler.errors import collecting, error_at
from warploom.engine.host_compiler.kernel import TranslatedKernel, linked_function, translate_kernel
from warploom.engine.host_compiler.opcodes import half, reductions, rounding
from warploom.engine.host_compiler.opcodes.calls import LINKED, llvm_declaration
from warploom.engine.host_compiler.opcodes.extremes import has_range
from warploom.engine.host_compiler.passes.lowering import lowered
from warploom.engine.host_compiler.runtime import library, systems
from warploom.engine.ptx import grid_barriers
from warploom.engine.ptx.signature import reachable_functions, symbols
from warploom.engine.ptx.tree import Float, Function, InitialValue, PtxModule, SymbolValue, Variable, type_size

FIRST_FUNCTION = 0x10000
FUNCTION_STEP = 16
GRID_BARRIER_BYTES = 64
#: The largest module variable: variables are part of the object code.
MAX_VARIABLE_BYTES = 256 << 20


@dataclass(frozen=True)
class TranslatedModule:
    """LLVM text, and facts for a launcher: scratch bytes by kernel, module variables with their sizes, the kernels that
    spin, and those that are refused, each with its error.

    `kernels` is the text of each kernel alone, in which the module's variables are declared and not defined; a module
    that was translated quickly has none. There, functions of the runtime are declared. Each text of `runtime` defines
    one of them, for all modules.
    """

    text: str
    runtime: list[str]
    kernels: dict[str, str]
    scratch_bytes: dict[str, int]
    variables: dict[str, int]
    spinning: list[str]
    refused: dict[str, KernelError]


def translate_module(
    module: PtxModule, triple: str, cpu: str, features: str, *, quickly: bool = False, launches: Sequence[bytes] = ()
) -> TranslatedModule:
    """Return a module as LLVM text without the kernels that the host cannot run; KernelError if it can run none.

    A kernel is refused for errors in its own text, in functions that it may call and in variables that it names.

    With `quickly`, the text takes less time to write and to compile where possible, and runs slower. `launches`
    are the argument blocks of known launches of the only kernel, the last of which counts most.
    """
    original = module
    functions, wrong = lowered(module.functions)
    module = _with_grid_barrier(replace(module, functions=functions))
    addresses = {name: FIRST_FUNCTION + index * FUNCTION_STEP for index, name in enumerate(module.functions)}
    flushes = canonical_floats.flushes_in_hardware(module.functions.values(), triple)
    scatters = "+avx512f" in features and not cpu.startswith("znver")
    moves_16_bytes = moves_16_bytes_at_once(triple, features)
    variables = {name: item for name, item in module.variables.items() if item.space in ("global", "const")}
    globals_: list[tuple[str, str]] = []
    for item in variables.values():
        with collecting(wrong, item.name):
            globals_.append(_variable(item, variables, addresses))
    kernels: list[TranslatedKernel] = []
    refused: dict[str, KernelError] = {}
    for name, signature in module.signatures.items():
        with collecting(refused, name):
            for part in _parts(original, name) if wrong else ():
                if part in wrong:
                    raise wrong[part]
            kernels.append(
                translate_kernel(
                    module,
                    signature,
                    addresses,
                    flushes=flushes,
                    scatters=scatters,
                    moves_16_bytes=moves_16_bytes,
                    has_range=not quickly and has_range(triple, features),
                    quickly=quickly,
                    launches=launches,
                )
            )
    if refused and not kernels:
        raise next(iter(refused.values()))
    linked = [llvm_declaration(item) for item in module.functions.values() if item.linkage == LINKED]

    text = "\n".join(kernel.text for kernel in kernels)
    called = library.called(text) if quickly else []

    def complete(text: str, runtime: str, *, defines: bool) -> str:
        """Return kernels with all functions and variables that they use."""
        data = (definition if defines else declared for definition, declared in globals_)
        return _complete((runtime, text), triple, cpu, features, (*linked, *data), flushes=flushes)

    return TranslatedModule(
        complete(text, "\n".join(map(library.declared, called)) if quickly else library.needed(text), defines=True),
        [_runtime_function(name, triple, cpu, features) for name in called],
        {
            kernel.name: complete(kernel.text, library.needed(kernel.text), defines=False)
            for kernel in (() if quickly else kernels)
        },
        {kernel.name: kernel.scratch_bytes for kernel in kernels},
        {name: item.size_bytes for name, item in variables.items() if item.size_bytes and name not in wrong},
        [kernel.name for kernel in kernels if kernel.spins],
        refused,
    )


def _parts(module: PtxModule, kernel: str) -> Iterator[str]:
    """Yield the names of a kernel, of the functions that it may call, and of the variables that they name."""
    seen: set[str] = set()
    for function in reachable_functions(module.functions[kernel], module.functions, module.variables):
        yield function.name
        pending = list(symbols(function))
        while pending:
            name = pending.pop()
            if name in module.variables and name not in seen:
                seen.add(name)
                yield name
                pending += [item.name for item in module.variables[name].initial if isinstance(item, SymbolValue)]


def moves_16_bytes_at_once(triple: str, features: str) -> bool:
    """Return whether a processor moves 16 aligned bytes in one access.

    Intel's and AMD's processors with AVX do, as their manuals say. On ARM, LLVM writes a pair load where that is a
    single access (LSE2), and otherwise an exclusive load.
    """
    if triple.startswith("x86_64"):
        return {"+avx", "+cx16"} <= set(features.split(","))
    return triple.startswith(("aarch64", "arm64"))


def translate_function(function: Function, triple: str, cpu: str, features: str) -> str:
    """Return LLVM text of a function that works on registers alone, for modules in which its linkage is `LINKED`."""
    text = linked_function(function)
    return _complete((library.needed(text), text), triple, cpu, features)


@cache
def _runtime_function(name: str, triple: str, cpu: str, features: str) -> str:
    """Return LLVM text of a function of the runtime, with those that it calls, for modules that declare it."""
    return _complete((library.exported(library.needed(name), name),), triple, cpu, features)


def _complete(
    texts: Sequence[str], triple: str, cpu: str, features: str, more: Sequence[str] = (), *, flushes: bool = False
) -> str:
    """Return texts with the functions, attributes and metadata that they refer to, and `more`."""
    target = f'"target-cpu"="{cpu}" "target-features"="{features}"'
    attributes = (
        f"attributes #0 = {{ nounwind {target} "
        '"no-trapping-math"="true" "frame-pointer"="none" "prefer-vector-width"="512"'
        f"{' ' + canonical_floats.ATTRIBUTE if flushes else ''} }}"
    )
    rounded = rounding.rounded64_functions(target) if any(rounding.PREFIX in text for text in texts) else ""
    rounded += reductions.reductions("\n".join(texts), target)
    ending = f"{attributes}\n{_metadata(features)}{half.library(triple, features)}"
    whole = "\n".join((f'target triple = "{triple}"', rounded, *texts, ending, *more))
    return systems.for_system(whole, triple)


def _with_grid_barrier(module: PtxModule) -> PtxModule:
    """Return a module with the memory in which cooperative groups let all thread blocks of a grid wait."""
    functions = module.functions.values()
    if not any(grid_barriers.REGISTERS & used(item) for function in functions for item in function.instructions):
        return module
    memory = Variable(special_registers.GRID_BARRIER, "global", "b8", GRID_BARRIER_BYTES, 16, 0)
    return replace(module, variables=module.variables | {memory.name: memory})


def _metadata(features: str) -> str:
    """Return the metadata that translated code refers to.

    0: loads of constants; 1: accesses of different threads, which do not depend on each other; 2, 3: rare paths; 10:
    the loop over threads that run at once, sixteen of them, so that a row of sixteen fills the loop once; 20: the loop
    over threads that run one after the other; 30 and 40: the loop over the lanes of a warp, all at once, whose widest
    elements have 32 or 64 bits. No vector width is requested: LLVM would print a remark for each loop
    that it does not vectorise.
    """
    vectors = 1 if "+avx512f" in features else 2
    return f"""
!0 = !{{}}
!1 = distinct !{{}}
!2 = !{{!"branch_weights", i32 100000, i32 1}}
!3 = !{{!"branch_weights", i32 1, i32 100000}}
!10 = distinct !{{!10, !11, !12}}
!11 = !{{!"llvm.loop.parallel_accesses", !1}}
!12 = !{{!"llvm.loop.interleave.count", i32 {vectors}}}
!20 = distinct !{{!20, !21}}
!21 = !{{!"llvm.loop.unroll.count", i32 4}}
!30 = distinct !{{!30, !11, !31}}
!31 = !{{!"llvm.loop.interleave.count", i32 {2 * vectors}}}
!40 = distinct !{{!40, !11, !41}}
!41 = !{{!"llvm.loop.interleave.count", i32 {4 * vectors}}}
"""


def _variable(variable: Variable, variables: Mapping[str, Variable], addresses: Mapping[str, int]) -> tuple[str, str]:
    """Return a variable's definition, and its declaration for text that is linked with the definition."""
    if variable.linkage == "extern":
        raise error_at(variable.line, f"variable {variable.name} must be defined in this module, got .extern")
    if variable.size_bytes > MAX_VARIABLE_BYTES:
        raise error_at(
            variable.line,
            f"variable {variable.name} must have at most {MAX_VARIABLE_BYTES} bytes, "
            f"got {variable.size_bytes}; pass a buffer instead",
        )
    element = type_size(variable.ptx_type)
    fields: list[tuple[str, str]] = []
    plain = bytearray()

    def flush() -> None:
        if plain:
            fields.append((f"[{len(plain)} x i8]", 'c"' + "".join(f"\\{byte:02X}" for byte in plain) + '"'))
            plain.clear()

    for value in _whole_addresses(variable):
        if isinstance(value, SymbolValue):
            flush()
            fields.append(("i64", _address(value, variable, variables, addresses)))
        elif isinstance(value, Float):
            bits = value.bits
            if value.width == 64 and element == 4:
                bits = abi.narrow(bits)
            if bits >> (8 * element):
                raise error_at(variable.line, f"initial values of {variable.name} must have {8 * element} bits")
            plain += bits.to_bytes(element, "little")
        else:
            plain += (value.value & ((1 << (8 * element)) - 1)).to_bytes(element, "little")
    flush()
    size = variable.size_bytes
    written = element * len(variable.initial)
    if written < size or not fields:
        fields.append((f"[{max(size - written, 1 if not fields else 0)} x i8]", "zeroinitializer"))
    kind = "<{ " + ", ".join(item for item, _ in fields) + " }>"
    content = "<{ " + ", ".join(f"{item} {value}" for item, value in fields) + " }>"
    alignment = max(variable.alignment, 16)
    name = f"@{quoted(variable.name)}"
    definition = f"{name} = global {kind} {content}, align {alignment}"
    if not size:  # the variable has no bytes, so each text may define its own
        return definition, definition
    return definition, f"{name} = external global {kind}, align {alignment}"


def _whole_addresses(variable: Variable) -> list[InitialValue]:
    """Return the initial values; eight bytes that masks select from one address become the whole address again."""
    values = list(variable.initial)
    found: list[InitialValue] = []
    while values:
        first = values[0]
        if isinstance(first, SymbolValue) and first.mask:
            wanted = [replace(first, mask=0xFF << (8 * index)) for index in range(8)]
            if values[:8] != wanted or type_size(variable.ptx_type) != 1:
                raise error_at(
                    variable.line,
                    f"initial values of {variable.name} must be all eight bytes of an "
                    "address, lowest first; use a .u64 with the address",
                )
            found.append(replace(first, mask=0))
            del values[:8]
        else:
            found.append(values.pop(0))
    return found


def _address(
    value: SymbolValue, variable: Variable, variables: Mapping[str, Variable], addresses: Mapping[str, int]
) -> str:
    if value.name in variables:
        base = f"ptrtoint (ptr @{quoted(value.name)} to i64)"
        return f"add (i64 {base}, i64 {value.offset})" if value.offset else base
    if value.name in addresses:
        return str(addresses[value.name] + value.offset)
    raise error_at(variable.line, f"initial value {value.name} must be a variable or function of this module")
