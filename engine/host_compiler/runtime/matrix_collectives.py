"""LLVM text of the collectives for matrices, which are calls of matrices.c with one instruction's tables."""

from collections.abc import Sequence

from warploom.engine.host_compiler.abi import ARRAY_BYTES
from warploom.engine.host_compiler.analysis.matrix_fragments import Permutation, Product

_LLVM = {"f32": "float", "f64": "double", "i32": "i32", "i64": "i64"}


def definition(name: str, matrices: Product | Permutation) -> str:
    """Return the collective `name`, which is the product or the permutation."""
    return _product(name, matrices) if isinstance(matrices, Product) else _permute(name, matrices)


def _permute(name: str, words: Permutation) -> str:
    """Return the collective that gives each thread words, each made of two halves that other threads handed over."""
    table, text = _table(name, "halves", [offset for word in words for pair in word for offset in pair])
    return text + _collective(name, [f"call void @wl.permute(ptr %scratch, i32 %first, ptr {table}, i32 {len(words)})"])


def _product(name: str, item: Product) -> str:
    """Return the collective that computes D = A B + C; A, B and C are handed over one after the other."""
    kind = _accumulator(item)
    tables, array = "", 0
    lines, calls = [], []
    for letter, matrix in (("a", item.a), ("b", item.b), ("c", item.c)):
        size = len(matrix.offsets)
        table, text = _table(name, letter, [offset + 2 * array * ARRAY_BYTES for offset in matrix.offsets])
        tables += text
        array += matrix.words
        lines.append(f"%{letter} = alloca [{size} x {_LLVM[kind]}], align 64")
        calls.append(
            f"call void @wl.gather_{kind}_from_{matrix.kind}"
            f"(ptr %{letter}, ptr %scratch, i32 %first, ptr {table}, i32 {size})"
        )
    operation = item.operation or (f"{kind}_{item.rounding}" if item.rounding and kind == "f64" else kind)
    sizes = f"i32 {item.a.rows}, i32 {item.a.columns}, i32 {item.a.rows // item.batch}"
    calls.append(f"call void @wl.product_{operation}_{item.c.columns}(ptr %c, ptr %a, ptr %b, {sizes})")
    table, text = _table(name, "d", [offset // 2 for offset in item.d.offsets])
    calls.append(
        f"call void @wl.scatter_{kind}_to_{item.d.kind}"
        f"(ptr %c, ptr %scratch, i32 %first, ptr {table}, i32 {len(item.d.offsets)})"
    )
    return tables + text + _collective(name, lines + calls)


def _accumulator(item: Product) -> str:
    """Return the type in which a product is summed."""
    if item.c.kind in ("f16", "f32"):
        return "f32"
    if item.c.kind == "f64":
        return "f64"
    return "i64" if item.saturates else "i32"


def _collective(name: str, lines: Sequence[str]) -> str:
    body = "".join(f"  {line}\n" for line in [*lines, "ret void"])
    return f"define internal void @{name}(ptr %scratch, i32 %first, i32 %count, i32 %mask) nounwind {{\n{body}}}\n"


def _table(name: str, suffix: str, values: Sequence[int]) -> tuple[str, str]:
    """Return the name of a constant table that belongs to a quoted name, and its definition."""
    symbol = f'@"{name[1:-1]}.{suffix}"'
    items = ", ".join(f"i32 {value}" for value in values)
    return symbol, f"{symbol} = private constant [{len(values)} x i32] [{items}]\n"
