"""Kernel sources as plain data: the origin of a kernel's code, and how it is compiled.

Equal sources mean the same kernel, which is compiled and loaded once. Everything here is frozen and hashable.
"""

import ast
import json
import math
import re
from collections.abc import Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import msgspec

from warploom.engine.diagnostics import KernelError
from warploom.engine.ops import OpGraph, graph_from_json, graph_to_json, parse_expression, with_constants
from warploom.engine.readings import Reading
from warploom.engine.types import DType

#: The value of a macro: text in CUDA C++, or a number.
ConstantValue = str | int | float | bool
#: The dialects of C++ that NVRTC compiles and that kernels may choose.
STANDARDS = ("c++14", "c++17", "c++20")
#: The name, in messages, of a text without a file.
TEXT_LABEL = "kernel text"
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_INSTANCE = re.compile(r"[A-Za-z_][\w:]*\s*<[\w\s:,<>*+()-]*>", re.ASCII)
_ARCHITECTURE = re.compile(r"compute_[1-9]\d{1,2}[af]?")


def _is_pair(pair: object) -> bool:
    return isinstance(pair, tuple | list) and len(pair) == 2


def _pairs(name: str, rule: str, given: object) -> dict[Any, Any]:
    if not isinstance(given, Mapping) and not (isinstance(given, tuple | list) and all(map(_is_pair, given))):
        raise _refused(name, rule, given)
    return dict(given)


def _is_path(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip()) and text.isprintable()


def _macro(name: object) -> str:
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
        raise _refused("name of a macro", "be an identifier of C++", name)
    return name


def _literal(name: str, value: object) -> str:
    """Return a constant in the syntax of CUDA C++."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        if not math.isfinite(value):
            raise _refused(name, "be a finite number", value)
        text = repr(float(value))
        return f"{text}f" if "." in text or "e" in text else f"{text}.0f"
    if isinstance(value, str) and (value.isprintable() or not value):
        return value
    raise _refused(name, "be a number or a line of text", value)


def _refused(name: str, rule: str, value: object) -> KernelError:
    text = repr(value)
    return KernelError(f"{name} of a kernel must {rule}, got {text if len(text) <= 200 else f'{text[:200]}...'}")


class CudaOptions(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How CUDA C++ is compiled. Raise KernelError when an option is wrong.

    `defines` are macros by name: a float becomes an f32 literal, a bool true or false, and text is used as it is.
    Compile-time constants are passed this way; each set of values is compiled and cached separately. Relative
    `include_folders` are looked up in each folder where the kernel's file would be looked up. `architecture`, such as
    "compute_80", fixes `__CUDA_ARCH__` on every device; with "", it is the device's. `instances` are instantiations of
    the file's kernel templates, such as "blur<float, 256>", besides those that the file itself launches.
    """

    defines: Mapping[str, ConstantValue] | tuple[tuple[str, str], ...] = ()
    use_fast_math: bool = False
    standard: str = "c++17"
    include_folders: tuple[str, ...] = ()
    architecture: str = ""
    instances: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        pairs = _pairs("defines", "be values by the name of a macro", self.defines)
        defines = tuple(sorted((_macro(name), _literal(name, value)) for name, value in pairs.items()))
        msgspec.structs.force_setattr(self, "defines", defines)
        if not isinstance(self.use_fast_math, bool):
            raise _refused("use_fast_math", "be True or False", self.use_fast_math)
        if not isinstance(self.standard, str) or self.standard not in STANDARDS:
            raise _refused("standard", f"be one of {', '.join(STANDARDS)}", self.standard)
        folders = self.include_folders
        if not isinstance(folders, tuple | list) or not all(
            isinstance(item, str) and _is_path(item) for item in folders
        ):
            raise _refused("include_folders", "be a list of folders", folders)
        msgspec.structs.force_setattr(self, "include_folders", tuple(folders))
        instances = self.instances
        if not isinstance(instances, tuple | list) or not all(
            isinstance(item, str) and _INSTANCE.fullmatch(item) for item in instances
        ):
            raise _refused("instances", 'be a list such as ["blur<float, 256>"]', instances)
        msgspec.structs.force_setattr(self, "instances", tuple(instances))
        is_text = isinstance(self.architecture, str)
        if not is_text or (self.architecture and not _ARCHITECTURE.fullmatch(self.architecture)):
            raise _refused("architecture", 'be one such as "compute_80"', self.architecture)

    @property
    def flags(self) -> tuple[str, ...]:
        """NVRTC's flags for these options, without folders and architecture."""
        defines: dict[str, ConstantValue] = dict(self.defines)
        fast = ("--use_fast_math",) if self.use_fast_math else ()
        return (f"--std={self.standard}", *fast, *(f"-D{name}={value}" for name, value in defines.items()))


class _Held(msgspec.Struct, frozen=True, kw_only=True):
    """A source that may hold its files' contents; it is then compiled from these, not from the disk."""

    held: Reading | None = None


class _File(_Held, frozen=True, tag_field="kind", omit_defaults=True):
    """A source in a file; a relative path is looked up by the loader."""

    path: str

    def __post_init__(self) -> None:
        if isinstance(self.path, Path):
            msgspec.structs.force_setattr(self, "path", str(self.path))
        elif not isinstance(self.path, str):
            raise _refused("file", "be a path", self.path)

    @property
    def label(self) -> str:
        """The source's name in messages."""
        return Path(self.path).name

    @property
    def file(self) -> str | None:
        """The file to open for a mistake in the source."""
        return self.path


class PtxFile(_File, frozen=True, tag="ptx"):
    """A `.ptx` file, with the manifests beside it."""


class CudaFile(_File, frozen=True, tag="cuda"):
    """A `.cu` file."""

    options: CudaOptions = CudaOptions()


class CudaText(_Held, frozen=True, tag_field="kind", tag="cuda text", omit_defaults=True):
    """CUDA C++ without a file, such as the text of a block; includes are looked up as for a file of the block."""

    text: str
    options: CudaOptions = CudaOptions()

    label = TEXT_LABEL
    file = None


class OpGraphSource(msgspec.Struct, frozen=True, tag_field="kind", tag="op graph", omit_defaults=True):
    """A kernel drawn from ops: `graph` is the op graph as JSON text, as `OpGraphSource.of` writes it."""

    graph: str

    label = "op graph"
    file = held = None

    @classmethod
    def of(cls, graph: OpGraph) -> "OpGraphSource":
        """Return a graph as a source; graphs with equal ops in the same order give the same source."""
        return cls(json.dumps(graph_to_json(graph), sort_keys=True))

    @classmethod
    def of_expression(
        cls, text: str, /, output: str = "out", output_type: DType | None = None, **inputs: DType
    ) -> "OpGraphSource":
        """Return a kernel whose output is an expression of inputs of these types; other names become parameters.

        Without an `output_type`, the output has the type of the expression.
        """
        types = {name: str(dtype) for name, dtype in inputs.items()}
        stored = "same" if output_type is None else str(output_type)
        return cls.of(parse_expression(text, inputs=types, output=output, output_type=stored))

    def with_constants(self, values: Mapping[str, float]) -> "OpGraphSource":
        """Return the graph with numbers in place of the parameters with these names.

        The kernel no longer takes them.
        """
        return OpGraphSource.of(with_constants(self.parsed(), values)) if values else self

    def parsed(self) -> OpGraph:
        """Return the graph itself. Raise OpError when the text holds none."""
        return graph_from_json(json.loads(self.graph))


class PythonOptions(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a Python kernel is compiled. Raise KernelError when an option is wrong.

    `constants` are the values of compile-time parameters. `types` are the types of other parameters in the syntax of
    Triton ("*fp32", "i32") or numba ("float32[:]", "int32"); the kernel's declaration has the types of the rest.
    `num_warps` and `num_stages` are Triton's; with 0, the file's values are used.
    """

    constants: Mapping[str, ConstantValue] | tuple[tuple[str, ConstantValue], ...] = ()
    types: Mapping[str, str] | tuple[tuple[str, str], ...] = ()
    num_warps: int = 0
    num_stages: int = 0

    def __post_init__(self) -> None:
        for name, kind, rule in (("constants", ConstantValue, "be values"), ("types", str, "be texts")):
            pairs = _pairs(name, f"{rule} by the name of a parameter", getattr(self, name))
            if not all(isinstance(key, str) and isinstance(value, kind) for key, value in pairs.items()):
                raise _refused(name, f"{rule} by the name of a parameter", getattr(self, name))
            msgspec.structs.force_setattr(self, name, tuple(sorted(pairs.items())))
        if type(self.num_warps) is not int or self.num_warps not in (0, 1, 2, 4, 8, 16, 32):
            raise _refused("num_warps", "be a power of two up to 32", self.num_warps)
        if type(self.num_stages) is not int or self.num_stages not in range(17):
            raise _refused("num_stages", "be at most 16", self.num_stages)


class PythonKernel(_File, frozen=True, tag="python"):
    """A function of a `.py` file that Triton (`@triton.jit`) or numba (`@cuda.jit`) compiles.

    Compiling it runs the file, which can do anything that a program can.
    """

    name: str
    options: PythonOptions = PythonOptions()


class SpecialisedKernel(msgspec.Struct, frozen=True, tag_field="kind", tag="specialised", omit_defaults=True):
    """A kernel with compile-time numbers in place of some parameters.

    Raise KernelError for an index without a parameter.

    `constants` maps a parameter's index to its number. The entry point `entry` still takes all of its parameters, but
    ignores the launch's values for these. Each set of values is compiled and cached separately. For an op graph, use
    `OpGraphSource.with_constants` instead.
    """

    source: PtxFile | CudaFile | CudaText | PythonKernel
    entry: str
    constants: Mapping[int, float] | tuple[tuple[int, str], ...]

    def __post_init__(self) -> None:
        rule = "be numbers by the index of a parameter"
        pairs = _pairs("constants", rule, self.constants)
        texts = {index: value if isinstance(value, str) else repr(value) for index, value in pairs.items()}
        if not texts or not all(isinstance(index, int) and _is_number(text) for index, text in texts.items()):
            raise _refused("constants", rule, self.constants)
        # As texts, since -0.0 == 0.0 and True == 1, but they are different constants.
        msgspec.structs.force_setattr(self, "constants", tuple(sorted(texts.items())))

    @property
    def values(self) -> dict[int, int | float | bool]:
        """The numbers by their parameters' indices."""
        return {index: ast.literal_eval(str(text)) for index, text in dict(self.constants).items()}

    @property
    def label(self) -> str:
        """The source's name in messages."""
        return self.source.label

    @property
    def file(self) -> str | None:
        """The file to open for a mistake in the source."""
        return self.source.file

    @property
    def held(self) -> Reading | None:
        """The contents of the source's files, if known."""
        return self.source.held


class DrivenKernel(msgspec.Struct, frozen=True, tag_field="kind", tag="driven", omit_defaults=True):
    """A kernel that reads some numbers from memory instead of its arguments.

    `numbers` has the type of each, float, int or bool, by the index of its parameter. The entry point `entry` then
    takes the address of a record (`engine.kernel_sources.specialise.NUMBER_RECORD`) in its place. A `str` is a file,
    which is looked up as in `Kernel`.
    """

    source: "str | PtxFile | CudaFile | CudaText | PythonKernel | OpGraphSource | SpecialisedKernel"
    entry: str
    numbers: tuple[tuple[int, str], ...]

    @property
    def label(self) -> str:
        """The source's name in messages."""
        return self.source if isinstance(self.source, str) else self.source.label

    @property
    def file(self) -> str | None:
        """The file to open for a mistake in the source."""
        return self.source if isinstance(self.source, str) else self.source.file

    @property
    def held(self) -> Reading | None:
        """The contents of the source's files, if known."""
        return None if isinstance(self.source, str) else self.source.held


def _is_number(text: str) -> bool:
    try:
        return isinstance(ast.literal_eval(text), int | float)
    except (ValueError, SyntaxError):  # for example nan, inf or other text
        return False


KernelSource = PtxFile | CudaFile | CudaText | PythonKernel | OpGraphSource | SpecialisedKernel | DrivenKernel
