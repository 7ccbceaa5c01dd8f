"""What the pointers of a kernel point to, and whether that fits the elements of the buffers passed to it.

In PTX every pointer is just an address. A `.cu` names the types in its declarations, a `.ptx` in its manifest.
"""

import re
from collections.abc import Sequence

from engine.diagnostics import Diagnostic, KernelError, error
from engine.kernel_sources.element_names import (
    VECTOR_NAMES,
    NamedElements,
    PointerElement,
    components,
    named_element,
    named_elements,
)
from engine.kernel_sources.image import KernelImage
from engine.kernel_sources.loader import compile_source
from engine.kernel_sources.nvrtc import CompileCache
from engine.kernel_sources.sources import CudaFile, CudaText
from engine.types import DType, layout_text

# When names alone don't tell, the CUDA C++ compiler does: the kernel's own file is compiled once more, with a few lines
# added that store the sizes in a variable, whose value is read from the PTX. So typedefs, templates, includes and
# packing have the same effect as for the kernel.


# A code is 4 times the size, plus 1 for a struct and 2 for one of CUDA's vectors; 0 for a type without size (void, a
# struct that is only declared).
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
    static constexpr unsigned value = 4 * sizeof(T) + (is_struct ? 1 : is_vector<T>::value ? 2 : 0);
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
_REMEDY = "give the struct the same fields in the block and in the kernel (`declaration` writes the kernel's)"
_TARGET = re.compile(r"^\.target\s+sm_(\w+)", re.MULTILINE)
_NAME = "warploom_elements_of_"
_VARIABLE = re.compile(rf"\.b8 {_NAME}(\w+)\[(\d+)\](?: = \{{([\d, ]*)\}})?;")

#: For each parameter, the size in bytes of the element it points to, and 1 for a struct, 2 for a vector; None for no
#: pointer.
Sized = tuple[tuple[int, int] | None, ...]


def probe_elements(
    source: CudaFile | CudaText, image: KernelImage, entries: Sequence[str], cache: CompileCache
) -> dict[str, Sized]:
    """Return for each entry point what its parameters point to, as the compiler finds it.

    The probe is compiled for the target of the image's PTX. Entries that C++ cannot name (in a namespace, of a
    template) are left out.
    """
    target = _TARGET.search(image.ptx)
    architecture = f"compute_{target[1] if target else '75'}"
    groups = [list(entries)] if len(entries) == 1 else [list(entries), *([entry] for entry in entries)]
    found: dict[str, Sized] = {}
    for group in groups:
        variables = "".join(
            f'extern "C" __device__ warploom_elements::parameters<decltype(&::{entry})> {_NAME}{entry}{{}};\n'
            for entry in group
        )
        probe = image.text + _PROBE % {"vectors": _VECTORS} + variables
        try:
            compiled, _ = compile_source(source, probe, architecture, cache)
        except KernelError:
            # The file itself compiles, so one of these entries cannot be named: try each alone, or leave it out.
            continue
        # Search for these variables only: parsing a kernel's PTX can take longer than compiling it.
        for entry, size_bytes, values in _VARIABLE.findall(compiled.ptx):
            found[entry] = _elements([int(value) for value in values.split(",") if value], int(size_bytes))
        if len(found) == len(entries):
            break
    return found


def _elements(values: list[int], size_bytes: int) -> Sized:
    """Decode the variable's bytes; zeros at the end are left out."""
    data = bytes(values).ljust(size_bytes, b"\0")
    codes = [int.from_bytes(data[at : at + 4], "little") for at in range(0, size_bytes - 4, 4)]
    return tuple(divmod(code, 4) if code else None for code in codes)


def pointer_elements(
    image: KernelImage, entry: str, cache: CompileCache | None = None
) -> tuple[PointerElement | None, ...]:
    """Return for each parameter of an entry point what it points to; None for no pointer, or when it is unknown.

    The result is kept with the image. KernelError when the image has no such entry point.
    """
    if entry not in image.elements:
        image.signature(entry)  # KernelError when it is not there
        with image.reading.under_way():
            image.elements.update(_find(image, cache or CompileCache()))
    return image.elements[entry]


def check_elements(
    arguments: Sequence[tuple[str, DType] | None], elements: Sequence[PointerElement | None], kernel: str
) -> list[Diagnostic]:
    """Return an error for each buffer whose elements are not what the kernel takes, as far as its source tells.

    The errors name no node. `arguments` gives for each argument of a launch its port and element type, None when it is
    no buffer; `elements` is what `pointer_elements` found for `kernel`, whose name is for the message. A kernel may
    read scalars as structs whose size is a multiple of theirs or as vectors of them, and structs and vectors as the
    numbers in them.
    """
    mismatches = []
    for argument, element in zip(arguments, elements, strict=False):
        if argument is None or element is None or _fits(argument[1], element):
            continue
        port, dtype = argument
        expected = f"{element.name}: {element.size_bytes} bytes"
        found = layout_text(dtype)
        text, remedy = f"be of the size that kernel {kernel} gives {expected}", _REMEDY
        if not element.is_struct:
            text = f"be what kernel {kernel} takes, {expected}"
            remedy = "give the port and the kernel's parameter the same element type"
        text = f"elements of {port} must {text}, got {found}"
        mismatches.append(error(text, port=port, expected=expected, found=found, remedy=remedy))
    return mismatches


def _fits(dtype: DType, element: PointerElement) -> bool:
    size, taken = dtype.size_bytes, element.size_bytes
    if 0 in (size, taken):  # any_type, or not known
        return True
    if element.is_struct:
        return size == taken or (dtype.kind not in ("struct", "vector") and taken % size == 0)
    known, numbers = element.components, components(dtype)
    if known and known.isdisjoint(numbers):
        return False
    if dtype.kind == "struct":
        return bool(known) or size % taken == 0
    is_part = size == taken or (dtype.kind in ("vector", "complex") and size % taken == 0)
    return is_part or ((bool(known) or element.is_vector) and taken % size == 0)


def _find(image: KernelImage, cache: CompileCache) -> dict[str, tuple[PointerElement | None, ...]]:
    source = image.source
    if not isinstance(source, CudaFile | CudaText):
        return {name: _by_manifest(image, name, len(item.parameters)) for name, item in image.signatures.items()}
    named = {
        name: named_elements(image.text, name, [parameter.size_bytes for parameter in item.parameters])
        for name, item in image.signatures.items()
    }
    unknown = [name for name, elements in named.items() if elements.unknown]
    probed = probe_elements(source, image, unknown, cache) if unknown else {}
    return {name: _complete(elements, probed.get(name)) for name, elements in named.items()}


def _complete(named: NamedElements, probed: Sized | None) -> tuple[PointerElement | None, ...]:
    """Return the elements known from names, completed by those that the compiler found."""
    found = list(named.elements)
    for index in named.unknown:
        known, size = found[index], probed[index] if probed is not None else None
        name = known.name if known is not None else f"parameter {index}"
        found[index] = PointerElement(size[0], name, size[1] == 1, size[1] == 2) if size is not None else None
    return tuple(found)


def _by_manifest(image: KernelImage, entry: str, count: int) -> tuple[PointerElement | None, ...]:
    elements: list[PointerElement | None] = [None] * count
    if entry in image.manifests:
        for parameter in image.manifests[entry].parameters:
            if parameter.is_pointer is not False and parameter.element_type is not None:
                elements[parameter.index] = named_element(parameter.element_type)
    return tuple(elements)
