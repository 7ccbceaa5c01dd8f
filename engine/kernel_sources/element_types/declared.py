"""The declared types of a kernel's parameters, and whether arguments match them.

In PTX, a pointer is only an address, and a whole number has no sign. The declarations of a `.cu` and the manifest of a
`.ptx` have the types.
"""

import re
from collections.abc import Sequence
from enum import IntEnum

from msgspec.structs import replace

from warploom.engine.diagnostics import CompilerCrash, Diagnostic, KernelError, error
from warploom.engine.kernel_sources.cuda.compiling import compile_source
from warploom.engine.kernel_sources.cuda.nvrtc import CompileCache
from warploom.engine.kernel_sources.element_types.names import (
    VECTOR_NAMES,
    DeclaredType,
    NamedTypes,
    PointerElement,
    Record,
    components,
    named_element,
    named_types,
    parameter_texts,
)
from warploom.engine.kernel_sources.element_types.struct_fields import record_of
from warploom.engine.kernel_sources.image import KernelImage
from warploom.engine.kernel_sources.sources import CudaFile, CudaText
from warploom.engine.ptx.text import closing, code_of, cuda_parameters
from warploom.engine.ptx.tree import KernelParameter
from warploom.engine.types import NAMED, DType, boolean, layout_text

# If names alone don't determine a type, the CUDA C++ compiler does. The kernel's file is compiled once more, without
# the bodies of its kernels and with a few added lines, which store a code for each type in a variable. The variable's
# value is read from the PTX. So typedefs, templates, includes and packing have the same effect as for the kernel.

_UNROLLING = re.compile(r"#[ \t]*pragma[ \t]+(no)?unroll\b")


class Kind(IntEnum):
    """The kind of a parameter's type; for a pointer, the kind of its elements."""

    OTHER = 0
    POINTER = 1
    VECTORS = 2
    STRUCTS = 3
    SIGNED = 4
    UNSIGNED = 5
    FLOAT = 6
    BOOLEAN = 7


# A code is the kind plus 16 times the size in bytes. For a pointer, it is the elements' size: 0 for void and for a
# struct that is only declared.
_PROBE = """
namespace warploom_elements {
template <class...> using always_void = void;
template <class T> struct is_vector { static constexpr bool value = false; };
%(vectors)s
template <class T> struct plain { using type = T; };
template <class T> struct plain<const T> { using type = T; };
template <class T> struct plain<volatile T> { using type = T; };
template <class T> struct plain<const volatile T> { using type = T; };
template <class T, class = void> struct element { static constexpr unsigned code = 1; };
template <class T> struct element<T, always_void<char[sizeof(T)]>> {
    static constexpr bool is_struct = (__is_class(T) || __is_union(T)) && !is_vector<T>::value;
    static constexpr unsigned code = 16 * sizeof(T) + (is_struct ? 3 : is_vector<T>::value ? 2 : 1);
};
template <class T, bool = __is_class(T) || __is_union(T), class = void> struct parameter {
    static constexpr unsigned code = 0;
};
template <class T> struct parameter<T, false, always_void<decltype(T(-1) < T(0))>> {
    static constexpr unsigned code = 16 * sizeof(T) + (T(-1) < T(0) ? 4 : 5);
};
template <> struct parameter<float, false, void> { static constexpr unsigned code = 16 * 4 + 6; };
template <> struct parameter<double, false, void> { static constexpr unsigned code = 16 * 8 + 6; };
template <> struct parameter<bool, false, void> { static constexpr unsigned code = 16 + 7; };
template <class T> struct parameter<T*, false, void> {
    static constexpr unsigned code = element<typename plain<T>::type>::code;
};
template <class F> struct parameters;
template <class... P> struct parameters<void (*)(P...)> {
    unsigned codes[sizeof...(P) + 1] = {parameter<P>::code..., 0};
};
}
"""
_IS_VECTOR = "template <> struct is_vector<{}> {{ static constexpr bool value = true; }};"
_VECTORS = "\n".join(map(_IS_VECTOR.format, VECTOR_NAMES))
_REMEDY = "give the struct the same fields in the block and in the kernel (`declaration` writes the kernel's)"
_TARGET = re.compile(r"^\.target\s+sm_(\w+)", re.MULTILINE)
_NAME = "warploom_elements_of_"
_VARIABLE = re.compile(rf"\.b8 {_NAME}(\w+)\[(\d+)\](?: = \{{([\d, ]*)\}})?;")

#: The size in bytes and the kind of each parameter; for a pointer, those of its elements.
ProbedTypes = tuple[tuple[int, Kind], ...]


def probe_types(
    source: CudaFile | CudaText, image: KernelImage, entries: Sequence[str], cache: CompileCache
) -> dict[str, ProbedTypes]:
    """Return the compiler's parameter types for each entry point.

    The probe is compiled for the target of the image's PTX. Entries that C++ cannot name (in a namespace, of a
    template) are left out.
    """
    target = _TARGET.search(image.ptx)
    architecture = f"compute_{target[1] if target else '75'}"
    entries = [entry for entry in entries if not entry.startswith("_Z")]  # no name of C++
    text = _without_bodies(image)
    found = _probe(source, text, architecture, entries, cache)
    return found if found or text == image.text else _probe(source, image.text, architecture, entries, cache)


def _without_bodies(image: KernelImage) -> str:
    """Return a kernel's text without the bodies of kernels, which decide no types.

    So the probe of a text of which only a body was saved is in the cache. A body with directives of the preprocessor
    stays, since these may change what follows; those that unroll a loop don't.
    """
    code, text = code_of(image.text), image.text
    spans = []
    for entry in image.signatures:
        for end, _ in cuda_parameters(code, entry):
            if opening := re.compile(r"\s*\{").match(code, end):
                start, last = opening.end(), closing(code, opening.end(), "{", "}") - 1
                body = code[start:last]
                # A raw string or a continued comment may have hidden the closing brace.
                if "#" not in _UNROLLING.sub("", body) and body.count("{") == body.count("}"):
                    spans.append((start, last))
    for start, last in sorted(spans, reverse=True):
        text = text[:start] + text[last:]
    return text


def _probe(
    source: CudaFile | CudaText, text: str, architecture: str, entries: Sequence[str], cache: CompileCache
) -> dict[str, ProbedTypes]:
    """Compile a text with the probe of its entry points; see `probe_types`."""
    groups = [list(entries)] if len(entries) == 1 else [list(entries), *([entry] for entry in entries)]
    found: dict[str, ProbedTypes] = {}
    for group in groups:
        variables = "".join(
            f'extern "C" __device__ warploom_elements::parameters<decltype(&::{entry})> {_NAME}{entry}{{}};\n'
            for entry in group
        )
        probe = text + _PROBE % {"vectors": _VECTORS} + variables
        try:
            compiled = compile_source(source, probe, architecture, cache)
        except CompilerCrash:  # it would fail for each entry, in as long a time
            break
        except KernelError:
            # The file itself compiles, so one of these entries can't be named. Try each alone, and leave out any that
            # fails.
            continue
        # Search for these variables only: parsing a kernel's PTX can take longer than compiling it.
        for entry, size_bytes, values in _VARIABLE.findall(compiled.ptx):
            found[entry] = _decoded([int(value) for value in values.split(",") if value], int(size_bytes))
        if len(found) == len(entries):
            break
    return found


def _decoded(values: list[int], size_bytes: int) -> ProbedTypes:
    """Decode the variable's bytes; zeros at the end are left out."""
    data = bytes(values).ljust(size_bytes, b"\0")
    codes = [int.from_bytes(data[at : at + 4], "little") for at in range(0, size_bytes - 4, 4)]
    return tuple((code // 16, Kind(code % 16)) for code in codes)


def declared_types(image: KernelImage, entry: str) -> tuple[DeclaredType, ...]:
    """Return the declared type of each parameter of an entry point: a pointer, a value's type, or None if unknown.

    A pointer with unknown elements has elements of 0 bytes. The result is kept with the image. Raise KernelError when
    the image has no such entry point.
    """
    if entry not in image.declared:
        image.signature(entry)  # raises KernelError for a missing entry point
        with image.reading.under_way():
            found = _find(image, CompileCache())
            image.declared.update({name: _with_records(image, name, types) for name, types in found.items()})
    return image.declared[entry]


def pointer_elements(image: KernelImage, entry: str) -> tuple[PointerElement | None, ...]:
    """Return the element type of each parameter of an entry point; None if it is not a pointer or unknown."""
    declared = declared_types(image, entry)
    return tuple([each if isinstance(each, PointerElement) and each.size_bytes else None for each in declared])


def typed_parameters(image: KernelImage, entry: str) -> tuple[KernelParameter, ...]:
    """Return the parameters of an entry point; numbers have the type that the source declares."""
    parameters = image.signature(entry).parameters
    names = [_type_name(each) for each in declared_types(image, entry)]
    if not any(names):
        return parameters
    return tuple([replace(each, declared=name) for each, name in zip(parameters, names, strict=True)])


def _type_name(declared: DeclaredType) -> str:
    if isinstance(declared, Record):
        return declared.declared
    return declared.__name__ if isinstance(declared, DType) else ""


def check_elements(
    arguments: Sequence[tuple[str, DType] | None], elements: Sequence[PointerElement | None], kernel: str
) -> list[Diagnostic]:
    """Return an error for each buffer whose elements don't match the kernel's source.

    The errors name no node. `arguments` has the port and element type of each argument of a launch, None if it is not
    a buffer. `elements` is the result of `pointer_elements` for the kernel; `kernel` is its name for messages. A kernel
    may read scalars as vectors, or as structs whose size is a multiple of the scalar's size. It may read structs and
    vectors as the numbers in them.
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
    if 0 in (size, taken):  # any_type, or unknown
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


def _find(image: KernelImage, cache: CompileCache) -> dict[str, tuple[DeclaredType, ...]]:
    source = image.source
    if not isinstance(source, CudaFile | CudaText):
        return {name: _by_manifest(image, name, len(item.parameters)) for name, item in image.signatures.items()}
    pixel = str(dict(source.options.defines).get("PIXEL", "float4"))
    text = re.sub(r"\bPIXEL\b", pixel, image.text)  # the compiler, which knows all macros, takes long
    named = {
        name: named_types(text, name, [parameter.size_bytes for parameter in item.parameters])
        for name, item in image.signatures.items()
    }
    unknown = [name for name, types in named.items() if types.unknown]
    probed = probe_types(source, image, unknown, cache) if unknown else {}
    return {name: _complete(types, probed.get(name)) for name, types in named.items()}


def _complete(named: NamedTypes, probed: ProbedTypes | None) -> tuple[DeclaredType, ...]:
    """Return the types known from names, completed by the compiler's."""
    found = list(named.types)
    for index in named.unknown if probed is not None else ():
        assert probed is not None
        (size, kind), known = probed[index], found[index]
        if Kind.POINTER <= kind <= Kind.STRUCTS:
            name = known.name if isinstance(known, PointerElement) else f"parameter {index}"
            found[index] = PointerElement(size, name, kind is Kind.STRUCTS, kind is Kind.VECTORS)
        else:
            letter = {Kind.SIGNED: "s", Kind.UNSIGNED: "u", Kind.FLOAT: "f"}.get(kind, "")
            found[index] = boolean if kind is Kind.BOOLEAN else NAMED.get(f"{letter}{8 * size}")
    return tuple(found)


def _with_records(image: KernelImage, entry: str, types: tuple[DeclaredType, ...]) -> tuple[DeclaredType, ...]:
    """Return the types with those of structs that are passed by value."""
    parameters, texts = image.signature(entry).parameters, parameter_texts(image.text, entry)
    return tuple(
        record_of(image, entry, index, texts[index] if len(texts) == len(types) else "")
        if declared is None and parameter.ptx_type == "b8" and parameter.size_bytes > 1
        else declared
        for index, (declared, parameter) in enumerate(zip(types, parameters, strict=True))
    )


def _by_manifest(image: KernelImage, entry: str, count: int) -> tuple[DeclaredType, ...]:
    types: list[DeclaredType] = [None] * count
    for parameter in image.manifests[entry].parameters if entry in image.manifests else ():
        if parameter.element_type is not None:
            element = named_element(parameter.element_type)
            is_value = parameter.is_pointer is False and element is not None
            types[parameter.index] = element.dtype if is_value and element is not None else element
    return tuple(types)
