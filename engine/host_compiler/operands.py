"""The registers, operands and addresses of one PTX function, as LLVM values."""

from warploom.engine.host_compiler import abi
from warploom.engine.host_compiler.analysis import canonical_floats
from warploom.engine.host_compiler.code import Code, quoted
from warploom.engine.host_compiler.errors import PtxOperandError
from warploom.engine.host_compiler.memory_layout import MemoryLayout
from warploom.engine.host_compiler.special_registers import SPECIAL, SPECIAL_WIDE
from warploom.engine.host_compiler.types import bits, float_constant, is_float, llvm_type
from warploom.engine.ptx import tree as ptx

_CARRY = "carry flag"  # no register of PTX has such a name


class Operands:
    """Registers, operands and addresses of one function that is being translated into `code`."""

    def __init__(self, function: ptx.Function, layout: MemoryLayout, kernel: str) -> None:
        self.function = function
        #: In a kernel, local addresses are offsets, which the optimiser can follow. A device function gets addresses in
        #: its callers' frames, so there local addresses are machine addresses.
        self.is_entry = function.is_entry
        self.layout = layout
        self.kernel = kernel
        self.code: Code = Code()
        self.local: dict[str, int] = {}
        self.local_bytes = 0
        #: Pointers to the `.param` variables of device functions and calls.
        self.param_pointers: dict[str, str] = {}
        for variable in function.variables:
            if variable.space == "param":
                size = max(variable.size_bytes, 8)
                self.param_pointers[variable.name] = self.code.slot(f"[{size} x i8]", "param", 16)
        #: The bytes of each variable in parameter space.
        self.parameter_sizes = {
            variable.name: variable.size_bytes
            for variable in (*function.parameters, *function.results, *function.variables)
            if variable.space != "shared"
        }
        self.targets = function.targets
        self.exit_label = "thread.exit"
        self._registers: dict[str, tuple[str, str]] = {}
        #: Registers that need no stack slot (`control_flow.local_registers`), and the values of those written so far.
        self.local_registers: frozenset[str] = frozenset()
        self._values: dict[str, str] = {}
        self._place_local_variables()
        self.noncanonical = canonical_floats.noncanonical(function)
        #: Registers into which values may be copied as they are, canonical or not.
        self.holds_any_nan = self.noncanonical | canonical_floats.read_by_arithmetic(function)
        self.quiet = canonical_floats.quiet(function)
        self.flushed = self.noncanonical if layout.flushes else canonical_floats.flushed(function)

    def _place_local_variables(self) -> None:
        for variable in self.function.variables:
            if variable.space == "local":
                self.local_bytes = -(-self.local_bytes // variable.alignment) * variable.alignment
                self.local[variable.name] = self.local_bytes
                self.local_bytes += variable.size_bytes

    # -- registers -------------------------------------------------------------------------------------------------

    def register_type(self, name: str) -> str:
        """Return the LLVM type a register is kept in."""
        return llvm_type(self.function.registers[name])

    def register_slot(self, name: str) -> tuple[str, str]:
        """Return a register's stack slot and LLVM type; KernelError for an undeclared name."""
        found = self._registers.get(name)
        if found is None:
            if name not in self.function.registers:
                raise PtxOperandError(f"register {name} must be declared or be a supported special register")
            kind = self.register_type(name)
            found = (self.code.slot(kind, "reg"), kind)
            self._registers[name] = found
        return found

    @property
    def carry(self) -> str:
        """The slot of the carry flag."""
        if _CARRY not in self._registers:
            self._registers[_CARRY] = (self.code.slot("i1", "carry"), "i1")
        return self._registers[_CARRY][0]

    def cleared(self) -> str:
        """Return the text that sets every register used so far, and the carry flag, to zero."""
        return "".join(
            f"  store {kind} {'zeroinitializer' if kind[0] != 'i' else 0}, ptr {slot}\n"
            for slot, kind in self._registers.values()
        )

    # -- reading ---------------------------------------------------------------------------------------------------

    def read(self, operand: ptx.Operand, ptx_type: str) -> str:
        """Return an operand's value in the LLVM type of `ptx_type`, canonicalised."""
        if isinstance(operand, ptx.Register):
            if operand.name in self.noncanonical:
                value = self.read_noncanonical(operand, "f32")
                value = canonical_floats.canonicalised(self.code, value, flush=self.layout.flushes)
                return self.convert(value, "float", llvm_type(ptx_type))
            return self._read_register(operand.name, ptx_type)
        if isinstance(operand, ptx.Integer):
            return integer_constant(operand.value, ptx_type)
        if isinstance(operand, ptx.Float):
            return self._float(operand, ptx_type)
        if isinstance(operand, ptx.Symbol):
            return self.convert(self.symbol_address(operand), "i64", llvm_type(ptx_type))
        if isinstance(operand, ptx.Negated):
            value = self._read_register(operand.register.name, "pred")
            return self.code.value(f"xor i1 {value}, true")
        raise PtxOperandError(f"operand must be a value, got {type(operand).__name__}")

    def read_noncanonical(self, operand: ptx.Operand, ptx_type: str) -> str:
        """Return an operand of arithmetic, which may be non-canonical."""
        if isinstance(operand, ptx.Register) and operand.name in self.noncanonical:
            return self._read_register(operand.name, ptx_type)
        return self.read(operand, ptx_type)

    def _float(self, operand: ptx.Float, ptx_type: str) -> str:
        width = bits(ptx_type)
        value = operand.bits
        if width == 32 and operand.width == 64:
            value = abi.narrow(operand.bits)
        elif width != operand.width:
            raise PtxOperandError(f"constant must have {width} bits, got {operand.width}")
        return float_constant(value, ptx_type) if is_float(ptx_type) else str(value)

    def _read_register(self, name: str, ptx_type: str) -> str:
        for table, kind in ((SPECIAL, "i32"), (SPECIAL_WIDE, "i64")):
            if name in table and name not in self.function.registers:
                return self.convert(table[name](self.code, self.layout), kind, llvm_type(ptx_type))
        if name in self._values:
            return self.convert(self._values[name], self.register_type(name), llvm_type(ptx_type))
        slot, kind = self.register_slot(name)
        return self.convert(self.code.value(f"load {kind}, ptr {slot}"), kind, llvm_type(ptx_type))

    def convert(self, value: str, kind: str, wanted: str) -> str:
        """Reinterpret a value: the same bits, truncated or zero-extended to the wanted width."""
        if kind == wanted:
            return value
        size, wanted_size = width(kind), width(wanted)
        if kind[0] != "i":
            value = self.code.value(f"bitcast {kind} {value} to i{size}")
        if size != wanted_size:
            step = "trunc" if size > wanted_size else "zext"
            value = self.code.value(f"{step} i{size} {value} to i{wanted_size}")
        if wanted[0] != "i":
            value = self.code.value(f"bitcast i{wanted_size} {value} to {wanted}")
        return value

    # -- writing ---------------------------------------------------------------------------------------------------

    def write(self, operand: ptx.Operand, ptx_type: str, value: str) -> None:
        """Write a value of `ptx_type` to a destination; a wider register is sign- or zero-extended."""
        if isinstance(operand, ptx.Pair):
            operand = operand.first
        if isinstance(operand, ptx.Sink):
            return
        if not isinstance(operand, ptx.Register):
            raise PtxOperandError("destination must be a register")
        # A value that is computed without branches is available to all later instructions of its PTX block.
        is_value = operand.name in self.local_registers and self.code.blocks == self.code.blocks_before
        slot, kind = ("", self.register_type(operand.name)) if is_value else self.register_slot(operand.name)
        have = llvm_type(ptx_type)
        if ptx_type[0] == "s" and width(kind) > width(have):
            value = self.code.value(f"sext {have} {value} to i{width(kind)}")
            have = f"i{width(kind)}"
        value = self.convert(value, have, kind)
        if is_value:
            self._values[operand.name] = value
        else:
            self.code.do(f"store {kind} {value}, ptr {slot}")

    # -- addresses -------------------------------------------------------------------------------------------------

    def symbol_address(self, symbol: ptx.Symbol) -> str:
        """Return the 64-bit address a symbol stands for, in the space it was declared in."""
        name = symbol.name
        if name in self.local:
            if not self.is_entry:
                base = self.code.value("ptrtoint ptr %local to i64")
                return self.code.value(f"add i64 {base}, {self.local[name] + symbol.offset}")
            return str(self.local[name] + symbol.offset)
        if name in self.layout.shared:
            return str(self.layout.shared[name] + symbol.offset)
        if name in self.layout.parameters:
            return str(self.layout.parameters[name] + symbol.offset)
        if name in self.param_pointers:
            base = self.code.value(f"ptrtoint ptr {self.param_pointers[name]} to i64")
            return self.code.value(f"add i64 {base}, {symbol.offset}")
        if name in self.layout.module:
            base = f"ptrtoint (ptr @{quoted(name)} to i64)"
            return self.code.value(f"add i64 {base}, {symbol.offset}") if symbol.offset else base
        if name in self.layout.functions:
            return str(self.layout.functions[name])
        raise PtxOperandError(f"symbol {name} must be declared")

    def address(self, operand: ptx.Operand) -> str:
        """Return the 64-bit value of a memory operand, in its own space."""
        if not isinstance(operand, ptx.Address):
            raise PtxOperandError("operand must be an address in brackets")
        base = operand.base
        if isinstance(base, ptx.Symbol):
            return self.symbol_address(ptx.Symbol(base.name, base.offset + operand.offset))
        if isinstance(base, ptx.Integer):
            return str(base.value + operand.offset)
        value = self.read(base, "b64")
        if not operand.offset:
            return value
        if self._is_narrow(base.name):  # addresses of 32 bits wrap: NVRTC writes [%r+252] with %r = -4
            narrow = self.code.value(f"add i32 {self.read(base, 'b32')}, {operand.offset & 0xFFFFFFFF}")
            return self.code.value(f"zext i32 {narrow} to i64")
        return self.code.value(f"add i64 {value}, {operand.offset}")

    def _is_narrow(self, name: str) -> bool:
        """Whether a register used as an address has 32 bits."""
        declared = self.function.registers.get(name)
        return declared is not None and bits(declared) == 32


def width(kind: str) -> int:
    """Return the bits of an LLVM scalar type."""
    return {"float": 32, "double": 64, "half": 16, "bfloat": 16}.get(kind) or int(kind[1:])


def integer_constant(value: int, ptx_type: str) -> str:
    """Return an integer immediate as an LLVM constant of the type."""
    size = bits(ptx_type)
    value &= (1 << size) - 1
    if is_float(ptx_type):
        return float_constant(value, ptx_type)
    return ("true" if value else "false") if size == 1 else str(value)
