"""A patch as a folder with kernels, the plan as text, and a C++ program that CMake builds."""

import base64
from collections.abc import Iterable
from pathlib import Path

from warploom.engine.export.graph_data import GraphData, OperationData

_SOURCES = Path(__file__).with_name("cpp")


def cpp_folder(graph: GraphData) -> dict[str, bytes]:
    """Return the files of the folder by name.

    `plan.txt` has a line for each module, buffer, operation, place of a live parameter, output and swap, with fields
    between tabs; `graph.cpp` reads it.
    """
    files = {path.name: path.read_bytes() for path in sorted(_SOURCES.iterdir()) if path.is_file()}
    lines: list[list[object]] = [["graph", repr(graph.time_step_s), graph.frames]]
    for index, module in enumerate(graph.modules):
        files[f"module_{index}.ptx"] = module.ptx.encode()
        if module.cubin:
            files[f"module_{index}.cubin"] = base64.b64decode(module.cubin)
        lines.append(["module", f"module_{index}.ptx", f"module_{index}.cubin" if module.cubin else "-"])
    for index, buffer in enumerate(graph.buffers):
        if buffer.contents:
            files[f"buffer_{index}.bin"] = base64.b64decode(buffer.contents)
        lines.append(["buffer", buffer.size_bytes, f"buffer_{index}.bin" if buffer.contents else "-"])
    lines += map(_operation, graph.operations)
    for name, parameter in sorted(graph.parameters.items()):
        lines += [["parameter", name, index, at, size, form or "-"] for index, at, size, form in parameter.places]
    for output in graph.outputs:
        sizes = map(_numbers, (output.components, output.shape, output.strides))
        place = _numbers((output.buffer, output.offset))
        name = f"{output.node}.{output.port}"
        lines.append(["output", name, output.dtype, *sizes, output.element_bytes, output.span_bytes, place])
    lines += [["swap", one, other] for one, other in graph.swaps]
    files["plan.txt"] = "".join("\t".join(map(str, line)) + "\n" for line in lines).encode()
    return files


def _operation(made: OperationData) -> list[object]:
    line: list[object] = [made.kind, made.node, _numbers(made.after), made.scope]
    match made.kind:
        case "kernel":
            line += [made.module, made.entry, _numbers(made.grid), _numbers(made.thread_block), made.shared_bytes]
            line += [int(made.is_counted), int(made.is_cooperative), base64.b64decode(made.block).hex()]
            line += [_numbers(made.offsets), " ".join(map(_numbers, made.addresses)), _numbers(made.condition)]
        case "fill":
            line += [_numbers(made.target), made.size_bytes, made.value, made.width]
        case "copy":
            line += [_numbers(made.target), made.size_bytes, _numbers(made.source)]
        case "frame":
            line += [_numbers(made.target), made.size_bytes]
        case "if" | "switch" | "while":
            line += [_numbers(made.bodies), _numbers(made.condition)]
    return line


def _numbers(values: Iterable[int]) -> str:
    return ",".join(map(str, values))
