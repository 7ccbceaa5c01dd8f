"""What the runtime's functions call in C libraries, for each system: the C files are written for Linux.

Windows has no POSIX semaphores or clocks, and the semaphores of macOS without a name always fail. There, functions with
the names of Linux' are written in LLVM text, over what the system has.
"""

import re

_WINDOWS = {
    "sem_init": """
declare ptr @CreateSemaphoreW(ptr, i32, i32, ptr)
define internal i32 @sem_init(ptr %semaphore, i32 %shared, i32 %count) nounwind {
  %handle = call ptr @CreateSemaphoreW(ptr null, i32 %count, i32 2147483647, ptr null)
  store ptr %handle, ptr %semaphore
  ret i32 0
}
""",
    "sem_post": """
declare i32 @ReleaseSemaphore(ptr, i32, ptr)
define internal i32 @sem_post(ptr %semaphore) nounwind {
  %handle = load ptr, ptr %semaphore
  %done = call i32 @ReleaseSemaphore(ptr %handle, i32 1, ptr null)
  ret i32 0
}
""",
    "sem_wait": """
declare i32 @WaitForSingleObject(ptr, i32)
define internal i32 @sem_wait(ptr %semaphore) nounwind {
  %handle = load ptr, ptr %semaphore
  %failed = call i32 @WaitForSingleObject(ptr %handle, i32 -1)
  ret i32 %failed
}
""",
    "sched_yield": """
declare i32 @SwitchToThread()
define internal i32 @sched_yield() nounwind {
  %yielded = call i32 @SwitchToThread()
  ret i32 0
}
""",
    # Clock 0 counts 100 ns since 1601. Clock 1 counts ticks, which are divided first, so that no product overflows.
    "clock_gettime": """
declare void @GetSystemTimePreciseAsFileTime(ptr)
declare i32 @QueryPerformanceCounter(ptr)
declare i32 @QueryPerformanceFrequency(ptr)
define internal i32 @clock_gettime(i32 %clock, ptr %time) nounwind {
  %now = alloca i64
  %rate = alloca i64
  %fraction.at = getelementptr i64, ptr %time, i64 1
  %is.day = icmp eq i32 %clock, 0
  br i1 %is.day, label %day, label %ticks
day:
  call void @GetSystemTimePreciseAsFileTime(ptr %now)
  %since.1601 = load i64, ptr %now
  %since.1970 = sub i64 %since.1601, 116444736000000000
  br label %divide
ticks:
  %read = call i32 @QueryPerformanceCounter(ptr %now)
  %known = call i32 @QueryPerformanceFrequency(ptr %rate)
  %count = load i64, ptr %now
  %frequency = load i64, ptr %rate
  br label %divide
divide:
  %units = phi i64 [ %since.1970, %day ], [ %count, %ticks ]
  %per.second = phi i64 [ 10000000, %day ], [ %frequency, %ticks ]
  %seconds = udiv i64 %units, %per.second
  %rest = urem i64 %units, %per.second
  %scaled = mul i64 %rest, 1000000000
  %nanoseconds = udiv i64 %scaled, %per.second
  store i64 %seconds, ptr %time
  store i64 %nanoseconds, ptr %fraction.at
  ret i32 0
}
""",
    "bcmp": """
declare i32 @memcmp(ptr, ptr, i64)
define internal i32 @bcmp(ptr %a, ptr %b, i64 %size) nounwind {
  %order = call i32 @memcmp(ptr %a, ptr %b, i64 %size)
  ret i32 %order
}
""",
}
_MACOS = {
    "sem_init": """
declare ptr @dispatch_semaphore_create(i64)
define internal i32 @sem_init(ptr %semaphore, i32 %shared, i32 %count) nounwind {
  %wide = zext i32 %count to i64
  %made = call ptr @dispatch_semaphore_create(i64 %wide)
  store ptr %made, ptr %semaphore
  ret i32 0
}
""",
    "sem_post": """
declare i64 @dispatch_semaphore_signal(ptr)
define internal i32 @sem_post(ptr %semaphore) nounwind {
  %made = load ptr, ptr %semaphore
  %woken = call i64 @dispatch_semaphore_signal(ptr %made)
  ret i32 0
}
""",
    "sem_wait": """
declare i64 @dispatch_semaphore_wait(ptr, i64)
define internal i32 @sem_wait(ptr %semaphore) nounwind {
  %made = load ptr, ptr %semaphore
  %failed = call i64 @dispatch_semaphore_wait(ptr %made, i64 -1)
  ret i32 0
}
""",
    # The monotonic clock has another number.
    "clock_gettime": """
declare i64 @clock_gettime_nsec_np(i32)
define internal i32 @clock_gettime(i32 %clock, ptr %time) nounwind {
  %fraction.at = getelementptr i64, ptr %time, i64 1
  %is.day = icmp eq i32 %clock, 0
  %number = select i1 %is.day, i32 0, i32 6
  %now = call i64 @clock_gettime_nsec_np(i32 %number)
  %seconds = udiv i64 %now, 1000000000
  %nanoseconds = urem i64 %now, 1000000000
  store i64 %seconds, ptr %time
  store i64 %nanoseconds, ptr %fraction.at
  ret i32 0
}
""",
}
_DECLARATION = re.compile(r"^declare [^\n]*@(\w+)\([^\n]*$", re.MULTILINE)
_ARM = ("aarch64", "arm64")


def is_windows(triple: str) -> bool:
    """True for a machine with Windows."""
    return "windows" in triple


def for_system(text: str, triple: str) -> str:
    """Return LLVM text for a machine: with functions that its system lacks, and a clock that programs may read."""
    own = _WINDOWS if is_windows(triple) else _MACOS if "apple" in triple else {}
    text = _DECLARATION.sub(lambda found: own.get(found[1], found[0]).strip(), text)
    if triple.startswith(_ARM):  # only the system may read the cycles of a core
        text = text.replace("@llvm.readcyclecounter", "@llvm.readsteadycounter")
    return text
