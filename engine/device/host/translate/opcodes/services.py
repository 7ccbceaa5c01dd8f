"""Functions that every kernel may call without their being in its module: printf, assert, malloc and free."""

from __future__ import annotations

from engine.device.host.translate import abi
from engine.device.host.translate.accesses import report
from engine.device.host.translate.body import Body
from engine.device.host.translate.special import launch_field, linear_thread
from engine.device.host.translate.types import llvm_type
from engine.ptx.tree import Instruction, Operand, Symbol

#: How many operands of 64 bits each function takes; `__assertfail` takes an int among them.
FUNCTIONS = {"vprintf": 2, "malloc": 1, "free": 1, "__assertfail": 5, "__assert_fail": 4}


def call(body: Body, instruction: Instruction, name: str, results: tuple[Operand, ...], given: list[Operand]) -> None:
    """Write the call of one of `FUNCTIONS`."""
    code, line = body.code, instruction.line
    if len(given) != FUNCTIONS[name]:
        raise body.unsupported(instruction, f"pass {FUNCTIONS[name]} values to {name}")
    if name in ("__assertfail", "__assert_fail"):
        place = code.slot("[4 x i64]", "assertion", 8)
        for index, operand in enumerate(given[:4]):
            value = _argument(body, operand, "u32" if index == 2 else "u64", line)
            value = body.convert(value, "i32", "i64") if index == 2 else value
            code.do(f"store i64 {value}, ptr {code.value(f'getelementptr i64, ptr {place}, i64 {index}')}")
        _serve(body, abi.FAILED_ASSERTION, code.value(f"ptrtoint ptr {place} to i64"), "0")
        report(body, abi.ASSERT, line, "0")
        code.jump(body.exit_label)
        code.label(code.name("never"))
        return
    values = [_argument(body, operand, "u64", line) for operand in given]
    wanted = {"vprintf": abi.PRINT, "malloc": abi.MALLOC, "free": abi.FREE}[name]
    answer = _serve(body, wanted, values[0], values[1] if len(values) > 1 else "0")
    for operand in results:
        kind = "u64" if name == "malloc" else "u32"
        value = body.convert(answer, "i64", llvm_type(kind))
        place = variable_pointer(body, operand)
        if place:
            code.do(f"store {llvm_type(kind)} {value}, ptr {place}")
        else:
            body.write(operand, kind, value, line)


def variable_pointer(body: Body, operand: Operand) -> str:
    """Return the pointer to a `.param` variable that a call passes, "" for other operands.

    Those that were also passed to a function which has been inlined are local variables now.
    """
    if not isinstance(operand, Symbol):
        return ""
    if operand.name in body.local:
        return body.code.value(f"getelementptr i8, ptr %local, i64 {body.local[operand.name]}")
    return body.param_pointers.get(operand.name, "")


def _argument(body: Body, operand: Operand, kind: str, line: int) -> str:
    place = variable_pointer(body, operand)
    return body.code.value(f"load {llvm_type(kind)}, ptr {place}") if place else body.read(operand, kind, line)


def _serve(body: Body, wanted: int, a: str, b: str) -> str:
    code = body.code
    rows = code.value(f"mul i32 %ctaid.z, {launch_field(body, abi.GRID[1])}")
    row = code.value(f"add i32 {rows}, %ctaid.y")
    start = code.value(f"mul i32 {row}, {launch_field(body, abi.GRID[0])}")
    block = code.value(f"zext i32 {code.value(f'add i32 {start}, %ctaid.x')} to i64")
    thread = code.value(f"zext i32 {linear_thread(body)} to i64")
    place = code.value(f"getelementptr i64, ptr %launch, i64 {abi.SERVICES}")
    function = code.value(f"load ptr, ptr {place}")
    worker = code.value("ptrtoint ptr %worker to i64")
    return code.value(f"call i64 {function}(i64 {worker}, i64 {wanted}, i64 {block}, i64 {thread}, i64 {a}, i64 {b})")
