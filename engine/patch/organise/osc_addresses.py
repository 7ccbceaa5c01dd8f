"""The OSC addresses of a patch's parameters and values, and what an engine needs to receive and send them.

An address is `/BLOCK/PARAMETER`. BLOCK is the block's id, such as `gaussian_blur_2`, or its title if a person gave it
one: "Soft glow" is `/soft_glow/sigma`. The id works too.
"""

import re
import unicodedata
from collections import Counter

import msgspec

from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.groups.contents import GroupedContents
from warploom.engine.patch.organise.osc import MOST_OUTS, THIS_MACHINE, Osc, OscOut, destination

_LIVE_TYPES = ("float", "int", "bool", "str")


class OscSend(msgspec.Struct, frozen=True):
    """A value to send: the output or parameter of a block, and where it goes."""

    port: PortRef
    address: str
    host: str
    number: int


class OscTable(msgspec.Struct, frozen=True):
    """What an engine listens to (`port` 0: nothing) and sends.

    `names` has the ids of blocks with a name of their own, by that name, and `groups` the parameters that a group's
    parameter sets, by "GROUP/PARAMETER".
    """

    port: int = 0
    host: str = THIS_MACHINE
    names: dict[str, str] = {}
    groups: dict[str, tuple[PortRef, ...]] = {}
    outs: tuple[OscSend, ...] = ()

    @property
    def source(self) -> str:
        """The source to listen to, or ""."""
        return f"osc:{self.host}:{self.port}" if self.port else ""


def is_live(spec: ParameterSpec) -> bool:
    """Return whether a message can set a parameter: its changes must not rebuild anything."""
    return not spec.structural and spec.type in _LIVE_TYPES


def osc_names(patch: GroupedContents) -> dict[str, str]:
    """Return the names in addresses of those blocks whose name is not their id, by id."""
    # Not in the order of the patch, which an undo changes.
    titled = sorted((node for node in patch.nodes.values() if node.title), key=lambda node: node.id)
    taken = set(patch.nodes) if titled else set()
    names: dict[str, str] = {}
    counts = Counter[str]()
    for node in titled:
        plain = unicodedata.normalize("NFKD", node.title).encode("ascii", "ignore").decode().lower()
        stem = name = re.sub(r"[^a-z0-9_.-]+", "_", plain).strip("_")
        if not name or name == node.id:
            continue
        while name in taken:
            counts[stem] += 1
            name = f"{stem}_{counts[stem] + 1}"
        names[node.id] = name
        taken.add(name)
    return names


def osc_address(patch: GroupedContents, port: PortRef, names: dict[str, str] | None = None) -> str:
    """Return the address of a parameter or output of a block; `names` are those of `osc_names`, if known."""
    names = osc_names(patch) if names is None else names
    return f"/{names.get(port.node, port.node)}/{port.port}"


def live_parameters(block_type: type[Block] | None) -> list[ParameterSpec]:
    """Return the parameters of a block type that messages can set."""
    return [spec for spec in block_type.parameters.values() if is_live(spec)] if block_type is not None else []


def osc_settings(patch: GroupedContents) -> Osc:
    """Return the OSC settings of a patch; those of a patch without any listen to nothing."""
    found = patch.annotations.get("osc")
    return found if isinstance(found, Osc) else Osc()


def osc_table(patch: GroupedContents) -> OscTable:
    """Return what an engine of a patch is to receive and send."""
    settings, outs = osc_settings(patch), patch.annotations_of(OscOut)
    if not (settings.port or outs):
        return OscTable()
    names, groups = osc_names(patch), {}
    for node in patch.nodes if patch.has_groups else ():
        block_type = patch.block_type(node) if patch.is_group(node) else None
        for spec in live_parameters(block_type):
            groups[f"{node}/{spec.name}"] = tuple(PortRef(*leaf) for leaf in patch.leaves(node, spec.name))
    sends = []
    for out in outs[:MOST_OUTS]:
        port = PortRef(out.node, out.port)
        leaf = _leaf(patch, port)
        if leaf is not None:
            address = out.address or osc_address(patch, port, names)
            sends.append(OscSend(leaf, address, *destination(out.to or settings.to)))
    ids = {name: node for node, name in names.items()}
    return OscTable(settings.port, settings.host, ids, groups, tuple(sends))


def _leaf(patch: GroupedContents, port: PortRef) -> PortRef | None:
    block_type = patch.block_type(port.node) if port.node in patch.nodes else None
    if block_type is not None and patch.is_group(port.node) and port.port in block_type.parameters:
        return PortRef(*patch.leaves(port.node, port.port)[0])
    return patch.leaf(port) if block_type is not None else None
