"""Compiles LLVM text to native code for this CPU, as object code that can be cached.

`quick_object` takes a tenth of the time of `compile_object`. It promotes stack slots to values if there are many, and
leaves the rest to LLVM's fast instruction selection. `compile_object` runs the optimiser with its vectoriser. Both give
the same results.
"""

import ctypes
import threading
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from warploom.engine.diagnostics import TranslatorBug
from warploom.engine.host_compiler.runtime.systems import is_windows

_QUICK, _BEST = 0, 2
#: With fewer stack slots, promoting them gains nothing, and the pass takes a quarter of a millisecond.
_FEWEST_SLOTS = 16
_MOST_VALUES = 1 << 20
#: The most libraries that one linker links.
MOST_LINKED = 256


@cache
def cpu() -> tuple[str, str]:
    """Return LLVM's names for this CPU and its features."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def triple() -> str:
    """Return LLVM's name for this machine.

    On Windows, code is in ELF's format, with the calls of Windows: the linker there links no other format reliably.
    """
    found = str(llvm.get_process_triple())
    return f"{found}-elf" if is_windows(found) else found


@cache
def _target_machine(level: int, processor: tuple[str, str]) -> Any:
    """Return LLVM's machine for a processor at one of its optimisation levels.

    Creating one, with its tables, takes as long as compiling a kernel.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    name, features = processor
    target = llvm.Target.from_triple(triple())
    return target.create_target_machine(cpu=name, features=features, opt=level, reloc="pic", codemodel="small")


def verified(text: str) -> Any:
    """Return LLVM text as a module.

    Raise TranslatorBug if LLVM refuses it, since the translator's text must be valid.
    """
    try:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
    except RuntimeError as reason:
        raise _refused(str(reason)) from reason
    return module


def _refused(why: str) -> TranslatorBug:
    said = " ".join(why.split())
    return TranslatorBug(
        f"LLVM must accept the text that Warploom translates the kernel to, got: {said}; this is a bug in Warploom and "
        "not in the kernel, please report it with the kernel's PTX"
    )


def quick_object(text: str, processor: tuple[str, str] | None = None) -> bytes:
    """Return object code of LLVM text, compiled quickly. Raise TranslatorBug when LLVM refuses the text.

    `processor` has the names of a CPU and its features; the default is this CPU.
    """
    module, machine = verified(text), _target_machine(_QUICK, processor or cpu())
    if _is_promotable(text):
        passes = llvm.create_new_module_pass_manager()
        passes.add_sroa_pass()
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0))
        passes.run(module, builder)
    return _object(module, machine)


def _is_promotable(text: str) -> bool:
    """Whether promoting stack slots pays and is fast enough, since each may need a value at every label."""
    if text.count(" = alloca ") < _FEWEST_SLOTS:
        return False
    functions = text.split("\ndefine ")
    return sum(part.count(" = alloca ") * part.count("\n  br ") for part in functions) < _MOST_VALUES


def compile_object(text: str, processor: tuple[str, str] | None = None) -> bytes:
    """Return optimised object code of LLVM text. Raise TranslatorBug as `quick_object` does.

    This is LLVM's O1 pipeline with the loop vectoriser; O2 takes longer and makes no kernel faster. Unrolling and
    vectorising within a thread are left out: they take long, and CUDA compilers have already unrolled loops.
    """
    module, machine = verified(text), _target_machine(_BEST, processor or cpu())
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_vectorization = True
    options.slp_vectorization = False
    options.loop_interleaving = True
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    if "@wl.red." in text:  # a loop calls them with vectors only now
        inliner = llvm.create_new_module_pass_manager()
        inliner.add_always_inliner_pass()
        inliner.add_sinking_pass()
        inliner.run(module, builder)
    if "imumnum" in text:
        from warploom.engine.host_compiler.opcodes.extremes import with_range  # a cached kernel needs no translator

        module = verified(with_range(str(module)))
    return _object(module, machine)


def _object(module: Any, machine: Any) -> bytes:
    try:
        return bytes(machine.emit_object(module))
    except RuntimeError as reason:
        raise _refused(str(reason)) from reason


class _Linkers:
    """LLVM's linkers, used one after another, since creating one takes as long as linking a kernel.

    A linker keeps 11 KB for each library, even after that is unloaded. It is freed with its last library.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._linker: Any = None
        self._linked = MOST_LINKED

    def next(self) -> tuple[Any, str]:
        """Return a linker, and a name that is new to it. Any thread may call this."""
        with self._lock:
            if self._linked == MOST_LINKED:
                self._linker = llvm.create_lljit_compiler(
                    _target_machine(_BEST, cpu()),
                    use_jit_link=not is_windows(triple()),  # llvmlite has an older linker there
                )
                self._linked = 0
            self._linked += 1
            return self._linker, f"kernels{self._linked}"


_linkers = _Linkers()


class NativeCode:
    """Loaded object code, which stays loaded as long as this object lives.

    `symbols` can be looked up; `imports` are the addresses of symbols that the code uses but does not define.
    """

    def __init__(self, objects: Iterable[bytes], symbols: Iterable[str], imports: Mapping[str, int]) -> None:
        builder = llvm.JITLibraryBuilder().add_current_process()
        for code in objects:
            builder = builder.add_object_img(code)
        names = list(symbols)
        for name in names:
            builder = builder.export_symbol(name)
        for name, address in imports.items():
            builder = builder.import_symbol(name, address)
        self._tracker = builder.link(*_linkers.next())
        self._addresses = {name: int(self._tracker[name]) for name in names}

    def address(self, symbol: str) -> int:
        """Return a symbol's address."""
        return self._addresses[symbol]

    def function(self, symbol: str) -> Any:
        """Return a kernel as a ctypes function, which runs without the interpreter lock."""
        return _RUN(self.address(symbol))


_RUN = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)
