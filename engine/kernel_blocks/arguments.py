"""The role of each kernel parameter in a block: a port, a parameter, a size, or the frame uniforms."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from keyword import iskeyword

import msgspec
from msgspec.structs import replace

from warploom.engine.blocktypes.block import is_reserved
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.blocktypes.vector_parameters import is_vector, vector_components
from warploom.engine.descriptions.entries import (
    Argument,
    BufferArgument,
    ExtentArgument,
    FrameArgument,
    ParameterArgument,
    VectorArgument,
)
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.diagnostics import KernelError, PatchError
from warploom.engine.kernel_blocks.comments import ParameterComment, parse_comment
from warploom.engine.kernel_sources.element_types.names import DeclaredType, PointerElement, Record, RecordField
from warploom.engine.kernel_sources.manifest import ManifestParameter
from warploom.engine.ptx.uses import Direction
from warploom.engine.types import NAMED, SCALARS, DType, any_type, bf16, boolean, number_range

#: Whole numbers with these names are sizes: 0 for all elements, else an axis, counted from the last one.
_SIZES = {
    **dict.fromkeys(("n", "count", "size", "num", "length", "len", "total", "num_elements", "element_count"), "size"),
    **dict.fromkeys(("width", "w", "cols", "columns", "nx"), "last0"),
    **dict.fromkeys(("height", "h", "rows", "ny"), "last1"),
    **dict.fromkeys(("depth", "nz", "slices"), "last2"),
}
#: Shapes of the outputs of kernels without inputs, by the dimensions of the launch.
GENERATED = ("[size]", "[height, width]", "[depth, height, width]")
_AXES = ("last0", "last1", "last2")
_WHOLE = frozenset({"s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "b8", "b16", "b32", "b64"})
_FLOATS = frozenset({"f16", "f32", "f64"})
_SCALARS = frozenset(dtype.__name__ for dtype in SCALARS if dtype.kind != "complex" and dtype is not bf16)
#: Names of the frame uniforms in kernels (`kernels/frame.cuh`).
_FRAME = "Frame"
#: Initial values of a struct's fields that are no numbers.
_INITIAL = {"true": 1.0}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel, with everything known about it."""

    manifest: ManifestParameter
    #: Its declared type in the source.
    declared: DeclaredType
    comment: ParameterComment
    #: The axis of the thread index that the parameter bounds, if any; -1 when all threads are on one axis.
    bounds: int | None = None
    #: Its declaration in CUDA C++, "" without one.
    text: str = ""
    size_bytes: int = 0

    @property
    def element(self) -> PointerElement | None:
        """The declared type that the parameter points to; None unless it is declared as a pointer."""
        return self.declared if isinstance(self.declared, PointerElement) else None

    @property
    def is_buffer(self) -> bool:
        """Whether the parameter is a buffer's address, by its declaration or else by its use in the code."""
        if self.declared is not None:
            return self.element is not None and self.element.name != _FRAME
        return self.manifest.is_pointer is True

    @property
    def is_bool(self) -> bool:
        """True for a `bool`."""
        return self.declared is boolean

    @property
    def direction(self) -> Direction:
        """How the kernel uses the buffer, by its comment or manifest, or else by its code.

        A declared pointer that the code doesn't use is an input if it is const, else an output.
        """
        if self.comment.direction is not None:
            return self.comment.direction
        if self.element is None or self.manifest.is_pointer is not False:
            return self.manifest.direction
        return "in" if "const" in self.text.partition("*")[0].split() else "out"


@dataclass
class Arguments:
    """A kernel's parameters as a block's ports and parameters. `renamed` maps the kernel's names to the block's."""

    ports: list[PortSpec] = field(default_factory=list)
    parameters: list[ParameterSpec] = field(default_factory=list)
    passed: list[Argument] = field(default_factory=list)
    over: str = ""

    @property
    def parts(self) -> frozenset[str]:
        """The parameters that are numbers of a vector or a struct."""
        return frozenset(
            name
            for argument in self.passed
            if isinstance(argument, VectorArgument)
            for name in argument.components
            if isinstance(name, str)
        )


def arguments(
    parameters: Collection[Parameter], rank: int, *, shapes: Mapping[str, str], over: str, taken: Collection[str]
) -> Arguments:
    """Return the roles of a kernel's parameters in a block. Raise KernelError if the kernel can't be a block.

    `shapes` are shape rules of outputs. `over` is the port whose elements the threads cover; "" for the first output.
    Names that are `taken`, or that no port can have, get an underscore.
    """
    made = Arguments()
    names = {p.manifest.name: _free(p.manifest.name, taken) for p in parameters}
    changed = {name: _free(f"{name}_out", {*taken, *names.values()}) for name in names.values()}
    inputs = [names[p.manifest.name] for p in parameters if p.is_buffer and p.direction != "out"]
    same = f"same({inputs[0]})" if inputs else GENERATED[rank - 1]
    for p in parameters:
        if p.is_buffer:
            name = names[p.manifest.name]
            made.ports += _ports(p, name, changed[name], shapes, same)
    if not made.ports:
        raise KernelError("kernel must have a pointer, which becomes a port of the block, got none")
    made.over = _domain(made.ports, over)
    for p in parameters:
        name = names[p.manifest.name]
        if p.element is not None and p.element.name == _FRAME:
            made.passed.append(FrameArgument())
        elif p.is_buffer:
            writes = p.direction != "in"
            passed = name if p.direction in ("in", "out") else changed[name]
            made.passed.append(BufferArgument(passed, not writes, writes))
        elif (extent := _size(p, rank, made.over, {port.name for port in made.ports})) is not None:
            made.passed.append(ExtentArgument(extent))
        elif is_vector(p.declared):
            components = _vector(p, name)
            made.parameters += components
            made.passed.append(VectorArgument(tuple(each.name for each in components), str(p.declared)))
        elif isinstance(p.declared, Record):
            sizes = {
                each.name: extent
                for each in p.declared.fields
                if (extent := _size(_field(p, each), rank, made.over, {port.name for port in made.ports})) is not None
            }
            fields = _fields(p, p.declared, name, {*taken, *names.values(), *changed.values()}, sizes)
            made.parameters += [each for each in fields if isinstance(each, ParameterSpec)]
            parts = [each.name if isinstance(each, ParameterSpec) else each for each in fields]
            made.passed.append(VectorArgument(tuple(parts), p.declared.declared))
        else:
            made.parameters.append(_parameter(p, name))
            made.passed.append(ParameterArgument(name))
    return made


def _free(name: str, taken: Collection[str]) -> str:
    name = name if name.isidentifier() else "".join(c if c.isalnum() else "_" for c in name)
    while name in taken or is_reserved(name) or iskeyword(name):
        name += "_"
    return name


def _ports(p: Parameter, name: str, changed: str, shapes: Mapping[str, str], same: str) -> list[PortSpec]:
    """Return the port of a pointer, or two if the kernel reads and writes it: `name`, and `changed` for the result."""
    manifest, dtype = p.manifest, _element_type(p)
    doc = p.comment.doc or manifest.help or f"{manifest.name} of the kernel."
    rule = "number" if dtype is any_type else None
    if p.direction == "in":
        return [PortSpec(name, "in", dtype, doc, "same")]
    if p.direction == "out":
        shape = shapes.get(name) or manifest.shape_rule or same
        if dtype is any_type:
            dtype, rule = NAMED["f32"], None
        return [PortSpec(name, "out", dtype, doc, shape)]
    out = PortSpec(
        changed, "out", dtype, f"{name} as the kernel leaves it.", f"same({name})", inplace=name,
        dtype_rule=f"same({name})" if dtype is any_type else None,
    )  # fmt: skip
    return [PortSpec(name, "in", dtype, doc, "same", dtype_rule=rule), out]


def _element_type(p: Parameter) -> DType:
    """Return the element type of a pointer by the source, or else by the kernel's accesses."""
    if p.element is not None and (named := p.element.dtype) is not None:
        return named
    accessed = p.manifest.element_type
    if (p.element is None or p.element.name == "void") and accessed in NAMED:
        return NAMED[accessed]
    return any_type


def _domain(ports: list[PortSpec], over: str) -> str:
    if over:
        if over not in (port.name for port in ports):
            names = ", ".join(port.name for port in ports)
            raise KernelError(f"over must be a port ({names}), got {over!r}", remedy="name another port in over")
        return over
    return min(ports, key=lambda port: port.is_input).name  # the first of the outputs, if there are any


def _size(p: Parameter, rank: int, over: str, ports: Collection[str]) -> Extent | None:
    """Return the size that a whole number stands for; None for a parameter that a person sets."""
    semantic = (p.manifest.semantic or "").strip()
    is_whole = p.manifest.ptx_type in _WHOLE and (p.manifest.ptx_type != "b8" or p.size_bytes <= 1)
    if semantic == "parameter" or not is_whole or p.is_bool:
        return None
    what, _, of = semantic.rstrip(")").partition("(")
    if what in ("size", "count", "width", "height", "depth"):
        return Extent(f"{of or over}.{_SIZES[what]}")
    name = p.manifest.name.lower()
    for port in sorted(ports, key=len, reverse=True):
        if name.startswith(f"{port.lower()}_") and name[len(port) + 1 :] in _SIZES:
            return Extent(f"{port}.{_SIZES[name[len(port) + 1 :]]}")
    if name in _SIZES:
        return Extent(f"{over}.{_SIZES[name]}")
    if p.bounds is not None and not p.text:  # known only by its comparison with an index
        return Extent(f"{over}.{'size' if rank == 1 else _AXES[p.bounds]}")
    return None


def _vector(p: Parameter, name: str) -> list[ParameterSpec]:
    """Return the components of a vector, whose default may be one number for all of them."""
    assert isinstance(p.declared, DType) and p.declared.of is not None
    if p.declared.size_bytes != p.size_bytes:
        what = f"{p.declared} ({p.declared.size_bytes} bytes)"
        raise KernelError(f"parameter {p.manifest.name} must be declared as a type of {p.size_bytes} bytes, got {what}")
    given = p.comment.default if p.comment.default is not None else p.manifest.default
    defaults = [*given] if isinstance(given, Sequence) else [given] * p.declared.components
    if len(defaults) != p.declared.components:
        raise KernelError(f"default of {p.manifest.name} must be {p.declared.components} numbers, got {given}")
    parts = [
        _parameter(
            dataclasses.replace(
                p,
                declared=p.declared.of,
                manifest=msgspec.structs.replace(p.manifest, default=None),
                comment=dataclasses.replace(p.comment, default=default),
            ),
            name,
        )
        for default in defaults
    ]
    try:
        return vector_components(replace(parts[0], default=[part.default for part in parts]), p.declared)
    except PatchError as problem:
        raise KernelError(str(problem)) from None


def _fields(
    p: Parameter, record: Record, name: str, taken: Collection[str], sizes: Mapping[str, Extent]
) -> list[ParameterSpec | Extent]:
    """Return the numbers of a struct: each field is a parameter, with the struct's name in front, or a size."""
    made: list[ParameterSpec | Extent] = []
    for each in record.fields:
        if each.name in sizes:
            made.append(sizes[each.name])
            continue
        comment = parse_comment(each.comment)
        if comment.default is None and each.default:
            with suppress(ValueError):  # of other expressions, the value is unknown
                comment = dataclasses.replace(comment, default=_INITIAL.get(each.default) or float(each.default))
        own = dataclasses.replace(_field(p, each), comment=comment)
        own.manifest.name = f"{p.manifest.name}.{each.name}"
        known = {spec.name for spec in made if isinstance(spec, ParameterSpec)}
        free = _free(f"{name}_{each.name}", {*taken, *known})
        made += _vector(own, free) if is_vector(each.dtype) else [_parameter(own, free)]
    return made


def _field(p: Parameter, field_: RecordField) -> Parameter:
    """Return a field of a struct as a parameter of its own."""
    manifest = ManifestParameter(index=p.manifest.index, name=field_.name, ptx_type=str(field_.dtype))
    size = field_.dtype.size_bytes
    return Parameter(manifest, field_.dtype, ParameterComment(), text=field_.name, size_bytes=size)


def _parameter(p: Parameter, name: str) -> ParameterSpec:
    manifest, comment = p.manifest, p.comment
    # C++ passes a half as a struct, as it does vectors.
    scalar = p.declared if isinstance(p.declared, DType) and p.declared.__name__ in _SCALARS else None
    is_struct = manifest.ptx_type == "b8" and p.size_bytes > 1 and scalar is None
    if is_struct or (scalar is None and manifest.ptx_type not in _WHOLE | _FLOATS):
        rule = f"parameter {manifest.name} must be a number, a vector, a pointer or a struct of numbers"
        if not is_struct:
            raise KernelError(f"{rule}, got a value of type {manifest.ptx_type}")
        raise KernelError(
            f"{rule}, got a struct of {p.size_bytes} bytes with other members, such as pointers",
            remedy="give the kernel these members as parameters of their own",
        )
    is_float = scalar.kind == "float" if scalar is not None else manifest.ptx_type in _FLOATS
    kind = "bool" if p.is_bool else "float" if is_float else "int"
    # PTX types an `int` as .u32, so without a source only its signed types and floats have a range.
    number = scalar.__name__ if scalar is not None else manifest.ptx_type or ""
    number = "" if p.is_bool or (scalar is None and number[0] not in "sf") else number
    low, high = (
        commented if commented is not None else given
        for commented, given in ((comment.minimum, manifest.minimum), (comment.maximum, manifest.maximum))
    )
    default = comment.default if comment.default is not None else manifest.default
    least, most = number_range(NAMED[number]) if number else (None, None)
    low = 0 if low is None and number.startswith("u") else low if low is None or least is None else max(low, least)
    high = high if high is None or most is None else min(high, most)
    if isinstance(default, Sequence):
        raise KernelError(f"default of {manifest.name} must be one number, got {default}")
    if default is None:
        default = max(low or 0, min(high if high is not None else 1, 1)) if kind == "float" else (low or 0)
    doc = comment.doc or manifest.help or f"{manifest.name} of the kernel."
    bounded = kind != "bool"
    if kind != "int" or float(default).is_integer():  # a fraction stays a float, and is refused as an int's default
        default = {"bool": bool, "int": int, "float": float}[kind](default)
    return ParameterSpec(
        name,
        kind,
        default,
        doc,
        minimum=low if bounded else None,
        maximum=high if bounded else None,
        unit=comment.unit or manifest.unit or "",
        number=number,
    )
