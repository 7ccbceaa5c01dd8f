"""Variables of a file that its host code sets, as parameters of its kernels.

A program sets `__constant__ float taps[9]` with `cudaMemcpyToSymbol` before it launches a kernel. Without the program,
the variable would be zero, and several blocks of one file would share it. So each kernel takes `const float* taps`
instead, and passes it on in shared memory, which every function that the kernel calls can read::

    __shared__ const float (*warploom_taps)[9];
    extern "C" __global__ void blur(float* out, const float* taps) { warploom_taps = (const float (*)[9])taps; ...

A number is passed as it is, so a block has a slider for it.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from warploom.engine.kernel_sources.device_part.edits import Edit
from warploom.engine.kernel_sources.device_part.tokens import Token, closing_token, joined, parts
from warploom.engine.kernel_sources.device_part.units import Unit

_PLACES = frozenset({"__constant__", "__device__", "__managed__"})
_DROPPED = frozenset({*_PLACES, "static", "extern", "volatile", "const", "inline", "constexpr"})
#: Functions by which the host reads a variable of the device.
READ_CALLS = frozenset({"cudaMemcpyFromSymbol", "cudaMemcpyFromSymbolAsync", "hipMemcpyFromSymbol"})
#: Functions by which the host sets a variable of the device.
SYMBOL_CALLS = frozenset({"cudaMemcpyToSymbol", "cudaMemcpyToSymbolAsync", "cudaGetSymbolAddress", "hipMemcpyToSymbol"})
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


class Variable(msgspec.Struct, frozen=True):
    """A variable that becomes a parameter: its type without `const`, its dimensions such as "[3][3]", its line."""

    name: str
    type: str
    dimensions: str
    is_number: bool
    is_written: bool
    scope: tuple[str, ...]
    default: str = ""

    @property
    def is_address(self) -> bool:
        """True for a variable that is itself a pointer."""
        return self.type.endswith("*") and not self.dimensions

    @property
    def inner(self) -> str:
        """The expression for the variable in device code."""
        return f"warploom_{self.name}" if self.is_number or self.is_address else f"(*warploom_{self.name})"

    @property
    def _const(self) -> str:
        return "" if self.is_written or self.is_address else "const "

    @property
    def declaration(self) -> str:
        """The declaration in shared memory that stands in for the variable."""
        if self.is_number or self.is_address:
            return f"__shared__ {self.type} warploom_{self.name};"
        return f"__shared__ {self._const}{self.type} (*warploom_{self.name}){self.dimensions};"

    @property
    def parameter(self) -> str:
        """The parameter of each kernel that uses the variable."""
        if self.is_number:
            return f"{self.type} {self.name} /* {f'= {self.default}, ' if self.default else ''}{self._doc} */"
        direction = "inout" if self.is_written else "in"
        if self.is_address:
            return f"{self.type} {self.name} /* {self._doc} */"
        return f"{self._const}{self.type}* {self.name} /* [{direction}] {self._doc} */"

    @property
    def _doc(self) -> str:
        return f"Variable {self.name} of the file."

    @property
    def start(self) -> str:
        """The statement at the beginning of a kernel that passes the parameter on."""
        place = "".join(f"{name}::" for name in self.scope if name)
        if self.is_number or self.is_address:
            return f"{place}warploom_{self.name} = {self.name};"
        return f"{place}warploom_{self.name} = ({self._const}{self.type} (*){self.dimensions}){self.name};"


def variables_in(
    units: Sequence[Unit],
    device_units: Sequence[Unit],
    touched: Collection[str],
    read: Collection[str],
    macros: Mapping[str, str],
) -> list[tuple[Unit, list[Variable]]]:
    """Return the declarations whose variables become parameters.

    `touched` are the variables that the host sets and `read` those that it reads; `macros` may be types of numbers.
    """
    numbers = _number_types(units, macros)
    found = []
    for unit in units:
        if unit.role != "variable" or unit.owner is not None or unit.is_template or not _PLACES & unit.head_words:
            continue
        made = _declared(unit, numbers, device_units, touched, read)
        if made:
            found.append((unit, made))
    return found


def _declared(
    unit: Unit, numbers: Collection[str], device_units: Sequence[Unit], touched: Collection[str], read: Collection[str]
) -> list[Variable]:
    tokens = [token for token in unit.tokens[:-1] if token.kind != "directive"]
    is_const = "const" in unit.head_words or "constexpr" in unit.head_words
    stop = next((i for i, token in enumerate(tokens) if token.text in ("=", "[", ",", "{")), len(tokens))
    base = [token for token in _without_attributes(tokens[: stop - 1]) if token.text not in _DROPPED]
    made = []
    for declarator in parts(tokens[stop - 1 :]):
        stars = [token for token in declarator if token.text == "*"][: len(declarator)]
        rest = [token for token in declarator if token.text != "*"] if declarator[0].text == "*" else declarator
        name = rest[0].text
        at = next((i for i, token in enumerate(rest) if token.text in ("=", "{")), len(rest))
        dimensions, initial = joined(rest[1:at]), rest[at:]
        kind = joined(base) + ("*" if stars and declarator[0].text == "*" else "")
        if kind.startswith("struct "):
            kind = kind.removeprefix("struct ")
        if not kind or dimensions.startswith("[ ]"):
            return []
        written = (
            "__constant__" not in unit.head_words and not is_const and _is_written(name, bool(dimensions), device_units)
        )
        is_number = not dimensions and kind in numbers and not written
        if initial and name not in touched and (is_const or not is_number) and not written:
            return []
        if written and name not in touched and name not in read:  # state of the kernels, which begins as C++ defines
            return []
        default = _NUMBER.match(joined(initial[1:]).replace("- ", "-")) if initial else None
        made.append(
            Variable(
                name, kind, dimensions, is_number, written, unit.scope, default[0] if default and is_number else ""
            )
        )
    return made


def _without_attributes(tokens: Sequence[Token]) -> list[Token]:
    made, place = list[Token](), 0
    while place < len(tokens):
        if tokens[place].text in ("__align__", "alignas", "__attribute__") and place + 1 < len(tokens):
            place = closing_token(tokens, place + 1)
            continue
        made.append(tokens[place])
        place += 1
    return made


def _numbers() -> frozenset[str]:
    known = {"long", "long int", "unsigned long", "unsigned long int", "unsigned long long", "unsigned long long int"}
    known |= {
        "long long",
        "long long int",
        "float",
        "double",
        "int",
        "unsigned int",
        "unsigned",
        "short",
        "char",
        "bool",
    }
    known |= {"unsigned short", "unsigned char", "signed char", "size_t", "uint", "uchar", "ushort", "ulong"}
    return frozenset(known | {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)})


_NUMBERS = _numbers()


def _number_types(units: Iterable[Unit], macros: Mapping[str, str]) -> frozenset[str]:
    """Return the names of the types of numbers, with those that a program defines."""
    known = set(_NUMBERS)
    for unit in units:
        words = [token.text for token in unit.tokens]
        if words[0] == "typedef" and " ".join(words[1:-2]) in known:
            known.add(words[-2])
        elif words[0] == "using" and "=" in words and " ".join(words[words.index("=") + 1 : -1]) in known:
            known.add(words[1])
    return frozenset(known | {name for name, value in macros.items() if value in known})


def _is_written(name: str, is_array: bool, units: Sequence[Unit]) -> bool:
    """True if device code may write a variable: it is assigned, or its address is taken."""
    for unit in units:
        if name not in unit.words or unit.role == "variable":
            continue
        tokens = unit.tokens
        for place, token in enumerate(tokens):
            if token.text != name or tokens[place - 1].text in (".", "->"):
                continue
            if tokens[place - 1].text == "&" and tokens[place - 2].text in ("(", ",", "=", "return"):
                return True
            if tokens[place - 1].text in "+-" and tokens[place - 2].text == tokens[place - 1].text:
                return True
            after = place + 1
            while after < len(tokens) and tokens[after].text in ("[", ".", "->"):
                after = closing_token(tokens, after) if tokens[after].text == "[" else after + 2
            following = "".join(each.text for each in tokens[after : after + 3])
            is_passed = following[:1] in (",", ")") and tokens[place - 1].text in ("(", ",") and after == place + 1
            if (is_array and is_passed) or re.match(r"(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--", following):
                return True
    return False


def renamed(unit: Unit, variables: Sequence[Variable]) -> list[Edit]:
    """Return the edits that make device code read the variables where `Variable.start` has put them."""
    made = list[Edit]()
    inner = {each.name: each.inner for each in variables if each.name in unit.words and not _has_local(unit, each.name)}
    for place, token in enumerate(unit.tokens):
        if token.text in inner and unit.tokens[place - 1].text not in (".", "->"):
            made.append((token.start, token.end, inner[token.text]))
    return made


#: Words before a name that use it, where any other word would declare it.
_USING = frozenset({"return", "case", "else", "sizeof", "do", "throw", "not", "and", "or"})
_BASIC = frozenset({"float", "double", "int", "unsigned", "short", "char", "bool", "long", "float2", "float4", "auto"})


def _has_local(unit: Unit, name: str) -> bool:
    """True if a function has a parameter or a variable of its own with a name."""
    tokens = unit.tokens
    for place, token in enumerate(tokens):
        if token.text != name or not place:
            continue
        before, earlier = tokens[place - 1], tokens[place - 2]
        if before.kind == "word" and before.text not in _USING:
            return True
        if before.text in ("*", "&") and earlier.text in _BASIC:
            return True
    return False
