"""`OwnCall`: a call of any library, which the author of a block writes: one function for the host, one for CUDA."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from warploom.engine.diagnostics import KernelFault
from warploom.engine.libraries.call import LibraryCall, LibraryError
from warploom.engine.types import Array
from warploom.engine.types.layout import Layout


@dataclass(frozen=True)
class OnStream:
    """What a call has on a GPU: a CUDA stream, and addresses in device memory.

    The call's numbers are all known (`numbers`), or all in memory (`number_addresses`), as those are that a person
    changes while the patch runs; each is then a number of the type of the elements in the slot `scaled`.
    """

    stream: int
    addresses: Mapping[str, int]
    layouts: Mapping[str, Layout]
    numbers: Mapping[str, float] = field(default_factory=dict)
    number_addresses: Mapping[str, int] = field(default_factory=dict)
    workspace: int = 0
    workspace_bytes: int = 0


class OwnCall(LibraryCall):
    """A call that a block's author writes, as a frozen dataclass with `inputs`, `outputs`, and `host` or `cuda`.

    Fields are options: equal calls are the same. An output port of the call has a shape rule, or is "captured" if
    `results` returns its layout. `scaled` is the first slot, unless the class has another one.
    """

    library = "own"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in ("inputs", "outputs"):
            slots = getattr(cls, name, None)
            if not isinstance(slots, tuple) or not all(isinstance(slot, str) for slot in slots):
                raise TypeError(f"{cls.__name__}: {name} must be a tuple of names, got {slots!r}")
        if cls.numbers and not cls.scaled:
            cls.scaled = (*cls.inputs, *cls.outputs)[0]

    def results(self, inputs: Mapping[str, Layout]) -> Mapping[str, Layout]:
        """Return the layouts of "captured" outputs, by slot. Raise OperandError for an input that doesn't fit."""
        return {}

    def host(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any]) -> None:
        """Read the arrays of the inputs, and fill those of the outputs, whenever the graph reaches the call."""
        raise NotImplementedError

    def workspace_bytes(self, layouts: Mapping[str, Layout]) -> int:
        """Return the bytes of scratch memory that `cuda` needs. It is called before anything is captured.

        So it can make handles and compile, too.
        """
        return 0

    def cuda(self, on: OnStream) -> None:
        """Put work on a stream that is being captured: launches, copies and calls of libraries on this stream only.

        It runs once for each capture, not in each frame.
        """
        raise NotImplementedError


def check_has(call: OwnCall, method: str, device: str, other: str) -> None:
    """Raise LibraryError when the author of a call has not written it for a device."""
    if getattr(type(call), method) is getattr(OwnCall, method):
        text = f"{call.label} must have a method {method} to run on {device}, got none"
        raise LibraryError(text, f"write it, or run on {other}")


def run_on_host(call: OwnCall, arrays: Mapping[str, Array], numbers: Mapping[str, Any]) -> None:
    """Make a call on the host. Raise KernelFault, with the line, when its author's code fails."""
    try:
        call.host(arrays, numbers)
    except Exception as problem:
        last = traceback.extract_tb(problem.__traceback__)[-1]
        text = f"{call.label} must run, got {type(problem).__name__}: {problem}"
        fault = KernelFault(text, kernel=call.label, source_file=last.filename, source_line=last.lineno)
        raise fault from problem
