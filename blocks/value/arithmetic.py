"""Compiles a line of arithmetic that a person types; anything else is refused."""

import ast
import math
from collections.abc import Callable
from types import CodeType
from typing import Any

from warploom.engine.diagnostics import PatchError

#: The longest allowed line, since the compiler's time and recursion depth grow with the length.
MOST_CHARACTERS = 1000


def _fraction(x: float) -> float:
    return x - math.floor(x)


def _least(*numbers: float) -> float:
    """Return the smallest number, or NaN if any number is NaN, as kernels do."""
    return math.nan if any(map(math.isnan, numbers)) else min(numbers)


def _largest(*numbers: float) -> float:
    """Return the largest number, or NaN if any number is NaN."""
    return math.nan if any(map(math.isnan, numbers)) else max(numbers)


def _clamp(x: float, low: float, high: float) -> float:
    return _least(_largest(x, low), high)


def _mix(a: float, b: float, part: float) -> float:
    return a * (1.0 - part) + b * part


def _step(edge: float, x: float) -> float:
    return 1.0 if x >= edge else 0.0


def _smoothstep(low: float, high: float, x: float) -> float:
    part = _clamp((x - low) / (high - low), 0.0, 1.0)
    return part * part * (3.0 - 2.0 * part)


#: Each function with its fewest and most arguments. All numbers are floats, so their size is bounded.
FUNCTIONS: dict[str, tuple[Callable[..., float], int, int]] = {
    **{name: (getattr(math, name), 1, 1) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh")},
    **{
        name: (getattr(math, name), 1, 1)
        for name in ("tanh", "exp", "log", "log2", "log10", "sqrt", "degrees", "radians")
    },
    "atan2": (math.atan2, 2, 2),
    "hypot": (math.hypot, 2, 2),
    "pow": (math.pow, 2, 2),
    "abs": (lambda x: abs(float(x)), 1, 1),
    "sign": (lambda x: float((x > 0) - (x < 0)), 1, 1),
    "floor": (lambda x: float(math.floor(x)), 1, 1),
    "ceil": (lambda x: float(math.ceil(x)), 1, 1),
    "round": (lambda x: float(round(x)), 1, 1),
    "fract": (_fraction, 1, 1),
    "min": (_least, 2, 100),
    "max": (_largest, 2, 100),
    "clamp": (_clamp, 3, 3),
    "mix": (_mix, 3, 3),
    "step": (_step, 2, 2),
    "smoothstep": (_smoothstep, 3, 3),
}
CONSTANTS = {"pi": math.pi, "tau": math.tau, "e": math.e}

_GRAMMAR = (
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Name, ast.Load),
    *(ast.Constant, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.UAdd, ast.USub, ast.Not),
    *(ast.And, ast.Or, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
)


class Arithmetic:
    """A line of arithmetic with variables, compiled once.

    A line can have numbers, + - * / // % **, comparisons, and, or, not, `x if y else z`, `FUNCTIONS` and `CONSTANTS`;
    true is 1 and false is 0. For anything else, a PatchError names it.
    """

    def __init__(self, text: str, names: tuple[str, ...]) -> None:
        self.text = text
        self._code = _compile(text.strip(), names)
        self._scope: dict[str, Any] = {"__builtins__": {}, **CONSTANTS}
        self._scope |= {name: function for name, (function, _, _) in FUNCTIONS.items()}
        #: The value of each variable, set before `value` is called.
        self.names: dict[str, float] = dict.fromkeys(names, 0.0)

    def value(self) -> float:
        """Return the value for the current `names`. Raise a PatchError if there is none, as for 1 / 0."""
        try:
            value = float(eval(self._code, self._scope, self.names))  # runs only code that `_compile` has checked
            if math.isfinite(value):
                return value
            reason = str(value)
        except (ArithmeticError, ValueError) as problem:
            reason = "a division by zero" if isinstance(problem, ZeroDivisionError) else str(problem)
        used = [f"{name} = {number:g}" for name, number in self.names.items() if name in self._code.co_names]
        where = f" at {', '.join(used)}" if used else ""
        raise PatchError(f"{self.text.strip()} must have a value, got {reason}{where}")


def _compile(text: str, names: tuple[str, ...]) -> CodeType:
    if not text:
        raise PatchError("expression must be arithmetic such as a * sin(t), got nothing")
    if len(text) > MOST_CHARACTERS:
        raise PatchError(f"expression must have at most {MOST_CHARACTERS} characters, got {len(text)}")
    try:
        tree = ast.parse(text, mode="eval")
        nodes = list(ast.walk(tree))
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        for node in nodes:
            _check(node, text)
            if isinstance(node, ast.Name) and id(node) not in called:
                _check_name(node.id, names)
        tree = ast.fix_missing_locations(_Floats().visit(tree))
        return compile(tree, "<expression>", "eval")
    except SyntaxError as problem:
        column = f" at character {problem.offset}" if problem.offset else ""
        raise PatchError(f"expression must be arithmetic, got {text!r}: {problem.msg}{column}") from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as problem:
        raise PatchError(f"expression must be simpler, got {text[:40]!r}: {problem or 'nested too deeply'}") from None


def _check(node: ast.AST, text: str) -> None:
    if not isinstance(node, _GRAMMAR):
        piece = ast.get_source_segment(text, node) if isinstance(node, ast.expr) else None
        got = repr(piece) if piece else type(node).__name__
        raise PatchError(f"expression must be arithmetic with numbers and names, got {got}")
    if isinstance(node, ast.Constant) and type(node.value) not in (int, float, bool):
        raise PatchError(f"expression must hold numbers only, got {node.value!r}")
    if isinstance(node, ast.Constant) and node.value == math.inf:
        raise PatchError("expression must hold finite numbers, got one of 1.8e308 or more")
    if isinstance(node, ast.Call):
        _check_call(node)


def _check_name(name: str, names: tuple[str, ...]) -> None:
    if name in FUNCTIONS:
        raise PatchError(f"function {name} must be followed by numbers in brackets, got none")
    if name not in names and name not in CONSTANTS:
        raise PatchError(f"name must be one of {', '.join((*names, *CONSTANTS))} or a function, got {name!r}")


def _check_call(node: ast.Call) -> None:
    if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
        raise PatchError(f"function must be one of {', '.join(sorted(FUNCTIONS))}, got {ast.unparse(node.func)}")
    _, least, most = FUNCTIONS[node.func.id]
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        raise PatchError(f"arguments of {node.func.id} must be numbers, got {ast.unparse(node)}")
    if not least <= len(node.args) <= most:
        takes = f"{least}" if least == most else f"at least {least}"
        raise PatchError(f"{node.func.id} must have {takes} arguments, got {len(node.args)}")


class _Floats(ast.NodeTransformer):
    """Converts numbers to floats and powers to calls of `pow`, since integers could grow without limit."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.copy_location(ast.Constant(float(node.value)), node)  # type: ignore[arg-type]  # a number, see `_check`

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        return ast.copy_location(ast.Call(ast.Name("pow", ast.Load()), [node.left, node.right], []), node)
