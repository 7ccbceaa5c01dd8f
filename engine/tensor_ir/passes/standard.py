"""The passes that networks and functions go through."""

from collections.abc import Mapping

from engine.tensor_ir.passes.affine import (
    fuse_affine,
    fuse_dual_sparse_affine,
    fuse_sparse_affine,
    hoist_past_concat,
)
from engine.tensor_ir.passes.common import share_common
from engine.tensor_ir.passes.constants import fold_constants
from engine.tensor_ir.passes.copies import remove_copies
from engine.tensor_ir.passes.elements import fuse_combinations, fuse_errors
from engine.tensor_ir.passes.pipeline import Pass

#: What helps everywhere.
_SIMPLIFYING: Mapping[str, Pass] = {
    "constant folding": fold_constants,
    "copy elimination": remove_copies,
    "common subexpressions": share_common,
    "power errors": fuse_errors,
    "linear combinations": fuse_combinations,
    "hoisting past concat": hoist_past_concat,
    "sparse affine layers": fuse_sparse_affine,
    "dual sparse affine layers": fuse_dual_sparse_affine,
    "affine layers": fuse_affine,
}

#: A network, before it is differentiated.
NETWORK_PASSES: Mapping[str, Pass] = {**_SIMPLIFYING}
#: A function, of which no gradient is wanted.
FUNCTION_PASSES: Mapping[str, Pass] = {**_SIMPLIFYING}
#: A segment of lazy tensors, whose elements must not depend on what is computed together: no operation is rounded at
#: another place. Omitted passes are worthwhile for networks.
LAZY_PASSES: Mapping[str, Pass] = {
    "constant folding": fold_constants,
    "copy elimination": remove_copies,
    "common subexpressions": share_common,
    "affine layers": fuse_affine,
}
