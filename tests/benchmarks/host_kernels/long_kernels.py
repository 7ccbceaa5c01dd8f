"""Long kernels in PTX, whose first load is timed: their text is as long as that of Triton's matrix and sort kernels."""

from itertools import pairwise


def products(addresses: int, count: int) -> str:
    """Return a kernel that computes addresses in eight steps each, then as many products `mma` as `count`, and stores.

    All addresses are needed after all products. Each thread of a warp stores `addresses` numbers of f32 at `p`;
    `addresses` must be a power of two.
    """
    chains = "".join(
        f"""  shl.b32 %c{n}_0, %t, {n % 5 + 1};
  add.s32 %c{n}_1, %c{n}_0, {n};
  xor.b32 %c{n}_2, %c{n}_1, {n % 32};
  and.b32 %c{n}_3, %c{n}_2, 0;
  mad.lo.s32 %c{n}_4, %t, {addresses}, %c{n}_3;
  or.b32 %c{n}_5, %c{n}_4, {n};
  mul.wide.s32 %far{n}, %c{n}_5, 4;
  add.s64 %at{n}, %p, %far{n};
"""
        for n in range(addresses)
    )
    sums = ["{" + ", ".join(f"%d{number}_{part}" for part in range(4)) + "}" for number in range(count + 1)]
    kind = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    steps = "".join(
        f"  {kind} {after}, {{%t, %x, %t, %x}}, {{%t, %x}}, {before};\n" for before, after in pairwise(sums)
    )
    stores = "".join(f"  st.global.f32 [%at{n}], %d{count * (n + 1) // addresses}_{n % 4};\n" for n in range(addresses))
    declared = [".reg .b32 %t, %x;", ".reg .b64 %p;"]
    declared += [f".reg .b64 %far{n}, %at{n};" for n in range(addresses)]
    declared += [f".reg .b32 {', '.join(f'%c{n}_{step}' for step in range(6))};" for n in range(addresses)]
    declared += [f".reg .f32 {item[1:-1]};" for item in sums]
    zeros = "".join(f"  mov.f32 %d0_{part}, 0f00000000;\n" for part in range(4))
    return _kernel("products", declared, f"  mov.u32 %x, 15360;\n{chains}{zeros}{steps}{stores}")


def sort(registers: int) -> str:
    """Return a kernel in which the threads of each warp sort `registers` independent rows of 32 numbers of f32 at `p`.

    A row is sorted by a bitonic network of 15 shuffles.
    """
    declared = [".reg .b32 %t, %bit<30>;", ".reg .b64 %p, %far, %at;", ".reg .pred %low<15>, %min;"]
    declared += [f".reg .f32 %v{n}, %o, %least, %most;" if not n else f".reg .f32 %v{n};" for n in range(registers)]
    stages = [(size, step) for size in (2, 4, 8, 16, 32) for step in (16, 8, 4, 2, 1) if 2 * step <= size]
    body = "  mul.wide.u32 %far, %t, 4;\n  add.s64 %at, %p, %far;\n"
    body += "".join(f"  ld.global.f32 %v{n}, [%at+{128 * n}];\n" for n in range(registers))
    for number, (size, step) in enumerate(stages):
        body += f"""  and.b32 %bit{2 * number}, %t, {size % 32};
  and.b32 %bit{2 * number + 1}, %t, {step};
  setp.eq.u32 %min, %bit{2 * number}, 0;
  setp.eq.xor.u32 %low{number}, %bit{2 * number + 1}, 0, %min;
"""
        for n in range(registers):
            body += f"""  shfl.sync.bfly.b32 %o, %v{n}, {step}, 31, -1;
  min.f32 %least, %v{n}, %o;
  max.f32 %most, %v{n}, %o;
  selp.f32 %v{n}, %most, %least, %low{number};
"""
    body += "".join(f"  st.global.f32 [%at+{128 * n}], %v{n};\n" for n in range(registers))
    return _kernel("sort", declared, body)


def _kernel(name: str, declared: list[str], body: str) -> str:
    start = "  ld.param.u64 %p, [p];\n  mov.u32 %t, %tid.x;\n"
    return (
        f".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry {name}(.param .u64 p)\n{{\n"
        + "".join(f"  {line}\n" for line in declared)
        + f"{start}{body}  ret;\n}}\n"
    )
