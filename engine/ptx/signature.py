"""What a caller must know of a kernel: its parameters and its launch limits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelParameter:
    """One formal parameter of a kernel: where it lies in the parameter space and how it is typed.

    `ptx_type` is a PTX scalar type without its dot, or None when the image does not say (CUBIN): then the value
    decides between integer and float. Aggregates passed by value have type "b8" and any size.
    """

    name: str
    offset: int
    size_bytes: int
    ptx_type: str | None = None


@dataclass(frozen=True)
class KernelSignature:
    """A kernel's entry point as its PTX declares it.

    `max_threads` is the product of `.maxntid` (or `.reqntid`), 1024 when neither is given; `required_threads` is
    `.reqntid` or None. `shared_bytes` counts statically declared shared memory.
    """

    name: str
    parameters: tuple[KernelParameter, ...]
    max_threads: int = 1024
    required_threads: tuple[int, int, int] | None = None
    shared_bytes: int = 0
    uses_dynamic_shared: bool = False
