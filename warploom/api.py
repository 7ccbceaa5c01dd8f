"""The names that a block type's module imports: everything needed to declare one.

Names that few blocks need are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from warploom.engine.blocktypes.adaptive import AdaptiveBlock, Interface
from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.declarations import In, Out, Value, param, port, value_port
from warploom.engine.blocktypes.found_files import files_at
from warploom.engine.blocktypes.live_blocks import LiveBlock, Taken
from warploom.engine.blocktypes.parameters import UserArray
from warploom.engine.blocktypes.shared_device import LentMemory, SharedDevice
from warploom.engine.blocktypes.updated_blocks import Moment
from warploom.engine.blocktypes.value_blocks import ValueBlock
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.copies import describe_copy
from warploom.engine.descriptions.entries import (
    Kernel,
    ReinterpretView,
    ReshapeView,
    SliceView,
    TransposeView,
    switch_branches,
)
from warploom.engine.descriptions.handles import BufferHandle
from warploom.engine.descriptions.regions import describe_for, describe_if, describe_switch, describe_while
from warploom.engine.drawings.pictures import PICTURE_DEPTHS, picture_depth
from warploom.engine.kernel_sources.sources import (
    CudaFile,
    CudaOptions,
    CudaText,
    KernelSource,
    OpGraphSource,
    PtxFile,
    PythonKernel,
    PythonOptions,
)
from warploom.engine.ops import OpGraph, OpGraphBuilder, OpPort, graph_from_json
from warploom.engine.readings import open_file, read_bytes
from warploom.engine.types import (
    DType,
    Struct,
    any_type,
    declaration,
    dtype_of,
    fixed_array,
    from_bf16,
    layout_text,
    scalars,
    to_bf16,
    vectors,
)
from warploom.engine.types.scalars import *  # noqa: F403 - one name an element type
from warploom.engine.types.vectors import *  # noqa: F403 - one name an element type

if TYPE_CHECKING:
    from warploom.engine.inner_patches.chain import ChainBlock
    from warploom.engine.inner_patches.op_patch import GraphBlock
    from warploom.engine.inner_patches.train_block import TrainBlock
    from warploom.engine.kernel_blocks.graph_block import ComputeBlock, expression_interface, graph_interface
    from warploom.engine.kernel_blocks.kernel_block import KernelBlock, kernel_file
    from warploom.engine.libraries import algorithms, blas, dnn, fft, images, lapack, sparse
    from warploom.engine.libraries.call import OperandError
    from warploom.engine.libraries.own import OnStream, OwnCall
    from warploom.engine.patch.composite import Composite, CompositeBuilder
    from warploom.engine.values.sources.dmx import CHANNELS as DMX_CHANNELS
    from warploom.engine.values.sources.dmx import PORTS as DMX_PORTS
    from warploom.engine.values.sources.dmx import dmx_name
    from warploom.engine.values.sources.gamepad import AXES as GAMEPAD_AXES
    from warploom.engine.values.sources.gamepad import BUTTONS as GAMEPAD_BUTTONS
    from warploom.engine.values.sources.gamepad import gamepad_name, gamepads
    from warploom.engine.values.sources.listening import Inputs, Listener, Unavailable
    from warploom.engine.values.sources.midi import midi_devices, midi_name
    from warploom.engine.values.sources.osc import osc_name
    from warploom.engine.values.sources.websocket import websocket_name

#: The name of `OpGraphBuilder` in blocks that were written before it had its own.
GraphBuilder = OpGraphBuilder

__all__ = [
    "DMX_CHANNELS",
    "DMX_PORTS",
    "GAMEPAD_AXES",
    "GAMEPAD_BUTTONS",
    "PICTURE_DEPTHS",
    "AdaptiveBlock",
    "Block",
    "BlockBuilder",
    "BufferHandle",
    "ChainBlock",
    "Composite",
    "CompositeBuilder",
    "ComputeBlock",
    "CudaFile",
    "CudaOptions",
    "CudaText",
    "DType",
    "GraphBlock",
    "GraphBuilder",
    "In",
    "Inputs",
    "Interface",
    "Kernel",
    "KernelBlock",
    "KernelSource",
    "LentMemory",
    "Listener",
    "LiveBlock",
    "Moment",
    "OnStream",
    "OpGraph",
    "OpGraphBuilder",
    "OpGraphSource",
    "OpPort",
    "OperandError",
    "Out",
    "OwnCall",
    "PtxFile",
    "PythonKernel",
    "PythonOptions",
    "ReinterpretView",
    "ReshapeView",
    "SharedDevice",
    "SliceView",
    "Struct",
    "Taken",
    "TrainBlock",
    "TransposeView",
    "Unavailable",
    "UserArray",
    "Value",
    "ValueBlock",
    "algorithms",
    "any_type",
    "blas",
    "declaration",
    "describe_copy",
    "describe_for",
    "describe_if",
    "describe_switch",
    "describe_while",
    "dmx_name",
    "dnn",
    "dtype_of",
    "expression_interface",
    "fft",
    "files_at",
    "fixed_array",
    "from_bf16",
    "gamepad_name",
    "gamepads",
    "graph_from_json",
    "graph_interface",
    "images",
    "kernel_file",
    "lapack",
    "layout_text",
    "midi_devices",
    "midi_name",
    "open_file",
    "osc_name",
    "param",
    "picture_depth",
    "port",
    "read_bytes",
    "sparse",
    "switch_branches",
    "to_bf16",
    "value_port",
    "websocket_name",
]
__all__ += scalars.__all__
__all__ += vectors.__all__

#: The names that are imported when they are first used: their modules, and their names there if these are others.
_LATER = {
    "ChainBlock": "inner_patches.chain",
    "Composite": "patch.composite",
    "CompositeBuilder": "patch.composite",
    "ComputeBlock": "kernel_blocks.graph_block",
    "DMX_CHANNELS": "values.sources.dmx:CHANNELS",
    "DMX_PORTS": "values.sources.dmx:PORTS",
    "GAMEPAD_AXES": "values.sources.gamepad:AXES",
    "GAMEPAD_BUTTONS": "values.sources.gamepad:BUTTONS",
    "GraphBlock": "inner_patches.op_patch",
    "Inputs": "values.sources.listening",
    "KernelBlock": "kernel_blocks.kernel_block",
    "Listener": "values.sources.listening",
    "OnStream": "libraries.own",
    "OperandError": "libraries.call",
    "OwnCall": "libraries.own",
    "TrainBlock": "inner_patches.train_block",
    "Unavailable": "values.sources.listening",
    "dmx_name": "values.sources.dmx",
    "expression_interface": "kernel_blocks.graph_block",
    "gamepad_name": "values.sources.gamepad",
    "gamepads": "values.sources.gamepad",
    "graph_interface": "kernel_blocks.graph_block",
    "kernel_file": "kernel_blocks.kernel_block",
    "midi_devices": "values.sources.midi",
    "midi_name": "values.sources.midi",
    "osc_name": "values.sources.osc",
    "websocket_name": "values.sources.websocket",
}
_LIBRARIES = ("algorithms", "blas", "dnn", "fft", "images", "lapack", "sparse")


def __getattr__(name: str) -> object:
    if name in _LIBRARIES:
        found: object = import_module(f"warploom.engine.libraries.{name}")
    elif name in _LATER:
        module, _, called = _LATER[name].partition(":")
        found = getattr(import_module(f"warploom.engine.{module}"), called or name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found  # later accesses find the name without this function
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
