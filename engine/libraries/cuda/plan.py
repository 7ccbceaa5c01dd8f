"""The interface of this room's files to the backend: a plan for each kind of call, and a handle of its library."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol, TypeVar, runtime_checkable
from weakref import finalize

import numpy as np
from cuda.bindings import driver

from warploom.engine.device.cuda.errors import check
from warploom.engine.device.cuda.module import own_kernel
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Memory, Module
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.kernel_sources.sources import CudaFile, CudaOptions
from warploom.engine.libraries.call import scaling_type
from warploom.engine.types import DType, bf16, c64, c128, f16, f32, f64
from warploom.engine.types.layout import Layout

Handle = TypeVar("Handle")
#: Threads of each thread block of our own kernels, and the most thread blocks.
THREADS, _MOST_BLOCKS = 256, 65535
#: The functions that make and destroy a handle.
Lent = tuple[Callable[[], int], Callable[[int], None]]

#: Element types as `cudaDataType_t` numbers them.
DATA_TYPES: Mapping[DType, int] = {f32: 0, f64: 1, f16: 2, c64: 4, c128: 5, bf16: 14}


@dataclass(frozen=True)
class Addresses:
    """The addresses of a call's operands by slot, its numbers, and its scratch memory.

    Numbers are known, or they are addresses in device memory.
    """

    operands: Mapping[str, int]
    numbers: Mapping[str, float]
    numbers_on_device: bool
    workspace: int
    workspace_bytes: int
    #: A handle that no concurrent work uses; 0 for a plan without one.
    handle: int


class LibraryPlan(Protocol):
    """A call, made ready for operands of certain layouts; it lives as long as a capture that uses it."""

    @property
    def workspace_bytes(self) -> int:
        """Bytes of scratch memory that the plan needs."""
        ...

    def issue(self, stream: int, at: Addresses) -> None:
        """Make the call on a stream."""
        ...


@runtime_checkable
class BorrowingPlan(LibraryPlan, Protocol):
    """A plan of a library that computes in memory of its handle.

    Calls that were captured with one handle must not run at the same time. Captures of a graph may run concurrently, so
    each gets a separate handle, in `Addresses`.
    """

    #: The functions that make and destroy the handle.
    borrows: Lent


class Handles:
    """The libraries' handles of one device, each made on first use, and the resources of single plans.

    One thread at a time uses them.
    """

    def __init__(self, device: Device) -> None:
        self.info = device.info
        self._device = device
        self._zero: Memory | None = None
        self._modules: dict[tuple[str, str], Module] = {}
        self._created: dict[object, tuple[Any, Callable[[Any], None]]] = {}
        self._numbers = count()
        #: The resources of plans by number, each with the function that destroys it.
        self._owned: dict[int, tuple[Any, Callable[[Any], object]]] = {}
        #: Free handles, by their factory.
        self._idle: dict[Callable[[], int], list[int]] = {}
        #: The numbers of resources whose plans are gone.
        self._left: deque[int] = deque()

    def get(self, create: Callable[[], Handle], destroy: Callable[[Handle], None]) -> Handle:
        """Return the handle that `create` makes."""
        if create not in self._created:
            self._created[create] = create(), destroy
        handle: Handle = self._created[create][0]
        return handle

    def own(self, plan: object, made: Handle, destroy: Callable[[Handle], object]) -> Handle:
        """Return a resource made for a plan, and destroy it when the plan is gone: by the next `sweep`, or by `close`.

        Python may finalize a plan in any thread, also after the device was closed, or while this thread is inside a
        library.
        """
        number = next(self._numbers)
        self._owned[number] = made, destroy
        finalize(plan, self._left.append, number).atexit = False
        return made

    def lend(self, borrower: object, lent: Lent) -> int:
        """Return a handle that is used only by the borrower until the borrower is gone."""
        create, destroy = lent
        idle = self._idle.setdefault(create, [])
        if not idle:
            made = create()
            self._created[create, made] = made, destroy
            idle.append(made)
        return self.own(borrower, idle.pop(), idle.append)

    def sweep(self) -> None:
        """Destroy the resources of plans that are gone."""
        while self._left:
            self._destroy(self._left.popleft())

    def _destroy(self, number: int) -> None:
        made, destroy = self._owned.pop(number)
        destroy(made)

    @property
    def zero(self) -> int:
        """The address of a number in device memory that is 0 in every type."""
        if self._zero is None:
            self._zero = self._device.allocate(16)
            self._device.fill(self._zero, 0)
        return self._zero.pointer

    def load(self, file: str, elements: str = "") -> Module:
        """Return the kernels of a file of `kernels/`, whose macro ELEMENTS is `elements`.

        The first use compiles them, so it must not happen during a capture.
        """
        module = self._modules.get((file, elements))
        if module is None:
            options = CudaOptions(defines={"ELEMENTS": elements} if elements else {})
            image = load_image(CudaFile(str(KERNELS_FOLDER / file), options=options), self.info.architecture)
            module = self._device.load_module(image.payload(self.info.architecture))
            self._modules[file, elements] = module
        return module

    def launch(
        self,
        file: str,
        entry: str,
        threads: int,
        stream: int,
        *arguments: tuple[int, Any],
        thread_block: int = THREADS,
        elements: str = "",
        loops: bool = True,
    ) -> None:
        """Launch a kernel of a file for some threads; with `loops`, for fewer if that takes too many thread blocks.

        Arguments have their type from `ctypes`.
        """
        values, types = zip(*arguments, strict=True)
        blocks = -(-threads // thread_block)
        blocks = min(blocks, _MOST_BLOCKS) if loops else blocks
        kernel = own_kernel(self.load(file, elements).kernel(entry)).handle
        where = blocks, 1, 1, thread_block, 1, 1, 0, stream
        check(driver.cuLaunchKernel(kernel, *where, (values, types), 0), f"launching {entry}")

    def close(self) -> None:
        """Free all resources; no plan may be used any more."""
        self._left.clear()
        self._idle.clear()
        while self._owned:
            self._destroy(next(iter(self._owned)))
        for module in self._modules.values():
            module.unload()
        self._modules.clear()
        if self._zero is not None:
            self._zero.free()
            self._zero = None
        made, self._created = self._created, {}
        for handle, destroy in made.values():
            destroy(handle)


def recommended_bytes(handles: Handles) -> int:
    """Return the bytes of scratch memory that NVIDIA recommends for cuBLAS: more from compute capability 9.0 on."""
    return 32 << 20 if int(handles.info.architecture.removeprefix("sm_").rstrip("af")) >= 90 else 4 << 20


#: Makes the plan of a call.
PlanMaker = Callable[[Any, Mapping[str, Layout], Handles], LibraryPlan]


class ScalarAddresses:
    """Addresses of the numbers that scale elements of a type: in device memory, or of host scalars that this object
    keeps.
    """

    def __init__(self, at: Addresses, scaled: DType) -> None:
        dtype = scaling_type(scaled).numpy
        self._host = {} if at.numbers_on_device else {n: np.array(v, dtype) for n, v in at.numbers.items()}
        self._at = at

    def address(self, name: str) -> int:
        """Return the address of a number."""
        return int(self._host[name].ctypes.data) if self._host else int(self._at.numbers[name])
