"""The block registry: every node of the patch with its block type and its last description."""

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.value_blocks import ValueBlock
from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.diagnostics import Diagnostic, Severity
from warploom.engine.patch.changes import Connection, Node, PortRef, Sentinel
from warploom.engine.readings import Reading
from warploom.engine.runtime.model.describe_patch import (
    PatchSnapshot,
    PlacedNode,
    look_up,
    number_drives,
    with_value_block,
)
from warploom.engine.runtime.model.parameters import ParameterStore, fit
from warploom.engine.user_code.runner import CodeRunner


class BlockRegistry:
    """The placed nodes by id, and the value blocks, the only blocks that are kept as objects.

    Blocks of the device are described from their types and values, see `described`. `folder` is the patch's folder;
    `code` makes value blocks.
    """

    def __init__(
        self, catalogue: Catalogue, parameters: ParameterStore, folder: Callable[[], Path], code: CodeRunner
    ) -> None:
        self._catalogue = catalogue
        self._parameters = parameters
        self._folder = folder
        self._code = code
        #: Whether the patch is trusted.
        self.trusted = False
        self.placed: dict[str, PlacedNode] = {}
        self.value_blocks: dict[str, ValueBlock] = {}
        #: The nodes of live blocks.
        self.live_nodes: set[str] = set()
        #: The nodes that the next `describe_patch` has to describe.
        self._undescribed: set[str] = set()

    def register(self, node: Node) -> None:
        """Add a node."""
        placed = self._look_up(node.id, node.type, node.region, node.parameters)
        self._place(*with_value_block(placed, self._code), node.parameters)

    def unregister(self, node_id: str) -> None:
        """Remove a node."""
        del self.placed[node_id]
        self.value_blocks.pop(node_id, None)
        self.live_nodes.discard(node_id)
        self._undescribed.discard(node_id)
        self._parameters.remove(node_id)

    def set_region(self, node_id: str, region: str) -> None:
        """Put a node into another region."""
        self.placed[node_id] = self.placed[node_id].in_region(region)

    def invalidate(self, node_id: str) -> None:
        """Have a block described again, after a structural parameter has changed."""
        self._put(replace(self.placed[node_id], block=None, gave_up=False))

    def read_again(self, files: Collection[Path]) -> list[str]:
        """Have the blocks described again that were made from one of `files`, and return them.

        A running block stays unchanged until its successor could be described.
        """
        found = [placed for placed in self.placed.values() if not placed.reading.files.isdisjoint(files)]
        for placed in found:
            newest = self._look_up(placed.id, placed.type_id, placed.region, self._parameters.patch_values(placed.id))
            runs_on = placed.block is not None
            self._put(replace(placed, successor=newest, stale=newest.stale) if runs_on else newest)
        return [placed.id for placed in found]

    def readings(self) -> list[Reading]:
        """Return the contents of files when the blocks were described; any thread may ask."""
        return [placed.reading for placed in tuple(self.placed.values()) if placed.reading.answers]

    def type_of(self, node_id: str) -> type[Block] | None:
        """Return the block type of a node; None when there is no such node, or its type is not known."""
        placed = self.placed.get(node_id)
        return placed.block_type if placed is not None else None

    def is_live(self, node_id: str, parameter: str) -> bool:
        """True when a parameter reaches kernels as an argument and takes no part in the description."""
        placed, spec = self.placed[node_id], self._parameters.spec(node_id, parameter)
        if spec is None or placed.successor is not None or (node_id, parameter) in self._parameters.misfits:
            return False
        return not spec.structural

    def types_to_trust(self) -> frozenset[str]:
        """Return the ids of the placed types for which trust matters.

        Of these, ports follow from a node's values, or they use something outside the patch.
        """
        return frozenset(
            placed.type_id
            for placed in self.placed.values()
            if placed.uses_outside or (placed.block_type is not None and placed.block_type.is_adaptive)
        )

    def redefine(self, types: Collection[str]) -> tuple[list[str], list[str]]:
        """Follow new versions of block types: return the nodes that were replaced, and those that wait to be described.

        A block that runs is replaced only when its newer version has been described without error.
        """
        affected = [placed.id for placed in self.placed.values() if placed.type_id in types]
        renewed = [node_id for node_id in affected if not self._is_newest(self.placed[node_id])]
        replaced = [node_id for node_id in renewed if self.renew(node_id)]
        return replaced, [node_id for node_id in renewed if node_id not in set(replaced)]

    def renew(self, node_id: str) -> bool:
        """Follow the newest version of a node's type; return whether it was replaced, or else waits to be described."""
        placed = self.placed[node_id]
        newest = self._look_up(node_id, placed.type_id, placed.region, self._parameters.patch_values(node_id))
        runs_on = placed.block_type is not None and not placed.is_value
        is_same = newest.block_type is placed.block_type and newest.declared is placed.declared
        if is_same and not (placed.uses_outside and placed.trusted != self.trusted):
            problems = newest.problems or placed.problems
            self._put(replace(placed, stale=newest.stale, problems=problems, successor=None))
        elif runs_on and newest.gave_up:
            self._put(replace(placed, stale=newest.problems, successor=None))
        elif runs_on and newest.block_type is not None and not newest.is_value:
            self._put(replace(placed, successor=newest, stale=newest.stale))
        else:
            made, block = with_value_block(newest, self._code)
            if not newest.is_value or block is not None or placed.block_type is None:
                self._place(made, block)
                return True
            self._put(replace(placed, stale=made.problems, declared=newest.declared))  # the old version stays
        return False

    def snapshot(
        self,
        connections: Iterable[Connection],
        sentinels: Mapping[PortRef, Sentinel] | None = None,
        drives: Iterable[Connection] = (),
        muted: Mapping[str, Diagnostic] | None = None,
        orders: Iterable[tuple[str, str]] = (),
    ) -> PatchSnapshot:
        """Return the nodes for the next description, with connections, sentinels, muted nodes, orders and all values.

        `drives` are the value connections.
        """
        parameters, copies = self._parameters, self._parameters.snapshot()
        for node_id in self._undescribed:
            placed, successor = self.placed[node_id], self.placed[node_id].successor
            if successor is not None:
                values, _ = fit(node_id, successor.specs, parameters.patch_values(node_id), self._folder)
                successor = replace(successor, values=values)
            self.placed[node_id] = replace(placed, values=copies[node_id], successor=successor)
        return PatchSnapshot(
            tuple(self.placed.values()),
            tuple(connections),
            copies,
            tuple(self._notices()),
            dict(sentinels or {}),
            number_drives(drives, self.type_of),
            dict(muted or {}),
            tuple(orders),
        )

    def adopt(self, nodes: Iterable[PlacedNode]) -> list[str]:
        """Adopt the described nodes of the last snapshot; return those whose newer version has taken over."""
        succeeded = []
        for node, before in zip(nodes, list(self.placed.values()), strict=True):
            if node is before:
                continue
            self._put(node)
            if node.took_over_from(before):
                self._parameters.place(node.id, node.specs, reaches_kernels=True)
                succeeded.append(node.id)
        return succeeded

    def _look_up(self, node_id: str, type_id: str, region: str, patch_values: Mapping[str, object]) -> PlacedNode:
        return look_up(node_id, type_id, region, patch_values, self._catalogue, self._folder, trusted=self.trusted)

    def _place(
        self, placed: PlacedNode, block: ValueBlock | None, patch_values: Mapping[str, object] | None = None
    ) -> None:
        """Add a node, or replace it by one of another type; `patch_values` is None for a known node."""
        is_known = placed.block_type is not None and not placed.gave_up
        values = self._parameters.place(
            placed.id, placed.specs, patch_values, reaches_kernels=block is None, is_known=is_known
        )
        self.value_blocks.pop(placed.id, None)
        if block is not None:
            block.values = values
            self.value_blocks[placed.id] = block
        self._put(placed)

    def _put(self, placed: PlacedNode) -> None:
        self.placed[placed.id] = placed
        is_live = placed.block_type is not None and placed.block_type.is_live
        (self.live_nodes.add if is_live else self.live_nodes.discard)(placed.id)
        (self._undescribed.add if placed.is_to_be_described else self._undescribed.discard)(placed.id)

    def _is_newest(self, placed: PlacedNode) -> bool:
        patch_values = self._parameters.patch_values(placed.id)
        block_type, problem = self._catalogue.resolve(placed.type_id, patch_values, self._folder, trusted=self.trusted)
        latest = placed.successor or placed
        told = [(item.message, item.line) for item in placed.stale]
        if block_type is None:
            return False  # the type may have been removed or restored, or its problem may have changed
        if problem is not None and (problem.message, problem.line) not in told:
            return False
        if latest.uses_outside and latest.trusted != self.trusted:
            return False
        return latest.declared is block_type.ports and (problem is not None or not placed.stale)

    def _notices(self) -> list[Diagnostic]:
        """Return the problems of block files that no node needs."""
        failed = self._catalogue.problems()
        if not failed:
            return []
        needed = {placed.type_id for placed in self.placed.values()}
        told = {problem for type_id in needed if (problem := self._catalogue.problem(type_id)) is not None}
        return [replace(item, severity=Severity.WARNING) for item in failed if item not in told]
