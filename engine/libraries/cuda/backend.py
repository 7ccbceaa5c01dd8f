"""The libraries of a CUDA device: handles, and a plan for each call and its layouts."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from importlib import import_module
from weakref import WeakValueDictionary

from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Issue, Memory, Stream
from warploom.engine.libraries.call import BoundCall, LibraryCall, LibraryError
from warploom.engine.libraries.cuda.plan import Addresses, BorrowingPlan, Handles, Lent, LibraryPlan, PlanMaker
from warploom.engine.libraries.own import OnStream, OwnCall, check_has
from warploom.engine.types.layout import Layout

#: The number of plans that are kept for a while although no captured work uses them.
_KEPT = 32


class CudaLibraries:
    """Makes plans, and keeps them as long as captured work needs them.

    The libraries' handles are used by one thread at a time.
    """

    def __init__(self, device: Device) -> None:
        self._handles = Handles(device)
        self._lock = threading.RLock()
        self._plans: WeakValueDictionary[Hashable, LibraryPlan] = WeakValueDictionary()
        self._recent: OrderedDict[Hashable, LibraryPlan] = OrderedDict()

    def workspace_bytes(self, call: LibraryCall, layouts: Mapping[str, Layout]) -> int:
        """Return the bytes of scratch memory that a call needs. Raise LibraryError if it can't be done."""
        return self._plan(call, layouts).workspace_bytes

    def bind(self, calls: Sequence[BoundCall], workspace: Memory) -> Issue:
        """Return a function that makes the calls one after another on a stream."""
        steps: list[tuple[LibraryPlan, Addresses]] = []

        def issue(stream: Stream) -> None:
            with self._lock:
                for plan, at in steps:
                    plan.issue(int(stream.handle), at)  # type: ignore[attr-defined]  # a CUDA stream

        lent: dict[Lent, int] = {}
        with self._lock:
            for bound in calls:
                plan, handle = self._plan(bound.call, bound.layouts), 0
                if isinstance(plan, BorrowingPlan):
                    if plan.borrows not in lent:  # the calls of one capture run one after another
                        lent[plan.borrows] = self._handles.lend(issue, plan.borrows)
                    handle = lent[plan.borrows]
                steps.append((plan, _addresses(bound, workspace, handle)))
        return issue

    def close(self) -> None:
        """Free plans and handles."""
        with self._lock:
            self._recent.clear()
            self._handles.close()

    def _plan(self, call: LibraryCall, layouts: Mapping[str, Layout]) -> LibraryPlan:
        key = call, tuple(sorted(layouts.items()))
        with self._lock:
            self._handles.sweep()
            plan = self._plans.get(key)
            if plan is None:
                plan = self._plans[key] = self._make(call, layouts)
            self._recent[key] = plan
            self._recent.move_to_end(key)
            if len(self._recent) > _KEPT:
                self._recent.popitem(last=False)
        return plan

    def _make(self, call: LibraryCall, layouts: Mapping[str, Layout]) -> LibraryPlan:
        if isinstance(call, OwnCall):
            check_has(call, "cuda", "a GPU", "the host")
        try:
            if isinstance(call, OwnCall):
                return OwnPlan(call, layouts)
            plans: Mapping[type[LibraryCall], PlanMaker] = import_module(f"{__package__}.{call.library}").PLANS
            return plans[type(call)](call, layouts, self._handles)
        except ImportError as problem:
            remedy = "install warploom[cuda], or run on the host"
            raise LibraryError(f"{call.label} must have NVIDIA's library installed, got {problem}", remedy) from None
        except LibraryError:
            raise
        except Exception as problem:
            text = f"{call.label} must be supported by the library, got {type(problem).__name__}: {problem}"
            raise LibraryError(text, "change the sizes or the element type") from problem


class OwnPlan:
    """A call that the author of a block has written."""

    def __init__(self, call: OwnCall, layouts: Mapping[str, Layout]) -> None:
        self._call, self._layouts = call, layouts
        self.workspace_bytes = call.workspace_bytes(layouts)

    def issue(self, stream: int, at: Addresses) -> None:
        """Run the author's code."""
        known = {} if at.numbers_on_device else at.numbers
        stored = {name: int(address) for name, address in at.numbers.items()} if at.numbers_on_device else {}
        on = OnStream(stream, at.operands, self._layouts, known, stored, at.workspace, at.workspace_bytes)
        self._call.cuda(on)


def _addresses(bound: BoundCall, workspace: Memory, handle: int) -> Addresses:
    on_device = any(not isinstance(number, (int, float)) for number in bound.numbers.values())
    numbers = {n: v if isinstance(v, (int, float)) else v.pointer for n, v in bound.numbers.items()}
    operands = {slot: operand.memory.pointer for slot, operand in bound.operands.items()}
    return Addresses(operands, numbers, on_device, workspace.pointer, workspace.size_bytes, handle)
