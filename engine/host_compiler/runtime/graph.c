/* The interpreter of a graph's instructions: short kernels, fills, copies, sections, and jumps between them. */

#include "graph.h"

struct state {
    int64_t at;
    int64_t loop;
    int64_t turns;
    int64_t budget;
    int64_t kernels;
    const volatile int64_t *stop;
    const volatile int64_t *served;
    int64_t served_before;
    struct team *team;
    struct worker *failed;
    int64_t section_ns;
};

/* After sections that took so long, Python looks at the time limit of the loop around them. */
enum { LONG_NS = 2000000 };

enum reason { AT_PYTHON, LOOP_STOPPED, FAULT, CALLED, PAUSE };

static int32_t leave(struct state *state, int64_t at, enum reason reason)
{
    state->at = at;
    return reason;
}

/* Run the instructions from `index` on, up to one that Python has to run or to know of; return the reason. */
int32_t wl_run_graph(const struct instruction *program, struct state *state, struct worker *worker, int64_t index, int64_t unused)
{
    for (;; ++index) {
        const struct instruction *now = &program[index];
        switch (now->operation) {
        case KERNEL:
            ((struct launch *)now->b)->next = 0;
            ++state->kernels;
            ++worker->finished;
            if (run_instruction(program, index, KERNEL, worker, now->d)) {
                state->failed = worker;
                return leave(state, index, FAULT);
            }
            if (*state->served != state->served_before)
                return leave(state, index, CALLED);
            break;
        case FILL:
        case COPY:
            run_instruction(program, index, now->operation, worker, 0);
            break;
        case SECTION: {
            int64_t began = wl_monotonic();
            int64_t failed_at = wl_run_section(state->team, program, (struct section *)now->a, &state->failed);
            int64_t took = wl_monotonic() - began;
            state->section_ns += took;
            if (failed_at >= 0)
                return leave(state, failed_at, FAULT);
            index = now->b - 1;
            if (*state->served != state->served_before)
                return leave(state, index, CALLED);
            if (took > LONG_NS)
                state->budget = 0;
            break;
        }
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
