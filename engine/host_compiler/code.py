"""Text of one LLVM function while it is being written."""


class Code:
    """Collects the instructions of one LLVM function; values are named by a counter.

    Stack slots are placed in the entry block, from any block, so that they exist once per call.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.entry: list[str] = []
        self._count = 0
        self.terminated = False
        #: The number of blocks begun so far, and that number at the start of the present PTX instruction.
        self.blocks = self.blocks_before = 0

    def name(self, hint: str = "v") -> str:
        """Return a fresh local name without its percent sign."""
        self._count += 1
        return f"{hint}.{self._count}"

    def value(self, text: str) -> str:
        """Write an instruction that yields a value and return that value."""
        result = f"%{self.name()}"
        self.do(f"{result} = {text}")
        return result

    def do(self, text: str) -> None:
        """Write an instruction."""
        if not self.terminated:
            self.lines.append(f"  {text}")

    def slot(self, llvm_type: str, hint: str = "slot", alignment: int = 0) -> str:
        """Return a new stack slot."""
        result = f"%{self.name(hint)}"
        self.entry.append(f"  {result} = alloca {llvm_type}" + (f", align {alignment}" if alignment else ""))
        return result

    def label(self, name: str) -> None:
        """Start a block; an unfinished one before it falls through."""
        if not self.terminated:
            self.lines.append(f"  br label %{name}")
        self.lines.append(f"{name}:")
        self.terminated = False
        self.blocks += 1

    def jump(self, name: str, suffix: str = "") -> None:
        """End the block with a jump."""
        self.do(f"br label %{name}{suffix}")
        self.terminated = True

    def branch(self, condition: str, then: str, otherwise: str, suffix: str = "") -> None:
        """End the block with a conditional branch."""
        self.do(f"br i1 {condition}, label %{then}, label %{otherwise}{suffix}")
        self.terminated = True

    def end(self, text: str) -> None:
        """End the block with any other terminator."""
        self.do(text)
        self.terminated = True

    def text(self) -> str:
        """Return the body: the entry block with its slots, then everything else."""
        return "\n".join(["entry:", *self.entry, "  br label %start", *self.lines])


def quoted(name: str) -> str:
    """Return a PTX name as an LLVM identifier."""
    return '"' + name.replace('"', "") + '"'
