"""The functions of the runtime that are the same for every kernel, as LLVM text.

They are written in C; `make host-runtime` compiles them to `runtime.ll`. There they are called `wl.NAME`, which no name
in PTX can be. A kernel's module gets those that it needs.
"""

import re
from functools import cache
from pathlib import Path

PATH = Path(__file__).with_name("runtime.ll")
_FUNCTION = re.compile(r"@wl\.\w+")
_NAME = re.compile(r"[@%][A-Za-z][\w.]*")
_DEFINITION = re.compile(r"^define internal ([^\n]*) \{\n.*?^\}$", re.MULTILINE | re.DOTALL)


@cache
def _definitions() -> dict[str, tuple[str, set[str]]]:
    """Return each function and type of the library: its text, and the names in it."""
    parts = re.split(r"\n\n+(?=define |declare |%)", PATH.read_text("utf-8"))[1:]
    names = [_NAME.findall(part) for part in parts]
    return {found[0]: (part, set(found)) for part, found in zip(parts, names, strict=True)}


def needed(text: str) -> str:
    """Return the functions of the library that LLVM text refers to, with all functions that these call."""
    definitions = _definitions()
    found: set[str] = set()
    pending = definitions.keys() & set(_FUNCTION.findall(text))
    while pending:
        found |= pending
        pending = {name for item in pending for name in definitions[item][1]} & definitions.keys() - found
    return "\n".join(part for name, (part, _) in definitions.items() if name in found)


def declared(runtime: str) -> str:
    """Return declarations of the functions of the library that a text defines, for a module that is linked to it."""
    return _DEFINITION.sub(r"declare \1", runtime)


def exported(runtime: str) -> str:
    """Return functions of the library such that other modules can call them."""
    return runtime.replace("define internal ", "define ")
