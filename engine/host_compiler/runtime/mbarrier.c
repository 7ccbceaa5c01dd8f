/* mbarrier: barrier objects in shared memory.

   One is 64 bits: arrivals still pending (20), arrivals expected (20), bytes still to come (23, signed), and the phase
   in the top bit. The threads of a thread block take turns, so they need no atomics. */

#include "runtime.h"

enum { FIELD = (1 << 20) - 1 };

/* A barrier object after arrivals, fewer expected arrivals and a change of the bytes to come. */
uint64_t wl_mbarrier(uint64_t word, int64_t arrivals, int64_t drops, int64_t bytes)
{
    int64_t pending = (int64_t)(word & FIELD) - arrivals;
    int64_t expected = (int64_t)(word >> 20 & FIELD) - drops;
    int64_t left = ((int64_t)(word << 1) >> 41) + bytes;
    uint64_t phase = word >> 63;
    if (pending <= 0 && left == 0) {
        phase ^= 1;
        pending = expected;
    }
    return (uint64_t)(pending & FIELD) | (uint64_t)(expected & FIELD) << 20 | (uint64_t)left << 41 >> 1 | phase << 63;
}
