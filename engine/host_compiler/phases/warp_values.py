"""The values that the threads of one warp keep and exchange inside a chain of phases.

They lie on the stack, an element for each lane. Loops over lanes run all 32 at once, so the optimiser turns these
arrays into vector registers, and shuffles into permutations of them.
"""

from collections.abc import Collection

from warploom.engine.host_compiler.analysis.suspension_points import SuspensionPoint

LANES = 32
_VOTES = {
    "wl.vote_ballot": "{0}",
    "wl.vote_all": "icmp eq i32 {0}, -1",
    "wl.vote_any": "icmp ne i32 {0}, 0",
}


class WarpValues:
    """The arrays of one chain, whose phases meet at the points at the ends of the blocks `inner`.

    `slots` declares them; `reset` is text that runs before a warp starts.
    """

    def __init__(self, inner: Collection[int]) -> None:
        self.inner = inner
        self.slots, self.reset = "", ""
        #: The slots of the uniform registers that the chain writes.
        self.common: dict[str, str] = {}
        self._registers: dict[str, str] = {}
        self._given: dict[int, str] = {}

    def register(self, name: str, kind: str) -> str:
        """Return the array in which each lane keeps a register, as elements of an LLVM type."""
        if name not in self._registers:
            self._registers[name] = self._array(LANES, kind)
        return self._registers[name]

    def slot(self, name: str, kind: str) -> str:
        """Return the stack slot of the uniform part of a register."""
        if name not in self.common:
            self.common[name] = f"%chain.common.{len(self.common)}"
            self.slots += f"  {self.common[name]} = alloca {kind}\n"
        return self.common[name]

    def given(self, index: int, point: SuspensionPoint) -> tuple[str, int]:
        """Return the array, and the first lane's byte in it, for the values that lanes pass on at the point of a block.

        A shuffle also reads elements before the first or after the last lane, and leaves them unused.
        """
        mode = point.shuffle.mode if point.shuffle is not None else ""
        before, after = (LANES if mode in ends else 0 for ends in (("up", "bfly"), ("down", "bfly")))
        if index not in self._given:
            count = LANES * {0: 1, LANES: 2, 2 * LANES: 4}[before + after]
            self._given[index] = self._array(count, "i32")
            if count > LANES:  # a store to the whole array, so that the optimiser treats it as one vector
                self.reset += f"  store <{count} x i32> zeroinitializer, ptr {self._given[index]}\n"
        return self._given[index], 4 * before

    def _array(self, count: int, kind: str) -> str:
        name = f"%chain.array.{len(self._registers) + len(self._given)}"
        self.slots += f"  {name} = alloca [{count} x {kind}], align 64\n"
        return name

    def resolved(self, index: int, point: SuspensionPoint) -> str:
        """Return the text that lets the lanes exchange values at the point of a block."""
        if point.shuffle is not None or not point.collective:
            return ""
        if not is_direct(point):
            return f"  call void @{point.collective}(ptr %scratch, i32 %warp, i32 {LANES}, i32 -1)\n"
        name = f"%chain.ballot.{index}"
        return (
            f"  {name}.given = load <{LANES} x i32>, ptr {self.given(index, point)[0]}\n"
            f"  {name}.votes = icmp ne <{LANES} x i32> {name}.given, zeroinitializer\n"
            f"  {name} = bitcast <{LANES} x i1> {name}.votes to i32\n"
        )

    def vote(self, index: int, point: SuspensionPoint) -> str:
        """Return the value of a vote, or the instruction that yields it."""
        return _VOTES[point.collective].format(f"%chain.ballot.{index}")


def is_direct(point: SuspensionPoint) -> bool:
    """Whether lanes exchange values without a collective."""
    return point.shuffle is not None or point.collective in _VOTES
