"""Reads kernel signatures from the tree: parameter offsets, thread limits and shared memory."""

from collections.abc import Iterator, Mapping

from warploom.engine.ptx import tree as ptx


def signatures(
    functions: Mapping[str, ptx.Function], variables: Mapping[str, ptx.Variable]
) -> dict[str, ptx.KernelSignature]:
    """Return the signature of every kernel that has a body."""
    return {
        function.name: signature(function, functions, variables)
        for function in functions.values()
        if function.is_entry and function.body is not None
    }


def signature(
    kernel: ptx.Function, functions: Mapping[str, ptx.Function], variables: Mapping[str, ptx.Variable]
) -> ptx.KernelSignature:
    """Return one kernel's signature."""
    required = kernel.directives.get("reqntid")
    limits = required or kernel.directives.get("maxntid")
    threads = 1
    for limit in limits or (1024,):
        threads *= limit
    shared = shared_variables(kernel, functions, variables)
    return ptx.KernelSignature(
        kernel.name,
        _parameters(kernel),
        min(threads, 1024),
        (*required, *(1,) * (3 - len(required))) if required else None,  # type: ignore[arg-type]  # padded to three
        shared_layout(shared)[1],
        any(is_dynamic(variable) for variable in shared),
    )


def _parameters(kernel: ptx.Function) -> tuple[ptx.KernelParameter, ...]:
    offset, found = 0, []
    for variable in kernel.parameters:
        offset = -(-offset // variable.alignment) * variable.alignment
        is_aggregate = variable.count != 1
        size = variable.size_bytes
        found.append(ptx.KernelParameter(variable.name, offset, size, "b8" if is_aggregate else variable.ptx_type))
        offset += size
    return tuple(found)


def is_dynamic(variable: ptx.Variable) -> bool:
    """True when a launch decides a shared variable's size."""
    return variable.space == "shared" and (variable.count == 0 or variable.linkage == "extern")


def shared_variables(
    kernel: ptx.Function, functions: Mapping[str, ptx.Function], variables: Mapping[str, ptx.Variable]
) -> tuple[ptx.Variable, ...]:
    """Return the shared variables of a kernel and of the functions that it may call, in order of declaration."""
    used: dict[str, ptx.Variable] = {}
    for function in reachable_functions(kernel, functions, variables):
        own = {variable.name: variable for variable in function.variables if variable.space == "shared"}
        used.update(own)
        for name in symbols(function):
            if name in variables and variables[name].space == "shared" and name not in own:
                used[name] = variables[name]
    return tuple(used.values())


def shared_layout(shared: tuple[ptx.Variable, ...]) -> tuple[dict[str, int], int]:
    """Return each shared variable's offset, and the bytes of the static ones; dynamic ones follow these."""
    offsets: dict[str, int] = {}
    end = 0
    for variable in (item for item in shared if not is_dynamic(item)):
        end = -(-end // variable.alignment) * variable.alignment
        offsets[variable.name] = end
        end += variable.size_bytes
    start = -(-end // 16) * 16
    offsets.update((variable.name, start) for variable in shared if is_dynamic(variable))
    return offsets, end


def reachable_functions(
    kernel: ptx.Function, functions: Mapping[str, ptx.Function], variables: Mapping[str, ptx.Variable]
) -> list[ptx.Function]:
    """Return the kernel and every function with a body that it may call, directly, through others or through tables."""
    found: dict[str, ptx.Function] = {}
    pending, seen = [kernel.name], set[str]()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        function = functions.get(name)
        if function is not None and function.body is not None:
            found[name] = function
            pending.extend(symbols(function))
        elif name in variables:
            pending.extend(item.name for item in variables[name].initial if isinstance(item, ptx.SymbolValue))
    return list(found.values())


def symbols(function: ptx.Function) -> dict[str, None]:
    """Return the names of symbols that a function's instructions use, in order."""
    found: dict[str, None] = {}
    for instruction in function.instructions:
        for operand in instruction.operands:
            if not isinstance(operand, (ptx.Register, ptx.Integer, ptx.Float)):
                found.update((name, None) for name in _symbols(operand))
    return found


def _symbols(operand: ptx.Operand) -> Iterator[str]:
    if isinstance(operand, ptx.Symbol):
        yield operand.name
    elif isinstance(operand, ptx.Address):
        if isinstance(operand.base, ptx.Symbol):
            yield operand.base.name
    elif isinstance(operand, ptx.Vector | ptx.OperandList):
        for element in operand.elements:
            yield from _symbols(element)
    elif isinstance(operand, ptx.Pair):
        yield from _symbols(operand.first)
        yield from _symbols(operand.second)
