"""LLVM text of resolvers for matrices: what a warp computes from the fragments that its threads handed over."""

from __future__ import annotations

from collections.abc import Sequence

from engine.device.host.translate.analysis.matrix_fragments import ARRAY_BYTES, ELEMENT_BITS, Matrix, Product

_INTEGERS = ("s32", "s8", "u8", "s4", "u4", "b1")


def _header(name: str, exchange: int, result: int) -> str:
    return f"""
define internal void @{name}(ptr %scratch, i32 %first, i32 %count, i32 %mask) nounwind {{
entry:
  %warp = shl i32 %first, 2
  %given.start = getelementptr i8, ptr %scratch, i64 {exchange}
  %given = getelementptr i8, ptr %given.start, i32 %warp
  %results.start = getelementptr i8, ptr %scratch, i64 {result}
  %results = getelementptr i8, ptr %results.start, i32 %warp
"""


def _table(name: str, values: Sequence[int]) -> tuple[str, str]:
    """Return a constant table and its type."""
    kind = f"[{len(values)} x i32]"
    items = ", ".join(f"i32 {value}" for value in values)
    return f"@{name} = private constant {kind} [{items}]\n", kind


def _quoted(name: str, suffix: str) -> str:
    return f'"{name[1:-1]}.{suffix}"'


def permute(name: str, exchange: int, result: int, words: Sequence[Sequence[tuple[int, int]]]) -> str:
    """Return the collective that gives each thread words put together from halves of what others handed over."""
    tables, body = "", ""
    before = "entry"
    for index, row in enumerate(words):
        for part in (0, 1):
            text, kind = _table(_quoted(name, f"{index}.{part}"), [pair[part] for pair in row])
            tables += text
        p = f"w{index}"
        body += f"""  br label %{p}.loop
{p}.loop:
  %{p}.lane = phi i32 [0, %{before}], [%{p}.next, %{p}.loop]
"""
        for part in (0, 1):
            table = f"@{_quoted(name, f'{index}.{part}')}"
            body += f"""  %{p}.{part}.at = getelementptr {kind}, ptr {table}, i32 0, i32 %{p}.lane
  %{p}.{part}.offset = load i32, ptr %{p}.{part}.at
  %{p}.{part}.from = getelementptr i8, ptr %given, i32 %{p}.{part}.offset
  %{p}.{part}.half = load i16, ptr %{p}.{part}.from
  %{p}.{part}.wide = zext i16 %{p}.{part}.half to i32
"""
        body += f"""  %{p}.high = shl i32 %{p}.1.wide, 16
  %{p}.word = or i32 %{p}.0.wide, %{p}.high
  %{p}.array = getelementptr i8, ptr %results, i64 {index * ARRAY_BYTES}
  %{p}.to = getelementptr i32, ptr %{p}.array, i32 %{p}.lane
  store i32 %{p}.word, ptr %{p}.to
  %{p}.next = add i32 %{p}.lane, 1
  %{p}.more = icmp ult i32 %{p}.next, 32
  br i1 %{p}.more, label %{p}.loop, label %{p}.done
{p}.done:
"""
        before = f"{p}.done"
    return tables + _header(name, exchange, result) + body + "  ret void\n}\n"


def _accumulator(product: Product) -> str:
    if product.c.kind == "f64":
        return "double"
    if product.c.kind in _INTEGERS:
        return "i64" if product.saturates else "i32"
    return "float"


def _decode(kind: str, wanted: str, p: str) -> str:
    """Return the text that makes `%p.value` of type `wanted` from the element at byte address `%p.from`."""
    bits = ELEMENT_BITS[kind]
    if kind == "f64":
        return f"""  %{p}.low = load i32, ptr %{p}.from
  %{p}.second = getelementptr i8, ptr %{p}.from, i64 {ARRAY_BYTES}
  %{p}.high = load i32, ptr %{p}.second
  %{p}.low.wide = zext i32 %{p}.low to i64
  %{p}.high.wide = zext i32 %{p}.high to i64
  %{p}.shifted = shl i64 %{p}.high.wide, 32
  %{p}.bits = or i64 %{p}.low.wide, %{p}.shifted
  %{p}.value = bitcast i64 %{p}.bits to double
"""
    if kind == "f32":
        return f"  %{p}.value = load float, ptr %{p}.from\n"
    if kind == "tf32":  # the low 13 bits are not used
        return f"""  %{p}.raw = load i32, ptr %{p}.from
  %{p}.cut = and i32 %{p}.raw, -8192
  %{p}.value = bitcast i32 %{p}.cut to float
"""
    if kind == "bf16":
        return f"""  %{p}.raw = load i16, ptr %{p}.from
  %{p}.wide = zext i16 %{p}.raw to i32
  %{p}.high = shl i32 %{p}.wide, 16
  %{p}.value = bitcast i32 %{p}.high to float
"""
    if kind == "f16":
        return f"  %{p}.raw = load half, ptr %{p}.from\n  %{p}.value = fpext half %{p}.raw to float\n"
    if kind == "e5m2":  # the high byte of an f16
        return f"""  %{p}.raw = load i8, ptr %{p}.from
  %{p}.wide = zext i8 %{p}.raw to i16
  %{p}.high = shl i16 %{p}.wide, 8
  %{p}.half = bitcast i16 %{p}.high to half
  %{p}.value = fpext half %{p}.half to float
"""
    if kind == "e4m3":  # as an f16 with the same exponent field it is 2^8 too small; all ones are NaN
        return f"""  %{p}.raw = load i8, ptr %{p}.from
  %{p}.wide = sext i8 %{p}.raw to i16
  %{p}.sign = and i16 %{p}.wide, -32768
  %{p}.size = and i16 %{p}.wide, 127
  %{p}.placed = shl i16 %{p}.size, 7
  %{p}.bits = or i16 %{p}.sign, %{p}.placed
  %{p}.half = bitcast i16 %{p}.bits to half
  %{p}.small = fpext half %{p}.half to float
  %{p}.scaled = fmul float %{p}.small, 256.0
  %{p}.nan = icmp eq i16 %{p}.size, 127
  %{p}.value = select i1 %{p}.nan, float 0x7FF8000000000000, float %{p}.scaled
"""
    extend = "sext" if kind[0] == "s" else "zext"
    if bits == 4:
        return f"""  %{p}.byte = load i8, ptr %{p}.from
  %{p}.odd = and i32 %{p}.offset, 1
  %{p}.odd.bits = shl i32 %{p}.odd, 2
  %{p}.odd.byte = trunc i32 %{p}.odd.bits to i8
  %{p}.moved = lshr i8 %{p}.byte, %{p}.odd.byte
  %{p}.raw = trunc i8 %{p}.moved to i4
  %{p}.value = {extend} i4 %{p}.raw to {wanted}
"""
    if bits == 8:
        return f"  %{p}.raw = load i8, ptr %{p}.from\n  %{p}.value = {extend} i8 %{p}.raw to {wanted}\n"
    if wanted == "i32":
        return f"  %{p}.value = load i32, ptr %{p}.from\n"
    return f"  %{p}.raw = load i32, ptr %{p}.from\n  %{p}.value = sext i32 %{p}.raw to {wanted}\n"


def _loop(p: str, before: str, count: int, each: str) -> str:
    return f"""  br label %{p}.loop
{p}.loop:
  %{p}.index = phi i32 [0, %{before}], [%{p}.next, %{p}.loop]
{each}  %{p}.next = add i32 %{p}.index, 1
  %{p}.more = icmp ult i32 %{p}.next, {count}
  br i1 %{p}.more, label %{p}.loop, label %{p}.done
{p}.done:
"""


def _gather(name: str, p: str, before: str, matrix: Matrix, array: int, wanted: str) -> tuple[str, str]:
    """Return the table of a matrix and the loop that reads it into `%p.buffer`."""
    table, kind = _table(_quoted(name, p), [offset + 2 * array * ARRAY_BYTES for offset in matrix.offsets])
    each = f"""  %{p}.at = getelementptr {kind}, ptr @{_quoted(name, p)}, i32 0, i32 %{p}.index
  %{p}.offset = load i32, ptr %{p}.at
  %{p}.bytes = lshr i32 %{p}.offset, 1
  %{p}.from = getelementptr i8, ptr %given, i32 %{p}.bytes
{_decode(matrix.kind, wanted, p)}  %{p}.to = getelementptr {wanted}, ptr %{p}.buffer, i32 %{p}.index
  store {wanted} %{p}.value, ptr %{p}.to
"""
    return table, _loop(p, before, len(matrix.offsets), each)


def _scatter(name: str, product: Product, kind: str) -> tuple[str, str]:
    """Return the table of D and the loop that gives its elements to the threads."""
    matrix, p = product.d, "d"
    table, of = _table(_quoted(name, p), [offset // 2 for offset in matrix.offsets])
    convert = f"  store {kind} %{p}.value, ptr %{p}.to\n"
    if matrix.kind == "f16":
        convert = f"  %{p}.half = fptrunc float %{p}.value to half\n  store half %{p}.half, ptr %{p}.to\n"
    elif matrix.kind == "f64":
        convert = f"""  %{p}.bits = bitcast double %{p}.value to i64
  %{p}.low = trunc i64 %{p}.bits to i32
  %{p}.high.wide = lshr i64 %{p}.bits, 32
  %{p}.high = trunc i64 %{p}.high.wide to i32
  store i32 %{p}.low, ptr %{p}.to
  %{p}.second = getelementptr i8, ptr %{p}.to, i64 {ARRAY_BYTES}
  store i32 %{p}.high, ptr %{p}.second
"""
    elif kind == "i64":
        convert = f"""  %{p}.least = call i64 @llvm.smax.i64(i64 %{p}.value, i64 -2147483648)
  %{p}.most = call i64 @llvm.smin.i64(i64 %{p}.least, i64 2147483647)
  %{p}.narrow = trunc i64 %{p}.most to i32
  store i32 %{p}.narrow, ptr %{p}.to
"""
    each = f"""  %{p}.at = getelementptr {of}, ptr @{_quoted(name, p)}, i32 0, i32 %{p}.index
  %{p}.offset = load i32, ptr %{p}.at
  %{p}.to = getelementptr i8, ptr %results, i32 %{p}.offset
  %{p}.from = getelementptr {kind}, ptr %c.buffer, i32 %{p}.index
  %{p}.value = load {kind}, ptr %{p}.from
{convert}"""
    return table, _loop(p, "row.done", len(matrix.offsets), each)


def _rounded_step(width: int, mode: str) -> str:
    """Return the text that adds a product of f64 in a directed rounding mode, column by column."""
    from engine.device.host.translate.opcodes.rounding import PREFIX  # the opcodes need the points first

    vector = f"<{width} x double>"
    text = ""
    for index in range(width):
        for part, source in (("a", "%a.all"), ("b", "%b.row"), ("c", "%total")):
            text += f"  %{part}.{index} = extractelement {vector} {source}, i64 {index}\n"
        text += (
            f"  %s.{index} = call double {PREFIX}fma.{mode}(double %a.{index}, double %b.{index}, double %c.{index})\n"
        )
        before = f"%sum.{index - 1}" if index else "poison"
        after = "%sum" if index == width - 1 else f"%sum.{index}"
        text += f"  {after} = insertelement {vector} {before}, double %s.{index}, i64 {index}\n"
    return text


def product(name: str, exchange: int, result: int, item: Product) -> str:
    """Return the collective that computes D = A B + C; A, B and C are handed over one after the other."""
    kind = _accumulator(item)
    width, depth = item.c.columns, item.a.columns
    vector = f"<{width} x {kind}>"
    tables = ""
    text = _header(name, exchange, result)
    for p, matrix in (("a", item.a), ("b", item.b), ("c", item.c)):
        text += f"  %{p}.buffer = alloca [{len(matrix.offsets)} x {kind}], align 64\n"
    before, array = "entry", 0
    for p, matrix in (("a", item.a), ("b", item.b), ("c", item.c)):
        table, loop = _gather(name, p, before, matrix, array, kind)
        tables, text = tables + table, text + loop
        before, array = f"{p}.done", array + matrix.words
    if item.operation:
        step = f"""  %bits = {item.operation} {vector} %a.all, %b.row
  %ones = call {vector} @llvm.ctpop.v{width}{kind}({vector} %bits)
  %sum = add {vector} %total, %ones
"""
    elif kind[0] == "i":
        step = f"  %part = mul {vector} %a.all, %b.row\n  %sum = add {vector} %total, %part\n"
    elif item.rounding:
        step = _rounded_step(width, item.rounding)
    elif kind == "double":
        step = f"  %sum = call {vector} @llvm.fma.v{width}f64({vector} %a.all, {vector} %b.row, {vector} %total)\n"
    else:  # the products of these short types are exact in f32
        step = f"  %part = fmul {vector} %a.all, %b.row\n  %sum = fadd {vector} %total, %part\n"
    rows_of_one = item.a.rows // item.batch
    text += f"""  br label %row
row:
  %i = phi i32 [0, %c.done], [%i.next, %column.done]
  %row.start = mul i32 %i, {width}
  %row.at = getelementptr {kind}, ptr %c.buffer, i32 %row.start
  %row.first = load {vector}, ptr %row.at, align 4
  %row.batch = udiv i32 %i, {rows_of_one}
  %b.first = mul i32 %row.batch, {depth}
  %a.first = mul i32 %i, {depth}
  br label %column
column:
  %k = phi i32 [0, %row], [%k.next, %column]
  %total = phi {vector} [%row.first, %row], [%sum, %column]
  %a.index.here = add i32 %a.first, %k
  %a.here = getelementptr {kind}, ptr %a.buffer, i32 %a.index.here
  %a.one = load {kind}, ptr %a.here
  %a.lone = insertelement {vector} poison, {kind} %a.one, i64 0
  %a.all = shufflevector {vector} %a.lone, {vector} poison, <{width} x i32> zeroinitializer
  %b.line = add i32 %b.first, %k
  %b.start = mul i32 %b.line, {width}
  %b.here = getelementptr {kind}, ptr %b.buffer, i32 %b.start
  %b.row = load {vector}, ptr %b.here, align 4
{step}  %k.next = add i32 %k, 1
  %k.more = icmp ult i32 %k.next, {depth}
  br i1 %k.more, label %column, label %column.done
column.done:
  store {vector} %sum, ptr %row.at, align 4
  %i.next = add i32 %i, 1
  %i.more = icmp ult i32 %i.next, {item.a.rows}
  br i1 %i.more, label %row, label %row.done
row.done:
"""
    table, loop = _scatter(name, item, kind)
    return tables + table + text + loop + "  ret void\n}\n"
