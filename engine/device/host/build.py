"""PTX text to object code, by way of the cache."""

from __future__ import annotations

from engine.device.host import cache, native


def build(ptx: str) -> cache.Entry:
    """Return a module's object code, compiled now or before; KernelError with the line when it cannot be."""
    key = cache.key(ptx, *native.cpu())
    found = cache.load(key)
    if found is None:
        # Imported here: a cached kernel needs neither parser nor translator.
        from engine.device.host.translate.module import translate_module
        from engine.ptx import parse

        module = parse(ptx)
        translated = translate_module(module, native.triple(), *native.cpu())
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
