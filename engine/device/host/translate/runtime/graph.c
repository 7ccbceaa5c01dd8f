/* The interpreter of a graph's instructions: short kernels, fills, copies, and jumps between them.

   graph/stepper.py has the same numbers for Python; it says what they mean. */

#include <string.h>

#include "runtime.h"

enum operation { PYTHON, KERNEL, FILL, COPY, STORE, SKIP, JUMP, ENTER, BACK, LEAVE };

/* The operation's fields. Addresses are numbers here: Python writes them. */
struct instruction {
    int64_t operation, a, b, c, d, e;
};

struct state {
    int64_t at;
    int64_t loop;
    int64_t turns;
    int64_t budget;
    int64_t kernels;
    const volatile int64_t *stop;
    const volatile int64_t *served;
    int64_t served_before;
};

enum reason { AT_PYTHON, LOOP_STOPPED, FAULT, CALLED, PAUSE };

typedef int32_t kernel_function(struct launch *, void *, struct worker *, int64_t, int64_t);

static int32_t leave(struct state *state, int64_t at, enum reason reason)
{
    state->at = at;
    return reason;
}

/* Run the instructions from `index` on, until one is met that Python has to run or to know of; return the reason. */
int32_t wl_run_graph(const struct instruction *program, struct state *state, struct worker *worker, int64_t index, int64_t unused)
{
    for (;; ++index) {
        const struct instruction *now = &program[index];
        switch (now->operation) {
        case KERNEL: {
            struct launch *launch = (struct launch *)now->b;
            launch->next = 0;
            worker->fault_kind = 0;
            worker->cache_size = 0;
            worker->arguments = now->c;
            worker->scratch_bytes = now->e;
            int32_t failed = ((kernel_function *)now->a)(launch, (void *)now->c, worker, now->d, now->d);
            ++state->kernels;
            if (failed)
                return leave(state, index, FAULT);
            if (*state->served != state->served_before)
                return leave(state, index, CALLED);
            break;
        }
        case FILL:
            memset((void *)now->a, (int)now->b, now->c);
            break;
        case COPY:
            memmove((void *)now->a, (const void *)now->b, now->c);
            break;
        case STORE:
            *(uint32_t *)now->a = (uint32_t)now->b;
            break;
        case SKIP:
            if (!*(const uint32_t *)now->a)
                index = now->b - 1;
            break;
        case JUMP:
            index = now->a - 1;
            break;
        case ENTER:
            state->loop = now->a;
            state->turns = 0;
            break;
        case BACK:
            state->turns += state->loop == now->a;
            if (*state->stop)
                return leave(state, index, LOOP_STOPPED);
            if (--state->budget <= 0)
                return leave(state, now->b, PAUSE);
            index = now->b - 1;
            break;
        case LEAVE:
            state->loop = -1;
            break;
        default:
            return leave(state, index, AT_PYTHON);
        }
    }
}
