/* What every kernel needs: look-ups of addresses, the fault record, and thread blocks handed to workers. */

#include "runtime.h"

static const struct range NOWHERE = {UINT64_MAX, 0};

/* The live allocation that holds an address. */
NOINLINE __attribute__((pure)) struct range wl_allocation(const struct launch *launch, const struct worker *worker, uint64_t address)
{
    const struct range *allocations = launch->allocations;
    uint64_t low = 0, high = launch->allocation_count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (address < allocations[middle].first)
            high = middle;
        else
            low = middle + 1;
    }
    if (low && address - allocations[low - 1].first < allocations[low - 1].size)
        return allocations[low - 1];
    return NOWHERE;
}

/* The bytes that a pointer among the arguments may reach: those of the buffer that was passed, where that is known, and
   none once the buffer was freed.

   The pointer lies at the byte `at` of the argument block. Behind the block is, for each 8 bytes of it, the size of the
   buffer whose address they hold, plus 1; 0 where they hold something else. */
NOINLINE __attribute__((pure)) struct range wl_argument(
    const struct launch *launch, const struct worker *worker, uint64_t pointer, uint64_t at)
{
    const uint64_t *sizes = (const uint64_t *)worker->arguments + (launch->argument_bytes + 7) / 8;
    struct range allocation = wl_allocation(launch, worker, pointer);
    if (at % 8 == 0 && sizes[at / 8] && allocation.size) {
        struct range buffer = {pointer, sizes[at / 8] - 1};
        return buffer;
    }
    return allocation;
}

/* The bytes that an address may reach that is made from no single argument: a buffer among the arguments, or a live
   allocation in which no argument lies. */
NOINLINE __attribute__((pure)) struct range wl_reached(const struct launch *launch, const struct worker *worker, uint64_t address)
{
    struct range allocation = wl_allocation(launch, worker, address), found = NOWHERE;
    const uint64_t *arguments = (const uint64_t *)worker->arguments;
    uint64_t slots = (launch->argument_bytes + 7) / 8;
    bool is_shared = false;
    for (uint64_t slot = 0; allocation.size && slot < slots; ++slot) {
        struct range buffer = {arguments[slot], arguments[slots + slot] - 1};
        if (!arguments[slots + slot] || buffer.first - allocation.first >= allocation.size)
            continue;
        is_shared = true;
        if (address - buffer.first < buffer.size
            && (!found.size || buffer.first + buffer.size > found.first + found.size))
            found = buffer;
    }
    return is_shared ? found : allocation;
}

/* The live range that holds a generic address: an allocation, or this worker's own memory. */
NOINLINE __attribute__((pure)) struct range wl_find(const struct launch *launch, const struct worker *worker, uint64_t address)
{
    struct range allocation = wl_reached(launch, worker, address);
    if (allocation.size)
        return allocation;
    const struct range own[] = {
        {worker->shared, launch->shared_bytes},
        {worker->scratch, worker->scratch_bytes},
        {worker->arguments, launch->argument_bytes},
    };
    for (int index = 0; index < 3; ++index)
        if (address - own[index].first < own[index].size)
            return own[index];
    return NOWHERE;
}

/* Keeps a worker's first fault. */
NOINLINE __attribute__((cold)) void wl_fault(
    struct worker *worker, int64_t kind, int64_t line, uint32_t thread, int64_t address)
{
    if (worker->fault_kind)
        return;
    worker->fault_kind = kind;
    worker->fault_line = line;
    worker->fault_thread = thread;
    worker->fault_address = address;
}

/* Records the fault of a device function that finds no room for its frame. */
NOINLINE __attribute__((cold)) void wl_overflow(
    const struct launch *launch, struct worker *worker, int64_t line, uint32_t x, uint32_t y, uint32_t z)
{
    uint32_t nx = launch->thread_block[0], ny = launch->thread_block[1];
    wl_fault(worker, STACK_OVERFLOW, line, (z * ny + y) * nx + x, 0);
}

/* Prepares a worker for thread blocks that run in stack frame `stack`. */
ALWAYS_INLINE void wl_begin(struct worker *worker, void *stack)
{
    worker->stack = stack;
    worker->local_top = worker->scratch + worker->scratch_bytes - CALL_BYTES;
}

/* Whether a fault, which is recorded here, or the stop flag ends the worker's loop after a thread block. */
ALWAYS_INLINE bool wl_ends_after(const struct launch *launch, struct worker *worker, int64_t block)
{
    if (!worker->fault_kind) {
        if (!*launch->stop)
            return false;
        wl_fault(worker, STOPPED, 0, 0, 0);
    }
    worker->fault_block = block;
    return true;
}

typedef int32_t run_blocks(
    const struct launch *launch, const void *params, struct worker *worker, int64_t first, int64_t last);

/* Takes `chunk` thread blocks at a time and runs them until all are taken; after a fault nobody takes more. */
int32_t wl_share(
    struct launch *launch, const void *params, struct worker *worker, int64_t blocks, int64_t chunk, run_blocks *run)
{
    int64_t first = __atomic_load_n(&launch->next, __ATOMIC_RELAXED);
    while (first < blocks) {
        int64_t last = first + chunk < blocks ? first + chunk : blocks;
        if (!__atomic_compare_exchange_n(
                &launch->next, &first, last, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        if (run(launch, params, worker, first, last)) {
            __atomic_store_n(&launch->next, INT64_C(1) << 62, __ATOMIC_RELAXED);
            return 1;
        }
        first = __atomic_load_n(&launch->next, __ATOMIC_RELAXED);
    }
    return 0;
}

int clock_gettime(int clock, int64_t *time);

NOINLINE int64_t wl_nanoseconds(void)
{
    int64_t now[2]; /* seconds and nanoseconds */
    clock_gettime(0, now); /* CLOCK_REALTIME is 0 on every system that has it */
    return now[0] * 1000000000 + now[1];
}

/* A clock that is never set: CLOCK_MONOTONIC of Linux. */
NOINLINE int64_t wl_monotonic(void)
{
    int64_t now[2];
    clock_gettime(1, now);
    return now[0] * 1000000000 + now[1];
}
