import re

from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port
from warploom.blocks.field.rows import ROWS, RUN
from warploom.engine.diagnostics import PatchError

#: A rule: the counts for births and survival, and the number of states.
_RULE = re.compile(r"b?([0-8]*)/s?([0-8]*)(?:/[cg]?(\d{1,3}))?", re.IGNORECASE)


def parse_rule(text: str) -> tuple[int, int, int]:
    """Return the bits of the counts that give birth and of those that survive, and the number of states."""
    found = _RULE.fullmatch(text.replace(" ", ""))
    states = int(found[3] or 2) if found is not None else 0
    if found is None or not 2 <= states <= 256:
        raise PatchError(f"rule must be like B3/S23, or B2/S/C3 with 2 to 256 states, got {text!r}")
    born, survives = (sum({1 << int(digit) for digit in counts}) for counts in (found[1], found[2]))
    return born, survives, states


class CellularAutomaton(
    Block,
    id="field.cellular_automaton",
    tags=("life", "conway", "game of life", "generations", "brian", "rule", "simulation"),
):
    """Advances cells, which live and die by how many of their neighbours live.

    A rule such as B3/S23 says with how many living neighbours of 8 a cell is born, and with how many it survives. With
    a third part, as in B2/S/C3, cells die in several states: a cell has 1 while it lives, then falls to 0 in equal
    steps, and counts as a neighbour only while it lives. Put the block in a loop with a Frame Delay, or with a State
    and an Assign.
    """

    cells: In[f32] = port(rank=2, doc="The cells, shape [height, width]: 1 is alive, 0 is dead.")
    out: Out[f32] = port(shape="same(cells)", doc="The cells after the step.")
    rule: str = param("B3/S23", doc="Counts for birth, then for survival, then, if more than 2, the number of states.")
    torus: bool = param(True, doc="Whether opposite edges meet; otherwise all is dead beyond the edges.")

    kernel = Kernel("cells.cu", entry="step_automaton")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread for RUN cells of a column."""
        born, survives, states = parse_rule(self.rule)
        width, height = self.out.dim(1), self.out.dim(0)
        args = (self.cells, self.out, born, survives, states - 1, self.torus, width, height)
        build.launch(self.kernel, num_threads=(width, (height + RUN - 1) // RUN), thread_block=ROWS, args=args)
