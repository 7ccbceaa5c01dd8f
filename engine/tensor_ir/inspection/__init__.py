"""Views of a tensor graph: one node, and all nodes as text, DOT and SVG."""

from engine.tensor_ir.inspection.dot import graph_dot
from engine.tensor_ir.inspection.drawing import graph_svg
from engine.tensor_ir.inspection.info import NodeInfo, node_info
from engine.tensor_ir.inspection.text import graph_text, node_text

__all__ = ["NodeInfo", "graph_dot", "graph_svg", "graph_text", "node_info", "node_text"]
