"""Descriptions of blocks: what a placed block requests, from its type's `describe`."""

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from warploom.engine.blocktypes.block import Block
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.checks import BlockCallError
from warploom.engine.descriptions.description import BlockDescription

#: Equal descriptions share one object, so facts derived from a description are computed once for all its blocks. The
#: keys refer to them weakly too, with their hashes and their equality: a description is freed with the last block that
#: uses it.
_shared: WeakValueDictionary[tuple[object, ...], BlockDescription] = WeakValueDictionary()
_shows: WeakKeyDictionary[type[Block], bool] = WeakKeyDictionary()


def describe(block: Block) -> BlockDescription:
    """Return the description of `block`; exceptions of its `describe` propagate.

    Blocks with equal descriptions share one object, unless they have arrays or contain blocks, which may have some.
    """
    if (apart := block.apart) is not None:
        return apart.ask("describe", _described, block.node, block.values)
    structural = {name: block.values[name] for name, spec in block.parameters.items() if spec.is_size}
    live = [name for name, spec in block.parameters.items() if not spec.structural]
    build = BlockBuilder(block.id, block.ports, live, structural, block.source_folder())
    run_describe(block, build)
    made = build.commit()
    if block.is_live and not (made.feeds or made.watches):
        raise BlockCallError(f"{block.id}: describe of a live block must feed or watch a buffer, got neither")
    if not block.is_live and (made.feeds or made.watches):
        raise BlockCallError(
            f"{block.id}: a block that feeds or watches a buffer must be a LiveBlock, got another block"
        )
    if made.control is not None and made.control.branches != tuple(block.regions):
        raise BlockCallError(
            f"{block.id}: regions of the class must be {made.control.branches}, as its describe makes them, "
            f"got {tuple(block.regions)}"
        )
    unknown = [name for name in made.numbers if name not in block.values_out]
    if unknown:
        known = ", ".join(block.values_out) or "none"
        raise BlockCallError(f"{block.id}: build.value must name a value output ({known}), got {unknown[0]!r}")
    constants = [(name, repr(block.values[name])) for name, spec in block.parameters.items() if spec.is_constant]
    if constants:
        made = replace(made, constants=tuple(constants))
    if made.brings_arrays:
        return made
    return _shared.setdefault((ref(made), made.displays, made.kernel_folders, made.columns), made)


def _described(block_type: type[Block], node: str, values: Mapping[str, Any]) -> BlockDescription:
    return describe(block_type(node, values))


def run_describe(block: Block, build: BlockBuilder) -> None:
    """Call a block's `describe`. Raise BlockCallError if it isn't a plain function, whose code would never run."""
    returned: object = block.describe(build)
    if inspect.iscoroutine(returned):
        returned.close()
    if returned is not None:
        kind = type(returned).__name__
        raise BlockCallError(f"{block.id}: describe must be a plain function that returns nothing, got a {kind}")


def shows_pictures(block_type: type[Block]) -> bool:
    """True for a block type that shows a picture, as its defaults describe it.

    The first call for a type runs the block's own code; loading a user's file makes this call. False if that code is
    stopped.
    """
    if block_type.apart is not None:
        return block_type.apart.shows_pictures
    known = _shows.get(block_type)
    if known is None:
        _shows[block_type] = False  # also when it is stopped, since it takes too long
        try:
            known = any(display.path is None for display in describe(block_type()).displays)
        except (Exception, SystemExit):  # noqa: BLE001  # describe may fail in any way; the node shows it
            known = False
        _shows[block_type] = known
    return known
