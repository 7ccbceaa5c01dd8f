"""PTX text to object code, by way of the cache."""

from __future__ import annotations

from dataclasses import dataclass

from engine.device.host import cache, native
from engine.ptx import KernelSignature, parse


@dataclass(frozen=True)
class BuiltModule:
    """Object code with what is needed to launch it: signatures, scratch bytes by kernel, sizes of module variables."""

    code: bytes
    signatures: dict[str, KernelSignature]
    scratch_bytes: dict[str, int]
    variables: dict[str, int]


def build(ptx: str) -> BuiltModule:
    """Return a module's object code, compiled now or before; KernelError with the line when it cannot be."""
    module = parse(ptx)
    key = cache.key(ptx, *native.cpu())
    found = cache.load(key)
    if found is None:
        # Imported here: a cached kernel needs no translator.
        from engine.device.host.translate.module import translate_module

        translated = translate_module(module, native.triple(), *native.cpu())
        found = cache.Entry(native.compile_object(translated.text), translated.scratch_bytes, translated.variables)
        cache.store(key, found)
    return BuiltModule(found.code, module.signatures, found.scratch_bytes, found.variables)
