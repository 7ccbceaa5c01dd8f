"""The canvas's data about nodes and regions, as plain data made from the patch."""

import math
from collections.abc import Container, Iterable, Mapping

import msgspec

from warploom.app.edits.nodes import parameter_label
from warploom.app.theme.port_style import PortKind, kind_of_value
from warploom.app.view_models.live_values import LiveValue
from warploom.app.view_models.port_flow import kind_at
from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.updated_blocks import UpdatedBlock
from warploom.engine.patch.changes import Connection, Mode
from warploom.engine.patch.document import Patch
from warploom.engine.patch.groups.types import NEW
from warploom.engine.patch.organise.annotations import COLOURS
from warploom.engine.patch.rules import is_drivable


class PortViewModel(msgspec.Struct, frozen=True, gc=False):
    """A port as it is drawn. A dangling port is one that a connection names, but that the block type lacks.

    An input with `is_parameter` exists while a value drives the parameter. `live` is the number beside a value output,
    a driven parameter, or an input with its own value.
    """

    name: str
    is_input: bool
    kind: PortKind
    optional: bool = False
    dangling: bool = False
    is_parameter: bool = False
    live: LiveValue | None = None

    @property
    def label(self) -> str:
        """The name as it is drawn."""
        return parameter_label(self.name) if self.is_parameter else self.name


class SliderViewModel(msgspec.Struct, frozen=True, gc=False):
    """A number that a person sets on the node itself: its parameter, its value and its bounds."""

    parameter: str
    value: float
    minimum: float
    maximum: float

    @property
    def share(self) -> float:
        """The position of the value along the slider, from 0 to 1."""
        if self.maximum <= self.minimum:
            return 0.0
        return min(max((self.value - self.minimum) / (self.maximum - self.minimum), 0.0), 1.0)

    def value_at(self, share: float) -> float:
        """Return the value at a position, rounded to the precision of a pixel."""
        span = self.maximum - self.minimum
        if span <= 0:
            return self.minimum
        digits = max(0, 3 - math.floor(math.log10(span)) - 1)
        value = round(self.minimum + min(max(share, 0.0), 1.0) * span, digits)
        return min(max(value, self.minimum), self.maximum)


class NodeViewModel(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """A node as it is drawn; `missing` means that the block type is not in the catalogue.

    With `is_value`, it is a value block, which runs outside the graph and has no measured time.
    """

    title: str
    category: str
    inputs: tuple[PortViewModel, ...]
    outputs: tuple[PortViewModel, ...]
    missing: bool = False
    is_value: bool = False
    slider: SliderViewModel | None = None
    mode: Mode = Mode.ACTIVE
    #: Its own colour, if any, and a note.
    colour: str = ""
    comment: str = ""


def node_view_model(patch: Patch, node_id: str) -> NodeViewModel:
    """Return the model of a node."""
    block_type = patch.block_type(node_id)
    node = patch.nodes[node_id]
    colour = node.colour if node.colour in COLOURS else ""
    used = patch.connections_of(node_id)
    into = {c.target.port: c for c in used if c.target.node == node_id}
    inputs, outputs = _declared(patch, block_type, node_id, into)
    inputs += _driven(block_type, node_id, into)
    inputs += _dangling(inputs, into, is_input=True)
    outputs += _dangling(outputs, [c.source.port for c in used if c.source.node == node_id], is_input=False)
    if block_type is None:
        title = patch.title(node_id) if node.title else f"Missing: {node.type}"
        return NodeViewModel(
            *(title, "", tuple(inputs), tuple(outputs)),
            missing=True,
            mode=node.mode,
            colour=colour,
            comment=node.comment,
        )
    return NodeViewModel(
        patch.title(node_id),
        block_type.category,
        tuple(inputs),
        tuple(outputs),
        is_value=block_type.is_value,
        slider=_slider(patch, node_id, block_type, into),
        mode=node.mode,
        colour=colour,
        comment=node.comment,
    )


def _declared(
    patch: Patch, block_type: type[Block] | None, node_id: str, into: Container[str]
) -> tuple[list[PortViewModel], list[PortViewModel]]:
    if block_type is None:
        return [], []
    values = [
        PortViewModel(s.name, False, kind_of_value(s.type), live=LiveValue(f"{node_id}.{s.name}", s.type))
        for s in block_type.value_outputs()
    ]
    inputs = []
    for spec in block_type.inputs():
        has_value = spec.name in block_type.parameters and spec.name not in into
        live = _own_value(patch, node_id, spec.name) if has_value else None
        kind = kind_at(patch, node_id, block_type, spec)
        inputs.append(PortViewModel(spec.name, True, kind, spec.optional, live=live))
    outputs = [PortViewModel(s.name, False, kind_at(patch, node_id, block_type, s)) for s in block_type.outputs()]
    last = [port for port in outputs if port.name == NEW]  # of a group's inputs, below those that exist
    return inputs, [port for port in outputs if port.name != NEW] + values + last


def _own_value(patch: Patch, node_id: str, name: str) -> LiveValue:
    """Return the key of the number that an input uses while it is unconnected."""
    is_whole = float(patch.value(node_id, name)).is_integer()
    return LiveValue(f"{node_id}.{name}", "int" if is_whole else "float")


def _driven(block_type: type[Block] | None, node_id: str, into: Mapping[str, Connection]) -> list[PortViewModel]:
    """Return the driven parameters, in order of declaration."""
    return [
        PortViewModel(
            spec.name,
            True,
            kind_of_value(spec.type),
            is_parameter=True,
            live=LiveValue(f"{node_id}.{spec.name}", spec.type),
        )
        for spec in (block_type.parameters.values() if block_type else ())
        if spec.name in into and is_drivable(spec)
    ]


def _slider(
    patch: Patch, node_id: str, block_type: type[Block], into: Mapping[str, Connection]
) -> SliderViewModel | None:
    """Return the slider of a value block's node; None while a value drives its parameter."""
    name = block_type.handle if issubclass(block_type, UpdatedBlock) else ""
    if not name or name in into:
        return None
    spec = block_type.parameter(name)
    assert spec.minimum is not None and spec.maximum is not None, f"handle {name} of {block_type.id} must have bounds"
    return SliderViewModel(name, patch.value(node_id, name), spec.minimum, spec.maximum)


def _dangling(known: list[PortViewModel], named: Iterable[str], *, is_input: bool) -> list[PortViewModel]:
    """Return the ports that connections name but the block type lacks."""
    names = {port.name for port in known}
    missing = [name for name in dict.fromkeys(named) if name not in names]
    return [PortViewModel(name, is_input, PortKind.ANY, dangling=True) for name in missing]


class RegionViewModel(msgspec.Struct, frozen=True, gc=False):
    """A box as it is drawn. `kind` is the region block's type, and `kind_title` its name in the catalogue.

    `branches` are those that the block type declares. A type that is not in the catalogue has none; its box shows the
    branches that its blocks lie in.
    """

    title: str
    kind: str
    kind_title: str
    branches: tuple[str, ...]


def region_view_model(patch: Patch, node_id: str) -> RegionViewModel | None:
    """Return the model of a region block's box; None for a block that is not a region."""
    block_type = patch.block_type(node_id)
    kind = patch.nodes[node_id].type
    if block_type is None:
        return RegionViewModel(patch.title(node_id), kind, "", ())
    if not block_type.regions or patch.is_group(node_id):
        return None
    return RegionViewModel(patch.title(node_id), kind, block_type.title, block_type.regions)
