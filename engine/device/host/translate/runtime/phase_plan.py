"""What the scheduler knows of the phases of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.device.host.translate.analysis.suspension_points import SuspensionPoint
from engine.device.host.translate.code import quoted

#: The state of a thread that has ended.
EXITED = -1
#: Attributes of what runs only when threads part: it is kept small, or it takes the optimiser longer than all the rest.
RARE = "nounwind noinline minsize optsize"
FRAME = "ptr %launch, ptr %params, ptr %worker, ptr %scratch, i32 %ctaid.x, i32 %ctaid.y, i32 %ctaid.z"


Array = tuple[int, str]
"""Where an array of saved values lies in scratch memory, and the LLVM type of its elements."""


@dataclass(frozen=True)
class PhasePlan:
    """One phase as the scheduler sees it.

    `name` is its function. `point` is where its threads waited before, None at the start, at PTX line `line`. It reads
    `shared` from its first thread only, writes `once` for its first thread only, and `each` for every thread.
    """

    name: str
    point: SuspensionPoint | None
    line: int
    shared: Sequence[Array]
    once: Sequence[Array]
    each: Sequence[Array]


def function(kernel: str, name: str) -> str:
    """Return the LLVM name of a kernel's own helper."""
    return "@" + quoted(f"{kernel}|{name}")
