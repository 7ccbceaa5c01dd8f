"""`Composite`: a block type made of other blocks, and the builder that its `compose` calls.

Inside, a composite is a patch, and its children follow a patch's rules. From outside, it is a block like any other,
with the ports and parameters that it exposes. The compiler replaces it by its children (`engine.compiler.inlining`), so
a composite adds no work.
"""

from collections.abc import Collection
from typing import Any, ClassVar

from msgspec.structs import replace

from warploom.engine.blocktypes.block import Block, check_name
from warploom.engine.blocktypes.describing import describe
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.checks import BlockDefinitionError
from warploom.engine.descriptions.description import Child, ChildPort, Composition
from warploom.engine.descriptions.ports import KINDS, PortSpec
from warploom.engine.descriptions.shapes.shape_rules import GIVEN, parse_rule, same_names
from warploom.engine.diagnostics import PatchError, WarploomError
from warploom.engine.patch import rules
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.contents import NodeRef
from warploom.engine.patch.document import Patch


class CompositeBuilder:
    """Makes a `Composition` of the calls of `compose`: children, connections, and exposed ports and parameters.

    Every call is checked by the patch's rules; a PatchError states the rule.
    """

    def __init__(self, block: Block, own_parameters: Collection[str]) -> None:
        self._block = block
        self._own = own_parameters
        self._patch = Patch(Catalogue())
        self._inputs: dict[str, list[PortRef]] = {}
        self._outputs: dict[str, PortRef] = {}
        self._parameters: dict[str, list[PortRef]] = {}
        #: Exposed ports so far, by name; below, exposed parameters.
        self.ports: dict[str, PortSpec] = {}
        self.parameters: dict[str, ParameterSpec] = {}

    @property
    def holds_regions(self) -> bool:
        """True when a child is a region, or a composite that contains one."""
        types = [self._type(child) for child in self._patch.nodes]
        return any(t.regions or getattr(t, "holds_regions", False) for t in types)

    @property
    def made_of(self) -> frozenset[str]:
        """Ids of the children's block types."""
        return frozenset(self._patch.nodes[child].type for child in self._patch.nodes)

    def add_child(
        self,
        block_type: str | type[Block],
        name: str | None = None,
        /,
        *,
        region: NodeRef | str = "",
        **values: Any,
    ) -> NodeRef:
        """Place a block, by type or id, with these parameter values; `child["port"]` is then one of its ports.

        `region` is its scope: a child that is a region (its body), or a scope such as `choice.otherwise`.
        """
        type_id = block_type if isinstance(block_type, str) else block_type.id
        if type_id == self._block.id:
            raise PatchError(f"composite must not hold itself, got a child {type_id}")
        child = self._patch.catalogue.require(type_id)
        if child.has_values:
            kind = "value" if child.is_value else "live"
            raise PatchError(
                f"composite must hold blocks that run on the device, got the {kind} block {type_id}; "
                "expose the parameter and drive it from outside"
            )
        return self._patch.add(type_id, node_id=name, region=region, **values)

    def connect_children(self, source: PortRef, target: PortRef) -> None:
        """Tie a child's output to a child's input."""
        self._check_free(target)
        self._patch.connect(source, target)

    def expose_input(self, name: str, target: PortRef, *, doc: str | None = None, optional: bool | None = None) -> None:
        """Let the composite's input `name` feed a child's input.

        Another call with the same name feeds another input.
        """
        spec = self._port(target)
        if not spec.is_input:
            raise PatchError(f"input {name} must feed an input of a child, got the output {target}")
        self._check_free(target)
        self._check_new(name, self._inputs)
        specs = [self._port(ref) for ref in self._inputs.get(name, ())]
        known = self.ports.get(name)
        if known is not None:
            doc, optional = doc or known.doc, known.optional and spec.optional if optional is None else optional
        self.ports[name] = input_spec(name, [*specs, spec], doc, optional)
        self._inputs.setdefault(name, []).append(target)

    def expose_output(self, name: str, source: PortRef, *, doc: str | None = None) -> None:
        """Let the composite's output `name` be a child's output."""
        if self._port(source).is_input:
            raise PatchError(f"output {name} must show an output of a child, got the input {source}")
        self._check_new(name, ())
        self._outputs[name] = source
        self.ports[name] = self._output_spec(name, source, doc)

    def expose_parameter(
        self,
        name: str,
        child: NodeRef,
        parameter: str | None = None,
        *,
        default: Any = None,
        min: float | None = None,
        max: float | None = None,
        doc: str | None = None,
    ) -> None:
        """Let the composite's parameter `name` set a child's parameter, which by default has the same name.

        Another call with the same name sets another parameter. The default value is the child's.
        """
        place = PortRef(child.id, parameter or name)
        spec = self._type(child.id).parameter(place.port)
        if any(place in places for places in self._parameters.values()):
            raise PatchError(f"parameter {place} must be exposed once, got it a second time as {name}")
        self._check_new(name, self._parameters)
        places = self._parameters.get(name, [])
        specs = [self._type(p.node).parameter(p.port) for p in places]
        if default is None:
            default = self.parameters[name].default if places else self._patch.value(child, place.port)
        doc = doc or (self.parameters[name].doc if places else None)
        self.parameters[name] = parameter_spec(name, [*specs, spec], default, doc, min, max)
        self._parameters[name] = [*places, place]
        value = self._block.values.get(name, self.parameters[name].default)
        for known in self._parameters[name]:
            self._patch.set(known.node, **{known.port: value})

    def check(self) -> None:
        """Raise PatchError when a child lacks a required input, then derive the outputs' rules again."""
        for child in self._patch.nodes:
            for spec in self._type(child).inputs():
                target = PortRef(child, spec.name)
                if not spec.optional and not self._patch.source_of(target) and not self._exposed_as(target):
                    raise PatchError(f"input {target} must be connected or exposed, got nothing")
        for name, source in self._outputs.items():
            self.ports[name] = self._output_spec(name, source, self.ports[name].doc)

    def commit(self, *, as_child_graph: bool = False) -> Composition:
        """Return the finished composition. A PatchError names a child that can't be described."""
        return Composition(
            children=tuple(self._child(name) for name in self._patch.nodes),
            connections=tuple((_place(c.source), _place(c.target)) for c in self._patch.connections),
            inputs=tuple((name, _place(ref)) for name, refs in self._inputs.items() for ref in refs),
            outputs=tuple((name, _place(ref)) for name, ref in self._outputs.items()),
            parameters=tuple((name, _place(ref)) for name, refs in self._parameters.items() for ref in refs),
            as_child_graph=as_child_graph,
        )

    def _child(self, name: str) -> Child:
        node = self._patch.nodes[name]
        block = self._type(name)(f"{self._block.node}/{name}", node.parameters)
        try:
            return Child(name, describe(block), node.region, block.values)
        except WarploomError as problem:
            raise PatchError(f"child {name} ({node.type}): {problem}") from problem

    def _type(self, child: str) -> type[Block]:
        found = self._patch.block_type(child)
        return found or self._patch.catalogue.require(self._patch.nodes[child].type)

    def _port(self, ref: PortRef) -> PortSpec:
        block_type = self._type(self._patch[ref.node].id)
        spec = rules.require_end(ref.node, block_type, ref.port)
        if not isinstance(spec, PortSpec):
            raise rules.UnknownPort(
                f"port of {ref.node} must be one of {', '.join(block_type.ports)}, got {ref.port!r}"
            )
        return spec

    def _output_spec(self, name: str, port: PortRef, doc: str | None) -> PortSpec:
        """Return the declaration of the output `name`, which is a child's output."""
        inner = self._port(port)
        shaped, typed = self._origins(port, "shape"), self._origins(port, "dtype_rule")
        return replace(
            inner,
            name=name,
            doc=doc or inner.doc,
            dtype=typed[0].dtype if typed else inner.dtype,
            dtype_rule=_same(typed) or _given(inner.dtype_rule),
            shape=_same(shaped) or _constant(inner.shape),
            rank=shaped[0].rank if shaped and inner.rank is None else inner.rank,
            inplace=self._exposed_as(PortRef(port.node, inner.inplace)) if inner.inplace else None,
            append=False,
        )

    def _origins(self, port: PortRef, rule: str) -> list[PortSpec]:
        """Return the composite's inputs from which an output gets its shape or type; the first connected one counts."""
        found: list[PortSpec] = []
        inputs = self._type(port.node).inputs()
        for name in same_names(getattr(self._port(port), rule)):
            target = PortRef(port.node, inputs[int(name)].name if name.isdigit() else name)
            exposed, source = self._exposed_as(target), self._patch.source_of(target)
            if exposed is not None:
                found.append(self.ports[exposed])
                if not found[-1].optional:
                    return found
            elif source is not None:
                further = self._origins(source, rule)
                return [*found, *further] if further else []
        return found

    def _exposed_as(self, target: PortRef) -> str | None:
        return next((name for name, refs in self._inputs.items() if target in refs), None)

    def _check_free(self, target: PortRef) -> None:
        name = self._exposed_as(target)
        if name is not None:
            raise PatchError(f"input {target} must have one source, got it exposed as {name} already")
        if self._patch.source_of(target) is not None:
            raise PatchError(f"input {target} must have one source, got it connected already")

    def _check_new(self, name: str, same_kind: Collection[str]) -> None:
        if not name.isidentifier():
            raise PatchError(f"exposed name must be an identifier, got {name!r}")
        check_name(type(self._block), name)
        if name in self._own or (name not in same_kind and (name in self.ports or name in self.parameters)):
            raise PatchError(f"exposed name must be new in the composite, got {name!r}")


def _place(ref: PortRef) -> ChildPort:
    return ChildPort(ref.node, ref.port)


def input_spec(name: str, specs: list[PortSpec], doc: str | None, optional: bool | None) -> PortSpec:
    """Return the declaration of an exposed input that feeds the ports declared by `specs`.

    It has the requirements of all of them; shapes are checked at the children. Raise PatchError if these conflict.
    """
    typed = [spec for spec in specs if spec.dtype.kind != "any"] or specs
    ranks = {spec.rank for spec in specs if spec.rank is not None}
    for what, found in (("element type", {str(spec.dtype) for spec in typed}), ("rank", {str(rank) for rank in ranks})):
        if len(found) > 1:
            raise PatchError(f"input {name} must have one {what}, got {' and '.join(sorted(found))}")
    must_be_connected = not all(spec.optional for spec in specs)
    if optional and must_be_connected:
        raise PatchError(f"input {name} must not be optional, since a child requires it")
    return PortSpec(
        name=name,
        direction="in",
        dtype=typed[0].dtype,
        doc=doc or specs[0].doc,
        shape="same",
        rank=next(iter(ranks), None),
        optional=not must_be_connected if optional is None else optional,
        dtype_rule=next((spec.dtype_rule for spec in specs if spec.dtype_rule in KINDS), None),
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

    A value must be valid for all of them; `minimum` and `maximum` may narrow the range. Raise PatchError for conflicts.
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
        vector="",
    )
    return replace(spec, default=spec.coerce(default))


def _same(specs: list[PortSpec]) -> str:
    return f"same({', '.join(spec.name for spec in specs)})" if specs else ""


def _given(rule: str | None) -> str | None:
    return "data" if same_names(rule) else rule


def _constant(rule: str) -> str:
    """Return a shape rule if it names no ports; otherwise return "data", since ports inside are unknown outside."""
    return rule if rule in GIVEN or not parse_rule(rule).names else "data"


class Composite(Block, abstract=True):
    """A block type made of other blocks: subclass it like `Block`, and define `compose` instead of `describe`.

    `compose` exposes the ports and parameters. A composite may also declare its own structural parameters, which
    `compose` can read; the exposed ports must not depend on them. With `as_child_graph=True`, its blocks become one
    child graph of the CUDA graph.
    """

    as_child_graph: ClassVar[bool] = False
    #: True when it contains a region, at any depth.
    holds_regions: ClassVar[bool] = False
    _own: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, *, as_child_graph: bool = False, **keywords: Any) -> None:
        cls.as_child_graph = as_child_graph
        if keywords.get("regions"):
            raise BlockDefinitionError(f"composite {keywords.get('id')} must not be a region itself, only hold some")
        super().__init_subclass__(**keywords)

    def compose(self, build: CompositeBuilder) -> None:
        """Define the blocks of the composite by calls of `build`."""
        raise NotImplementedError(f"composite {self.id} must define compose")

    def describe(self, build: BlockBuilder) -> None:
        """Compose the children's descriptions.

        Raise PatchError if the result exposes other ports than the type declares.
        """
        inner = self._composed()
        declared = type(self)
        got = (_ports(inner.ports), _types(inner.parameters))
        own = {name: spec for name, spec in declared.parameters.items() if name not in declared._own}
        if got != (_ports(declared.ports), _types(own)):
            raise PatchError(
                f"composite {self.id} must expose the same ports and parameters for all of its values, got others"
            )
        build.compose(inner.commit(as_child_graph=declared.as_child_graph))

    @classmethod
    def _declared(cls) -> tuple[dict[str, PortSpec], dict[str, ParameterSpec]]:
        ports, own = super()._declared()
        if ports:
            raise BlockDefinitionError(f"composite {cls.id} must expose its ports in compose, got {', '.join(ports)}")
        live = [name for name, spec in own.items() if not spec.structural]
        if live:
            raise BlockDefinitionError(
                f"composite {cls.id}: parameter {live[0]} must be structural, or be exposed from a child"
            )
        if "ports" not in vars(cls):  # when a type is declared again, other threads may still use its ports
            cls.ports, cls.parameters = {}, own
        cls._own = frozenset(own)
        try:
            inner = cls()._composed()
        except PatchError as problem:
            raise BlockDefinitionError(f"composite {cls.id}: {problem}") from problem
        cls.holds_regions, cls.made_of = inner.holds_regions, inner.made_of
        if cls.as_child_graph and inner.holds_regions:
            raise BlockDefinitionError(
                f"composite {cls.id} must not be one child graph, since it holds a region, "
                "and CUDA allows no region in a child graph"
            )
        return inner.ports, {**own, **inner.parameters}

    def _composed(self) -> CompositeBuilder:
        build = CompositeBuilder(self, type(self)._own)
        self.compose(build)
        build.check()
        return build


def _ports(specs: dict[str, PortSpec]) -> dict[str, tuple[str, str]]:
    return {name: (spec.direction, str(spec.dtype)) for name, spec in specs.items()}


def _types(specs: dict[str, ParameterSpec]) -> dict[str, str]:
    return {name: spec.type for name, spec in specs.items()}
