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


def called(text: str) -> list[str]:
    """Return the names of the library's functions that LLVM text refers to."""
    return sorted(_definitions().keys() & set(_FUNCTION.findall(text)))


def needed(text: str) -> str:
    """Return the functions of the library that LLVM text refers to, with all functions that these call."""
    definitions = _definitions()
    found: set[str] = set()
    pending = set(called(text))
    while pending:
        found |= pending
        pending = {name for item in pending for name in definitions[item][1]} & definitions.keys() - found
    return "\n".join(part for name, (part, _) in definitions.items() if name in found)


@cache
def declared(name: str) -> str:
    """Return the declaration of a function of the library, for a module that is linked to it."""
    return _DEFINITION.sub(r"declare \1", _definitions()[name][0])


def exported(text: str, *names: str) -> str:
    """Return functions of the library such that other modules can call those with these names."""
    ends = "|".join(map(re.escape, names))
    return re.sub(rf"^define internal (?=[^\n]*(?:{ends})\()", "define ", text, flags=re.MULTILINE)
