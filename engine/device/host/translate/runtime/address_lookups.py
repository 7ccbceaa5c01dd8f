"""LLVM text of what all translated code shares: the look-ups of addresses and the fault record."""

from __future__ import annotations

from engine.device.host.translate import abi


def text() -> str:
    """Return `wl.allocation`, `wl.find`, `wl.fault` and `wl.overflow`."""

    def field(name: str, record: str, index: int) -> str:
        return f"  %{name}.at = getelementptr i64, ptr %{record}, i64 {index}\n  %{name} = load i64, ptr %{name}.at\n"

    ranges = ""
    for name, following in (("shared", "scratch"), ("scratch", "arguments"), ("arguments", "none")):
        ranges += f"""
{name}.test:
  %{name}.distance = sub i64 %address, %{name}.first
  %{name}.inside = icmp ult i64 %{name}.distance, %{name}.size
  br i1 %{name}.inside, label %{name}.found, label %{following}.test
{name}.found:
  %{name}.a = insertvalue {{i64, i64}} poison, i64 %{name}.first, 0
  %{name}.b = insertvalue {{i64, i64}} %{name}.a, i64 %{name}.size, 1
  ret {{i64, i64}} %{name}.b
"""
    return f"""
; The live allocation that holds an address: a binary search.
define internal {{i64, i64}} @wl.allocation(ptr %launch, ptr %worker, i64 %address) noinline nounwind willreturn {{
entry:
{field("table", "launch", abi.ALLOCATIONS)}{field("count", "launch", abi.ALLOCATION_COUNT)}
  %allocations = inttoptr i64 %table to ptr
  br label %search
search:
  %low = phi i64 [0, %entry], [%low.next, %step]
  %high = phi i64 [%count, %entry], [%high.next, %step]
  %more = icmp ult i64 %low, %high
  br i1 %more, label %step, label %ended
step:
  %sum = add i64 %low, %high
  %middle = lshr i64 %sum, 1
  %pair = shl i64 %middle, 1
  %first.at = getelementptr i64, ptr %allocations, i64 %pair
  %first.here = load i64, ptr %first.at
  %below = icmp ult i64 %address, %first.here
  %middle.next = add i64 %middle, 1
  %low.next = select i1 %below, i64 %low, i64 %middle.next
  %high.next = select i1 %below, i64 %middle, i64 %high
  br label %search
ended:
  %any = icmp ne i64 %low, 0
  br i1 %any, label %candidate, label %none
candidate:
  %last = sub i64 %low, 1
  %last.pair = shl i64 %last, 1
  %base.at = getelementptr i64, ptr %allocations, i64 %last.pair
  %base = load i64, ptr %base.at
  %size.at = getelementptr i64, ptr %base.at, i64 1
  %size = load i64, ptr %size.at
  %distance = sub i64 %address, %base
  %inside = icmp ult i64 %distance, %size
  br i1 %inside, label %found, label %none
found:
  %a = insertvalue {{i64, i64}} poison, i64 %base, 0
  %b = insertvalue {{i64, i64}} %a, i64 %size, 1
  ret {{i64, i64}} %b
none:
  ret {{i64, i64}} {{ i64 -1, i64 0 }}
}}

; The live range that holds a generic address: an allocation, or this worker's own memory.
define internal {{i64, i64}} @wl.find(ptr %launch, ptr %worker, i64 %address) noinline nounwind willreturn {{
entry:
{field("shared.size", "launch", abi.SHARED_BYTES)}{field("arguments.size", "launch", abi.ARGUMENT_BYTES)}
{field("shared.first", "worker", abi.SHARED)}{field("scratch.first", "worker", abi.SCRATCH)}
{field("scratch.size", "worker", abi.SCRATCH_BYTES)}{field("arguments.first", "worker", abi.ARGUMENTS)}
  %allocation = call {{i64, i64}} @wl.allocation(ptr %launch, ptr %worker, i64 %address)
  %allocated = extractvalue {{i64, i64}} %allocation, 1
  %outside = icmp eq i64 %allocated, 0
  br i1 %outside, label %shared.test, label %known
known:
  ret {{i64, i64}} %allocation
{ranges}
none.test:
  ret {{i64, i64}} {{ i64 -1, i64 0 }}
}}

; Keep the first fault of a worker.
define internal void @wl.fault(ptr %worker, i64 %kind, i64 %line, i32 %thread, i64 %address) cold noinline nounwind {{
entry:
{field("seen", "worker", abi.FAULT_KIND)}
  %first = icmp eq i64 %seen, 0
  br i1 %first, label %record, label %done
record:
  store i64 %kind, ptr %seen.at
  %line.at = getelementptr i64, ptr %worker, i64 {abi.FAULT_LINE}
  store i64 %line, ptr %line.at
  %thread.at = getelementptr i64, ptr %worker, i64 {abi.FAULT_THREAD}
  %thread.wide = zext i32 %thread to i64
  store i64 %thread.wide, ptr %thread.at
  %address.at = getelementptr i64, ptr %worker, i64 {abi.FAULT_ADDRESS}
  store i64 %address, ptr %address.at
  br label %done
done:
  ret void
}}

; A device function finds no room for its frame.
define internal void @wl.overflow(ptr %launch, ptr %worker, i64 %line, i32 %x, i32 %y, i32 %z) cold noinline nounwind {{
entry:
{field("nx", "launch", abi.THREAD_BLOCK[0])}{field("ny", "launch", abi.THREAD_BLOCK[1])}
  %nx.narrow = trunc i64 %nx to i32
  %ny.narrow = trunc i64 %ny to i32
  %rows = mul i32 %z, %ny.narrow
  %row = add i32 %rows, %y
  %start = mul i32 %row, %nx.narrow
  %thread = add i32 %start, %x
  call void @wl.fault(ptr %worker, i64 {abi.STACK_OVERFLOW}, i64 %line, i32 %thread, i64 0)
  ret void
}}
"""
