"""`optimise`: runs passes until nothing changes. Also lists the passes for networks and for lazy tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from warploom.engine.tensor_ir.errors import InvalidOperation
from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.passes.affine import (
    fuse_clamps,
    fuse_dual_sparse_affine,
    fuse_errors,
    fuse_sparse_affine,
    hoist_past_concat,
)
from warploom.engine.tensor_ir.passes.constants import fold_constants
from warploom.engine.tensor_ir.passes.copies import remove_copies, share_common
from warploom.engine.tensor_ir.passes.verification import verify_nodes

#: Takes the wanted nodes, and returns nodes with the same values, in the same order.
Pass = Callable[[Sequence[TensorNode]], Sequence[TensorNode]]

#: A limit far above the needs of any graph, since passes that undo each other's work would never end.
MOST_ROUNDS = 1000


def optimise(wanted: Sequence[TensorNode], passes: Mapping[str, Pass]) -> list[TensorNode]:
    """Run the passes to a fixed point. Verify the graph before the first pass and after each one.

    Raise InvalidOperation, with the pass and the node, when a pass breaks the graph.
    """
    verify_nodes(wanted, "before all passes")
    types = [node.type for node in wanted]
    now = list(wanted)
    for _ in range(MOST_ROUNDS):
        before = now
        for name, run in passes.items():
            after = list(run(now))
            if after == now:
                continue
            verify_nodes(after, f"after pass {name!r}")
            if [node.type for node in after] != types:
                raise InvalidOperation(f"after pass {name!r}: wanted nodes must stay {types}, got {after}")
            now = after
        if now == before:
            return now
    raise InvalidOperation(f"passes must come to an end, got more than {MOST_ROUNDS} rounds")


#: A network, before it is differentiated, and its functions.
PASSES: Mapping[str, Pass] = {
    "constant folding": fold_constants,
    "copy elimination": remove_copies,
    "common subexpressions": share_common,
    "clamps": fuse_clamps,
    "power errors": fuse_errors,
    "sparse affine layers": fuse_sparse_affine,
    "hoisting past concat": hoist_past_concat,
    "dual sparse affine layers": fuse_dual_sparse_affine,
}
#: For a segment of lazy tensors. Elements must not depend on which nodes are computed together, so no pass may change
#: where an operation rounds. The omitted passes only pay off for networks.
LAZY_PASSES: Mapping[str, Pass] = {
    "constant folding": fold_constants,
    "copy elimination": remove_copies,
    "common subexpressions": share_common,
}
