"""Kernels drawn from ops: an op graph is checked, written as LLVM IR and compiled to PTX."""

from engine.ops import library
from engine.ops.analysis import check
from engine.ops.compose import compose, with_constants, with_own_elements, with_types
from engine.ops.emission import (
    Argument,
    ElementNumber,
    Extent,
    FramePointer,
    GraphNumbers,
    InputPointer,
    LiveParameter,
    OutputPointer,
)
from engine.ops.expression import ExpressionError, function_names, parse_expression
from engine.ops.graph import GraphBuilder, OpConnection, OpError, OpGraph, OpNode, graph_from_json, graph_to_json
from engine.ops.graph import Port as OpPort
from engine.ops.interface import OpInputPort, OpInterface, OpOutputPort, OpParameter
from engine.ops.lowering.kernel import OpKernel, compile_graph
from engine.ops.table import CATEGORIES, OPS, OpInput, OpOutput, OpSetting, OpType

_ = library  # its import fills the table

__all__ = [
    "CATEGORIES",
    "OPS",
    "Argument",
    "ElementNumber",
    "ExpressionError",
    "Extent",
    "FramePointer",
    "GraphBuilder",
    "GraphNumbers",
    "InputPointer",
    "LiveParameter",
    "OpConnection",
    "OpError",
    "OpGraph",
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
    "check",
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
