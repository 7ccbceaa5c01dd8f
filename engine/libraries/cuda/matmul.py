"""Matrix products by cuBLASLt, with additions in the same kernel: c, a bias, an activation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from nvmath.bindings import cublas, cublasLt

from warploom.engine.libraries.blas import Gemm
from warploom.engine.libraries.cuda.plan import DATA_TYPES, Addresses, Handles, ScalarAddresses, recommended_bytes
from warploom.engine.libraries.matrices import FULL, Matrix, matrix_of
from warploom.engine.types import DType, c64, c128, f32, f64
from warploom.engine.types.layout import Layout

_Attribute, _LayoutAttribute = cublasLt.MatmulDescAttribute, cublasLt.MatrixLayoutAttribute
_Preference = cublasLt.MatmulPreferenceAttribute
#: Names of the epilogues by activation, without and with a bias.
_EPILOGUES = {"none": ("DEFAULT", "BIAS"), "relu": ("RELU", "RELU_BIAS"), "gelu": ("GELU", "GELU_BIAS")}


class GemmPlan:
    """A matrix product, as the product of the transposed matrices: these are what the library sees in our memory."""

    def __init__(self, call: Gemm, layouts: Mapping[str, Layout], handles: Handles) -> None:
        self._handles = handles
        self._handle = handles.get(cublasLt.create, cublasLt.destroy)
        self._dtype = dtype = layouts["out"].dtype
        a, b, out = (matrix_of(layouts[slot]) for slot in ("a", "b", "out"))
        number = DATA_TYPES[dtype if dtype in FULL else f32]
        made = cublasLt.matmul_desc_create(_compute_type(dtype, call.allow_tf32), number)
        self._product = handles.own(self, made, cublasLt.matmul_desc_destroy)
        self._set(_Attribute.TRANSA, _operation(b, is_transposed=call.transpose_b))
        self._set(_Attribute.TRANSB, _operation(a, is_transposed=call.transpose_a))
        self._set(_Attribute.EPILOGUE, cublasLt.Epilogue[_EPILOGUES[call.activation]["bias" in layouts]])
        self._set(_Attribute.POINTER_MODE, cublasLt.PointerMode.DEVICE)
        if "bias" in layouts:  # a stand-in address, aligned as the real one
            self._set(_Attribute.BIAS_POINTER, layouts["bias"].alignment)
        self._a, self._b, self._out = (self._matrix(matrix, dtype, out.count) for matrix in (a, b, out))
        alignments = {"A": layouts["b"], "B": layouts["a"], "C": layouts.get("c", layouts["out"]), "D": layouts["out"]}
        self._algorithm = self._choose(alignments, recommended_bytes(handles))
        self.workspace_bytes = int(self._algorithm.workspace_size)

    def issue(self, stream: int, at: Addresses) -> None:
        """Make the product; without c, out is passed in its place with a beta of 0."""
        of, out = at.operands, at.operands["out"]
        if "c" not in of:
            at = replace(at, numbers={**at.numbers, "beta": self._handles.zero if at.numbers_on_device else 0.0})
        numbers = ScalarAddresses(at, self._dtype)
        mode = cublasLt.PointerMode
        self._set(_Attribute.POINTER_MODE, mode.DEVICE if at.numbers_on_device else mode.HOST)
        if "bias" in of:
            self._set(_Attribute.BIAS_POINTER, of["bias"])
        cublasLt.matmul(
            *(self._handle, self._product, numbers.address("alpha")),
            *(of["b"], self._b, of["a"], self._a, numbers.address("beta")),
            *(of.get("c", out), self._out, out, self._out),
            *(self._algorithm.ptr, at.workspace, at.workspace_bytes, stream),
        )

    def _matrix(self, matrix: Matrix, dtype: DType, count: int) -> int:
        """Return the descriptor of `count` matrices; if one matrix is repeated, they are all the same one."""
        rows, columns = (matrix.rows, matrix.columns) if matrix.is_transposed else (matrix.columns, matrix.rows)
        made: int = cublasLt.matrix_layout_create(DATA_TYPES[dtype], rows, columns, matrix.leading)
        self._handles.own(self, made, cublasLt.matrix_layout_destroy)
        kinds, setter = cublasLt.get_matrix_layout_attribute_dtype, cublasLt.matrix_layout_set_attribute
        _set(setter, kinds, made, _LayoutAttribute.BATCH_COUNT, count)
        _set(setter, kinds, made, _LayoutAttribute.STRIDED_BATCH_OFFSET, matrix.distance)
        return made

    def _choose(self, operands: Mapping[str, Layout], most_bytes: int) -> Any:
        """Return the library's first choice of an algorithm, for operands by the library's names."""
        preference = cublasLt.matmul_preference_create()
        try:
            kinds = cublasLt.get_matmul_preference_attribute_dtype
            setter = cublasLt.matmul_preference_set_attribute
            _set(setter, kinds, preference, _Preference.MAX_WORKSPACE_BYTES, most_bytes)
            for name, layout in operands.items():
                _set(setter, kinds, preference, _Preference[f"MIN_ALIGNMENT_{name}_BYTES"], layout.alignment)
            found, count = cublasLt.MatmulHeuristicResult(1), np.zeros(1, np.int32)
            layouts = self._b, self._a, self._out, self._out
            where = found.ptr, count.ctypes.data
            cublasLt.matmul_algo_get_heuristic(self._handle, self._product, *layouts, preference, 1, *where)
            if not count[0]:
                raise ValueError("no algorithm for these operands")
            return found
        finally:
            cublasLt.matmul_preference_destroy(preference)

    def _set(self, attribute: int, value: int) -> None:
        kinds = cublasLt.get_matmul_desc_attribute_dtype
        _set(cublasLt.matmul_desc_set_attribute, kinds, self._product, attribute, value)


def _set(setter: Any, kinds: Any, target: int, attribute: int, value: int) -> None:
    """Set an attribute, in the type that it has."""
    array = np.array([value], kinds(attribute))
    setter(target, attribute, array.ctypes.data, array.nbytes)


def _compute_type(dtype: DType, allow_tf32: bool) -> int:
    """Return how elements are multiplied, and the type in which products are summed."""
    kinds = cublas.ComputeType
    if allow_tf32 and dtype in (f32, c64):
        return int(kinds.COMPUTE_32F_FAST_TF32)
    return int(kinds.COMPUTE_64F if dtype in (f64, c128) else kinds.COMPUTE_32F)


def _operation(matrix: Matrix, *, is_transposed: bool) -> int:
    operations = cublas.Operation
    return int(operations.T if matrix.is_transposed != is_transposed else operations.N)
