"""The numbers in a struct that a kernel takes by value: from its declaration, a manifest, or the kernel's loads.

A declaration counts only if the places that follow from it agree with the parameter's size, and with the loads in PTX.
So a struct that is packed, or has what is not understood here, has the numbers that the kernel loads, without names.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from inspect import unwrap
from itertools import pairwise

from warploom.engine.kernel_sources.element_types.names import KNOWN_TYPES, Record, RecordField
from warploom.engine.kernel_sources.image import KernelImage
from warploom.engine.kernel_sources.manifest import ManifestField, ManifestParameter
from warploom.engine.ptx import parse
from warploom.engine.ptx.text import closing, code_of
from warploom.engine.ptx.tree import Address, KernelParameter, Symbol, type_size
from warploom.engine.readings import content
from warploom.engine.types import NAMED, DType

#: The most numbers of a struct that are parameters.
MOST_FIELDS = 64
_DECLARATOR = re.compile(r"(\w+)\s*((?:\[\s*\d+\s*\])*)\s*(?:=?\s*\{?\s*([-+.\w]*?)f?\s*\}?)?")
_COMMENT = re.compile(r"[^\S\n]*(//[^\n]*|/\*.*?\*/)", re.DOTALL)
#: The types of numbers by those of loads, which show no sign. Of any other load, only the size is known.
_LOADED = {name: NAMED[name] for name in ("f16", "f32", "f64", "s8", "s16", "s32")}
_LOADED |= {"u8": NAMED["s8"], "u16": NAMED["s16"], "u32": NAMED["s32"]}


def record_of(image: KernelImage, entry: str, index: int, declared: str) -> Record | None:
    """Return the numbers in a kernel's parameter that is a struct; None if they are unknown.

    `declared` is the parameter's declaration in CUDA C++, "" without one.
    """
    parameter = image.signature(entry).parameters[index]
    manifest = next((each for each in _claims(image, entry) if each.index == index), None)
    loads = _loads(image.ptx, entry, index)
    stated = manifest.fields if manifest is not None else []
    fields = _stated(stated) if stated else _declared(image, declared)
    if fields and _fits(fields, parameter, loads):
        return Record(tuple(fields), parameter.size_bytes)
    if not loads or len(loads) > MOST_FIELDS or any(a.end > b.offset for a, b in pairwise(loads)):
        return None
    if any(load.dtype not in _LOADED.values() for load in loads):
        return None  # perhaps a pointer
    return Record(loads, parameter.size_bytes)


def _claims(image: KernelImage, entry: str) -> list[ManifestParameter]:
    return image.manifests[entry].parameters if entry in image.manifests else []


def _stated(fields: Sequence[ManifestField]) -> list[RecordField]:
    made: list[RecordField] = []
    for each in fields:
        dtype = KNOWN_TYPES[each.type]
        offset = each.offset if each.offset is not None else _after(made, dtype)
        made.append(RecordField(each.name, dtype, offset))
    return made


def _after(fields: Sequence[RecordField], dtype: DType) -> int:
    end = fields[-1].end if fields else 0
    return -(-end // dtype.alignment) * dtype.alignment


def _fits(fields: Sequence[RecordField], parameter: KernelParameter, loads: Sequence[RecordField] | None) -> bool:
    """True if fields fill a parameter but for padding, and the kernel loads nothing across their borders."""
    if len(fields) > MOST_FIELDS or any(a.end > b.offset for a, b in pairwise(fields)):
        return False
    alignment = max(each.dtype.alignment for each in fields)
    if -(-fields[-1].end // alignment) * alignment != parameter.size_bytes:
        return False
    numbers = [number for each in fields for number in each.numbers]
    floats = {each.offset for each in numbers if each.dtype.kind == "float"}
    starts = {each.offset: each.dtype.size_bytes for each in numbers}
    return all(load.offset in floats if load.dtype.kind == "float" else load.offset in starts for load in loads or ())


@lru_cache(64)
def _loads(ptx: str, entry: str, index: int) -> tuple[RecordField, ...] | None:
    """Return the numbers that a kernel loads from a parameter, by their place; None if it may load others too."""
    function = parse(ptx).functions[entry]
    name, found = function.parameters[index].name, dict[int, RecordField]()
    for instruction in function.instructions:
        for operand in instruction.operands:
            if isinstance(operand, Symbol) and operand.name == name:
                return None  # its address is taken
            if not (isinstance(operand, Address) and isinstance(operand.base, Symbol) and operand.base.name == name):
                continue
            kind, count = instruction.modifiers[-1], 1
            if instruction.opcode != "ld":
                return None
            count = next((int(each[1]) for each in instruction.modifiers if each in ("v2", "v4")), 1)
            size = type_size(kind)
            for place in range(count):
                offset = operand.base.offset + operand.offset + place * size
                found[offset] = RecordField(str(offset), _LOADED.get(kind, NAMED[f"u{8 * size}"]), offset)
    return tuple([found[offset] for offset in sorted(found)])


def _declared(image: KernelImage, declared: str) -> list[RecordField]:
    """Return the fields of the struct that a parameter is declared as; [] if they are not understood."""
    words = re.sub(r"\b(?:const|struct|__grid_constant__)\b", " ", declared).split()
    if len(words) != 2:
        return []
    answers = tuple(image.reading.answers.items())
    headers = [
        answer.decode(errors="replace")
        for (question, _), answer in answers
        if question is unwrap(content) and isinstance(answer, bytes)
    ]
    return _fields_of(words[0].rpartition("::")[2], [image.text, *headers], 0) or []


def _fields_of(name: str, texts: Sequence[str], depth: int) -> list[RecordField] | None:
    """Return the fields of a struct, with those of the structs in it; None if they are not understood."""
    found = next(((text, place) for text in texts if (place := _body(text, name)) is not None), None)
    if found is None or depth > 4:
        return None
    text, (start, end) = found
    made: list[RecordField] = []
    for kind, declarators, comment in _declarations(text, start, end):
        for declarator in declarators:
            part = _DECLARATOR.fullmatch(declarator.strip())
            if part is None:
                return None
            count = 1
            for size in re.findall(r"\d+", part[2]):
                count *= int(size)
            dtype = KNOWN_TYPES.get(kind)
            inner = None if dtype is not None else _fields_of(kind.rpartition("::")[2], texts, depth + 1)
            if (dtype is None and not inner) or count * len(inner or "1") > MOST_FIELDS:
                return None
            for number in range(count):
                label = f"{part[1]}_{number}" if part[2] else part[1]
                if inner is None:
                    assert dtype is not None
                    made.append(RecordField(label, dtype, _after(made, dtype), comment, part[3] or ""))
                    continue
                alignment = max(each.dtype.alignment for each in inner)
                begin = -(-(made[-1].end if made else 0) // alignment) * alignment
                made += [
                    RecordField(f"{label}_{each.name}", each.dtype, begin + each.offset, each.comment, each.default)
                    for each in inner
                ]
                size = -(-inner[-1].end // alignment) * alignment
                if begin + size != made[-1].end:
                    return None  # what follows may begin after the padding of the inner struct
    return made or None


def _body(text: str, name: str) -> tuple[int, int] | None:
    """Return where the body of a struct begins and ends in a text; None if it isn't declared there once and plainly."""
    code = code_of(text)
    heads = [*re.finditer(rf"\bstruct\s+{re.escape(name)}\s*\{{", code)]
    if not heads:
        for head in re.finditer(r"\bstruct\s*(?:\w+\s*)?\{", code):
            end = closing(code, head.end(), "{", "}")
            if re.match(rf"\s*{re.escape(name)}\s*;", code[end:]):  # a typedef
                heads.append(head)
    if len(heads) != 1:
        return None
    return heads[0].end(), closing(code, heads[0].end(), "{", "}") - 1


def _declarations(text: str, start: int, end: int) -> Iterator[tuple[str, list[str], str]]:
    """Yield the type, the names and the comment of each declaration in a struct's body."""
    code, place = code_of(text), start
    while (stop := code.find(";", place, end)) >= 0:
        words = " ".join(re.sub(r"\b(?:const|struct)\b", " ", code[place:stop]).split())
        first, *more = words.split(",")
        kind, _, name = re.sub(r"\s*(\[)", r"\1", first.partition("=")[0].strip()).rpartition(" ")
        behind = _COMMENT.match(text, stop + 1)
        comment = behind[1].strip("/* ") if behind is not None and behind.end() <= end else ""
        value = first.partition("=")
        yield kind.strip(), [name + value[1] + value[2], *more], comment
        place = stop + 1
