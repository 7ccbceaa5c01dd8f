"""Expressions: one line of Python's syntax, such as ``sin(x*freq + time) * amp``, becomes an op graph.

The text is parsed by `ast` and never evaluated.
"""

from __future__ import annotations

import ast
import math
import operator
import textwrap
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeGuard

from warploom.engine.arguments import shown
from warploom.engine.diagnostics import Severity, error
from warploom.engine.ops.analysis import check_op_graph
from warploom.engine.ops.graph import TOP, OpError, OpGraph, OpGraphBuilder, OpPort
from warploom.engine.ops.table import OPS, OpType

_LONGEST = 10_000
_DEEPEST = 200
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "modulo",
    ast.Pow: "pow",
    ast.BitAnd: "bit_and",
    ast.BitOr: "bit_or",
    ast.BitXor: "bit_xor",
    ast.LShift: "shift_left",
    ast.RShift: "shift_right",
}
_FOLDED: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}
#: Predefined names, each with its op and output. An input of the same name hides it.
_NAMES = {
    "i": ("op.index", "index"),
    "count": ("op.index", "count"),
    "px": ("op.position", "x"),
    "py": ("op.position", "y"),
    "u": ("op.position", "u"),
    "v": ("op.position", "v"),
    "width": ("op.position", "width"),
    "height": ("op.position", "height"),
    "time": ("op.frame", "time"),
    "frame": ("op.frame", "index"),
}
_NUMBERS = {"pi": math.pi, "tau": math.tau, "e": math.e}
#: Short names of ops; every op with one result can also be called by the last part of its id.
_ALIASES = {
    "abs": "absolute",
    "min": "minimum",
    "max": "maximum",
    "mod": "modulo",
    "fmod": "remainder",
    "power": "pow",
    "lerp": "mix",
    "fma": "multiply_add",
    "where": "select",
    "isnan": "is_nan",
    "isinf": "is_infinite",
    "isfinite": "is_finite",
    "normalise": "normalize",
}
_CONVERTED = {"float": "f32", "int": "s32", "bool": "boolean", "double": "f64", "uint": "u32"}
_VECTORS = ("vec", "vec2", "vec3", "vec4", "float2", "float3", "float4")

Found = OpPort | int | float


class ExpressionError(OpError):
    """An expression is wrong; `line` and `column` are its place, both counted from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__([error(f"{message}, at column {column}", line=line)])
        self.line, self.column = line, column


def parse_expression(
    text: str,
    *,
    inputs: Mapping[str, str] | None = None,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    output: str = "out",
    output_type: str = "same",
) -> OpGraph:
    """Return the op graph of an expression; raises an ExpressionError with the error and its place.

    `inputs` maps input names to element types. A name that is neither an input nor predefined becomes a parameter;
    `parameters` may have settings for it. Lines ``name = ...`` before the last line name intermediate values.
    """
    return _Parser(dict(inputs or {}), dict(parameters or {})).parse(text, output, output_type)


def function_names() -> dict[str, str]:
    """Return the functions that an expression may call, each name with its help."""
    names = {name: op.doc for name, op in _called_ops().items()}
    names |= {name: f"Convert a number to {kind}: {name}(x)." for name, kind in _CONVERTED.items()}
    names |= dict.fromkeys(_VECTORS, "Make a vector of 2 to 4 numbers: vec(r, g, b, 1).")
    names["sample"] = OPS["op.sample"].doc
    return dict(sorted(names.items()))


def predefined_names() -> list[str]:
    """Return the names that an expression may use without a call."""
    return [*_NAMES, *_NUMBERS]


@cache
def _called_ops() -> dict[str, OpType]:
    """Return the ops that a call names, also by their other names."""
    ops = {op.id.removeprefix("op."): op for op in OPS.values() if _is_callable(op.id)}
    return ops | {alias: ops[name] for alias, name in _ALIASES.items() if name in ops}


def _is_callable(op_id: str) -> bool:
    """Whether an op has one result and takes only values. A call can't choose settings."""
    op = OPS[op_id]
    takes_values = bool(op.inputs) and op.input("buffer") is None and op_id not in ("op.swizzle", "op.convert")
    return takes_values and any(port.name == "out" for port in op.outputs) and not (op.regions or op.acts)


class _Parser:
    def __init__(self, inputs: Mapping[str, str], parameters: Mapping[str, Mapping[str, Any]]) -> None:
        self._inputs, self._settings = inputs, parameters
        self._graph = OpGraphBuilder()
        self._names: dict[str, Found] = {}
        self._shared: dict[str, str] = {}
        self._places: dict[str, ast.expr] = {}
        self._depth = 0
        #: The branch in which ops are placed.
        self._region = TOP
        self._count = 0

    def parse(self, text: str, output: str, output_type: str) -> OpGraph:
        for name, kind in self._inputs.items():
            self._graph.add("op.input", name, type=kind)
        for name, settings in self._settings.items():
            if name not in self._inputs:
                self._parameter(name, settings)
        statements = self._statements(text)
        for statement in statements[:-1]:
            self._assign(statement)
        last = statements[-1]
        if not isinstance(last, ast.Expr):
            raise ExpressionError("the last line must be an expression", last.lineno, last.col_offset + 1)
        result = self._port(self._expression(last.value), last.value)
        self._graph.add("op.output", "output-0", name=output, value=result, type=output_type)
        graph = self._graph.graph()
        for problem in check_op_graph(graph):
            if problem.severity is Severity.ERROR:
                place = self._places.get(problem.node or "", last.value)
                raise ExpressionError(problem.message, place.lineno, place.col_offset + 1)
        return graph

    def _statements(self, text: str) -> list[ast.stmt]:
        if len(text) > _LONGEST:
            raise ExpressionError(f"expression must have at most {_LONGEST} characters, got {len(text)}", 1, 1)
        try:
            found = ast.parse(textwrap.dedent(text).lstrip(" \t")).body
        except SyntaxError as problem:
            message = f"expression must be written in Python's syntax, got {problem.msg}"
            raise ExpressionError(message, problem.lineno or 1, max(problem.offset or 1, 1)) from None
        except (ValueError, RecursionError, MemoryError) as problem:
            raise ExpressionError(f"expression must be simpler, got: {problem or 'too deep'}", 1, 1) from None
        if not found:
            raise ExpressionError("expression must not be empty", 1, 1)
        return found

    def _assign(self, statement: ast.stmt) -> None:
        is_plain = isinstance(statement, ast.Assign) and len(statement.targets) == 1
        target = statement.targets[0] if isinstance(statement, ast.Assign) and is_plain else None
        if not isinstance(target, ast.Name) or not isinstance(statement, ast.Assign):
            message = 'a line before the last must be of the form "name = ..."'
            raise ExpressionError(message, statement.lineno, statement.col_offset + 1)
        self._names[target.id] = self._expression(statement.value)

    def _fail(self, message: str, node: ast.expr) -> ExpressionError:
        return ExpressionError(message, node.lineno, node.col_offset + 1)

    def _expression(self, node: ast.expr) -> Found:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._fail(f"expression must be at most {_DEEPEST} levels deep, got more", node)
        kind = type(node).__name__
        handler = getattr(self, f"_parse_{kind.lower()}", None)
        if handler is None:
            raise self._fail(f"expression must be made of numbers, names, operators and calls, got {kind}", node)
        found: Found = handler(node)
        self._depth -= 1
        return found

    def _op(self, name: str, node: ast.expr, operands: Mapping[str, Found] | None = None, **settings: Any) -> str:
        """Place an op and return its id; literal numbers become settings where they can."""
        if f"op.{name}" not in OPS:
            raise self._fail(f"expression must use ops that exist, got {name}", node)
        self._count += 1
        node_id = f"{name}-{self._count}"
        op, values = OPS[f"op.{name}"], dict(settings)
        for port, value in (operands or {}).items():
            spec = op.input(port)
            is_setting = isinstance(value, int) or (isinstance(value, float) and not value.is_integer())
            if _is_number(value) and is_setting and spec is not None and spec.default is not None:
                values[port] = value
            else:
                values[port] = self._port(value, node)
        self._graph.add(f"op.{name}", node_id, region=self._region, **values)
        self._places[node_id] = node
        return node_id

    def _port(self, value: Found, node: ast.expr) -> OpPort:
        """Return a value as an output of an op; a number becomes a constant."""
        if isinstance(value, OpPort):
            return value
        kind = "float" if isinstance(value, float) else "number"
        return OpPort(self._op("constant", node, value=value, type=kind), "out")

    def _call_op(self, name: str, node: ast.expr, *operands: Found, **settings: Any) -> OpPort:
        ports = [port.name for port in OPS[f"op.{name}"].inputs] if f"op.{name}" in OPS else []
        return OpPort(self._op(name, node, dict(zip(ports, operands, strict=False)), **settings), "out")

    def _once(self, op: str, node: ast.expr) -> str:
        """Return the id of an op that is placed once and shared by all uses."""
        if op not in self._shared:
            around, self._region = self._region, TOP
            self._shared[op] = self._op(op.removeprefix("op."), node)
            self._region = around
        return self._shared[op]

    def _parse_constant(self, node: ast.Constant) -> Found:
        value = node.value
        if isinstance(value, bool):
            return self._call_op("constant", node, value=float(value), type="boolean")
        if not isinstance(value, (int, float)):
            raise self._fail(f"a literal must be a number, got {shown(value)}", node)
        if not (math.isfinite(value) and abs(value) < 1 << 64) and isinstance(value, int):
            raise self._fail("a whole number must have at most 64 bits", node)
        if not math.isfinite(value):
            raise self._fail("a number must be finite", node)
        return value

    def _parse_name(self, node: ast.Name) -> Found:
        name = node.id
        if name in self._names:
            return self._names[name]
        if name in self._inputs:
            return OpPort(name, "value")
        if name in self._settings:
            return OpPort(name, "out")
        if name in _NAMES:
            op, port = _NAMES[name]
            return OpPort(self._once(op, node), port)
        if name in _NUMBERS:
            return _NUMBERS[name]
        if name in _called_ops():
            raise self._fail(f"{name} must be called, as in {name}(x)", node)
        self._parameter(name, {})
        self._places[name] = node
        self._names[name] = OpPort(name, "out")
        return OpPort(name, "out")

    def _parameter(self, name: str, settings: Mapping[str, Any]) -> None:
        self._graph.add("op.parameter", name, **{"default": 1.0, **settings})

    def _parse_binop(self, node: ast.BinOp) -> Found:
        a, b = self._expression(node.left), self._expression(node.right)
        kind = type(node.op)
        if kind not in _BINARY:
            raise self._fail("expression must use + - * / // % ** & | ^ << >>, got another operator", node)
        if kind is ast.Pow and b in (2, 3) and not _is_number(a) and _is_number(b):
            square = self._call_op("multiply", node, a, a)
            return square if b == 2 else self._call_op("multiply", node, square, a)
        if _is_number(a) and _is_number(b):
            folded = _fold(kind, a, b)
            if folded is not None:
                return folded
        return self._call_op(_BINARY[kind], node, a, b)

    def _parse_unaryop(self, node: ast.UnaryOp) -> Found:
        value = self._expression(node.operand)
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.USub):
            return -value if _is_number(value) else self._call_op("negate", node, value)
        return self._call_op("not" if isinstance(node.op, ast.Not) else "bit_not", node, value)

    def _parse_compare(self, node: ast.Compare) -> Found:
        operands = [self._expression(item) for item in (node.left, *node.comparators)]
        result: Found | None = None
        for kind, a, b in zip(node.ops, operands, operands[1:], strict=False):
            if type(kind) not in _COMPARED:
                raise self._fail("comparison must be one of == != < <= > >=, got another", node)
            found = self._call_op(_COMPARED[type(kind)], node, a, b)
            result = found if result is None else self._call_op("and", node, result, found)
        assert result is not None
        return result

    def _parse_boolop(self, node: ast.BoolOp) -> Found:
        name = "and" if isinstance(node.op, ast.And) else "or"
        result, *rest = [self._expression(item) for item in node.values]
        for value in rest:
            result = self._call_op(name, node, result, value)
        return result

    def _parse_ifexp(self, node: ast.IfExp) -> Found:
        """Parse a choice. If all threads choose alike, only the chosen value is computed where that saves a call."""
        condition = self._expression(node.test)
        if not (self._is_common(node.test) and any(map(_is_long, (node.body, node.orelse)))):
            return self._call_op("select", node, condition, self._expression(node.body), self._expression(node.orelse))
        choice, around = self._op("if", node, {"condition": condition}), self._region
        for name, region, item in (("then_a", choice, node.body), ("else_a", f"{choice}.else", node.orelse)):
            self._region = region
            self._graph.connect(self._port(self._expression(item), item), choice, name)
        self._region = around
        return OpPort(choice, "a")

    def _is_common(self, node: ast.expr) -> bool:
        """True for an expression of parameters and numbers."""
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        return all(name in self._settings or self._names.get(name) == OpPort(name, "out") for name in names)

    def _parse_attribute(self, node: ast.Attribute) -> Found:
        value = self._port(self._expression(node.value), node)
        return self._call_op("swizzle", node, value, pattern=node.attr)

    def _parse_subscript(self, node: ast.Subscript) -> Found:
        """Parse an element of an input at another place: ``x[i - 1]``, ``image[px + 1, py]``; indices are clamped."""
        if not isinstance(node.value, ast.Name) or node.value.id not in self._inputs:
            raise self._fail("only an input must be indexed", node)
        buffer = OpPort(node.value.id, "buffer")
        if isinstance(node.slice, ast.Tuple):
            if len(node.slice.elts) != 2:
                raise self._fail(f"an input must have 1 or 2 indices, got {len(node.slice.elts)}", node)
            return self._call_op("load_2d", node, buffer, *map(self._expression, node.slice.elts))
        return self._call_op("load", node, buffer, self._expression(node.slice))

    def _parse_call(self, node: ast.Call) -> Found:
        if not isinstance(node.func, ast.Name):
            raise self._fail("a call must be of the form name(a, b)", node)
        name = node.func.id
        if any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords):
            raise self._fail("a call must be of the form name(a, b)", node)
        settings = self._chosen(name, node)
        if name == "sample":
            return self._sample(node, settings)
        operands = [self._expression(argument) for argument in node.args]
        if name in _VECTORS:
            self._expect(node, name, len(operands), 2, 4)
            return self._call_op(f"vector{len(operands)}", node, *operands)
        if name in _CONVERTED:
            self._expect(node, name, len(operands), 1, 1)
            return self._call_op("convert", node, self._port(operands[0], node), type=_CONVERTED[name])
        if name in ("min", "max") and len(operands) > 2:
            result = operands[0]
            for value in operands[1:]:
                result = self._call_op(_ALIASES[name], node, result, value)
            return result
        op = _ALIASES.get(name, name)
        if f"op.{op}" not in OPS or not _is_callable(f"op.{op}"):
            raise self._fail(f"function must be one of the ops, got {shown(name)}", node)
        ports = OPS[f"op.{op}"].inputs
        is_pair = [port.name for port in ports] == ["a", "b"]
        least = 2 if is_pair else sum(port.default is None and not port.optional for port in ports)
        self._expect(node, name, len(operands), least, len(ports))
        return self._call_op(op, node, *operands, **settings)

    def _chosen(self, name: str, node: ast.Call) -> dict[str, str]:
        """Return the settings of an op that a call gives by keywords, such as boundary="wrap"."""
        op = OPS.get(f"op.{_ALIASES.get(name, name)}")
        known = {each.name: each for each in op.settings} if op is not None else {}
        found = {}
        for keyword in node.keywords:
            setting = known.get(keyword.arg or "")
            if setting is None or not setting.choices:
                named = [each.name for each in known.values() if each.choices]
                rule = f"one of {', '.join(named)}" if named else "left out"
                raise self._fail(f"setting of {name} must be {rule}, got {shown(keyword.arg)}", keyword.value)
            value = str(keyword.value.value) if isinstance(keyword.value, ast.Constant) else ""
            if value not in setting.choices:
                choices = ", ".join(f'"{choice}"' for choice in setting.choices)
                got = ast.unparse(keyword.value)
                raise self._fail(f"{setting.name} of {name} must be one of {choices}, got {got}", keyword.value)
            if setting.name in found:
                raise self._fail(f"{setting.name} of {name} must be given once", keyword.value)
            found[setting.name] = value
        return found

    def _sample(self, node: ast.Call, settings: Mapping[str, str]) -> Found:
        self._expect(node, "sample", len(node.args), 3, 3)
        image, *place = node.args
        if not isinstance(image, ast.Name) or image.id not in self._inputs:
            raise self._fail("the first argument of sample must be an input", node)
        return self._call_op("sample", node, OpPort(image.id, "buffer"), *map(self._expression, place), **settings)

    def _expect(self, node: ast.Call, name: str, got: int, least: int, most: int) -> None:
        if not least <= got <= most:
            rule = str(least) if least == most else f"{least} to {most}"
            raise self._fail(f"{name} must have {rule} argument{'s' if most > 1 else ''}, got {got}", node)


def _is_long(node: ast.expr) -> bool:
    """True for an expression with a function that takes as long as many other ops, such as a power."""
    calls = (each.func.id for each in ast.walk(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name))
    return any((op := OPS.get(f"op.{_ALIASES.get(call, call)}")) and op.category == "Functions" for call in calls)


def _is_number(value: Found) -> TypeGuard[int | float]:
    return not isinstance(value, OpPort)


def _fold(kind: type[ast.operator], a: float, b: float) -> float | None:
    """Return the result of an operation on two numbers; None if it is not finite or too large for a literal."""
    if kind not in _FOLDED or (kind is ast.Div and b == 0):
        return None
    try:
        result = _FOLDED[kind](a, b)
    except OverflowError:
        return None
    if isinstance(result, int):
        return result if abs(result) < 1 << 63 else None
    return result if math.isfinite(result) else None
