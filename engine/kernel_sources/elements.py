"""What the pointers of a kernel point to, and whether that fits the elements of the buffers they are given.

PTX does not say: there every pointer is an address. A `.cu` says it in its declarations, a `.ptx` in its manifest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.diagnostics import KernelError
from engine.kernel_sources.compile_cache import CompileCache
from engine.kernel_sources.element_names import (
    VECTOR_NAMES,
    NamedElements,
    PointerElement,
    named_element,
    named_elements,
)
from engine.kernel_sources.image import KernelImage, read_source
from engine.kernel_sources.loader import compile_source
from engine.types import DType, layout_text

# Asks the CUDA C++ compiler what a kernel's pointers point to, when names alone don't tell.
#
# The kernel's own file is compiled once more, with a few lines behind it that make the sizes the value of a variable,
# and that value is read from the PTX. So typedefs, templates, includes and packing count as they do for the kernel.


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


@dataclass(frozen=True)
class ElementMismatch:
    """A buffer whose elements are not as large as the struct that the kernel takes them for.

    `expected` and `found` are layouts as text; `message` and `remedy` are for the diagnostic at `port`.
    """

    port: str
    expected: str
    found: str
    message: str
    remedy: str


def pointer_elements(
    image: KernelImage, entry: str, cache: CompileCache | None = None
) -> tuple[PointerElement | None, ...]:
    """Return for each parameter of an entry point what it points to; None where that is nothing or cannot be told.

    It is found once for each image. KernelError when the image has no such entry point.
    """
    if entry not in image.elements:
        image.signature(entry)  # KernelError when it is not there
        image.elements.update(_find(image, cache or CompileCache()))
    return image.elements[entry]


def check_elements(
    arguments: Sequence[tuple[str, DType] | None], elements: Sequence[PointerElement | None], kernel: str
) -> list[ElementMismatch]:
    """Return the buffers whose elements are not of the size of the struct that the kernel has at their place.

    `arguments` gives for each argument of a launch its port and element type, None when it is no buffer; `elements` is
    what `pointer_elements` found for `kernel`, whose name is for the message. Scalars that together fill such a struct
    are right: a kernel may read records from them. So is a struct that a kernel reads as numbers.
    """
    mismatches = []
    for argument, element in zip(arguments, elements, strict=False):
        if argument is None or element is None or not element.is_struct:
            continue
        port, dtype = argument
        size = dtype.size_bytes
        if size in (0, element.size_bytes):  # any_type has size 0
            continue
        if dtype.kind not in ("struct", "vector") and element.size_bytes % size == 0:
            continue
        expected = f"{element.name}: {element.size_bytes} bytes"
        found = layout_text(dtype)
        mismatches.append(
            ElementMismatch(
                port,
                expected,
                found,
                f"elements of {port} must be of the size that kernel {kernel} gives {expected}, got {found}",
                "give the struct the same fields in the block and in the kernel (`declaration` writes the kernel's)",
            )
        )
    return mismatches


def _find(image: KernelImage, cache: CompileCache) -> dict[str, tuple[PointerElement | None, ...]]:
    if image.path.suffix != ".cu":
        return {name: _by_manifest(image, name, len(item.parameters)) for name, item in image.signatures.items()}
    source = read_source(image.path)
    named = {
        name: named_elements(source, name, [parameter.size_bytes for parameter in item.parameters])
        for name, item in image.signatures.items()
    }
    untold = [name for name, elements in named.items() if elements.untold]
    probed = probe_elements(source, image.path, image.ptx, untold, cache) if untold else {}
    return {name: _complete(elements, probed.get(name)) for name, elements in named.items()}


def _complete(named: NamedElements, probed: Sized | None) -> tuple[PointerElement | None, ...]:
    """Return what names tell, with what the compiler found where they don't."""
    found = list(named.elements)
    for index in named.untold:
        known, size = found[index], probed[index] if probed is not None else None
        name = known.name if known is not None else f"parameter {index}"
        found[index] = PointerElement(size[0], name, size[1]) if size is not None else None
    return tuple(found)


def _by_manifest(image: KernelImage, entry: str, count: int) -> tuple[PointerElement | None, ...]:
    elements: list[PointerElement | None] = [None] * count
    if image.manifest is not None and image.manifest.name == entry:
        for parameter in image.manifest.parameters:
            if parameter.is_pointer is not False and parameter.element_type is not None:
                elements[parameter.index] = named_element(parameter.element_type)
    return tuple(elements)
