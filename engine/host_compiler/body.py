"""`Body`: one PTX function that is being translated, for the emitters of `opcodes`."""

from collections.abc import Callable, Mapping

from warploom.engine.host_compiler.accesses import Accesses
from warploom.engine.host_compiler.analysis.provenance import Provenance, Root
from warploom.engine.host_compiler.memory_layout import MemoryLayout
from warploom.engine.host_compiler.operands import Operands
from warploom.engine.ptx.tree import Function, Instruction


class Body(Operands):
    """The operands and memory accesses of a function; `callees` are the functions that it may call, by name."""

    def __init__(
        self,
        function: Function,
        layout: MemoryLayout,
        kernel: str,
        provenance: Provenance,
        *,
        callees: Mapping[str, Function] | None = None,
        branch_free: bool = False,
        limits: Callable[[Root], int] | None = None,
    ) -> None:
        super().__init__(function, layout, kernel)
        self.accesses = Accesses(self, provenance, branch_free=branch_free, limits=limits)
        self.callees = callees or {}
        #: Returns the result of a `setp` that is the same in all threads that run; None for any other.
        self.outcome: Callable[[Instruction], bool | None] = lambda _setter: None
        #: Blocks that no thread reaches; blocks that threads leave out, with the blocks where they continue; and blocks
        #: that may store, None for all.
        self.never: frozenset[int] = frozenset()
        self.skips: Mapping[int, int] = {}
        self.acts: frozenset[int] | None = None
