"""The declarations of a block class: ports, value outputs and parameters, and the code that reads them from it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints, overload
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from warploom.engine.blocktypes.parameters import TYPES, ParameterSpec
from warploom.engine.blocktypes.vector_parameters import component_names, is_vector, vector_components
from warploom.engine.descriptions.checks import BlockDefinitionError, declaring, flag, number, prose, text, texts, whole
from warploom.engine.descriptions.handles import MOST_AXES, BufferHandle, ParameterHandle, VectorHandle
from warploom.engine.descriptions.ports import PortSpec, count_name, counter_name
from warploom.engine.descriptions.shapes.extents import ShapeRuleError
from warploom.engine.descriptions.shapes.shape_rules import check_rule
from warploom.engine.diagnostics import PatchError
from warploom.engine.types import DType, any_type, u32

T = TypeVar("T")
#: The annotations of base classes, by class.
_annotations = WeakKeyDictionary[type[Any], dict[str, Any]]()


class In(BufferHandle, Generic[T], frozen=True):
    """An input port of element type T: the block reads it, or changes it when an output is `inplace` on it."""


class Out(BufferHandle, Generic[T], frozen=True):
    """An output port of element type T; the block writes it."""

    @property
    def counter(self) -> BufferHandle:
        """The counter of an append buffer, one u32: kernels add 1 to reserve a place for an element."""
        return BufferHandle(counter_name(self.name))


@dataclass
class PortDeclaration:
    """stays so if `describe` is stopped because it takes too long"""

    spec: PortSpec
    handle: type[BufferHandle] = BufferHandle

    def __set_name__(self, owner: type, name: str) -> None:
        self.spec = replace(self.spec, name=name)

    def __get__(self, instance: object | None, owner: type) -> Any:
        return self if instance is None else self.handle(self.spec.name)


def port(
    *,
    doc: str,
    shape: str = "same",
    rank: int | None = None,
    optional: bool = False,
    inplace: str | None = None,
    state: bool = False,
    dtype: str | None = None,
    strided: bool = False,
    delayed: bool = False,
    default: float | None = 0.0,
    append: bool = False,
    advised: bool = True,
    replaces: tuple[str, ...] = (),
) -> Any:
    """Declare a port; the annotation gives its direction and element type.

    `shape` is an output's shape rule, or the shape an input must have ("same", the default, accepts any). `rank` is the
    number of dimensions an input must have, or an output always has. `optional` lets an input stay unconnected, which a
    check of the patch mentions unless `advised` is False. `inplace` names the input whose memory an output reuses. A
    `state` output keeps its contents from frame to frame and over rebuilds. `dtype` is the rule for a port of
    `any_type`: "same(port)", "data", "view", "captured" or "given" for an output, "same(port)", "number" (a single
    real number or boolean) or "complex" for an input. A float4 input with the rule "picture" takes pictures of half4
    and uchar4 too, and a float4 output with a rule has such pixels.

    `strided` means that the kernels take an input's strides (`self.x.stride(0)`), `delayed` that an input is not read
    before the next frame. `default` is the value of an output when its region is skipped, None when no value makes
    sense. An `append` output is filled from the front; its count is the output `<name>_count` (`self.out.counter`).

    `replaces` are names that the port had before: connections to these in files and running patches are connected to
    it.
    """
    with declaring("port") as where:
        spec = PortSpec(
            *("", "", any_type),
            doc=prose(where, "doc", doc),
            shape=text(where, "shape", shape),
            rank=None if rank is None else whole(where, "rank", rank, 0, MOST_AXES),
            optional=flag(where, "optional", optional),
            inplace=None if inplace is None else text(where, "inplace", inplace),
            state=flag(where, "state", state),
            dtype_rule=None if dtype is None else text(where, "dtype", dtype),
            strided=flag(where, "strided", strided),
            delayed=flag(where, "delayed", delayed),
            default=None if default is None else number(where, "default", default),
            append=flag(where, "append", append),
            advised=flag(where, "advised", advised),
            replaces=texts(where, "replaces", replaces),
        )
    return PortDeclaration(spec)


NumberType = TypeVar("NumberType", float, int, bool)

#: The number of a value output before its block has run, by type.
ZEROS: dict[str, float | int | bool] = {"float": 0.0, "int": 0, "bool": False}


class ValueSpec(msgspec.Struct, frozen=True):
    """A value output as its block type declares it; `type` is float, int or bool."""

    name: str
    type: str
    doc: str
    unit: str = ""
    replaces: tuple[str, ...] = ()


class Value(Generic[NumberType]):
    """A value output of type NumberType: on a block, an attribute that `update` sets."""

    def __init__(self, doc: str, unit: str, replaces: tuple[str, ...]) -> None:
        self.doc = doc
        self.unit = unit
        self.replaces = replaces
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Value[NumberType]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> NumberType: ...
    def __get__(self, instance: object | None, owner: type) -> Value[NumberType] | NumberType:
        # Python calls this only for the class: a block stores each output among its own attributes.
        return self


def value_port(*, doc: str, unit: str = "", replaces: tuple[str, ...] = ()) -> Any:
    """Declare a value output; its annotation gives the type: `Value[float]`, `Value[int]` or `Value[bool]`.

    `replaces` are former names: connections from these are connected from this output.
    """
    with declaring("value_port") as where:
        return Value[Any](prose(where, "doc", doc), prose(where, "unit", unit), texts(where, "replaces", replaces))


@dataclass
class ParameterDeclaration:
    """The result of `param(...)`: the class attribute that becomes a `ParameterSpec` and, on a block, a handle."""

    spec: ParameterSpec  # lacks the type, which the annotation gives
    #: True if the block's code reads the value itself, as of any structural parameter; a live one gives a handle.
    by_value: bool = False
    #: The type of a vector, whose components are parameters; None for any other parameter.
    vector: DType | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self.spec = replace(self.spec, name=name)

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        name, reads = self.spec.name, self.by_value or instance._runs
        if self.vector is not None:
            names = component_names(name, self.vector)
            return tuple(map(instance.values.get, names)) if reads else VectorHandle(name, names, str(self.vector))
        return instance.values[name] if reads else ParameterHandle(name)


def param(
    default: Any,
    *,
    doc: str,
    min: float | None = None,
    max: float | None = None,
    unit: str = "",
    choices: tuple[str, ...] = (),
    structural: bool = False,
    files: str = "",
    replaces: tuple[str, ...] = (),
    language: str = "",
    fresh: bool = False,
    restarts: bool = False,
    offers: bool = False,
) -> Any:
    """Declare a parameter; the annotation gives its type (float, int, bool, str, Path, numpy.ndarray,
    UserArray, dict for a JSON object, or a vector such as float3).

    `min` and `max` bound it and span its slider; `unit` is shown beside it; `choices` lists the allowed texts;
    `structural` makes its value part of the description (text, paths and arrays always are). A `UserArray` is memory of
    the user's own; it is not saved with the patch. `replaces` are former names: values under these, in files and
    running patches, count as the parameter's own. A text with a `language`, such as "cuda", has several lines. Each new
    node gets a different value of a `fresh` whole number, such as a seed. When a boolean that `restarts` becomes true,
    the block's state begins again before the next launch. A parameter that `offers` values, such as devices, still
    takes others: `Block.offered` lists them.

    The default of a vector is a sequence of numbers; bounds and unit hold for each of them. Its components are
    parameters, such as `light_x`, and can be driven one by one.
    """
    with declaring("param") as where:
        spec = ParameterSpec(
            *("", ""),
            default,
            doc=prose(where, "doc", doc),
            minimum=None if min is None else number(where, "min", min),
            maximum=None if max is None else number(where, "max", max),
            unit=prose(where, "unit", unit),
            choices=texts(where, "choices", choices),
            structural=flag(where, "structural", structural),
            files=prose(where, "files", files),
            replaces=texts(where, "replaces", replaces),
            language=prose(where, "language", language),
            fresh=flag(where, "fresh", fresh),
            restarts=flag(where, "restarts", restarts),
            offers=flag(where, "offers", offers),
        )
    return ParameterDeclaration(spec)


def declarations(cls: type[Any]) -> dict[str, Any]:
    """Return the ports, value outputs and parameters of a class by name: its own, then those of its base classes."""
    found: dict[str, Any] = {}
    for base in cls.__mro__:
        found.update({name: value for name, value in vars(base).items() if name not in found})
    kinds = PortDeclaration, ParameterDeclaration, Value
    return {name: value for name, value in found.items() if isinstance(value, kinds)}


def annotations_of(cls: type[Any]) -> dict[str, Any]:
    """Return what `typing.get_type_hints` does; annotations of base classes, which most block types share, are kept."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        known = _annotations.get(base)
        if known is None:
            known = _annotations[base] = _own_annotations(base)
        found |= known
    return found | _own_annotations(cls)


def _own_annotations(cls: type[Any]) -> dict[str, Any]:
    annotations = vars(cls).get("__annotations__")
    if not annotations:
        return {}
    # In this order, as `get_type_hints` does, names of the module come before those of the class.
    names = dict(vars(cls)), getattr(sys.modules.get(cls.__module__), "__dict__", {})
    return get_type_hints(type(cls.__name__, (), {"__annotations__": annotations}), *names)


def collect(cls: type[Any]) -> tuple[dict[str, PortSpec], dict[str, ParameterSpec]]:
    """Return the ports and parameters that a class declares; raises a BlockDefinitionError for wrong ones."""
    try:
        hints = annotations_of(cls)
    except Exception as problem:  # evaluating annotations may raise anything
        text = f"block {cls.id}: annotations must be names that the module defines or imports, got: {problem}"
        raise BlockDefinitionError(text) from problem
    ports: dict[str, PortSpec] = {}
    parameters: dict[str, ParameterSpec] = {}
    declared = declarations(cls)
    for name, hint in hints.items():
        if get_origin(hint) in (In, Out) and not isinstance(declared.get(name), PortDeclaration):
            raise BlockDefinitionError(
                f"block {cls.id}: {name} must be declared with port(doc=...), got an annotation only"
            )
        if get_origin(hint) is Value and not (cls.has_values and isinstance(declared.get(name), Value)):
            rule = "declared with value_port(doc=...)" if cls.has_values else "an output of a ValueBlock"
            raise BlockDefinitionError(f"block {cls.id}: the value {name} must be {rule}, got something else")
    for name, declaration in declared.items():
        if isinstance(declaration, PortDeclaration):
            ports[name] = _port_spec(cls, declaration, hints.get(name))
            if ports[name].append:
                ports[count_name(name)] = _count_port(cls, ports[name])
        elif isinstance(declaration, ParameterDeclaration):
            for made in _parameter_specs(cls, declaration, hints.get(name)):
                if made.vector and (made.name in declared or made.name in parameters):
                    text = f"{made.name} must not be declared, since a component of {name} gets this name"
                    raise BlockDefinitionError(f"block {cls.id}: {text}")
                parameters[made.name] = made
    sizes = frozenset(name for name, spec in parameters.items() if spec.is_size)
    for spec in ports.values():
        check_port(cls, spec, ports, sizes)
    return ports, parameters


def _port_spec(cls: type[Any], declaration: PortDeclaration, hint: Any) -> PortSpec:
    direction = get_origin(hint)
    arguments = get_args(hint)
    if direction not in (In, Out) or len(arguments) != 1 or not isinstance(arguments[0], DType):
        raise BlockDefinitionError(
            f"block {cls.id}: port {declaration.spec.name} must be annotated In[dtype] or Out[dtype], got {hint}"
        )
    declaration.handle = direction
    return replace(declaration.spec, direction="in" if direction is In else "out", dtype=arguments[0])


def _count_port(cls: type[Any], spec: PortSpec) -> PortSpec:
    """Return the output that holds the count of an append buffer."""
    name = count_name(spec.name)
    if spec.is_input:
        raise BlockDefinitionError(f"block {cls.id}: an append buffer must be an output, got the input {spec.name}")
    if hasattr(cls, name):
        raise BlockDefinitionError(
            f"block {cls.id}: {name} must not be declared, since the count of {spec.name} gets this name"
        )
    default = None if spec.default is None else 0.0
    return PortSpec(name, "out", u32, f"Number of elements in {spec.name}.", "[1]", state=spec.state, default=default)


def check_port(cls: type[Any], spec: PortSpec, ports: dict[str, PortSpec], sizes: frozenset[str]) -> None:
    """Raise BlockDefinitionError when a port is declared wrongly; `sizes` are parameters that shapes may use."""
    where = f"block {cls.id}: port {spec.name}"
    if not spec.doc.strip():
        raise BlockDefinitionError(f"{where} must have a doc, got none")
    if spec.is_input:
        return
    if spec.strided or spec.delayed:
        raise BlockDefinitionError(f"{where}: only an input may be strided or delayed, got an output")
    inputs = [name for name, other in ports.items() if other.is_input]
    if spec.inplace is not None and spec.inplace not in inputs:
        raise BlockDefinitionError(f"{where}: inplace must name an input, got {spec.inplace!r}")
    if spec.shape == "same" and not inputs:
        raise BlockDefinitionError(
            f"{where} must have a shape rule, since the block has no input whose shape it could take"
        )
    if spec.dtype.kind == "any" and spec.dtype_rule is None:
        raise BlockDefinitionError(f"{where} is of any type and must have a dtype rule, such as dtype='same(x)'")
    try:
        check_rule(spec.shape, frozenset(ports), sizes)
    except (ShapeRuleError, SyntaxError) as problem:
        raise BlockDefinitionError(f"{where}: {problem}") from None


def _parameter_specs(cls: type[Any], declaration: ParameterDeclaration, hint: Any) -> list[ParameterSpec]:
    """Return the declaration of a parameter; of a vector, those of its components."""
    where = f"block {cls.id}: parameter {declaration.spec.name}"
    if is_vector(hint):
        declaration.vector, declaration.by_value = hint, declaration.spec.structural
        try:
            return [_checked(cls, spec, where) for spec in vector_components(declaration.spec, hint)]
        except PatchError as problem:
            raise BlockDefinitionError(f"block {cls.id}: default of {problem}") from None
    kind = next((name for known, name in TYPES.items() if known is (get_origin(hint) or hint)), None)
    if kind is None:
        allowed = "float, int, bool, str, Path, numpy.ndarray, UserArray, dict or a vector of numbers"
        raise BlockDefinitionError(f"{where} must be {allowed}, got {hint}")
    structural = declaration.spec.structural or kind in ("str", "path", "array", "external", "object")
    declaration.by_value = structural
    return [_checked(cls, replace(declaration.spec, type=kind, structural=structural), where)]


def _checked(cls: type[Any], spec: ParameterSpec, where: str) -> ParameterSpec:
    if not spec.doc.strip():
        raise BlockDefinitionError(f"{where} must have a doc, got none")
    if spec.restarts and (spec.type != "bool" or spec.structural):
        raise BlockDefinitionError(f"{where}: a parameter that restarts must be a live boolean, got {spec.type}")
    try:
        default = spec.coerce(spec.default)
        return spec if default is spec.default else replace(spec, default=default)
    except PatchError as problem:
        raise BlockDefinitionError(f"block {cls.id}: default of {problem}") from None
