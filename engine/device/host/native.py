"""LLVM text to native code for this CPU, kept as object code so that it can be cached."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from engine.diagnostics import KernelError

# LLVM's global context is not for several threads at once.
_LOCK = threading.Lock()


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def cpu() -> tuple[str, str]:
    """Return LLVM's name of this CPU and its features."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def triple() -> str:
    """Return LLVM's name of this machine."""
    return str(llvm.get_process_triple())


def _target_machine() -> Any:
    _initialize()
    name, features = cpu()
    target = llvm.Target.from_triple(triple())
    return target.create_target_machine(cpu=name, features=features, opt=2, reloc="pic", codemodel="small")


def compile_object(text: str) -> bytes:
    """Return optimised object code of LLVM text."""
    with _LOCK:
        machine = _target_machine()
        module = verified(text)
        optimise(module, machine)
        return bytes(machine.emit_object(module))


def verified(text: str) -> Any:
    """Return LLVM text as a module; KernelError when LLVM finds it unsound."""
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as reason:
        raise KernelError(f"kernel must use instructions in the forms that PTX defines, got: {reason}") from reason
    return module


def optimise(module: Any, machine: Any) -> None:
    """Run LLVM's O2 pipeline with the vectoriser of loops.

    Unrolling and vectors within one thread are left out: CUDA compilers have unrolled already, and both take long.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = True
    options.slp_vectorization = False
    options.loop_interleaving = True
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


class NativeCode:
    """Loaded object code; `address` finds its symbols until `unload`."""

    def __init__(self, code: bytes, symbols: Iterable[str]) -> None:
        with _LOCK:
            self._jit = llvm.create_lljit_compiler(_target_machine(), use_jit_link=True)
            builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
            names = list(symbols)
            for name in names:
                builder = builder.export_symbol(name)
            self._tracker = builder.link(self._jit, "kernels")
        self._addresses = {name: self._tracker[name] for name in names}

    def address(self, symbol: str) -> int:
        """Return a symbol's address."""
        return int(self._addresses[symbol])

    def function(self, symbol: str) -> Any:
        """Return a kernel's entry as a ctypes function, which runs without the interpreter lock."""
        return _RUN(self.address(symbol))

    def unload(self) -> None:
        """Free the code."""
        with _LOCK:
            self._tracker.close()
            self._jit.close()


_RUN = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)
