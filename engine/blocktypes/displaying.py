"""Which block types show a picture, found by describing them once."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from engine.blocktypes.block import Block
from engine.blocktypes.builder import describe

_known: WeakKeyDictionary[type[Block], bool] = WeakKeyDictionary()


def shows_pictures(block_type: type[Block]) -> bool:
    """True for a block type that shows a picture, as its defaults describe it.

    The block's own code runs when it is first asked: for types of users' files that is when they are loaded.
    """
    known = _known.get(block_type)
    if known is None:
        try:
            known = any(display.path is None for display in describe(block_type()).displays)
        except (Exception, SystemExit):  # noqa: BLE001  # a block's describe may fail in any way; the engine says so on the node
            known = False
        _known[block_type] = known
    return known
