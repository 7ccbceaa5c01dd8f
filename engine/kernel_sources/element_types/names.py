"""Element types by their names in CUDA C++ and manifests, and the types of a kernel's parameters by these names."""

import re
from collections.abc import Sequence

import msgspec

from warploom.engine.ptx.text import code_of, cuda_parameters
from warploom.engine.ptx.tree import KernelSignature
from warploom.engine.types import NAMED, VECTORS, DType
from warploom.engine.types.records import record_text


class PointerElement(msgspec.Struct, frozen=True):
    """The element type of a pointer: its size, its name in the source, and whether it is a struct or a vector.

    CUDA's vector types don't count as structs: a kernel may read a buffer of scalars as vectors, to load several at
    once.
    """

    size_bytes: int
    name: str
    is_struct: bool = False
    is_vector: bool = False

    @property
    def dtype(self) -> DType | None:
        """The element type with this name; None for other names."""
        return KNOWN_TYPES.get(self.name)

    @property
    def components(self) -> frozenset[str]:
        """The element's possible components, as `components` names them; empty when its name doesn't determine them.

        Unsigned integers may hold the bits of floats, since atomic functions take floats that way.
        """
        dtype = KNOWN_TYPES.get(self.name)
        if dtype is None:
            return frozenset()
        scalar = dtype.of or dtype
        return components(dtype) | (
            _BITS.get(scalar.size_bytes, frozenset())
            if scalar.kind == "integer" and scalar.numpy.kind == "u"
            else set()
        )


class RecordField(msgspec.Struct, frozen=True):
    """A number or a vector in a struct: its name, its type, its place in bytes, and what the source says of it."""

    name: str
    dtype: DType
    offset: int
    comment: str = ""
    default: str = ""

    @property
    def end(self) -> int:
        """The place after it."""
        return self.offset + self.dtype.size_bytes

    @property
    def numbers(self) -> tuple["RecordField", ...]:
        """Itself, or the components of a vector."""
        of = self.dtype.of
        if of is None:
            return (self,)
        each = zip("xyzw", range(self.offset, self.end, of.size_bytes), strict=False)
        return tuple(RecordField(f"{self.name}_{letter}", of, place) for letter, place in each)


class Record(msgspec.Struct, frozen=True):
    """A struct that a kernel takes by value: what is known of its fields, in the order of their places."""

    fields: tuple[RecordField, ...]
    size_bytes: int

    @property
    def declared(self) -> str:
        """The places of the numbers, for `KernelParameter.declared`."""
        return record_text((number.dtype, number.offset) for field in self.fields for number in field.numbers)


#: The declared type of a kernel's parameter: a pointer, the type of a value, a struct, or None if unknown.
DeclaredType = PointerElement | DType | Record | None
_BITS = {2: frozenset({"f16", "bf16"}), 4: frozenset({"f32"}), 8: frozenset({"f64"})}


def components(dtype: DType) -> frozenset[str]:
    """Return the kinds of numbers in an element: "f32", or "integer of 4 bytes", signed or not."""
    if dtype.of is not None:
        return components(dtype.of)
    if dtype.fields:
        return frozenset().union(*map(components, dtype.fields.values()))
    if dtype.kind == "float":
        return frozenset({dtype.__name__})
    if dtype.kind == "complex":
        return frozenset({f"f{4 * dtype.size_bytes}"})
    return frozenset({f"integer of {dtype.size_bytes} bytes"})


def _known() -> dict[str, DType]:
    known = {dtype.cuda_name: dtype for dtype in NAMED.values()} | NAMED
    for name, names in {
        "s8": "char int8_t std::int8_t",
        "u8": "uint8_t std::uint8_t",
        "f16": "half nv_half",
        "bf16": "nv_bfloat16",
        "s16": "int16_t",
        "u16": "uint16_t",
        "s32": "int32_t signed",
        "u32": "uint32_t uint unsigned",
        "half2": "nv_half2",
        "bfloat162": "nv_bfloat162",
        "s64": "int64_t",
        "u64": "uint64_t size_t",
        "c64": "cuComplex",
        "uchar4": "srgb4",
        "double4": "double4_32a",
        "longlong4": "longlong4_32a ulonglong4_32a",
    }.items():
        known |= dict.fromkeys(names.split(), NAMED[name])
    known |= {"short int": NAMED["s16"], "unsigned short int": NAMED["u16"]}
    return known | {"long long int": NAMED["s64"], "unsigned long long int": NAMED["u64"]}


#: Element types by their names in CUDA C++ and by ours. `long` is left out: its size depends on the platform.
KNOWN_TYPES = _known()
VECTOR_NAMES = (*(dtype.cuda_name for dtype in VECTORS if not dtype.cuda_header), "double4_32a", "longlong4_32a")
_QUALIFIER = re.compile(r"\b(?:const|volatile|struct|__restrict__|__restrict|__grid_constant__)\b")
_POINTER = re.compile(r"([^*&\[\]]+)\*\s*(\w*)\s*(\[\s*\w*\s*\])?")


class NamedTypes(msgspec.Struct, frozen=True):
    """The types of parameters that their names determine; only a compiler can determine those of `unknown` ones."""

    types: tuple[DeclaredType, ...]
    unknown: frozenset[int]


def named_element(name: str) -> PointerElement | None:
    """Return the element that Warploom or CUDA C++ defines under a name; None for any other name."""
    return PointerElement(KNOWN_TYPES[name].size_bytes, name) if name in KNOWN_TYPES else None


def named_types(source: str, entry: str, sizes_bytes: Sequence[int]) -> NamedTypes:
    """Return the declared types of the parameters of a kernel in CUDA C++, where names determine them.

    `sizes_bytes` are the parameters' sizes: a pointer has 8 bytes, a number 1, 2, 4 or 8. The elements of a pointer to
    a struct are unknown; they keep their name and have size 0.
    """
    texts = parameter_texts(source, entry)
    numbers = frozenset(index for index, size in enumerate(sizes_bytes) if size in (1, 2, 4, 8))
    if len(texts) != len(sizes_bytes):
        return NamedTypes((None,) * len(sizes_bytes), numbers)
    types: list[DeclaredType] = []
    unknown = set()
    for index, (text, size) in enumerate(zip(texts, sizes_bytes, strict=True)):
        known, declared = _declared(text, size)
        types.append(declared)
        if not known and index in numbers:
            unknown.add(index)
    return NamedTypes(tuple(types), frozenset(unknown))


def named_numbers(source: str, signature: KernelSignature) -> frozenset[int]:
    """Return the indices of the parameters whose names show that a kernel in CUDA C++ takes them as values."""
    found = named_types(source, signature.name, [parameter.size_bytes for parameter in signature.parameters])
    return frozenset(index for index, declared in enumerate(found.types) if isinstance(declared, DType))


def parameter_texts(source: str, entry: str) -> list[str]:
    """Return the declarations of a kernel's parameters; [] if none are found, or declarations differ."""
    code = code_of(source)
    found = {tuple(code[start:end].strip() for start, end in spans) for _, spans in cuda_parameters(code, entry)}
    return list(filter(None, found.pop())) if len(found) == 1 else []


def _declared(text: str, size_bytes: int) -> tuple[bool, DeclaredType]:
    """Return whether names determine the declared type of a parameter, and the type."""
    text = " ".join(_QUALIFIER.sub(" ", text).split())
    pointer = _POINTER.fullmatch(text) if size_bytes == 8 else None
    if pointer is None:  # `float3 x[]` is not a value, and other names may be pointers
        value = None if text.endswith("]") else KNOWN_TYPES.get(text.rpartition(" ")[0])
        is_known = value is not None and value.size_bytes == size_bytes
        return is_known, value if is_known else None
    name = pointer[1].strip()
    if pointer[3] is not None:  # `float* x[]` is a pointer to pointers
        return True, PointerElement(8, f"{name}*")
    return name in KNOWN_TYPES or name == "void", named_element(name) or PointerElement(0, name)
