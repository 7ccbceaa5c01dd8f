"""The members of networks as block types, and their catalogue, as for blocks."""

from __future__ import annotations

import types
from functools import cache
from typing import ClassVar

from engine.blocktypes.block import Block
from engine.catalogue.fixed_catalogue import FixedCatalogue
from engine.descriptions.builder import BlockBuilder
from engine.descriptions.ports import PortSpec
from engine.network_patches.members import CATEGORIES, MEMBERS, Member
from engine.types import any_type

#: The output of every member that has one.
OUT = "out"


class NetworkBlock(Block, abstract=True):
    """A member of a network as a block type."""

    member: ClassVar[Member]

    def describe(self, build: BlockBuilder) -> None:
        """A member is a part of a network and launches nothing."""


@cache
def network_block(member: Member) -> type[NetworkBlock]:
    """Return a member as a block type."""
    made: type[NetworkBlock] = types.new_class(member.title.replace(" ", ""), (NetworkBlock,), {"abstract": True})
    made.member, made.id, made.version, made.title = member, member.id, 1, member.title
    made.category, made.tags, made.regions, made.renamed = member.category, member.tags, (), {}
    made.__doc__ = made.summary = member.doc
    made.ports = {name: PortSpec(name, "in", any_type, doc, "same") for name, doc in member.inputs.items()}
    if member.output:
        made.ports[OUT] = PortSpec(OUT, "out", any_type, member.output, "")
    made.parameters = {setting.name: setting for setting in member.settings}
    return made


class NetworkCatalogue(FixedCatalogue):
    """The members of networks, by category."""

    member: ClassVar[str] = "a member"


@cache
def network_catalogue() -> NetworkCatalogue:
    """Return the catalogue of members."""
    shown = sorted(MEMBERS.values(), key=lambda member: CATEGORIES.index(member.category))
    blocks = {type_id: network_block(member) for type_id, member in MEMBERS.items()}
    return NetworkCatalogue(blocks, [network_block(member) for member in shown])
