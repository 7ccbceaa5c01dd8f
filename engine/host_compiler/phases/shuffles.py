"""Shuffles by constant distances, which need no collective while whole warps are together.

Each thread stores its value in an exchange array, and the next phase reads the element of another lane. For all threads
of a row these are a few loads of neighbours, so both phases are vectorised. The two phases that meet at such a shuffle
run one thread after the other, so the second must not write to the array that it reads: an array of its own, other than
those of the points before and after it.

Threads that have diverged inside a warp use the collective, which is the same as that of other shuffles.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from warploom.engine.host_compiler import abi, blocks
from warploom.engine.host_compiler.analysis.control_flow import ControlFlow
from warploom.engine.host_compiler.analysis.suspension_points import Shuffle, SuspensionPoint
from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.code import quoted
from warploom.engine.host_compiler.phases.spills import element

#: The arrays before these are those of other shuffles' operands.
_FIRST_ARRAY = 3


def placed(kernel: str, flow: ControlFlow, points: Mapping[int, SuspensionPoint]) -> dict[int, SuspensionPoint]:
    """Return the points with an exchange array for each shuffle that can be direct."""
    found = dict(points)
    following = {index: _following(flow, index, points) for index in points}
    near = {index: set(after) for index, after in following.items()}
    for index, after in following.items():
        for other in after:
            near[other].add(index)
    for index, point in points.items():
        if point.shuffle is None:
            continue
        used = {array for other in near[index] for array, _, _ in found[other].given}
        array = next((item for item in range(_FIRST_ARRAY, abi.NUMBER) if item not in used), None)
        if array is None or index in following[index]:
            found[index] = replace(point, shuffle=None)
            continue
        value, *_, members = point.given
        shuffle = replace(point.shuffle, array=array)
        name = quoted(f"{kernel}|shuffle.{shuffle.mode}.{array}.{shuffle.step}.{shuffle.clamp}")
        found[index] = replace(point, given=((array, *value[1:]), members), shuffle=shuffle, collective=name)
    return found


def _following(flow: ControlFlow, index: int, points: Mapping[int, SuspensionPoint]) -> set[int]:
    """Return the blocks with the points that may come next after that of a block."""
    return {item for item in blocks.reachable(flow, index + 1) if item in points}


def definitions(points: Iterable[SuspensionPoint]) -> list[str]:
    """Return the text of the collectives of direct shuffles, for threads that are not together."""
    found = {point.collective: point.shuffle for point in points if point.shuffle is not None}
    return [
        f"define internal void @{name}(ptr %s, i32 %first, i32 %count, i32 %mask) minsize {{\n"
        f"  call void @wl.shuffle_by(ptr %s, i32 %first, i32 %count, i32 %mask, i32 {shuffle.array},"
        f" i32 {shuffle.step}, i32 {shuffle.clamp}, ptr @wl.shfl_{shuffle.mode})\n  ret void\n}}\n"
        for name, shuffle in found.items()
    ]


def take(body: Body, shuffle: Shuffle) -> tuple[str, str]:
    """Write a thread's reading of a shuffle's results; return the value as i32, and as i1 whether it is another
    thread's.
    """
    if body.accesses.in_warps:
        given = abi.exchange(shuffle.array)
        body.accesses.prologue.append(f"  %shuffle.given = getelementptr i8, ptr %scratch, i64 {given}")
        warp = body.accesses.rows.value("getelementptr i32, ptr %shuffle.given, i64 %warp.wide")
        return take_in_warp(body, shuffle, warp)
    code, suffix = body.code, body.accesses.suffix
    step = shuffle.step
    body.accesses.prologue += [
        f"  %shuffle.given = getelementptr i8, ptr %scratch, i64 {abi.exchange(shuffle.array)}",
        f"  %shuffle.results = getelementptr i8, ptr %scratch, i64 {abi.result(0)}",
        "  %shuffle.own = select i1 %together, ptr %shuffle.given, ptr %shuffle.results",
        "  %shuffle.rows = mul i32 %ny, %nz",
        "  %shuffle.threads = mul i32 %shuffle.rows, %nx",
    ]

    def away(distance: int) -> str:
        """Return the value given by the thread that is `distance` threads further on."""
        name = f"%shuffle.{'above' if distance > 0 else 'below'}"
        body.accesses.prologue += [
            f"  {name}.at = getelementptr i32, ptr %shuffle.given, i64 {distance}",
            f"  {name} = select i1 %together, ptr {name}.at, ptr %shuffle.results",
        ]
        return code.value(f"load i32, ptr {code.value(f'getelementptr i32, ptr {name}, i64 %linear.wide')}{suffix}")

    def at(thread: str) -> str:
        index = code.value(f"select i1 %together, i32 {thread}, i32 %linear")
        return code.value(f"load i32, ptr {code.value(f'getelementptr i32, ptr %shuffle.own, i32 {index}')}{suffix}")

    own = code.value(f"load i32, ptr {code.value('getelementptr i32, ptr %shuffle.own, i64 %linear.wide')}{suffix}")
    lane = code.value("and i32 %linear, 31")
    other, fits = _other(body, shuffle, lane)
    thread = code.value(f"add i32 {code.value('and i32 %linear, -32')}, {other}")
    exists = code.value(f"icmp ult i32 {thread}, %shuffle.threads")
    if shuffle.mode in ("up", "down"):
        value = away(step if shuffle.mode == "down" else -step) if step else own
    elif shuffle.mode == "bfly" and step & -step == step and step:
        is_upper = code.value(f"icmp ne i32 {code.value(f'and i32 {lane}, {step}')}, 0")
        value = code.value(f"select i1 {is_upper}, i32 {away(-step)}, i32 {away(step)}")
    else:
        value = at(code.value(f"select i1 {exists}, i32 {thread}, i32 %linear"))
    used = code.value(f"and i1 {fits}, {exists}")
    return code.value(f"select i1 {used}, i32 {value}, i32 {own}"), _whether(body, fits)


def take_in_warp(body: Body, shuffle: Shuffle, warp: str) -> tuple[str, str]:
    """Write the reading for rows that are whole warps whose threads are together: `%lane` counts their threads.

    `warp` is the place of the first thread's value.
    """
    code, step = body.code, shuffle.step

    def of(lane: str, distance: int = 0) -> str:
        place = code.value(f"getelementptr i32, ptr {warp}, i64 {lane}")
        place = code.value(f"getelementptr i32, ptr {place}, i64 {distance}") if distance else place
        return code.value(f"load i32, ptr {place}{body.accesses.suffix}")

    other, fits = _other(body, shuffle, "%lane")
    own = of("%lane.wide")
    if shuffle.mode in ("up", "down"):
        value = of("%lane.wide", step if shuffle.mode == "down" else -step) if step else own
    elif shuffle.mode == "bfly" and step & -step == step and step:
        is_upper = code.value(f"icmp ne i32 {code.value(f'and i32 %lane, {step}')}, 0")
        value = code.value(f"select i1 {is_upper}, i32 {of('%lane.wide', -step)}, i32 {of('%lane.wide', step)}")
    else:
        value = of(code.value(f"zext nneg i32 {other} to i64"))
    return code.value(f"select i1 {fits}, i32 {value}, i32 {own}"), fits


def _other(body: Body, shuffle: Shuffle, lane: str) -> tuple[str, str]:
    """Return the lane that a lane reads, as i32, and as i1 whether that is in its segment."""
    code, step, segment = body.code, shuffle.step, shuffle.clamp >> 8 & 31
    low = code.value(f"and i32 {lane}, {segment}")
    last = code.value(f"or i32 {low}, {shuffle.clamp & 31 & ~segment}")
    other = code.value(
        {
            "up": f"sub i32 {lane}, {step}",
            "down": f"add i32 {lane}, {step}",
            "bfly": f"xor i32 {lane}, {step}",
            "idx": f"or i32 {low}, {step & ~segment}",
        }[shuffle.mode]
    )
    return other, code.value(f"icmp {'sge' if shuffle.mode == 'up' else 'sle'} i32 {other}, {last}")


def _whether(body: Body, fits: str) -> str:
    code = body.code
    kept = code.value(f"load i32, ptr {element(body, abi.result(1), 'i32')}{body.accesses.suffix}")
    return code.value(f"select i1 %together, i1 {fits}, i1 {code.value(f'icmp ne i32 {kept}, 0')}")
