"""Translation of basic blocks: guards, branches and the opcodes in between."""

from collections.abc import Callable
from typing import Protocol

from warploom.engine.host_compiler.accesses import stop_check
from warploom.engine.host_compiler.analysis.control_flow import BasicBlock, ControlFlow
from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.errors import reading, unsupported
from warploom.engine.host_compiler.opcodes.table import emit
from warploom.engine.ptx.tree import Guard, Instruction, Symbol


class SuspensionWriter(Protocol):
    """Writes the code of a thread at points where it waits for others."""

    def ends(self, block: BasicBlock) -> bool:
        """Whether a thread waits at a block's last instruction, or at either target of its last branch."""

    def write(self, block: BasicBlock) -> None:
        """Write the code that replaces a block's last instruction."""


def label(index: int) -> str:
    """Return the LLVM label of a block."""
    return f"block.{index}"


def reachable(
    flow: ControlFlow, start: int, ended: Callable[[BasicBlock], object] = lambda block: block.suspends
) -> list[int]:
    """Return the blocks that run before the next suspension when execution starts at a block, in order.

    `ended` says at which blocks execution stops.
    """
    found, pending = {start}, [start]
    while pending:
        block = flow.blocks[pending.pop()]
        if ended(block):
            continue
        for successor in block.successors:
            if successor not in found:
                found.add(successor)
                pending.append(successor)
    return sorted(found)


def translate(
    body: Body, flow: ControlFlow, start: int, return_label: str, ends: SuspensionWriter | None = None
) -> None:
    """Write every block from `start` to the next suspensions or the end."""
    ended = (lambda block: block.suspends) if ends is None else ends.ends
    for index in reachable(flow, start, ended):
        block = flow.blocks[index]
        body.code.label(label(index))
        body.accesses.block = index
        if index in body.never:
            body.code.end("unreachable")
            continue
        if index in body.skips:
            body.code.jump(label(body.skips[index]))
            continue
        last = ends is not None and ended(block)
        for instruction in block.instructions[: -1 if last else None]:
            if instruction.opcode in ("st", "red") and body.acts is not None and index not in body.acts:
                continue
            with reading(instruction):
                _instruction(body, flow, block, instruction, return_label)
        if ends is not None and last:
            with reading(block.instructions[-1]):
                ends.write(block)
        elif not body.code.terminated:
            if index + 1 < len(flow.blocks):
                body.code.jump(label(index + 1))
            else:
                body.code.jump(return_label)


def condition(body: Body, guard: Guard) -> str:
    """Return a guard as i1."""
    value = body.read(guard.register, "pred")
    return body.code.value(f"xor i1 {value}, true") if guard.negated else value


def _instruction(body: Body, flow: ControlFlow, block: BasicBlock, instruction: Instruction, return_label: str) -> None:
    code, opcode = body.code, instruction.opcode
    if opcode in ("bra", "ret", "exit"):
        if opcode == "bra":
            target = instruction.operands[0]
            if not isinstance(target, Symbol):
                raise unsupported(instruction, "branch to a label")
            wanted = label(flow.labels[target.name])
            if flow.labels[target.name] <= block.index and not body.accesses.branch_free:
                stop_check(body, instruction.line)
        else:
            wanted = return_label if opcode == "ret" else body.exit_label
        if instruction.guard is None:
            code.jump(wanted)
        else:
            code.branch(condition(body, instruction.guard), wanted, label(block.index + 1))
        return
    after = ""
    if instruction.guard is not None:
        inside, after = code.name("do"), code.name("skip")
        code.branch(condition(body, instruction.guard), inside, after)
        code.label(inside)
    if opcode == "brx":
        stop_check(body, instruction.line)
        labels = body.targets[instruction.operands[1].name]  # type: ignore[union-attr]  # control_flow has read a symbol
        index = body.read(instruction.operands[0], "u32")
        names = [label(flow.labels[name]) for name in labels]
        cases = " ".join(f"i32 {value}, label %{name}" for value, name in enumerate(names))
        code.end(f"switch i32 {index}, label %{body.exit_label} [{cases}]")
    else:
        code.blocks_before = code.blocks
        emit(body, instruction)
    if after:
        code.label(after)
