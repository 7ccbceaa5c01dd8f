"""Exposing: the ports and parameters that a composite shows, derived from those of its children."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from engine.blocktypes.block import Block
from engine.blocktypes.parameters import ParameterSpec
from engine.blocktypes.ports import PortSpec
from engine.blocktypes.shape_rules import GIVEN, parse_rule, same_names
from engine.diagnostics import PatchError
from engine.patch.changes import PortRef


def input_spec(name: str, specs: list[PortSpec], doc: str | None, optional: bool | None) -> PortSpec:
    """Return the declaration of an exposed input that feeds ports declared by `specs`.

    It asks for what all of them ask for; shapes are checked at the children. PatchError when they can't agree.
    """
    typed = [spec for spec in specs if spec.dtype.kind != "any"] or specs
    ranks = {spec.rank for spec in specs if spec.rank is not None}
    for what, found in (("element type", {str(spec.dtype) for spec in typed}), ("rank", {str(rank) for rank in ranks})):
        if len(found) > 1:
            raise PatchError(f"input {name} must have one {what}, got {' and '.join(sorted(found))}")
    must_be_connected = not all(spec.optional for spec in specs)
    if optional and must_be_connected:
        raise PatchError(f"input {name} must not be optional, since a child must have it")
    return PortSpec(
        name=name,
        direction="in",
        dtype=typed[0].dtype,
        doc=doc or specs[0].doc,
        shape="same",
        rank=next(iter(ranks), None),
        optional=not must_be_connected if optional is None else optional,
        dtype_rule="number" if any(spec.dtype_rule == "number" for spec in specs) else None,
        delayed=all(spec.delayed for spec in specs),
        strided=all(spec.strided for spec in specs),
    )


def parameter_spec(
    name: str,
    specs: list[ParameterSpec],
    default: object,
    doc: str | None,
    minimum: float | None,
    maximum: float | None,
) -> ParameterSpec:
    """Return the declaration of an exposed parameter that sets the parameters declared by `specs`.

    A value must suit all of them; `minimum` and `maximum` may narrow that. PatchError when they can't agree.
    """
    first = specs[0]
    for what, found in (("type", {s.type for s in specs}), ("set of choices", {s.choices for s in specs})):
        if len(found) > 1:
            raise PatchError(f"parameter {name} must have one {what}, got {len(found)} different ones")
    lows = [s.minimum for s in specs if s.minimum is not None]
    highs = [s.maximum for s in specs if s.maximum is not None]
    low, high = max(lows, default=None), min(highs, default=None)
    if minimum is not None and low is not None and minimum < low:
        raise PatchError(f"minimum of {name} must be at least {low:.15g}, as its children have it, got {minimum!r}")
    if maximum is not None and high is not None and maximum > high:
        raise PatchError(f"maximum of {name} must be at most {high:.15g}, as its children have it, got {maximum!r}")
    spec = replace(
        first,
        name=name,
        doc=doc or first.doc,
        minimum=low if minimum is None else minimum,
        maximum=high if maximum is None else maximum,
        structural=any(s.structural for s in specs),
    )
    return replace(spec, default=spec.coerce(default))


class OutputRules:
    """What is known of a composite's outputs from outside: the rules of its children in terms of its own inputs."""

    def __init__(
        self,
        block_type: Callable[[str], type[Block]],
        source_of: Callable[[PortRef], PortRef | None],
        exposed: Mapping[PortRef, PortSpec],
    ) -> None:
        """`exposed` gives the composite's input by the child's input that it feeds."""
        self._type = block_type
        self._source_of = source_of
        self._exposed = exposed

    def spec(self, name: str, port: PortRef, doc: str | None) -> PortSpec:
        """Return the declaration of the output `name` that shows a child's output."""
        inner = self._spec(port)
        shaped, typed = self._origins(port, "shape"), self._origins(port, "dtype_rule")
        inplace = self._exposed.get(PortRef(port.node, inner.inplace)) if inner.inplace else None
        return replace(
            inner,
            name=name,
            doc=doc or inner.doc,
            dtype=typed[0].dtype if typed else inner.dtype,
            dtype_rule=None if inner.dtype.kind != "any" else _same(typed) or _given(inner.dtype_rule),
            shape=_same(shaped) or _constant(inner.shape),
            rank=shaped[0].rank if shaped and inner.rank is None else inner.rank,
            inplace=inplace.name if inplace else None,
            append=False,
        )

    def _spec(self, port: PortRef) -> PortSpec:
        return self._type(port.node).ports[port.port]

    def _origins(self, port: PortRef, rule: str) -> list[PortSpec]:
        """Return the composite's inputs of which the first connected one gives an output its shape or element type."""
        found: list[PortSpec] = []
        inputs = self._type(port.node).inputs()
        for name in same_names(getattr(self._spec(port), rule)):
            target = PortRef(port.node, inputs[int(name)].name if name.isdigit() else name)
            source = self._source_of(target)
            if target in self._exposed:
                found.append(self._exposed[target])
                if not found[-1].optional:
                    return found
            elif source is not None:
                further = self._origins(source, rule)
                return [*found, *further] if further else []
        return found


def _same(specs: list[PortSpec]) -> str:
    return f"same({', '.join(spec.name for spec in specs)})" if specs else ""


def _given(rule: str | None) -> str | None:
    return "data" if same_names(rule) else rule


def _constant(rule: str) -> str:
    """Return a shape rule that names nothing as it is, and "data" for one that only the inside can tell."""
    return rule if rule in GIVEN or not parse_rule(rule).names else "data"
