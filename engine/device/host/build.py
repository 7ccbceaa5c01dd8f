"""PTX text to object code, by way of the cache."""

from __future__ import annotations

import logging

from engine.device.host import cache, native
from engine.diagnostics import KernelError

_LOG = logging.getLogger(__name__)


def build(ptx: str) -> cache.Entry:
    """Return a module's object code, compiled now or before; KernelError with the line when it cannot be."""
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
        code = native.compile_object(translated.text)
        found = cache.Entry(code, module.signatures, translated.scratch_bytes, translated.variables, lines)
        cache.store(key, found)
    return found
