"""The `Block` base class: a block type is declared by subclassing it.

A block is passive. It holds parameter values and describes work; it never calls a device.
"""

from __future__ import annotations

import inspect
import re
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args, get_origin, get_type_hints

from engine.blocktypes.definitions import BlockDefinitionError as BlockDefinitionError
from engine.blocktypes.definitions import check_free, define
from engine.blocktypes.definitions import defined_blocks as defined_blocks
from engine.blocktypes.parameters import TYPES, ParameterDeclaration, ParameterSpec
from engine.blocktypes.ports import In, Out, PortDeclaration, PortSpec, Value, ValueSpec, count_name
from engine.blocktypes.shape_rules import ShapeRuleError, check_rule
from engine.diagnostics import PatchError
from engine.types import DType, u32

if TYPE_CHECKING:
    from engine.blocktypes.builder import BlockBuilder


_ID = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$")
#: What `Block` and the keywords of `Patch.add` and `Patch.set` are called; `values` and `node` are set on each block.
_RESERVED = frozenset({"node", "values", "node_id", "position", "title", "gesture", "region"})


class Block:
    """One placed block: a type's behaviour with a node's id and parameter values.

    Subclass with `id=` (dotted, lower case), `version=` and `category=`, a docstring, annotated ports and parameters,
    and `describe`. `values` holds every parameter's current value.
    """

    id: ClassVar[str]
    version: ClassVar[int]
    category: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    tags: ClassVar[tuple[str, ...]]
    ports: ClassVar[dict[str, PortSpec]]
    parameters: ClassVar[dict[str, ParameterSpec]]
    #: True for value blocks (`engine.blocktypes.value_blocks`), and what they put out.
    is_value: ClassVar[bool] = False
    values_out: ClassVar[dict[str, ValueSpec]] = {}
    #: Ids of the block types that a composite holds: its ports and parameters follow from theirs.
    made_of: ClassVar[frozenset[str]] = frozenset()
    #: The scopes that a region block opens: ("",) for one body, ("", "else") for two branches, () for other blocks.
    regions: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(
        cls,
        *,
        id: str = "",
        version: int = 1,
        category: str | None = None,
        title: str | None = None,
        tags: tuple[str, ...] = (),
        regions: tuple[str, ...] = (),
        abstract: bool = False,
    ) -> None:
        if abstract:
            return  # a base of block types, no block type itself
        if not _ID.match(id):
            raise BlockDefinitionError(f"{cls.__name__}: id must be like 'category.name' in lower case, got {id!r}")
        if not (cls.__doc__ or "").strip():
            raise BlockDefinitionError(f"block {id} must have a docstring that says what it does, got none")
        check_free(id, cls)
        cls.id, cls.version, cls.tags = id, version, tags
        cls.category = category or id.split(".")[0].replace("_", " ").title()
        cls.title = title or re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[0-9])(?=[A-Z][a-z])", " ", cls.__name__)
        cls.summary = inspect.cleandoc(cls.__doc__ or "").splitlines()[0]
        cls.regions = regions
        cls.declare()
        define(cls)

    def __init__(self, node: str = "", values: Mapping[str, Any] | None = None) -> None:
        self.node = node
        self.values: dict[str, Any] = {name: spec.default for name, spec in self.parameters.items()}
        for name, value in (values or {}).items():
            self.set(name, value)

    def set(self, name: str, value: Any) -> None:
        """Give a parameter a value; PatchError when there is no such parameter or the value does not fit."""
        self.values[name] = self.parameter(name).coerce(value)

    @classmethod
    def parameter(cls, name: str) -> ParameterSpec:
        """Return a parameter's declaration; PatchError that lists the parameters when there is none."""
        try:
            return cls.parameters[name]
        except KeyError:
            known = ", ".join(cls.parameters) or "no parameters"
            raise PatchError(f"{cls.id}: parameter must be one of {known}, got {name!r}") from None

    @classmethod
    def declare(cls) -> None:
        """Find the ports and parameters of the type; BlockDefinitionError when something is wrong with them."""
        ports, parameters = cls._declared()
        if not ports and not cls.is_value:
            raise BlockDefinitionError(f"block {cls.id} must have at least one port, got none")
        cls.ports, cls.parameters = ports, parameters

    @classmethod
    def _declared(cls) -> tuple[dict[str, PortSpec], dict[str, ParameterSpec]]:
        """Return the ports and parameters of the type; a composite adds what it exposes."""
        return _collect(cls)

    @abstractmethod
    def describe(self, build: BlockBuilder) -> None:
        """Say what the block does, by calling `build`."""
        raise NotImplementedError(f"block {self.id} must define describe")

    @classmethod
    def source_file(cls) -> Path | None:
        """The file that defines the type; None when it has none."""
        try:
            return Path(inspect.getfile(cls))
        except (TypeError, OSError):
            return None

    @classmethod
    def source_folder(cls) -> Path | None:
        """Folder of the file that defines the type, where its kernels may lie; None when it has no file."""
        file = cls.source_file()
        return file.parent if file is not None else None

    @classmethod
    def inputs(cls) -> list[PortSpec]:
        """Input ports in order of declaration."""
        return [spec for spec in cls.ports.values() if spec.is_input]

    @classmethod
    def outputs(cls) -> list[PortSpec]:
        """Output ports in order of declaration."""
        return [spec for spec in cls.ports.values() if not spec.is_input]

    @classmethod
    def value_outputs(cls) -> list[ValueSpec]:
        """Value outputs in order of declaration; only value blocks have some."""
        return list(cls.values_out.values())


def _collect(cls: type[Block]) -> tuple[dict[str, PortSpec], dict[str, ParameterSpec]]:
    try:
        hints = get_type_hints(cls)
    except NameError as problem:
        text = f"block {cls.id}: annotations must be names that the module defines or imports, got: {problem}"
        raise BlockDefinitionError(text) from problem
    ports: dict[str, PortSpec] = {}
    parameters: dict[str, ParameterSpec] = {}
    for name, hint in hints.items():
        if get_origin(hint) in (In, Out) and not isinstance(vars(cls).get(name), PortDeclaration):
            raise BlockDefinitionError(
                f"block {cls.id}: {name} must be declared with port(doc=...), got an annotation only"
            )
        if get_origin(hint) is Value and not (cls.is_value and isinstance(vars(cls).get(name), Value)):
            rule = "declared with value_port(doc=...)" if cls.is_value else "an output of a ValueBlock"
            raise BlockDefinitionError(f"block {cls.id}: the value {name} must be {rule}, got something else")
    for name, declaration in vars(cls).items():
        if isinstance(declaration, (PortDeclaration, ParameterDeclaration)):
            check_name(cls, name)
        if isinstance(declaration, PortDeclaration):
            ports[name] = _port_spec(cls, declaration, hints.get(name))
            if ports[name].append:
                ports[count_name(name)] = _count_port(cls, ports[name])
        elif isinstance(declaration, ParameterDeclaration):
            parameters[name] = _parameter_spec(cls, declaration, hints.get(name))
    sizes = frozenset(name for name, spec in parameters.items() if spec.structural and spec.type == "int")
    for spec in ports.values():
        _check_port(cls, spec, ports, sizes)
    return ports, parameters


def check_name(cls: type[Block], name: str) -> None:
    """Raise BlockDefinitionError when a port or parameter can't be called `name`."""
    if name in _RESERVED | Block.__annotations__.keys() or hasattr(Block, name):
        raise BlockDefinitionError(f"block {cls.id}: a port or parameter must have another name, got {name!r}")


def _port_spec(cls: type[Block], declaration: PortDeclaration, hint: Any) -> PortSpec:
    direction = get_origin(hint)
    arguments = get_args(hint)
    if direction not in (In, Out) or len(arguments) != 1 or not isinstance(arguments[0], DType):
        raise BlockDefinitionError(
            f"block {cls.id}: port {declaration.name} must be annotated In[dtype] or Out[dtype], got {hint}"
        )
    declaration.handle = direction
    return PortSpec(
        name=declaration.name,
        direction="in" if direction is In else "out",
        dtype=arguments[0],
        **declaration.arguments,
    )


def _count_port(cls: type[Block], spec: PortSpec) -> PortSpec:
    """The output that holds the count of an append buffer."""
    name = count_name(spec.name)
    if spec.is_input:
        raise BlockDefinitionError(
            f"block {cls.id}: port {spec.name} must be an output to be appended to, got an input"
        )
    if hasattr(cls, name):
        raise BlockDefinitionError(
            f"block {cls.id}: the name {name} must be left to the count of {spec.name}, got a {name} of its own"
        )
    default = None if spec.default is None else 0.0
    return PortSpec(name, "out", u32, f"Number of elements in {spec.name}.", "[1]", state=spec.state, default=default)


def _check_port(cls: type[Block], spec: PortSpec, ports: dict[str, PortSpec], sizes: frozenset[str]) -> None:
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
        raise BlockDefinitionError(f"{where} must have a shape rule, since the block has no input to be the same as")
    if spec.dtype.kind == "any" and spec.dtype_rule is None:
        raise BlockDefinitionError(f"{where} is of any type and must have a dtype rule, such as dtype='same(x)'")
    try:
        check_rule(spec.shape, frozenset(ports), sizes)
    except (ShapeRuleError, SyntaxError) as problem:
        raise BlockDefinitionError(f"{where}: {problem}") from None


def _parameter_spec(cls: type[Block], declaration: ParameterDeclaration, hint: Any) -> ParameterSpec:
    where = f"block {cls.id}: parameter {declaration.name}"
    kind = TYPES.get(get_origin(hint) or hint)
    if kind is None:
        allowed = "float, int, bool, str, Path, numpy.ndarray or UserArray"
        raise BlockDefinitionError(f"{where} must be {allowed}, got {hint}")
    arguments = dict(declaration.arguments)
    if kind in ("str", "path", "array", "external"):
        arguments["structural"] = True
    declaration.by_value = arguments["structural"]
    spec = ParameterSpec(name=declaration.name, type=kind, **arguments)
    if not spec.doc.strip():
        raise BlockDefinitionError(f"{where} must have a doc, got none")
    try:
        arguments["default"] = spec.coerce(spec.default)
    except PatchError as problem:
        raise BlockDefinitionError(f"block {cls.id}: default of {problem}") from None
    return ParameterSpec(name=declaration.name, type=kind, **arguments)
