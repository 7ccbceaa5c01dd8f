"""Checks of single accesses: whether all their bytes are inside an allocation, and aligned.

Shared and local memory have a known size. The limits of a buffer that an argument names are looked up once; any other
address is compared with the range that the last look-up found. Blocks of the device heap have a map, which is read at
each access.
"""

from collections.abc import Callable

from warploom.engine.host_compiler import abi
from warploom.engine.host_compiler.analysis.control_flow import fact
from warploom.engine.host_compiler.analysis.provenance import Provenance, Root
from warploom.engine.host_compiler.code import quoted
from warploom.engine.host_compiler.errors import PtxOperandError, unsupported
from warploom.engine.host_compiler.operands import Operands
from warploom.engine.ptx.tree import Address, Function, Instruction, Operand, Symbol


class MemoryChecks:
    """Writes the checks of the accesses of one body.

    `limits` returns where the limits of a parameter's buffer lie in scratch memory; without it they are looked up in
    the prologue.
    """

    def __init__(self, body: Operands, provenance: Provenance, limits: Callable[[Root], int] | None) -> None:
        self._body = body
        self._provenance = provenance
        self._limits_at = limits
        self._is_entry = body.is_entry
        self._has_generic_parameters = _has_generic_parameters(body.function)
        self._limits: dict[tuple[Root, int], tuple[str, str, str]] = {}
        self._ranges: dict[Root, str] = {}
        #: Instructions that run once, before any thread: the look-up of each root's allocation.
        self.prologue: list[str] = []

    def check(
        self, instruction: Instruction, operand: Operand, address: str, size: int, space: str
    ) -> tuple[str | None, str, str]:
        """Return the check of an access, the address that a fault reports, and the instruction that makes the pointer.

        The check is None where the access is known to be inside.
        """
        if space == "shared" or (space == "local" and self._is_entry):
            check = self._check_offset(address, size, space)
            return check, address, f"getelementptr i8, ptr %{space}, i64 {address}"
        if space == "param":
            check, address, pointer = self._parameter(instruction, address, size)
        else:
            check, pointer = self._check_address(operand, address, size, space)
        return self._check_alignment(check, address, size) if size > 1 else check, address, pointer

    def pointer(self, operand: Operand, address: str) -> str:
        """Return the instruction that makes the pointer of an address with a root."""
        root = self._provenance.root(operand)
        assert root is not None
        base, _, start = self.limit(root, 1)
        distance = self._body.code.value(f"sub i64 {address}, {base}")
        return f"getelementptr i8, ptr {start}, i64 {distance}"

    def named_parameter(self, instruction: Instruction, operand: Operand, size: int) -> str:
        """Return the pointer to bytes of the parameter that an address names; "" when it names none."""
        body = self._body
        if not isinstance(operand, Address):
            raise unsupported(instruction, "give an address in brackets")
        if not isinstance(operand.base, Symbol) or operand.base.name not in body.parameter_sizes:
            return ""
        name, offset = operand.base.name, operand.base.offset + operand.offset
        length = body.parameter_sizes[name]
        if not 0 <= offset <= length - size:
            raise PtxOperandError(
                f"address must be in {name}, which has {length} bytes, got bytes {offset} to {offset + size - 1}"
            )
        if name in body.layout.parameters:
            if instruction.opcode == "st":
                raise unsupported(instruction, "copy a kernel's parameter to a register or to local memory")
            return body.code.value(f"getelementptr i8, ptr %params, i64 {body.layout.parameters[name] + offset}")
        if name in body.param_pointers:
            return body.code.value(f"getelementptr i8, ptr {body.param_pointers[name]}, i64 {offset}")
        return body.code.value(f"getelementptr i8, ptr %local, i64 {body.local[name] + offset}")

    def _parameter(self, instruction: Instruction, address: str, size: int) -> tuple[str, str, str]:
        """Return check, byte and pointer of an access to a computed address in parameter space."""
        code = self._body.code
        if not self._is_entry:
            return self._parameter_of_caller(instruction, address, size)
        length = self._body.layout.parameter_bytes
        if self._has_generic_parameters:  # NVRTC with -G writes `ld.param` of the result of cvta.param
            distance = code.value(f"sub i64 {address}, {code.value('ptrtoint ptr %params to i64')}")
            is_generic = code.value(f"icmp ult i64 {distance}, {length}")
            address = code.value(f"select i1 {is_generic}, i64 {distance}, i64 {address}")
        check = code.value(f"icmp ule i64 {address}, {length - size}") if size <= length else "false"
        return check, address, f"getelementptr i8, ptr %params, i64 {address}"

    def _parameter_of_caller(self, instruction: Instruction, address: str, size: int) -> tuple[str, str, str]:
        """Return check, byte and pointer of an access to a device function's parameter, which lies in its caller."""
        code = self._body.code
        if instruction.opcode != "ld":
            raise unsupported(instruction, "store to a .param variable by its name")
        top_at = code.value(f"getelementptr i64, ptr %worker, i64 {abi.STACK}")
        frame = code.value("call ptr @llvm.frameaddress.p0(i32 0)")
        here = code.value(f"ptrtoint ptr {frame} to i64")
        extent = code.value(f"sub i64 {code.value(f'load i64, ptr {top_at}')}, {here}")
        rest = code.value(f"call i64 @llvm.usub.sat.i64(i64 {extent}, i64 {size})")
        distance = code.value(f"sub i64 {address}, {here}")
        check = code.value(f"icmp ule i64 {distance}, {rest}")
        return check, address, f"getelementptr i8, ptr {frame}, i64 {distance}"

    def _check_offset(self, address: str, size: int, space: str) -> str | None:
        code, shift, limit = self._body.code, size.bit_length() - 1, "%shared.bytes"
        if space == "local":
            if address.isdigit() and int(address) % size == 0 and int(address) <= self._body.local_bytes - size:
                return None
            limit = str(self._body.local_bytes)
        # The low bits of an address that is not aligned become the high bits of a number that is too great.
        turned = code.value(f"call i64 @llvm.fshr.i64(i64 {address}, i64 {address}, i64 {shift})") if shift else address
        return code.value(f"icmp ult i64 {turned}, {code.value(f'lshr i64 {limit}, {shift}')}")

    def _check_alignment(self, check: str, address: str, size: int) -> str:
        """Return a check extended by the alignment of an access of `size` bytes."""
        code = self._body.code
        rest = code.value(f"and i64 {address}, {size - 1}")
        aligned = code.value(f"icmp eq i64 {rest}, 0")
        return code.value(f"and i1 {check}, {aligned}")

    def _check_address(self, operand: Operand, address: str, size: int, space: str) -> tuple[str, str]:
        """Return the check of a global or generic address, and the instruction that makes the pointer."""
        code = self._body.code
        root = self._provenance.root(operand)
        if root is None:
            return self._check_cached(address, size, space), f"inttoptr i64 {address} to ptr"
        base, limit, pointer = self.limit(root, size)
        distance = code.value(f"sub i64 {address}, {base}")
        # An offset from a pointer: the optimiser recognises adjacent accesses by their offsets, but not through casts
        # from integers.
        return code.value(f"icmp ule i64 {distance}, {limit}"), f"getelementptr i8, ptr {pointer}, i64 {distance}"

    def limit(self, root: Root, size: int) -> tuple[str, str, str]:
        """Return a root's lowest address, the greatest distance of an access of `size` bytes, and the base pointer."""
        found = self._limits.get((root, size))
        if found is not None:
            return found
        prefix = f"%limit.{len(self._limits)}"
        if root[0] == "param":
            pair = self._range(root)
            lines = [
                f"{prefix}.first = extractvalue {{i64, i64}} {pair}, 0",
                f"{prefix}.size = extractvalue {{i64, i64}} {pair}, 1",
                f"{prefix}.fits = icmp uge i64 {prefix}.size, {size}",
                f"{prefix}.rest = sub i64 {prefix}.size, {size}",
                f"{prefix}.base = select i1 {prefix}.fits, i64 {prefix}.first, i64 -1",
                f"{prefix}.last = select i1 {prefix}.fits, i64 {prefix}.rest, i64 0",
                f"{prefix}.pointer = inttoptr i64 {prefix}.base to ptr",
            ]
            self.prologue.extend(f"  {line}" for line in lines)
            found = (f"{prefix}.base", f"{prefix}.last", f"{prefix}.pointer")
        else:
            variable = self._body.layout.module[root[0]]
            symbol = f"@{quoted(root[0])}"
            found = (f"ptrtoint (ptr {symbol} to i64)", str(max(variable.size_bytes - size, 0)), symbol)
        self._limits[root, size] = found
        return found

    def _range(self, root: Root) -> str:
        name = self._ranges.get(root)
        if name is None:
            name = f"%range.{len(self._ranges)}"
            if self._limits_at is not None:
                self.prologue += [
                    f"  {name}.at = getelementptr i8, ptr %scratch, i64 {self._limits_at(root)}",
                    f"  {name} = load {{i64, i64}}, ptr {name}.at",
                ]
            else:
                self.prologue.append(range_of_argument(name, root[1]))
            self._ranges[root] = name
        return name

    def _check_cached(self, address: str, size: int, space: str) -> str:
        """Check against the range that the last look-up found, and look up again when the address is outside it."""
        code = self._body.code
        if self._is_entry:
            base_at, size_at = code.slot("i64", "site"), code.slot("i64", "site")
            self.prologue += [f"  store i64 0, ptr {base_at}", f"  store i64 0, ptr {size_at}"]
        else:
            base_at = code.value(f"getelementptr i64, ptr %worker, i64 {abi.CACHE_BASE}")
            size_at = code.value(f"getelementptr i64, ptr %worker, i64 {abi.CACHE_SIZE}")
        hit = self._inside(address, size, base_at, size_at)
        miss, done = code.name("miss"), code.name("looked")
        result = code.slot("i1", "ok")
        code.do(f"store i1 true, ptr {result}")
        code.branch(hit, done, miss, ", !prof !2")
        code.label(miss)
        find = "reached" if space in ("global", "const") else "find"
        pair = code.value(f"call {{i64, i64}} @wl.{find}(ptr %launch, ptr %worker, i64 {address})")
        first, length = (code.value(f"extractvalue {{i64, i64}} {pair}, {index}") for index in range(2))
        record_at = code.value(f"getelementptr i64, ptr %launch, i64 {abi.SERVICES}")
        record = code.value(f"load ptr, ptr {record_at}")
        heap = code.value(f"load i64, ptr {code.value(f'getelementptr i64, ptr {record}, i64 {abi.HEAP_FIRST}')}")
        in_heap, elsewhere = code.name("heap"), code.name("elsewhere")
        code.branch(code.value(f"icmp eq i64 {first}, {heap}"), in_heap, elsewhere, ", !prof !3")
        code.label(in_heap)  # never cached, because a block may be freed at any time
        code.do(f"store i1 {self._in_block(address, size, heap, record)}, ptr {result}")
        code.jump(done)
        code.label(elsewhere)
        code.do(f"store i64 {first}, ptr {base_at}")
        code.do(f"store i64 {length}, ptr {size_at}")
        code.do(f"store i1 {self._inside(address, size, base_at, size_at)}, ptr {result}")
        code.label(done)
        return code.value(f"load i1, ptr {result}")

    def _in_block(self, address: str, size: int, heap: str, record: str) -> str:
        """Return whether aligned bytes of the device heap are in a block."""
        code, step = self._body.code, abi.HEAP_STEP
        chart = code.value(f"load ptr, ptr {code.value(f'getelementptr i64, ptr {record}, i64 {abi.HEAP_MAP}')}")
        distance = code.value(f"sub i64 {address}, {heap}")
        result = "true"
        for end in range(min(size, step), size + 1, step):
            last = code.value(f"add i64 {distance}, {end - 1}")
            index = code.value(f"lshr i64 {last}, {step.bit_length() - 1}")
            held = code.value(f"load volatile i8, ptr {code.value(f'getelementptr i8, ptr {chart}, i64 {index}')}")
            rest = code.value(f"and i8 {code.value(f'trunc i64 {last} to i8')}, {step - 1}")
            result = code.value(f"and i1 {result}, {code.value(f'icmp ult i8 {rest}, {held}')}")
        return result

    def _inside(self, address: str, size: int, base_at: str, size_at: str) -> str:
        code = self._body.code
        base = code.value(f"load i64, ptr {base_at}")
        bytes_ = code.value(f"load i64, ptr {size_at}")
        distance = code.value(f"sub i64 {address}, {base}")
        rest = code.value(f"sub i64 {bytes_}, {size}")
        starts = code.value(f"icmp ult i64 {distance}, {bytes_}")
        ends = code.value(f"icmp sle i64 {distance}, {rest}")
        return code.value(f"and i1 {starts}, {ends}")


def range_of_argument(name: str, parameter: int) -> str:
    """Return the text that looks up the beginning and the size of the buffer whose address is a parameter."""
    return (
        f"  {name}.given.at = getelementptr i8, ptr %params, i64 {parameter}\n"
        f"  {name}.given = load i64, ptr {name}.given.at, !invariant.load !0\n"
        f"  {name} = call {{i64, i64}} @wl.argument(ptr %launch, ptr %worker, i64 {name}.given, i64 {parameter})"
    )


@fact
def _has_generic_parameters(function: Function) -> bool:
    """Whether a function takes the generic address of a parameter."""
    return any(
        item.opcode == "cvta" and "param" in item.modifiers and "to" not in item.modifiers
        for item in function.instructions
    )
