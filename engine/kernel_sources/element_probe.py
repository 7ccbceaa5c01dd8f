"""Asks the CUDA C++ compiler what a kernel's pointers point to, when names alone don't tell.

The kernel's own file is compiled once more, with a few lines behind it that make the sizes the value of a variable, and
that value is read from the PTX. So typedefs, templates, includes and packing count as they do for the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from engine.diagnostics import KernelError
from engine.kernel_sources.compile_cache import CompileCache
from engine.kernel_sources.cuda_file import compile_source
from engine.kernel_sources.element_names import VECTOR_NAMES

# Sizes are doubled, and one more for a struct. What has no size (void, a struct that is only announced) is 0.
_PROBE = """
namespace warploom_elements {
template <class...> using always_void = void;
template <class T> struct is_vector { static constexpr bool value = false; };
%(vectors)s
template <class T> struct plain { using type = T; };
template <class T> struct plain<const T> { using type = T; };
template <class T> struct plain<volatile T> { using type = T; };
template <class T> struct plain<const volatile T> { using type = T; };
template <class T, class = void> struct size_of { static constexpr unsigned value = 0; };
template <class T> struct size_of<T, always_void<char[sizeof(T)]>> {
    static constexpr bool is_struct = (__is_class(T) || __is_union(T)) && !is_vector<T>::value;
    static constexpr unsigned value = 2 * sizeof(T) + (is_struct ? 1 : 0);
};
template <class T> struct element { static constexpr unsigned value = 0; };
template <class T> struct element<T*> { static constexpr unsigned value = size_of<typename plain<T>::type>::value; };
template <class F> struct parameters;
template <class... P> struct parameters<void (*)(P...)> {
    unsigned elements[sizeof...(P) + 1] = {element<P>::value..., 0};
};
}
"""
_IS_VECTOR = "template <> struct is_vector<{}> {{ static constexpr bool value = true; }};"
_VECTORS = "\n".join(map(_IS_VECTOR.format, VECTOR_NAMES))
_TARGET = re.compile(r"^\.target\s+sm_(\w+)", re.MULTILINE)
_NAME = "warploom_elements_of_"
_VARIABLE = re.compile(rf"\.b8 {_NAME}(\w+)\[(\d+)\](?: = \{{([\d, ]*)\}})?;")

#: For each parameter the size in bytes of what it points to and whether that is a struct; None where it points to none.
Sized = tuple[tuple[int, bool] | None, ...]


def probe_elements(source: str, path: Path, ptx: str, entries: Sequence[str], cache: CompileCache) -> dict[str, Sized]:
    """Return size and whether it is a struct of what each parameter of each entry points to, None where to nothing.

    `ptx` is what the file compiled to: its target is compiled for again. Entries that C++ cannot name (in a namespace,
    a template's) are left out.
    """
    target = _TARGET.search(ptx)
    architecture = f"compute_{target[1] if target else '75'}"
    groups = [list(entries)] if len(entries) == 1 else [list(entries), *([entry] for entry in entries)]
    found: dict[str, Sized] = {}
    for group in groups:
        variables = "".join(
            f'extern "C" __device__ warploom_elements::parameters<decltype(&::{entry})> {_NAME}{entry}{{}};\n'
            for entry in group
        )
        probe = source + _PROBE % {"vectors": _VECTORS} + variables
        try:
            compiled, _ = compile_source(probe, path, architecture, cache)
        except KernelError:
            # The file itself compiles, so one of these entries cannot be named: each is tried alone, or left out.
            continue
        # Only these variables are read: parsing all of a kernel's PTX can take longer than compiling it.
        for entry, size_bytes, values in _VARIABLE.findall(compiled.ptx):
            found[entry] = _elements([int(value) for value in values.split(",") if value], int(size_bytes))
        if len(found) == len(entries):
            break
    return found


def _elements(values: list[int], size_bytes: int) -> Sized:
    """Decode the variable: bytes, of which those at the end are left out when they are 0."""
    data = bytes(values).ljust(size_bytes, b"\0")
    codes = [int.from_bytes(data[at : at + 4], "little") for at in range(0, size_bytes - 4, 4)]
    return tuple((code // 2, bool(code % 2)) if code else None for code in codes)
