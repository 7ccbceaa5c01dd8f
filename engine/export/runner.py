"""Runs a graph on a GPU. It needs cuda-python and numpy. Written by `warploom export`.

`Graph` builds the graph by calls of the CUDA driver: `set` writes a live parameter, `step` runs a frame, `read` returns
an output.
"""

import argparse
import ast
import base64
import ctypes
import json
import struct
import sys
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from cuda.bindings import driver

DATA = ""
#: The longest piece of a fill or copy: the driver takes rows of less than 2 GiB.
PIECE_BYTES = 1 << 30


def check(result: tuple[Any, ...], what: str) -> Any:
    """Return the value of a driver call. Raise RuntimeError that says what failed."""
    if int(result[0]) != 0:
        _, name = driver.cuGetErrorName(result[0])
        raise RuntimeError(f"{what} failed: {name.decode() if name else result[0]}")
    return result[1] if len(result) == 2 else result[1:]


class Graph:
    """The graph with its memory, on one GPU."""

    def __init__(self, data: str = "", device: int = 0) -> None:
        self.data: dict[str, Any] = json.loads(zlib.decompress(base64.b85decode(data or DATA)))
        self.frame = 0
        check(driver.cuInit(0), "starting the CUDA driver")
        self._device = check(driver.cuDeviceGet(device), f"finding GPU {device}")
        self._context = check(driver.cuDevicePrimaryCtxRetain(self._device), "opening the GPU")
        check(driver.cuCtxSetCurrent(self._context), "opening the GPU")
        self._stream = check(driver.cuStreamCreate(0), "creating a stream")
        self._uniforms = int(check(driver.cuMemHostAlloc(16, 0), "allocating the frame uniforms"))
        self._modules = [self._load(module) for module in self.data["modules"]]
        self._buffers = [self._allocate(buffer) for buffer in self.data["buffers"]]
        self._blocks = [bytearray(base64.b64decode(made["block"])) for made in self.data["operations"]]
        swapped = list(self._buffers)
        for one, other in self.data["swaps"]:
            swapped[one], swapped[other] = self._buffers[other], self._buffers[one]
        #: The addresses of the buffers in even and in odd frames, if these differ.
        self._places = [self._buffers, swapped] if self.data["swaps"] else [self._buffers]
        self._variants = [_Variant(self, places) for places in self._places]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def parameters(self) -> list[str]:
        """The names of the live parameters."""
        return sorted(self.data["parameters"])

    def set(self, name: str, value: Any) -> None:
        """Set a live parameter: a number, or the bytes of a vector."""
        if name not in self.data["parameters"]:
            raise ValueError(f"parameter must be one of {', '.join(self.parameters) or 'none'}, got {name!r}")
        packed = []
        for index, offset, size, form in self.data["parameters"][name]["places"]:
            try:
                given = struct.pack(f"<{form}", value) if form else np.asarray(value).tobytes()
            except (struct.error, TypeError, ValueError, OverflowError) as problem:
                raise ValueError(f"value of {name} must be a number that fits, got {value!r}") from problem
            if len(given) != size:
                raise ValueError(f"value of {name} must be {size} bytes, got {len(given)}")
            packed.append((index, offset, given))
        for index, offset, given in packed:
            self._blocks[index][offset : offset + len(given)] = given
            for variant in self._variants:
                variant.write(index, offset, given)

    def step(self) -> None:
        """Run one frame, and wait for its end."""
        step_s = self.data["time_step_s"]
        uniforms = struct.pack("<IffI", self.frame & 0xFFFFFFFF, self.frame * step_s, step_s, 0)
        ctypes.memmove(self._uniforms, uniforms, len(uniforms))
        variant = self._variants[self.frame % len(self._variants)]
        check(driver.cuGraphLaunch(variant.executable, self._stream), "launching the graph")
        check(driver.cuStreamSynchronize(self._stream), f"frame {self.frame}")
        self.frame += 1

    def read(self, node: str, port: str) -> "np.ndarray[Any, Any]":
        """Return an output as it is after the last frame."""
        for output in self.data["outputs"]:
            if (output["node"], output["port"]) == (node, port):
                return self._read(output)
        names = ", ".join(f"{output['node']}.{output['port']}" for output in self.data["outputs"])
        raise ValueError(f"output must be one of {names}, got {node}.{port}")

    def close(self) -> None:
        """Free everything."""
        for variant in self._variants:
            driver.cuGraphExecDestroy(variant.executable)
            driver.cuGraphDestroy(variant.graph)
        for buffer in self._buffers:
            driver.cuMemFree(buffer)
        for module in self._modules:
            driver.cuModuleUnload(module)
        driver.cuMemFreeHost(self._uniforms)
        driver.cuStreamDestroy(self._stream)
        driver.cuDevicePrimaryCtxRelease(self._device)
        self._variants, self._buffers, self._modules = [], [], []

    def _load(self, module: dict[str, Any]) -> Any:
        """Load a CUBIN if this GPU takes it, and otherwise PTX, which the driver compiles."""
        if module["cubin"]:
            result = driver.cuModuleLoadData(base64.b64decode(module["cubin"]))
            if int(result[0]) == 0:
                return result[1]
        return check(driver.cuModuleLoadData(module["ptx"].encode() + b"\0"), f"loading {module['label']}")

    def _allocate(self, buffer: dict[str, Any]) -> int:
        size = max(1, buffer["size_bytes"])
        address = int(check(driver.cuMemAlloc(size), f"allocating {size:,} bytes"))
        check(driver.cuMemsetD8(address, 0, size), "clearing memory")
        if buffer["contents"]:
            contents = base64.b64decode(buffer["contents"])
            check(driver.cuMemcpyHtoD(address, contents, len(contents)), f"uploading {buffer['name']}")
        return address

    def _read(self, output: dict[str, Any]) -> "np.ndarray[Any, Any]":
        place = self._places[max(0, self.frame - 1) % len(self._places)][output["buffer"]]
        data = np.empty(output["span_bytes"], np.uint8)
        check(driver.cuMemcpyDtoH(data.ctypes.data, place + output["offset"], data.nbytes), "reading an output")
        text = output["dtype"]
        base = np.dtype(ast.literal_eval(text) if text.startswith("[") else text)
        components = tuple(output["components"])
        element = np.dtype((base, components))
        shape = (*output["shape"], *components)
        inner = [base.itemsize * int(np.prod(components[at + 1 :])) for at in range(len(components))]
        strides = [step * element.itemsize for step in output["strides"]] + inner
        return np.ndarray(shape, base, data.data, 0, strides).copy()


def fitted_grid(made: dict[str, Any], most: int) -> list[int]:
    """Return the grid of a kernel that loops over it, or whose thread blocks wait for each other.

    The GPU runs `most` thread blocks at once. Raise RuntimeError if more have to wait for each other.
    """
    x, y, z = made["grid"]
    if made["is_counted"]:
        x = min(x, max(1, most))
    if made["is_cooperative"] and x * y * z > most:
        raise RuntimeError(
            f"grid of kernel {made['entry']} must have at most {most} thread blocks on this GPU, since they wait for "
            f"each other, got {x * y * z}"
        )
    return [x, y, z]


class _Variant:
    """One executable of the graph, with the addresses of its buffers."""

    def __init__(self, owner: Graph, places: list[int]) -> None:
        self._owner, self._places = owner, places
        self._launches: dict[int, tuple[Any, Any, Any]] = {}
        self.graph = check(driver.cuGraphCreate(0), "creating a graph")
        #: The graph and the bodies of its regions, and the handles of their conditions.
        self._scopes, self._conditions = {0: self.graph}, dict[int, int]()
        nodes: list[list[Any]] = []
        for index, made in enumerate(owner.data["operations"]):
            before = [node for other in made["after"] for node in nodes[other]]
            nodes.append(self._add(index, made, before))
        self._nodes = nodes
        self.executable = check(driver.cuGraphInstantiate(self.graph, 0), "instantiating the graph")

    def write(self, index: int, offset: int, given: bytes) -> None:
        """Write an argument of a kernel."""
        parameters, block, _ = self._launches[index]
        ctypes.memmove(ctypes.addressof(block) + offset, given, len(given))
        result = driver.cuGraphExecKernelNodeSetParams(self.executable, self._nodes[index][0], parameters)
        check(result, "setting a parameter")

    def _add(self, index: int, made: dict[str, Any], before: list[Any]) -> list[Any]:
        what, graph = f"adding {made['kind']} of {made['node']}", self._scopes[made["scope"]]
        match made["kind"]:
            case "kernel":
                parameters = self._launch(index, made)
                node = check(driver.cuGraphAddKernelNode(graph, before, len(before), parameters), what)
                if made["is_cooperative"]:
                    value = driver.CUkernelNodeAttrValue()
                    value.cooperative = 1
                    attribute = driver.CUkernelNodeAttrID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
                    check(driver.cuGraphKernelNodeSetAttribute(node, attribute, value), what)
                return [node]
            case "fill":
                return self._fill(made, before, what)
            case "copy":
                return self._copy(made, before, what)
            case "if" | "switch" | "while":
                return self._region(made, before, what)
            case "frame":
                copy = _copy(self._address(made["target"]), 16)
                copy.srcMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_HOST
                copy.srcHost = self._owner._uniforms
                return [self._add_copy(graph, copy, before, what)]
        return [check(driver.cuGraphAddEmptyNode(graph, before, len(before)), what)]

    def _region(self, made: dict[str, Any], before: list[Any], what: str) -> list[Any]:
        parameters: Any = driver.CUgraphNodeParams()
        parameters.type = driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_CONDITIONAL
        parameters.conditional.handle = driver.CUgraphConditionalHandle(self._condition(made))
        kind = f"CU_GRAPH_COND_TYPE_{made['kind'].upper()}"
        parameters.conditional.type = getattr(driver.CUgraphConditionalNodeType, kind)
        parameters.conditional.size = len(made["bodies"])
        parameters.conditional.ctx = self._owner._context
        graph = self._scopes[made["scope"]]
        node = check(driver.cuGraphAddNode(graph, before, None, len(before), parameters), what)
        bodies = [driver.CUgraph(int(body)) for body in parameters.conditional.phGraph_out]
        self._scopes.update(zip(made["bodies"], bodies, strict=True))
        return [node]

    def _condition(self, made: dict[str, Any]) -> int:
        """Return the handle of a condition, which each launch sets to 0. The first kernel that sets it makes it."""
        number, _ = made["condition"]
        if number not in self._conditions:
            graph, default = self._scopes[made["scope"]], driver.CU_GRAPH_COND_ASSIGN_DEFAULT
            result = driver.cuGraphConditionalHandleCreate(graph, self._owner._context, 0, default)
            self._conditions[number] = int(check(result, f"making the condition of {made['node']}"))
        return self._conditions[number]

    def _launch(self, index: int, made: dict[str, Any]) -> Any:
        function = check(
            driver.cuModuleGetFunction(self._owner._modules[made["module"]], made["entry"].encode()),
            f"finding kernel {made['entry']}",
        )
        given = self._owner._blocks[index]
        block = (ctypes.c_char * len(given)).from_buffer_copy(given)
        for offset, buffer, start in made["addresses"]:
            struct.pack_into("<Q", block, offset, self._places[buffer] + start)
        if made["condition"][0] >= 0:
            struct.pack_into("<Q", block, made["condition"][1], self._condition(made))
        first = ctypes.addressof(block)
        pointers = (ctypes.c_void_p * max(1, len(made["offsets"])))(*(first + offset for offset in made["offsets"]))
        x, y, z = made["thread_block"]
        grid = made["grid"]
        shared = made["shared_bytes"]
        if shared > 48 << 10:
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            check(driver.cuFuncSetAttribute(function, attribute, shared), "reserving shared memory")
        if made["is_counted"] or made["is_cooperative"]:
            attribute = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
            cores = check(driver.cuDeviceGetAttribute(attribute, self._owner._device), "asking for multiprocessors")
            result = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(function, x * y * z, shared)
            grid = fitted_grid(made, cores * check(result, "asking for the occupancy"))
        parameters = driver.CUDA_KERNEL_NODE_PARAMS()
        parameters.func = function
        parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ = grid
        parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ = x, y, z
        parameters.sharedMemBytes = shared
        parameters.kernelParams = ctypes.addressof(pointers)
        self._launches[index] = parameters, block, pointers
        return parameters

    def _fill(self, made: dict[str, Any], before: list[Any], what: str) -> list[Any]:
        nodes = []
        for start, length in _pieces(made["size_bytes"]):
            fill = driver.CUDA_MEMSET_NODE_PARAMS()
            fill.dst, fill.value, fill.elementSize = self._address(made["target"]) + start, made["value"], made["width"]
            fill.width, fill.height, fill.pitch = length // made["width"], 1, length
            graph = self._scopes[made["scope"]]
            result = driver.cuGraphAddMemsetNode(graph, before, len(before), fill, self._owner._context)
            nodes.append(check(result, what))
        return nodes or before

    def _copy(self, made: dict[str, Any], before: list[Any], what: str) -> list[Any]:
        nodes = []
        for start, length in _pieces(made["size_bytes"]):
            copy = _copy(self._address(made["target"]) + start, length)
            copy.srcMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
            copy.srcDevice = self._address(made["source"]) + start
            nodes.append(self._add_copy(self._scopes[made["scope"]], copy, before, what))
        return nodes or before

    def _add_copy(self, graph: Any, copy: Any, before: list[Any], what: str) -> Any:
        return check(driver.cuGraphAddMemcpyNode(graph, before, len(before), copy, self._owner._context), what)

    def _address(self, place: list[int]) -> int:
        buffer, offset = place
        return self._places[buffer] + offset


def _copy(target: int, length: int) -> Any:
    copy = driver.CUDA_MEMCPY3D()
    copy.dstMemoryType, copy.dstDevice = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE, target
    copy.srcPitch = copy.dstPitch = copy.WidthInBytes = length
    copy.srcHeight = copy.dstHeight = copy.Height = copy.Depth = 1
    return copy


def _pieces(size_bytes: int) -> list[tuple[int, int]]:
    return [(start, min(PIECE_BYTES, size_bytes - start)) for start in range(0, size_bytes, PIECE_BYTES)]


def main() -> int:
    """Run the graph, save its outputs as .npy files, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, help="number of frames")
    parser.add_argument("--device", type=int, default=0, help="number of the GPU")
    parser.add_argument("--set", action="append", default=[], metavar="NODE.PARAM=VALUE", help="set a parameter")
    parser.add_argument("--out", type=Path, help="folder for the outputs")
    options = parser.parse_args()
    try:
        with Graph(device=options.device) as graph:
            for setting in options.set:
                name, _, value = setting.partition("=")
                graph.set(name, ast.literal_eval(value))
            for _ in range(graph.data["frames"] if options.frames is None else options.frames):
                graph.step()
            if options.out is not None:
                options.out.mkdir(parents=True, exist_ok=True)
            for output in graph.data["outputs"]:
                found = graph.read(output["node"], output["port"])
                name = f"{output['node']}.{output['port']}"
                print(name, found.dtype, found.shape)
                if options.out is not None:
                    np.save(options.out / f"{name.replace('/', '.')}.npy", found)
    except (RuntimeError, ValueError, SyntaxError, OSError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
