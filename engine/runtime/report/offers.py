"""Values that a person may choose for a parameter, such as devices: they are looked for on a thread of their own."""

import threading

from warploom.engine.blocktypes.block import Block
from warploom.engine.diagnostics import PatchError
from warploom.engine.protocol.messages import LookFor, Offered
from warploom.engine.protocol.outbox import Outbox


def look_for(wanted: LookFor, block_type: type[Block] | None, outbox: Outbox) -> None:
    """Put an `Offered` into the outbox, later; nothing for a node that is gone."""
    if block_type is None:
        return
    offered = block_type.offered

    def look() -> None:
        found: dict[str, str] = {}
        problem = ""
        try:
            found = {str(value): str(title) for value, title in offered(wanted.parameter).items()}
        except PatchError as refused:
            problem = str(refused)
        except Exception as failure:  # noqa: BLE001 - a library, or a person's block, may raise anything
            problem = f"{wanted.parameter} must be possible to list, got {type(failure).__name__}: {failure}"
        outbox.put_event(Offered(wanted.node, wanted.parameter, tuple(found.items()), problem))

    threading.Thread(target=look, name="warploom-offers", daemon=True).start()
