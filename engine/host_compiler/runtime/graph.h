/* The instructions of a graph, for those who run them: graph.c in their order, team.c side by side.

   graph/stepper.py and team.py have the same numbers for Python; they say what they mean. Addresses are numbers here:
   Python writes them. */

#ifndef WARPLOOM_GRAPH_H
#define WARPLOOM_GRAPH_H

#include <string.h>

#include "runtime.h"

enum operation { PYTHON, KERNEL, FILL, COPY, STORE, SKIP, JUMP, ENTER, BACK, LEAVE, SECTION };

/* The operation's fields. */
struct instruction {
    int64_t operation, a, b, c, d, e;
};

struct team;
struct section;

typedef int32_t kernel_function(struct launch *, void *, struct worker *, int64_t, int64_t);

int64_t wl_monotonic(void);
int64_t wl_run_section(
    struct team *team, const struct instruction *program, struct section *section, struct worker **failed);

/* Run a kernel, a fill or a copy; of a kernel's thread blocks those that this worker takes, `chunk` at a time. */
static ALWAYS_INLINE int32_t run_instruction(
    const struct instruction *program, int64_t index, int64_t operation, struct worker *worker, int64_t chunk)
{
    const struct instruction *now = &program[index];
    if (operation == FILL)
        memset((void *)now->a, (int)now->b, now->c);
    else if (operation == COPY)
        memmove((void *)now->a, (const void *)now->b, now->c);
    else {
        worker->fault_kind = 0;
        worker->cache_size = 0;
        worker->arguments = now->c;
        worker->scratch_bytes = now->e;
        worker->instruction = index;
        return ((kernel_function *)now->a)((struct launch *)now->b, (void *)now->c, worker, now->d, chunk);
    }
    return 0;
}

#endif
