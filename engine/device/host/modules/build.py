"""PTX text to object code, by way of the cache."""

from __future__ import annotations

import logging
import threading

import msgspec

from engine.device.host.modules import cache, native
from engine.diagnostics import KernelError

_LOG = logging.getLogger(__name__)
# Kernels of one module share a file.
_FILES = threading.Lock()


def build(ptx: str) -> cache.CachedModule:
    """Return a module's code, compiled quickly now or found; KernelError with the line when it cannot be compiled."""
    key = cache.key(ptx, *native.cpu())
    found = cache.load(key)
    if found is None:
        # Imported here: a cached kernel needs neither parser nor translator.
        from engine.device.host.translate.module import translate_module
        from engine.ptx import parse

        try:
            module = parse(ptx)
            translated = translate_module(module, native.triple(), *native.cpu())
        except (
            ArithmeticError,
            AssertionError,
            AttributeError,
            LookupError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as reason:
            # Whatever the text says, the one who loads it is told that it cannot be used, and no more breaks.
            _LOG.debug("PTX was not understood", exc_info=True)
            raise KernelError(f"PTX must be well formed, got text that cannot be translated: {reason!r}") from reason
        lines = {
            instruction.line: (instruction.source.file, instruction.source.line)
            for function in module.functions.values()
            for instruction in function.instructions
            if instruction.source is not None
        }
        found = cache.CachedModule(
            native.quick_object(translated.text),
            module.signatures,
            translated.scratch_bytes,
            translated.variables,
            lines,
            translated.kernels,
            spinning=translated.spinning,
        )
        cache.store(key, found)
    return found


def optimised(key: str, name: str, text: str) -> bytes:
    """Return the optimised object code of one kernel of a module, and keep it; KernelError when LLVM has none."""
    known = cache.load(key)
    if known is not None and name in known.optimised:  # another has been faster
        return known.optimised[name]
    code = native.compile_object(text)
    with _FILES:
        known = cache.load(key)
        if known is not None:
            texts = {kernel: item for kernel, item in known.texts.items() if kernel != name}
            cache.store(key, msgspec.structs.replace(known, texts=texts, optimised=known.optimised | {name: code}))
    return code
