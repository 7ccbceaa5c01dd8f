"""Where the variables of a kernel lie in each memory space."""

from dataclasses import dataclass, field

from warploom.engine.ptx.tree import Variable


@dataclass
class MemoryLayout:
    """Where a kernel's variables lie.

    `shared` and `local` map names to byte offsets in the thread block's and the thread's own memory. `parameters` maps
    a kernel's parameters to offsets in the argument block. `functions` maps the names of functions whose address is
    taken to the numbers that stand for their addresses. `static_shared` is where dynamic shared memory begins;
    `fixed_shared` is all shared memory of a kernel that has no dynamic part. `flushes`: the processor flushes subnormal
    f32 while the kernel runs. `scatters`: the processor loads and stores vector elements at separate places faster than
    one by one. `moves_16_bytes`: it moves 16 aligned bytes in one access. `has_range`: minima and maxima of floats are
    written for VRANGE (`opcodes/extremes.py`).
    """

    shared: dict[str, int]
    module: dict[str, Variable]
    functions: dict[str, int]
    parameters: dict[str, int] = field(default_factory=dict)
    parameter_bytes: int = 0
    static_shared: int = 0
    fixed_shared: int | None = None
    flushes: bool = False
    scatters: bool = False
    moves_16_bytes: bool = False
    has_range: bool = False

    def formal(self, parameters: str) -> str:
        """Return the parameters of an LLVM function, with the size of the kernel's arguments as an attribute.

        The attribute lets the optimiser read an argument before it is known whether any thread needs it.
        """
        size = self.parameter_bytes
        return parameters.replace("%params", f"dereferenceable({size}) %params") if size else parameters
