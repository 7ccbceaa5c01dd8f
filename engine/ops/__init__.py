"""Kernels drawn from ops: an op graph is checked, written as LLVM IR and compiled to PTX."""

from warploom.engine.ops import library
from warploom.engine.ops.analysis import check_op_graph
from warploom.engine.ops.compose import compose, with_constants, with_own_elements, with_types
from warploom.engine.ops.emission import (
    ElementNumber,
    FramePointer,
    GraphNumbers,
    InputPointer,
    LiveParameter,
    OpArgument,
    OpExtent,
    OutputPointer,
)
from warploom.engine.ops.expression import ExpressionError, function_names, parse_expression
from warploom.engine.ops.graph import (
    OpConnection,
    OpError,
    OpGraph,
    OpGraphBuilder,
    OpNode,
    OpPort,
    graph_from_json,
    graph_to_json,
)
from warploom.engine.ops.interface import OpInputPort, OpInterface, OpOutputPort, OpParameter
from warploom.engine.ops.lowering.kernel import OpKernel, compile_graph
from warploom.engine.ops.table import CATEGORIES, OPS, OpInput, OpOutput, OpSetting, OpType

_ = library  # importing it fills the table

__all__ = [
    "CATEGORIES",
    "OPS",
    "ElementNumber",
    "ExpressionError",
    "FramePointer",
    "GraphNumbers",
    "InputPointer",
    "LiveParameter",
    "OpArgument",
    "OpConnection",
    "OpError",
    "OpExtent",
    "OpGraph",
    "OpGraphBuilder",
    "OpInput",
    "OpInputPort",
    "OpInterface",
    "OpKernel",
    "OpNode",
    "OpOutput",
    "OpOutputPort",
    "OpParameter",
    "OpPort",
    "OpSetting",
    "OpType",
    "OutputPointer",
    "check_op_graph",
    "compile_graph",
    "compose",
    "function_names",
    "graph_from_json",
    "graph_to_json",
    "parse_expression",
    "with_constants",
    "with_own_elements",
    "with_types",
]
