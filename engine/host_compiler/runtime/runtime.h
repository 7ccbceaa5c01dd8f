/* What translated kernels, their launcher and the functions of this folder agree on.

   The translator knows the same facts from abi.py and suspension_points.py; a test compares them.

   Functions named wl_* are called by translated code. They become internal to each kernel's module, and only those
   that a kernel needs get there, so what they say of linkage doesn't matter. */

#ifndef WARPLOOM_RUNTIME_H
#define WARPLOOM_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#define NOINLINE __attribute__((noinline))
#define ALWAYS_INLINE __attribute__((always_inline))
/* Code that runs only when threads diverge is kept small; otherwise optimising it takes longer than all the rest. */
#define RARE __attribute__((noinline, minsize))

enum { MAX_THREADS = 1024, WARP_THREADS = 32 };
/* Bytes at the end of scratch memory: local memory of the device functions that are running. */
enum { CALL_BYTES = 1 << 20 };

enum fault { DEADLOCK = 5, STOPPED = 8, STACK_OVERFLOW = 9 };

struct range {
    uint64_t first, size;
};

/* Read-only while a kernel runs, except `next`. */
struct launch {
    int64_t grid[3];
    int64_t thread_block[3];
    int64_t shared_bytes;
    const struct range *allocations; /* live ones, sorted */
    int64_t allocation_count;
    int64_t argument_bytes;
    const volatile int64_t *stop; /* not 0 when kernels must end */
    void *services;
    int64_t next; /* the first thread block that no worker has taken */
};

/* One for each thread of the pool. */
struct worker {
    uint64_t shared;
    uint64_t scratch;
    int64_t fault_kind;
    int64_t fault_line;
    int64_t fault_thread;
    int64_t fault_block;
    int64_t fault_address;
    void *stack; /* an address in the frame that runs the kernel */
    int64_t scratch_bytes;
    int64_t cache_base;
    int64_t cache_size;
    uint64_t arguments;
    int64_t local_top; /* where the next device function's local memory begins */
    int64_t point_line; /* PTX line of the point from which the current phase continues; 0 in the first phase */
    int64_t instruction; /* the instruction of a graph that it runs */
    int64_t finished; /* how many instructions it has run; a worker whose count grows is not stuck */
};

enum { EXCHANGES = 36, RESULTS = 16, BARRIERS = 17 };
/* Exchange arrays of a barrier's number and count, and of the members of a warp's operation (0: all that arrive). */
enum { NUMBER = 34, COUNT = 35, MEMBERS = 35 };

/* A worker's scratch memory: one element for each thread of the thread block. Saved registers follow. */
struct scratch {
    int32_t state[MAX_THREADS];               /* the point where a thread waits */
    uint32_t given[EXCHANGES][MAX_THREADS];   /* operands that threads hand over when they come to a point */
    uint32_t results[RESULTS][MAX_THREADS];   /* what they read when they go on */
    uint32_t arrived[32];                     /* threads that have arrived at each barrier without waiting there */
};

/* Computes the results of threads `first` to `first + count`, a warp, from what they gave. `mask` has a bit for each
   lane that takes part. At barriers `first` is 0 and `mask` the state of the threads that take part. */
typedef void collective(struct scratch *s, uint32_t first, uint32_t count, uint32_t mask);

void wl_fault(struct worker *worker, int64_t kind, int64_t line, uint32_t thread, int64_t address);

#endif
