"""`BlockNames`: one block's ports, parameters and buffers, and the meaning of its author's arguments."""

from collections.abc import Callable, Collection, Mapping

import numpy as np

from warploom.engine.descriptions import checks
from warploom.engine.descriptions.entries import (
    Argument,
    BufferArgument,
    ElementArgument,
    ExtentArgument,
    FrameArgument,
    InternalBuffer,
    ParameterArgument,
    Size,
    ValueArgument,
    VectorArgument,
)
from warploom.engine.descriptions.handles import BufferHandle, ParameterHandle, VectorHandle
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.descriptions.shapes.extents import Extent, ShapeRuleError, check_extent
from warploom.engine.descriptions.shapes.shape_rules import check_rule
from warploom.engine.types import DType


class BlockNames:
    """The names that the calls of one `describe` may use; any other raises BlockCallError."""

    def __init__(
        self,
        type_id: str,
        ports: Mapping[str, PortSpec],
        live: Collection[str],
        structural: Mapping[str, int],
    ) -> None:
        """`live` are the live parameters; `structural` are the integer structural parameters."""
        self._id = type_id
        self._live = live
        self._ports = ports
        self._structural = structural
        self._buffers: dict[str, InternalBuffer] = {}
        #: The names of ports and internal buffers.
        self._names = set(ports)

    def argument(self, value: object) -> Argument:
        """Return the kernel argument for `value`. Raise BlockCallError when there is none."""
        match value:
            case BufferHandle():
                spec = self._ports.get(self._known(value, "argument"))
                if spec is None:
                    # Only the kernels know which launch fills an internal buffer first, so all launches that use it are
                    # ordered.
                    return self._access(value, reads=True, writes=True)
                return self._access(value, reads=spec.is_input, writes=not spec.is_input)
            case VectorHandle(components=names) if all(name in self._live for name in names):
                return VectorArgument(names, value.dtype)
            case VectorArgument(components=parts) if all(isinstance(p, Extent) or p in self._live for p in parts):
                sized = (self._extent(part) if isinstance(part, Extent) else part for part in parts)
                return VectorArgument(tuple(sized), value.dtype)
            case ParameterHandle(name=name) if name in self._live:
                return ParameterArgument(name)
            case Extent():
                return ExtentArgument(self._extent(value))
            case FrameArgument() | ElementArgument() | ValueArgument():
                return value
            case BufferArgument(name=name) if name in self._names:
                return self._access(BufferHandle(name), reads=value.reads, writes=value.writes)
            case bool() | np.bool_():
                return ValueArgument(bool(value))
            case int() | np.integer():
                return ValueArgument(checks.whole(self._id, "argument", value, -(2**63), 2**64 - 1))
            case float() | np.floating():
                return ValueArgument(float(value))
        raise checks.refuse(self._id, "argument", "be a port, buffer, parameter, extent or number", value)

    def _access(self, handle: BufferHandle, *, reads: bool, writes: bool) -> BufferArgument:
        name = self._known(handle, "buffer")
        seen = self._buffers.get(name)
        spec = self._ports.get(name if seen is None else seen.of or name)
        if spec is not None and not spec.is_input and (spec.inplace or spec.state):
            reads = True  # the block reuses the old contents
        if spec is not None and spec.is_input:
            if any(p.inplace == spec.name for p in self._ports.values()):
                writes = True
            elif writes:
                raise checks.refuse(self._id, "written buffer", "be an output or a buffer of the block's own", name)
        return BufferArgument(name, reads, writes)

    # Checks of the author's arguments

    def _known(self, handle: object, what: str) -> str:
        """Return the name of a port or internal buffer of this block."""
        if isinstance(handle, BufferHandle) and handle.name in self._names:
            return handle.name
        raise checks.refuse(self._id, what, "be a port or a buffer of this block", handle)

    def _port(self, handle: object) -> str:
        if (name := self._known(handle, "port")) not in self._ports:
            raise checks.refuse(self._id, "port", "be one of this block", handle)
        return name

    def _output(self, handle: object, what: str) -> str:
        if (name := self._known(handle, what)) not in self._ports or self._ports[name].is_input:
            raise checks.refuse(self._id, what, "be an output of this block", handle)
        return name

    def _type(self, dtype: object) -> DType:
        rule = "be an element type such as f32"
        if checks.instance(self._id, "element type", dtype, DType, rule).kind == "any":
            raise checks.refuse(self._id, "element type", rule, dtype)
        return dtype  # type: ignore[return-value]

    def _shape(self, rule: object) -> str:
        """Return a valid shape rule that names only ports, buffers and integer parameters of this block."""
        rule = checks.text(self._id, "shape", rule)
        self._checked(check_rule, rule)
        return rule

    def _size(self, size: object) -> Size:
        if isinstance(size, Extent):
            return self._extent(size)
        return checks.whole(self._id, "num_threads", size, 1)

    def _extent(self, extent: Extent) -> Extent:
        self._checked(check_extent, extent.text)
        return extent

    def _checked(self, check: Callable[[str, Collection[str], Collection[str]], None], text: str) -> None:
        try:
            check(text, self._names, self._structural)
        except ShapeRuleError as problem:
            raise checks.BlockCallError(f"{self._id}: {problem}") from None
