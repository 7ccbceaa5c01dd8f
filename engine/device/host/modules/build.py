"""Compiles PTX to object code, with a cache."""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from warploom.engine.device.host.modules import cache, native
from warploom.engine.diagnostics import KernelError, TranslatorBug
from warploom.engine.processes.pool import run, run_in_background
from warploom.engine.ptx.tree import Instruction, Label, PtxModule

if TYPE_CHECKING:  # imported on use: a cached kernel needs no translator
    from warploom.engine.host_compiler.module import TranslatedModule

_LOG = logging.getLogger(__name__)
#: The most launches for which a kernel has versions; the latest ones count.
MOST_LAUNCHES = 4
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")


def build(ptx: str) -> cache.CachedModule:
    """Return a module from the cache, or have it compiled quickly. Raise KernelError when the PTX is wrong."""
    key = cache.key(ptx, *native.cpu())
    found = cache.load(key)
    if found is None:
        try:
            found = run(translate, ptx, native.cpu())
        except TranslatorBug:
            _LOG.exception("a kernel could not be translated")
            raise
        bugs = [item for item in found.refused.values() if item.is_bug]
        for item in bugs:
            _LOG.error("%s", item.message)
        if not bugs:
            cache.store(key, found)
    return found


def translate(ptx: str, processor: tuple[str, str]) -> cache.CachedModule:
    """Translate a module and compile it quickly, in a worker process. Raise KernelError when the PTX is wrong."""
    # Imported here, since a cached kernel needs neither parser nor translator.
    from warploom.engine.device.host.modules.functions import object_code, take_out_functions, with_declarations
    from warploom.engine.host_compiler.errors import own_bug
    from warploom.engine.ptx import parse

    try:
        rest, functions = take_out_functions(ptx, processor)
        module = with_declarations(parse(rest), functions)
        translated, code = _compiled(module, processor)
    except KernelError:
        raise
    except Exception as reason:
        raise own_bug(", ".join(_ENTRY.findall(ptx)) or "without a name", reason) from reason
    runtime = [object_code(text, processor) for text in translated.runtime]
    lines = {
        instruction.line: (instruction.source.file, instruction.source.line)
        for function in module.functions.values()
        for instruction in function.instructions
        if instruction.source is not None
    }
    return cache.CachedModule(
        code,
        module.signatures,
        translated.scratch_bytes,
        translated.variables,
        lines,
        spinning=translated.spinning,
        functions=[function.code for function in functions] + runtime,
        refused={name: cache.KernelRefusal.of(problem) for name, problem in translated.refused.items()},
    )


def _compiled(module: PtxModule, processor: tuple[str, str]) -> tuple[TranslatedModule, bytes]:
    """Translate a module and compile it quickly, without refused kernels. Raise KernelError if all are refused."""
    from warploom.engine.host_compiler.module import translate_module

    refused: dict[str, KernelError] = {}
    while True:
        try:
            translated = translate_module(module, native.triple(), *processor, quickly=True)
            code = native.quick_object(translated.text, processor)
            break
        except TranslatorBug:
            bugs = {name: bug for name in module.signatures if (bug := _bug(module, name, processor)) is not None}
            refused |= bugs
            module = _only(module, [name for name in module.signatures if name not in bugs])
            if not bugs:
                raise
            if not module.signatures:
                first = next(iter(refused.values()))
                raise first from first.__cause__
    for name, problem in translated.refused.items():
        is_bug = isinstance(problem, TranslatorBug)
        refused[name] = _bug(module, name, processor) or problem if is_bug else problem
    return dataclasses.replace(translated, refused=refused), code


def _only(module: PtxModule, names: Iterable[str]) -> PtxModule:
    """Return a module with only these kernels."""
    return replace(module, signatures={name: module.signatures[name] for name in names})


def _bug(module: PtxModule, name: str, processor: tuple[str, str]) -> TranslatorBug | None:
    """Return the error if the translator fails on a kernel, or LLVM fails on the translation; otherwise None.

    It names the first instruction that makes the kernel fail.
    """
    from warploom.engine.host_compiler.module import translate_module

    alone, function = _only(module, [name]), module.functions[name]
    body = function.body or ()

    def problem(count: int) -> TranslatorBug | None:
        """Return the bug that the first `count` instructions of the kernel cause, if any; its labels stay."""
        kept = [item for index, item in enumerate(body) if index < count or isinstance(item, Label)]
        end = () if count == len(body) else (Instruction("ret", (), (), None, function.line),)
        cut = replace(alone, functions={**alone.functions, name: replace(function, body=(*kept, *end))})
        try:
            native.verified(translate_module(cut, native.triple(), *processor, quickly=True).text)
        except TranslatorBug as found:
            return found
        except KernelError:
            pass  # a part of a kernel may be invalid for other reasons
        return None

    found = problem(len(body))
    if found is None:
        return None
    fine, count = 0, len(body)
    while count - fine > 1:
        middle = (fine + count) // 2
        fine, count = (fine, middle) if problem(middle) is not None else (middle, count)
    last = body[count - 1] if body else None
    line = last.line if last is not None else function.line
    text = f" ({last.text})" if isinstance(last, Instruction) else ""
    what = str(found).removeprefix(f"kernel {name}: ")
    bug = TranslatorBug(f"kernel {name}, PTX line {line}{text}: {what}", line=line)
    bug.__cause__ = found
    return bug


def warm_up() -> None:
    """Import the modules that `translate` needs."""
    from warploom.engine.device.host.modules import functions
    from warploom.engine.host_compiler import module
    from warploom.engine.ptx import parser

    _ = functions, module, parser


@lru_cache(maxsize=1)
def _parsed(ptx: str) -> PtxModule:
    """Return a module's tree, from which kernels are optimised one after the other."""
    from warploom.engine.ptx import parse

    return parse(ptx)


def optimise(
    ptx: str | Callable[[], str], name: str, processor: tuple[str, str], launches: Sequence[bytes] = ()
) -> cache.CachedKernel:
    """Optimise one kernel of a translated module, in a worker process.

    `ptx` is the module, or returns one with equivalent kernels. `launches` are the argument blocks of known launches,
    the latest last. The code may need more scratch memory than the quickly compiled code.
    """
    from warploom.engine.host_compiler.module import translate_module

    alone = _only(_parsed(ptx if isinstance(ptx, str) else ptx()), [name])
    translated = translate_module(alone, native.triple(), *processor, launches=launches)
    code = native.compile_object(translated.kernels[name], processor)
    return cache.CachedKernel(code, translated.scratch_bytes[name], [*launches])


def optimised(
    key: str, name: str, ptx: str | Callable[[], str], arguments: bytes = b"", launches: Sequence[bytes] | None = None
) -> cache.CachedKernel:
    """Return what `optimise` returns, and cache it. Raise KernelError if LLVM can't compile the kernel.

    `arguments` is the argument block of a launch, if one is known. The code is for this launch and for `launches`, for
    which the caller has code; None if it has none. If the cache has code for other launches, that is returned.
    """
    known = cache.load_kernel(key, name)
    if known is not None and known.launches != launches:  # another process or thread was faster
        return known
    latest = [block for block in (*(launches or ()), arguments) if block][-MOST_LAUNCHES:]
    found = run_in_background(optimise, ptx, name, native.cpu(), latest)
    cache.store_kernel(key, name, found)
    return found
