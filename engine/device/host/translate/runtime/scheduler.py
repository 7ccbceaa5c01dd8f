"""LLVM text of the scheduler: which phase of a waiting kernel runs next.

As long as all threads of a thread block reach the same point, the next phase runs for all of them. When they part,
they go on in rounds (`divergent_scheduler.py`) until all are at one point again.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.device.host.translate import abi
from engine.device.host.translate.analysis.suspension_points import LOCKSTEP, WARP, YIELD
from engine.device.host.translate.code import quoted
from engine.device.host.translate.runtime import divergent_scheduler, point_dispatch, uniform_values
from engine.device.host.translate.runtime.collectives import ARRIVED, BARRIERS, STATE, element
from engine.device.host.translate.runtime.phase_plan import EXITED, FRAME, PhasePlan, function
from engine.device.host.translate.runtime.thread_loops import block_loop, launch_i32

RUN = "ptr noalias %launch, ptr noalias %params, ptr noalias %worker, i64 %first, i64 %last"


def text(kernel: str, phases: Sequence[PhasePlan], limits: str, *, parts_at_barriers: bool) -> str:
    """Return the entry of a waiting kernel, with its helpers.

    `parts_at_barriers` when its threads may be at one barrier instruction without being at one barrier.

    `limits` is the text that notes the limits of buffers before any thread block runs.
    """
    helpers = [part.text(kernel, phases) for part in (point_dispatch, uniform_values, divergent_scheduler)]
    return "\n".join(helpers) + "\n" + _entry(kernel, phases, limits, parts_at_barriers=parts_at_barriers)


def _entry(kernel: str, phases: Sequence[PhasePlan], limits: str, *, parts_at_barriers: bool) -> str:
    cases = " ".join(f"i32 {index}, label %phase.{index}" for index in range(len(phases)))
    calls = "".join(
        f"phase.{index}:\n  %settled.{index} = call i32 {phase.name}"
        f"({FRAME}, i32 0, i32 %nx, i32 0, i32 %ny, i32 0, i32 %nz, i1 %together)\n  br label %ran\n"
        for index, phase in enumerate(phases)
    )
    results = "".join(f", [%settled.{index}, %phase.{index}]" for index in range(len(phases)))
    prologue = "".join(launch_i32(f"n{axis}", index) for axis, index in zip("xyz", abi.THREAD_BLOCK, strict=True))
    prologue += f"""  %plane = mul i32 %nx, %ny
  %threads = mul i32 %plane, %nz
  %scratch.at = getelementptr i64, ptr %worker, i64 {abi.SCRATCH}
  %scratch = load ptr, ptr %scratch.at
{limits}"""
    together = "mixed" if parts_at_barriers else "barrier"
    inner = f"""  %arrived.all = getelementptr i8, ptr %scratch, i64 {ARRIVED}
  call void @llvm.memset.p0.i64(ptr %arrived.all, i8 0, i64 {4 * BARRIERS}, i1 false)
  store i1 false, ptr %parted
  br label %next
next:
  %state = phi i32 [0, %blocks], [%settled, %again]
  %parted.before = load i1, ptr %parted
  br i1 %parted.before, label %compare, label %uniform
compare:
  %alike = call i32 {function(kernel, "alike")}(ptr %scratch, i32 %state, i32 0, i32 %threads)
  %alike.all = icmp uge i32 %alike, %threads
  br i1 %alike.all, label %uniform, label %scatter
scatter:
  call void {function(kernel, "scatter")}({FRAME}, i32 %state, i32 %threads)
  br label %scan
uniform:
  %together = xor i1 %parted.before, true
  switch i32 %state, label %block.done [{cases}]
{calls}ran:
  %ran.settled = phi i32 {results.removeprefix(", ")}
  store i32 %state, ptr %last.phase
  %ran.fault = load i64, ptr %fault.kind.at
  %ran.stop = load volatile i64, ptr %stop, align 8
  %ran.any = or i64 %ran.fault, %ran.stop
  %ran.fine = icmp eq i64 %ran.any, 0
  br i1 %ran.fine, label %ran.on, label %block.done
ran.on:
  br i1 %parted.before, label %spread, label %spread.done
spread:
  call void {function(kernel, "spread")}(ptr %scratch, i32 %state, i32 0, i32 %threads)
  br label %spread.done
spread.done:
  switch i32 %ran.settled, label %resolve [i32 0, label %scan.start i32 {EXITED}, label %block.done]
scan:
  %scan.fault = load i64, ptr %fault.kind.at
  %scan.fine = icmp eq i64 %scan.fault, 0
  br i1 %scan.fine, label %scan.on, label %block.done
scan.on:
  %scan.stop = load volatile i64, ptr %stop, align 8
  %scan.free = icmp eq i64 %scan.stop, 0
  br i1 %scan.free, label %scan.start, label %block.done
scan.start:
{element("zero.at", STATE, "0")}  %scan.first = load i32, ptr %zero.at
  br label %scan.loop
scan.loop:
  %scan.t = phi i32 [0, %scan.start], [%scan.next, %scan.loop]
  %scan.other = phi i32 [0, %scan.start], [%scan.other.next, %scan.loop]
{element("scan.at", STATE, "%scan.t")}  %scan.state = load i32, ptr %scan.at
  %scan.changed = xor i32 %scan.state, %scan.first
  %scan.other.next = or i32 %scan.other, %scan.changed
  %scan.next = add nuw nsw i32 %scan.t, 1
  %scan.more = icmp ult i32 %scan.next, %threads
  br i1 %scan.more, label %scan.loop, label %scanned
scanned:
  %same = icmp eq i32 %scan.other.next, 0
  br i1 %same, label %all.same, label %mixed
all.same:
  %over = icmp eq i32 %scan.first, {EXITED}
  br i1 %over, label %block.done, label %resolve
resolve:
  %settled = phi i32 [%scan.first, %all.same], [%ran.settled, %spread.done]
  %kind = call i32 {function(kernel, "kind")}(i32 %settled)
  switch i32 %kind, label %{together} [i32 {WARP}, label %warps i32 {YIELD}, label %yield i32 {LOCKSTEP}, label %again]
barrier:
  call void {function(kernel, "resolve.barrier")}(i32 %settled, ptr %scratch, i32 0, i32 %threads, i32 %settled)
  br label %again
warps:
  %w = phi i32 [0, %resolve], [%w.next, %warps]
  %w.rest = sub i32 %threads, %w
  %w.count = call i32 @llvm.umin.i32(i32 %w.rest, i32 32)
  %w.empty = sub i32 32, %w.count
  %w.mask = lshr i32 -1, %w.empty
  call void {function(kernel, "resolve.groups")}(i32 %settled, ptr %scratch, i32 %w, i32 %w.count, i32 %w.mask)
  %w.next = add i32 %w, 32
  %w.more = icmp ult i32 %w.next, %threads
  br i1 %w.more, label %warps, label %again
yield:
  %yielded = call i32 @sched_yield()
  br label %again
again:
  br label %next
mixed:
  %mixed.before = load i1, ptr %parted
  br i1 %mixed.before, label %mixed.on, label %mixed.first
mixed.first:
  %mixed.phase = load i32, ptr %last.phase
  call void {function(kernel, "part")}(ptr %scratch, i32 %mixed.phase, i32 0, i32 %threads)
  store i1 true, ptr %parted
  br label %mixed.on
mixed.on:
  %moved = call i1 {function(kernel, "round")}({FRAME}, i32 %threads)
  br i1 %moved, label %scan, label %stuck
stuck:
  %stuck.t = phi i32 [0, %mixed.on], [%stuck.next, %stuck.on]
{element("stuck.at", STATE, "%stuck.t")}  %stuck.state = load i32, ptr %stuck.at
  %stuck.live = icmp ne i32 %stuck.state, {EXITED}
  br i1 %stuck.live, label %stuck.report, label %stuck.on
stuck.on:
  %stuck.next = add i32 %stuck.t, 1
  br label %stuck
stuck.report:
  %stuck.line = call i32 {function(kernel, "line")}(i32 %stuck.state)
  %stuck.wide = zext i32 %stuck.line to i64
  call void @wl.fault(ptr %worker, i64 {abi.DEADLOCK}, i64 %stuck.wide, i32 %stuck.t, i64 0)
  br label %block.done
"""
    return (
        f"define i32 @{quoted('run.' + kernel)}({RUN}) #0 {{\nentry:\n"
        "  %parted = alloca i1\n  %last.phase = alloca i32\n  br label %start\n"
        f"{block_loop(prologue, inner)}}}\n"
    )
