"""The operations of tensor graphs. Importing this package registers them for the methods of tensors."""

from warploom.engine.tensor_ir.graph import OPERATIONS, TensorOperation
from warploom.engine.tensor_ir.operations.elementwise import Cast, Copy, Elementwise, PassThrough, StopGradient
from warploom.engine.tensor_ir.operations.indexing import Gather, ScatterAdd
from warploom.engine.tensor_ir.operations.leaves import BatchSize, Constant
from warploom.engine.tensor_ir.operations.matrices import matrix_product
from warploom.engine.tensor_ir.operations.reductions import BroadcastTo, LogSoftmax, Reduce, ReduceAcrossBatch, Softmax
from warploom.engine.tensor_ir.operations.shaping import Concat, Pad, Reshape, Slice, Transpose
from warploom.engine.tensor_ir.operations.sparse import SparseMatMul, SparseRows

_CALLED: tuple[type[TensorOperation], ...] = (
    *(BatchSize, BroadcastTo, Cast, Concat, Constant, Copy, Elementwise, Gather, LogSoftmax, Pad, Reduce),
    *(
        PassThrough,
        ReduceAcrossBatch,
        Reshape,
        ScatterAdd,
        Slice,
        Softmax,
        SparseMatMul,
        SparseRows,
        StopGradient,
        Transpose,
    ),
)
OPERATIONS.update({operation.__name__: operation for operation in _CALLED}, MatMul=matrix_product)
