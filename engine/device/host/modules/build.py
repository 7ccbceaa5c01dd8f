"""Compiling PTX to object code, by way of the cache."""

import logging
import re
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import msgspec

from engine.device.host.modules import cache, native
from engine.diagnostics import KernelError, TranslatorBug
from engine.processes.pool import run, run_in_background

_LOG = logging.getLogger(__name__)
# Kernels of one module share a file.
_FILES = threading.Lock()
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")


def build(ptx: str) -> cache.CachedModule:
    """Return a module from the cache, or else have it compiled quickly; KernelError when the PTX is wrong."""
    key = cache.key(ptx, *native.cpu())
    found = cache.load(key)
    if found is None:
        try:
            found = run(translate, ptx, native.cpu())
        except TranslatorBug:
            _LOG.exception("a kernel could not be translated")
            raise
        cache.store(key, found)
    return found


def translate(ptx: str, processor: tuple[str, str]) -> cache.CachedModule:
    """Translate a module and compile it quickly, in a worker process; KernelError when the PTX is wrong."""
    # Imported here: a cached kernel needs neither parser nor translator.
    from engine.device.host.modules.functions import take_out, with_declarations
    from engine.device.host.translate.module import translate_module
    from engine.ptx import parse

    try:
        rest, functions = take_out(ptx, processor)
        module = with_declarations(parse(rest), functions)
        translated = translate_module(module, native.triple(), *processor, quickly=True)
    except KernelError:
        raise
    except Exception as reason:
        raise _own_bug(ptx, reason) from reason
    lines = {
        instruction.line: (instruction.source.file, instruction.source.line)
        for function in module.functions.values()
        for instruction in function.instructions
        if instruction.source is not None
    }
    return cache.CachedModule(
        native.quick_object(translated.text, processor),
        module.signatures,
        translated.scratch_bytes,
        translated.variables,
        lines,
        # The optimiser gets each function in its own module, where it may inline it.
        dict.fromkeys(translated.kernels) if functions else translated.kernels,
        spinning=translated.spinning,
        functions=[*(function.code for function in functions), *_runtime(translated.runtime, processor)],
    )


@lru_cache(maxsize=64)
def _runtime(text: str, processor: tuple[str, str]) -> tuple[bytes, ...]:
    """Return the object code of what a module needs of the runtime, if anything; many modules need the same."""
    return (native.compile_object(text, processor),) if text else ()


def warm_up() -> None:
    """Import what `translate` imports."""
    from engine.device.host.modules import functions
    from engine.device.host.translate import module
    from engine.ptx import parser

    _ = functions, module, parser


def optimise(ptx: str | Callable[[], str], name: str, processor: tuple[str, str]) -> tuple[bytes, int]:
    """Return the optimised object code of one kernel of a module that `translate` has taken, in a worker process.

    `ptx` is the module, or returns one whose kernels do the same. The kernel's scratch memory in bytes is returned too,
    which may be more than that of the code that was compiled first.
    """
    from engine.device.host.translate.module import translate_module
    from engine.ptx import parse

    module = parse(ptx if isinstance(ptx, str) else ptx())
    alone = replace(module, signatures={name: module.signatures[name]})
    translated = translate_module(alone, native.triple(), *processor)
    text = translated.kernels[name]
    assert text is not None
    return native.compile_object(text, processor), translated.scratch_bytes[name]


def optimised(key: str, name: str, text: str | None, ptx: str | Callable[[], str]) -> tuple[bytes, int]:
    """Return the optimised object code of one kernel and cache it; KernelError when LLVM cannot compile it.

    Its scratch memory in bytes comes with it, 0 for no more than before. `text` is the kernel's LLVM text; None when
    that is to be made from the PTX, which is as for `optimise`.
    """
    known = cache.load(key)
    if known is not None and name in known.optimised:  # another process or thread was faster
        return known.optimised[name], known.scratch_bytes[name]
    if text is None:
        code, scratch_bytes = run_in_background(optimise, ptx, name, native.cpu())
    else:
        code, scratch_bytes = run_in_background(native.compile_object, text, native.cpu()), 0
    with _FILES:
        known = cache.load(key)
        if known is not None:
            texts = {kernel: item for kernel, item in known.texts.items() if kernel != name}
            scratch = known.scratch_bytes | {name: max(known.scratch_bytes[name], scratch_bytes)}
            done = known.optimised | {name: code}
            cache.store(key, msgspec.structs.replace(known, texts=texts, optimised=done, scratch_bytes=scratch))
    return code, scratch_bytes


def _own_bug(ptx: str, reason: Exception) -> TranslatorBug:
    """Return the error for PTX that broke the parser or the translator, which refuse wrong PTX by a KernelError."""
    names = ", ".join(_ENTRY.findall(ptx)) or "without a name"
    place = traceback.extract_tb(reason.__traceback__)[-1]
    return TranslatorBug(
        f"kernel {names}: translating its PTX for the CPU failed with {reason!r} in {Path(place.filename).name}, line "
        f"{place.lineno}; this is a bug in Warploom and not in the kernel, please report it with the kernel's PTX"
    )
