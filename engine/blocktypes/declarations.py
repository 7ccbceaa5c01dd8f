"""Reads the ports and parameters that a block class declares, and checks them."""

from dataclasses import replace
from typing import Any, get_args, get_origin, get_type_hints

from engine.blocktypes.checks import BlockDefinitionError
from engine.blocktypes.extents import ShapeRuleError
from engine.blocktypes.parameters import TYPES, ParameterDeclaration, ParameterSpec
from engine.blocktypes.ports import In, Out, PortDeclaration, PortSpec, Value, count_name
from engine.blocktypes.shape_rules import check_rule
from engine.diagnostics import PatchError
from engine.types import DType, u32


def collect(cls: type[Any]) -> tuple[dict[str, PortSpec], dict[str, ParameterSpec]]:
    """Return the ports and parameters that a class declares; BlockDefinitionError says what is wrong with them."""
    try:
        hints = get_type_hints(cls)
    except Exception as problem:  # what the module says may raise anything
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
        if isinstance(declaration, PortDeclaration):
            ports[name] = _port_spec(cls, declaration, hints.get(name))
            if ports[name].append:
                ports[count_name(name)] = _count_port(cls, ports[name])
        elif isinstance(declaration, ParameterDeclaration):
            parameters[name] = _parameter_spec(cls, declaration, hints.get(name))
    sizes = frozenset(name for name, spec in parameters.items() if spec.structural and spec.type == "int")
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
        raise BlockDefinitionError(
            f"block {cls.id}: port {spec.name} must be an output to be appended to, got an input"
        )
    if hasattr(cls, name):
        raise BlockDefinitionError(
            f"block {cls.id}: the name {name} must be left to the count of {spec.name}, got a {name} of its own"
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
        raise BlockDefinitionError(f"{where} must have a shape rule, since the block has no input to be the same as")
    if spec.dtype.kind == "any" and spec.dtype_rule is None:
        raise BlockDefinitionError(f"{where} is of any type and must have a dtype rule, such as dtype='same(x)'")
    try:
        check_rule(spec.shape, frozenset(ports), sizes)
    except (ShapeRuleError, SyntaxError) as problem:
        raise BlockDefinitionError(f"{where}: {problem}") from None


def _parameter_spec(cls: type[Any], declaration: ParameterDeclaration, hint: Any) -> ParameterSpec:
    where = f"block {cls.id}: parameter {declaration.spec.name}"
    kind = next((name for known, name in TYPES.items() if known is (get_origin(hint) or hint)), None)
    if kind is None:
        allowed = "float, int, bool, str, Path, numpy.ndarray, UserArray or dict"
        raise BlockDefinitionError(f"{where} must be {allowed}, got {hint}")
    structural = declaration.spec.structural or kind in ("str", "path", "array", "external", "object")
    declaration.by_value = structural
    spec = replace(declaration.spec, type=kind, structural=structural)
    if not spec.doc.strip():
        raise BlockDefinitionError(f"{where} must have a doc, got none")
    try:
        return replace(spec, default=spec.coerce(spec.default))
    except PatchError as problem:
        raise BlockDefinitionError(f"block {cls.id}: default of {problem}") from None
