"""Calls of device functions, direct and through pointers, and of printf, assert, malloc and free."""

import re

from warploom.engine.host_compiler import abi
from warploom.engine.host_compiler.accesses import report
from warploom.engine.host_compiler.analysis.call_graph import fitting
from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.code import quoted
from warploom.engine.host_compiler.errors import PtxOperandError, unsupported
from warploom.engine.host_compiler.opcodes.table import opcode
from warploom.engine.host_compiler.special_registers import launch_field, linear_thread
from warploom.engine.host_compiler.types import bits, llvm_type
from warploom.engine.ptx.tree import Function, Instruction, Operand, OperandList, Register, Symbol, Variable, Vector

# -- printf, assert, malloc and free, which every kernel may call ------------------------------------------------------

#: How many operands of 64 bits each function takes; `__assertfail` takes an int among them.
FUNCTIONS = {"vprintf": 2, "malloc": 1, "free": 1, "__assertfail": 5, "__assert_fail": 4}


def call_service(
    body: Body, instruction: Instruction, name: str, results: tuple[Operand, ...], given: list[Operand]
) -> None:
    """Write the call of one of `FUNCTIONS`."""
    code, line = body.code, instruction.line
    if len(given) != FUNCTIONS[name]:
        raise unsupported(instruction, f"pass {FUNCTIONS[name]} values to {name}")
    if name in ("__assertfail", "__assert_fail"):
        place = code.slot("[4 x i64]", "assertion", 8)
        for index, operand in enumerate(given[:4]):
            value = _argument(body, operand, "u32" if index == 2 else "u64")
            value = body.convert(value, "i32", "i64") if index == 2 else value
            code.do(f"store i64 {value}, ptr {code.value(f'getelementptr i64, ptr {place}, i64 {index}')}")
        _serve(body, abi.FAILED_ASSERTION, code.value(f"ptrtoint ptr {place} to i64"), "0")
        report(body, abi.ASSERT, line, "0")
        code.jump(body.exit_label)
        code.label(code.name("never"))
        return
    values = [_argument(body, operand, "u64") for operand in given]
    wanted = {"vprintf": abi.PRINT, "malloc": abi.MALLOC, "free": abi.FREE}[name]
    answer = _serve(body, wanted, values[0], values[1] if len(values) > 1 else "0")
    if name == "free":
        body.accesses.require(instruction, code.value(f"icmp ne i64 {answer}, 0"), values[0], abi.BAD_FREE)
    for operand in results:
        kind = "u64" if name == "malloc" else "u32"
        value = body.convert(answer, "i64", llvm_type(kind))
        place = variable_pointer(body, operand, bits(kind) // 8)
        if place:
            code.do(f"store {llvm_type(kind)} {value}, ptr {place}")
        else:
            body.write(operand, kind, value)


def variable_pointer(body: Body, operand: Operand, size: int) -> str:
    """Return the pointer to a `.param` variable of at least `size` bytes that a call passes, "" for other operands.

    A variable that is also passed to an inlined function has become a local variable.
    """
    if not isinstance(operand, Symbol):
        return ""
    if body.parameter_sizes.get(operand.name, size) < size:
        raise PtxOperandError(f"{operand.name} must have {size} bytes, got {body.parameter_sizes[operand.name]}")
    if operand.name in body.local:
        return body.code.value(f"getelementptr i8, ptr %local, i64 {body.local[operand.name]}")
    return body.param_pointers.get(operand.name, "")


def _argument(body: Body, operand: Operand, kind: str) -> str:
    place = variable_pointer(body, operand, bits(kind) // 8)
    return body.code.value(f"load {llvm_type(kind)}, ptr {place}") if place else body.read(operand, kind)


def _serve(body: Body, wanted: int, a: str, b: str) -> str:
    code = body.code
    rows = code.value(f"mul i32 %ctaid.z, {launch_field(body.code, abi.GRID[1])}")
    row = code.value(f"add i32 {rows}, %ctaid.y")
    start = code.value(f"mul i32 {row}, {launch_field(body.code, abi.GRID[0])}")
    block = code.value(f"zext i32 {code.value(f'add i32 {start}, %ctaid.x')} to i64")
    thread = code.value(f"zext i32 {linear_thread(body.code)} to i64")
    place = code.value(f"getelementptr i64, ptr %launch, i64 {abi.SERVICES}")
    record = code.value(f"load ptr, ptr {place}")
    function = code.value(f"load ptr, ptr {record}")
    worker = code.value("ptrtoint ptr %worker to i64")
    return code.value(f"call i64 {function}(i64 {worker}, i64 {wanted}, i64 {block}, i64 {thread}, i64 {a}, i64 {b})")


#: The parameters that every device function has, written as in its declaration and in its calls.
FRAME = (
    "ptr %launch, ptr %params, ptr %worker, ptr %shared, i64 %shared.bytes, "
    "i32 %tid.x, i32 %tid.y, i32 %tid.z, i32 %ctaid.x, i32 %ctaid.y, i32 %ctaid.z"
)


def function_name(kernel: str, name: str) -> str:
    """Return the LLVM name of a kernel's copy of a device function. The names of a kernel's parts have a single bar."""
    return f"@{quoted(f'{kernel}||{name}')}"


#: The linkage of a function that is compiled by itself; its LLVM name has no kernel.
LINKED = "linked"


def llvm_declaration(function: Function) -> str:
    """Return the LLVM declaration of a function that is compiled by itself."""
    types = re.sub(r" %[\w.]+", "", FRAME) + ", ptr" * len((*function.results, *function.parameters))
    return f"declare i1 {function_name('', function.name)}({types})"


@opcode("call")
def _call(body: Body, instruction: Instruction) -> None:
    operands = list(instruction.operands)
    results = operands.pop(0) if isinstance(operands[0], OperandList) else OperandList(())
    target = operands.pop(0)
    arguments = operands.pop(0) if operands and isinstance(operands[0], OperandList) else OperandList(())
    assert isinstance(results, OperandList)
    assert isinstance(arguments, OperandList)
    if isinstance(target, Symbol):
        callee = body.callees.get(target.name)
        if callee is None and target.name in FUNCTIONS:
            call_service(body, instruction, target.name, results.elements, list(arguments.elements))
            return
        if callee is None:
            raise unsupported(instruction, f"function {target.name} must have a body in this module")
        pointers, after = _pass(body, instruction, results, arguments, callee.results, callee.parameters)
        _invoke(body, target.name, pointers)
        _receive(body, after, instruction)
        return
    if not isinstance(target, Register):
        raise unsupported(instruction, "call a function or a register")
    _indirect(body, instruction, target, results, arguments, operands)


def _pass(
    body: Body,
    instruction: Instruction,
    results: OperandList,
    arguments: OperandList,
    result_variables: tuple[Variable, ...],
    parameters: tuple[Variable, ...],
) -> tuple[list[str], list[tuple[Operand, Variable, str]]]:
    """Return the pointers to pass, results first, and the registers to load from result memory afterwards."""
    pointers: list[str] = []
    after: list[tuple[Operand, Variable, str]] = []
    given, formal = (*results.elements, *arguments.elements), (*result_variables, *parameters)
    if len(given) != len(formal):
        raise PtxOperandError(f"call must pass {len(formal)} values, got {len(given)}")
    for index, (operand, variable) in enumerate(zip(given, formal, strict=True)):
        place = variable_pointer(body, operand, variable.size_bytes)
        if place:
            pointers.append(place)
            continue
        slot = body.code.slot(f"[{max(variable.size_bytes, 8)} x i8]", "argument", 16)
        if index < len(results.elements):
            after.append((operand, variable, slot))
        else:
            for place, element in _places(body, slot, operand, variable):
                value = body.read(element, variable.ptx_type)
                body.code.do(f"store {llvm_type(variable.ptx_type)} {value}, ptr {place}")
        pointers.append(slot)
    return pointers, after


def _invoke(body: Body, name: str, pointers: list[str]) -> None:
    """Call a function; if the thread ends inside it, end the thread in the caller too."""
    arguments = "".join(f", ptr {pointer}" for pointer in pointers)
    kernel = "" if body.callees[name].linkage == LINKED else body.kernel
    ended = body.code.value(f"call i1 {function_name(kernel, name)}({FRAME}{arguments})")
    after = body.code.name("returned")
    body.code.branch(ended, body.exit_label, after, ", !prof !3")
    body.code.label(after)


def _receive(body: Body, after: list[tuple[Operand, Variable, str]], instruction: Instruction) -> None:
    for operand, variable, slot in after:
        for place, element in _places(body, slot, operand, variable):
            value = body.code.value(f"load {llvm_type(variable.ptx_type)}, ptr {place}")
            body.write(element, variable.ptx_type, value)


def _places(body: Body, slot: str, operand: Operand, variable: Variable) -> list[tuple[str, Operand]]:
    """Return where in a slot a value lies, or each component of a vector register."""
    if not isinstance(operand, Vector):
        return [(slot, operand)]
    size = bits(variable.ptx_type) // 8
    if len(operand.elements) * size > variable.size_bytes:
        raise PtxOperandError(f"vector must have {variable.size_bytes} bytes, got {len(operand.elements) * size}")
    return [
        (body.code.value(f"getelementptr i8, ptr {slot}, i64 {index * size}"), element)
        for index, element in enumerate(operand.elements)
    ]


def _indirect(
    body: Body,
    instruction: Instruction,
    target: Register,
    results: OperandList,
    arguments: OperandList,
    rest: list[Operand],
) -> None:
    """Call the function whose number is in the register. A number of no function that fits the prototype is a fault."""
    code = body.code
    last = rest[-1] if rest else None
    prototype = body.function.prototypes.get(last.name) if isinstance(last, Symbol) else None
    listed = body.targets.get(last.name) if isinstance(last, Symbol) else None
    if prototype is None and not listed:
        raise unsupported(instruction, "give a .callprototype")
    shape = prototype or body.callees[(listed or ("",))[0]]
    pointers, after = _pass(body, instruction, results, arguments, shape.results, shape.parameters)
    number = body.read(target, "b64")
    done, unknown = code.name("called"), code.name("unknown")
    names = fitting(shape.results, shape.parameters, body.callees.values())
    numbers = [(body.layout.functions[name], name) for name in names]
    labels = [code.name("callee") for _ in numbers]
    cases = " ".join(f"i64 {value}, label %{label}" for (value, _), label in zip(numbers, labels, strict=True))
    code.end(f"switch i64 {number}, label %{unknown} [{cases}]")
    for (_, name), label in zip(numbers, labels, strict=True):
        code.label(label)
        _invoke(body, name, pointers)
        code.jump(done)
    code.label(unknown)
    report(body, abi.BAD_CALL, instruction.line, number)
    code.jump(body.exit_label)
    code.label(done)
    _receive(body, after, instruction)
