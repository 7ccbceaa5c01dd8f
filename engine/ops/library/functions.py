"""The functions of `engine.ops.functions` as ops, component by component."""

from __future__ import annotations

from llvmlite import ir

from warploom.engine.ops.emission import Emission, OpValue
from warploom.engine.ops.functions import FUNCTIONS, MathFunction
from warploom.engine.ops.rules import OUT, by_component, floats, numbers, take
from warploom.engine.ops.table import OpCode, OpSetting, OpType, register
from warploom.engine.types import DType

#: Functions that return whole numbers unchanged.
_ROUNDING = ("floor", "ceil", "trunc", "round", "round_away")
_PRECISION = OpSetting(
    "precision",
    "str",
    "exact",
    "Exact: within 2 units in the last place. Fast: a GPU's approximation for f32, whose bits differ by device.",
    ("exact", "fast"),
)


def _register(function: MathFunction) -> None:
    names = function.body.__code__.co_varnames[: function.arity]

    def emit(emission: Emission, code: OpCode) -> dict[str, OpValue]:
        write = function.emit_fast if code.settings.get("precision") == "fast" else function.emit

        def one(emission: Emission, kind: DType, *operands: ir.Value) -> ir.Value:
            return write(emission.builder, *operands) if kind.kind == "float" else operands[0]

        return dict(by_component(one)(emission, code))  # type: ignore[arg-type]  # every result is a value

    op = OpType(
        f"op.{function.name}",
        function.title,
        "Functions",
        function.doc.strip(),
        tuple(take(name, "The operand." if len(names) == 1 else f"Operand {name}.") for name in names),
        OUT,
        numbers if function.name in _ROUNDING else floats,
        emit,
        settings=() if function.fast_body is None else (_PRECISION,),
        tags=("math",),
    )
    register(op)


for _function in FUNCTIONS.values():
    if _function.title:
        _register(_function)
