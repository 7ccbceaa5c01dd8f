/* The scheduler: which phase of a kernel with suspension points runs next.

   As long as all threads of a thread block reach the same point, the next phase runs for all of them. When they
   diverge, each one's state says where it is, and they go on in rounds until all are at one point again. */

#include "runtime.h"

#include <string.h>

int sched_yield(void);

/* At a YIELD a thread waits for a value that others write; at a LOCKSTEP it only lets them catch up. */
enum kind { START, BARRIER, WARP, YIELD, LOCKSTEP };

/* States that name no point. Marked threads (MARKED | state) may go on from their point. */
enum { EXITED = -1, DIVERGED = 0, MARKED = 1 << 30 };

/* Stands for a barrier's number at suspension points that are no barriers. */
enum { NO_BARRIER = 1 << 30 };

/* How many operations a warp may do in one round before other threads take their turn. */
enum { STEPS = 64 };

/* An array of saved registers in scratch memory. */
struct array {
    uint32_t offset, size; /* of an element; 0 ends a list */
};

struct frame;

/* Runs threads of one thread block, given by their ranges, from the point `state` to their next points. Returns the
   state of all of them, or DIVERGED when each one's own state says it. `together`: they are whole warps, all of which
   have come to that point and need not give way to others. */
typedef int32_t run_phase(
    const struct frame *f, uint32_t x0, uint32_t x1, uint32_t y0, uint32_t y1, uint32_t z0, uint32_t z1, bool together,
    int32_t state);

/* The phase that follows a suspension point, as the translator describes it; phase 0 starts the kernel. */
struct phase {
    collective *resolve;            /* NULL: nothing is exchanged */
    const struct array *shared;     /* it reads these from its first thread only */
    const struct array *first_only; /* it writes these for its first thread only */
    const struct array *not_copied; /* while threads stay together, it leaves these with the first thread only */
    int32_t kind, line;
    int32_t barrier, count;         /* a barrier's constants; -1: each thread has its own; NO_BARRIER: no barrier */
    int32_t names_members;          /* threads of a warp may name different members */
    int32_t has_members, members;   /* a warp's constant members; otherwise each thread names them */
    int32_t is_direct;              /* threads of whole warps read the others' operands without `resolve` */
};

struct kernel {
    run_phase *run;
    const struct phase *phases;
    uint32_t phase_count;
    uint32_t first_barrier, end_barrier;
    int32_t diverges_at_barriers; /* threads at the same barrier instruction may be at different barriers */
};

/* A thread block as it runs; the translator knows the fields up to its position. */
struct frame {
    const struct launch *launch;
    const void *params;
    struct worker *worker;
    struct scratch *s;
    uint32_t block_x, block_y, block_z;
    uint32_t nx, ny, nz, threads;
    struct kernel kernel;
};

/* The phase that follows a state; the start for states that name no point. */
static ALWAYS_INLINE const struct phase *after(const struct frame *f, uint32_t state)
{
    return &f->kernel.phases[state < f->kernel.phase_count ? state : 0];
}

static ALWAYS_INLINE bool must_end(const struct frame *f)
{
    return (f->worker->fault_kind | *f->launch->stop) != 0;
}

/* How many threads have the state of the first one, one after the other. */
static NOINLINE uint32_t same_states(const int32_t *states, uint32_t count)
{
    uint32_t n = 0;
    for (; n + WARP_THREADS <= count; n += WARP_THREADS) {
        int32_t differs = 0;
        for (uint32_t lane = 0; lane < WARP_THREADS; ++lane)
            differs |= states[n + lane] ^ states[0];
        if (differs)
            break;
    }
    while (n < count && states[n] == states[0])
        ++n;
    return n;
}

/* The state of all threads, DIVERGED when they differ. */
static RARE int32_t common_state(const struct scratch *s, uint32_t threads)
{
    return same_states(s->state, threads) == threads ? s->state[0] : DIVERGED;
}

/* -- registers that threads share -- */

static ALWAYS_INLINE void assign(char *to, const char *from, uint32_t size)
{
    switch (size) {
    case 4: *(uint32_t *)to = *(const uint32_t *)from; break;
    case 8: *(uint64_t *)to = *(const uint64_t *)from; break;
    default: memcpy(to, from, size);
    }
}

/* How many threads from `first` on, of `count`, have the values of the first one. */
static RARE uint32_t alike(const struct scratch *s, const struct array *array, uint32_t first, uint32_t count)
{
    for (; array->size && count > 1; ++array) {
        uint32_t size = array->size;
        const char *element = (const char *)s + array->offset + first * size;
        if (!memcmp(element, element + size, (count - 1) * size)) /* each equals the next */
            continue;
        for (count = 1; !memcmp(element, element + count * size, size);)
            ++count;
    }
    return count;
}

/* Gives `count` threads the values of the first one. */
static RARE void spread(struct scratch *s, const struct array *array, uint32_t first, uint32_t count)
{
    for (; array->size && count > 1; ++array) {
        char *element = (char *)s + array->offset + first * array->size;
        for (uint32_t n = 1; n < count; ++n)
            assign(element + n * array->size, element, array->size);
    }
}

/* The members that a thread names at a warp's point; 0: all that have arrived. */
static ALWAYS_INLINE uint32_t members_of(const struct frame *f, const struct phase *phase, uint32_t thread)
{
    return phase->has_members ? (uint32_t)phase->members : f->s->given[MEMBERS][thread];
}

/* -- collectives -- */

/* Resolves a warp's point for the threads in `all`; group by group, if the threads name the members themselves. */
static RARE void resolve_warp(
    const struct frame *f, const struct phase *phase, uint32_t first, uint32_t count, uint32_t all)
{
    if (!phase->resolve)
        return;
    if (!phase->names_members) {
        phase->resolve(f->s, first, count, all);
        return;
    }
    for (uint32_t rest = all, mask; rest; rest &= ~mask) {
        uint32_t lead = __builtin_ctz(rest), members = f->s->given[MEMBERS][first + lead];
        mask = members ? (members & rest) | 1u << lead : rest;
        phase->resolve(f->s, first, count, mask);
    }
}

static ALWAYS_INLINE void resolve_barrier(const struct frame *f, const struct phase *phase, int32_t state)
{
    if (phase->resolve)
        phase->resolve(f->s, 0, f->threads, state);
}

/* Resolves the point at which all threads are. */
static NOINLINE void resolve(const struct frame *f, int32_t state)
{
    const struct phase *phase = after(f, state);
    switch (phase->kind) {
    case WARP:
        for (uint32_t first = 0; first < f->threads; first += WARP_THREADS) {
            uint32_t rest = f->threads - first, count = rest < WARP_THREADS ? rest : WARP_THREADS;
            resolve_warp(f, phase, first, count, UINT32_MAX >> (WARP_THREADS - count));
        }
        break;
    case BARRIER:
        resolve_barrier(f, phase, state);
        break;
    case YIELD:
        sched_yield();
        break;
    }
}

/* -- divergent threads -- */

/* Runs the marked threads from `first` to `end`, equal neighbours in a row together. */
static RARE void advance(const struct frame *f, uint32_t first, uint32_t end)
{
    int32_t *states = f->s->state;
    for (uint32_t thread = first, count; thread < end; thread += count) {
        int32_t marked = states[thread], state = marked & (MARKED - 1);
        count = 1;
        if ((uint32_t)marked >> 30 != 1)
            continue;
        uint32_t x = thread % f->nx, row = thread / f->nx, y = row % f->ny, z = row / f->ny;
        while (x + count < f->nx && thread + count < end && states[thread + count] == marked)
            ++count;
        const struct phase *phase = after(f, state);
        count = alike(f->s, phase->shared, thread, count);
        int32_t next = f->kernel.run(f, x, x + count, y, y + 1, z, z + 1, false, state);
        spread(f->s, phase->first_only, thread, count);
        for (uint32_t n = 0; next != DIVERGED && n < count; ++n)
            states[thread + n] = next;
    }
}

/* Runs all threads from one point; those with the same shared values run together. */
static RARE void scatter(const struct frame *f, int32_t state)
{
    for (uint32_t thread = 0; thread < f->threads; ++thread)
        f->s->state[thread] = state | MARKED;
    advance(f, 0, f->threads);
}

/* Resolves and marks every group of a warp whose members have all arrived; returns whether there was one. With `force`,
   threads that name no members go on without those that have not arrived. */
static RARE bool release_groups(const struct frame *f, uint32_t first, uint32_t count, bool force)
{
    int32_t *states = f->s->state + first;
    uint32_t seen = 0;
    bool released = false;
    for (uint32_t lane = 0; lane < count; ++lane) {
        int32_t state = states[lane];
        const struct phase *phase = after(f, state);
        if (seen >> lane & 1 || phase->kind != WARP)
            continue;
        uint32_t arrived = 0, live = 0;
        for (uint32_t other = 0; other < count; ++other) {
            arrived |= (uint32_t)(states[other] == state) << other;
            live |= (uint32_t)(states[other] != EXITED) << other;
        }
        uint32_t members = members_of(f, phase, first + lane);
        bool is_complete = !((members ? members : UINT32_MAX) & live & ~arrived);
        if (!is_complete && (members || !force)) {
            seen |= arrived;
            continue;
        }
        uint32_t mask = members ? arrived & members : arrived;
        resolve_warp(f, phase, first, count, mask);
        for (uint32_t rest = mask; rest; rest &= rest - 1)
            states[__builtin_ctz(rest)] = state | MARKED;
        seen |= mask;
        released = true;
    }
    return released;
}

/* Lets the complete groups of every warp go on; returns whether any did.

   A warp goes on to its next operations at once: often the rest of the thread block waits for it at a barrier. */
static RARE bool run_warps(const struct frame *f, bool force)
{
    bool moved = false;
    for (uint32_t first = 0; first < f->threads; first += WARP_THREADS) {
        uint32_t rest = f->threads - first, count = rest < WARP_THREADS ? rest : WARP_THREADS;
        for (uint32_t step = 0; step < (force ? 1 : STEPS) && release_groups(f, first, count, force); ++step) {
            advance(f, first, first + count);
            moved = true;
        }
    }
    return moved;
}

/* The number of the barrier where a thread waits; NO_BARRIER when it waits at another point. */
static ALWAYS_INLINE uint32_t barrier_of(const struct frame *f, uint32_t thread)
{
    int32_t number = after(f, f->s->state[thread])->barrier;
    if (number >= 0)
        return number;
    return f->s->given[NUMBER][thread];
}

/* Resolves the first complete barrier and marks its threads; returns whether there was one. */
static RARE bool release_barrier(const struct frame *f)
{
    struct scratch *s = f->s;
    for (uint32_t number = f->kernel.first_barrier; number < f->kernel.end_barrier; ++number) {
        uint32_t waiting = 0, live = 0, last = 0;
        for (uint32_t thread = 0; thread < f->threads; ++thread) {
            live += s->state[thread] != EXITED;
            if (barrier_of(f, thread) == number) {
                ++waiting;
                last = thread;
            }
        }
        int32_t state = s->state[last];
        const struct phase *phase = after(f, state);
        uint32_t needed = phase->count < 0 ? s->given[COUNT][last] : (uint32_t)phase->count;
        uint32_t present = waiting + s->arrived[number], surplus = present - (needed ? needed : live);
        if (!waiting || surplus > present)
            continue;
        if (surplus < s->arrived[number])
            s->arrived[number] = surplus;
        for (uint32_t thread = 0; thread < f->threads; ++thread)
            if (barrier_of(f, thread) == number)
                s->state[thread] |= MARKED;
        resolve_barrier(f, phase, state | MARKED);
        return true;
    }
    return false;
}

/* Runs one round over all threads; returns whether any went on. If none did, threads that wait would wait for ever.

   Warps whose members have all arrived go on first; then the threads of a complete barrier, and those that yield. */
static RARE bool run_round(const struct frame *f)
{
    uint32_t kinds = 0;
    for (uint32_t thread = 0; thread < f->threads; ++thread) {
        int32_t kind = after(f, f->s->state[thread])->kind;
        kinds |= 1u << kind;
        if (kind >= YIELD)
            f->s->state[thread] |= MARKED;
    }
    bool warps_wait = kinds & 1u << WARP;
    bool released = warps_wait && run_warps(f, false);
    released |= release_barrier(f);
    if (!released && warps_wait)
        released = run_warps(f, true);
    uint32_t yields = kinds & (1u << YIELD | 1u << LOCKSTEP);
    if (!released && !yields)
        return false;
    if (!released && yields == 1u << YIELD)
        sched_yield();
    advance(f, 0, f->threads);
    return true;
}

static RARE void report_deadlock(const struct frame *f)
{
    uint32_t thread = 0;
    while (f->s->state[thread] == EXITED)
        ++thread;
    wl_fault(f->worker, DEADLOCK, after(f, f->s->state[thread])->line, thread, 0);
}

/* Runs all threads from one point to their next points, together when they share the same values. */
static RARE int32_t run_all(const struct frame *f, int32_t state)
{
    const struct phase *phase = after(f, state);
    if (alike(f->s, phase->shared, 0, f->threads) < f->threads) {
        scatter(f, state);
        return DIVERGED;
    }
    int32_t next = f->kernel.run(f, 0, f->nx, 0, f->ny, 0, f->nz, false, state);
    spread(f->s, phase->first_only, 0, f->threads);
    return next;
}

/* Runs a thread block from where its threads first diverged, or might have, to its end. */
static RARE void run_diverged(const struct frame *f, int32_t state)
{
    while (state != EXITED) {
        if (state == DIVERGED || (f->kernel.diverges_at_barriers && after(f, state)->kind == BARRIER)) {
            if (!run_round(f)) {
                report_deadlock(f);
                return;
            }
            state = DIVERGED;
        } else {
            resolve(f, state);
            state = run_all(f, state);
        }
        if (must_end(f))
            return;
        if (state == DIVERGED)
            state = common_state(f->s, f->threads);
    }
}

/* -- threads that diverge in a few pieces -- */

/* Neighbours that are together. */
struct piece {
    uint32_t first, count;
    int32_t state;
};

enum { PIECES = 16 };

struct pieces {
    uint32_t count;
    struct piece each[PIECES];
};

/* Puts pieces in the place of one, cut where neighbours have other states or other shared values; the pieces must be
   boxes, as phases run boxes. Returns whether there is room for them. */
static RARE bool cut(const struct frame *f, struct pieces *p, uint32_t index)
{
    const int32_t *states = f->s->state;
    uint32_t thread = p->each[index].first, end = thread + p->each[index].count;
    --p->count;
    for (uint32_t n = index; n < p->count; ++n)
        p->each[n] = p->each[n + 1];
    for (uint32_t count; thread < end; thread += count) {
        int32_t state = states[thread];
        count = same_states(states + thread, end - thread);
        if (state != EXITED)
            count = alike(f->s, after(f, state)->shared, thread, count);
        uint32_t x = thread % f->nx, y = thread / f->nx % f->ny, plane = (f->ny - y) * f->nx;
        if (x || count < f->nx)
            count = count < f->nx - x ? count : f->nx - x;
        else
            count = (count < plane ? count : plane) / f->nx * f->nx;
        if (p->count == PIECES)
            return false;
        for (uint32_t n = p->count++; n > index; --n)
            p->each[n] = p->each[n - 1];
        p->each[index++] = (struct piece){thread, count, state};
    }
    return true;
}

/* Runs a piece to its next point, where it may be cut; returns whether there is room for its parts. */
static RARE bool run_piece(const struct frame *f, struct pieces *p, uint32_t index)
{
    struct piece *piece = &p->each[index];
    const struct phase *phase = after(f, piece->state);
    uint32_t first = piece->first, count = piece->count, x = first % f->nx, row = first / f->nx, y = row % f->ny,
             z = row / f->ny, rows = count > f->nx ? count / f->nx : 1;
    bool together = phase->kind != YIELD && first % WARP_THREADS == 0
        && (count % WARP_THREADS == 0 || first + count == f->threads);
    int32_t next = f->kernel.run(f, x, x + count / rows, y, y + rows, z, z + 1, together, piece->state);
    spread(f->s, phase->first_only, first, count);
    piece->state = next;
    return next != DIVERGED || cut(f, p, index);
}

/* Lets a piece exchange values in its warps and go on; returns false where that takes a look at each thread. */
static RARE bool run_whole_warps(const struct frame *f, struct pieces *p, uint32_t index)
{
    struct piece *piece = &p->each[index];
    const struct phase *phase = after(f, piece->state);
    uint32_t end = piece->first + piece->count;
    if (!phase->has_members || (phase->members != -1 && phase->members) || piece->first % WARP_THREADS
        || (end % WARP_THREADS && end != f->threads))
        return false;
    for (uint32_t first = piece->first; first < end && !phase->is_direct; first += WARP_THREADS) {
        uint32_t count = end - first < WARP_THREADS ? end - first : WARP_THREADS;
        resolve_warp(f, phase, first, count, UINT32_MAX >> (WARP_THREADS - count));
    }
    return run_piece(f, p, index);
}

static RARE void note_states(const struct frame *f, const struct pieces *p)
{
    for (uint32_t n = 0; n < p->count; ++n)
        for (uint32_t thread = 0; thread < p->each[n].count; ++thread)
            f->s->state[p->each[n].first + thread] = p->each[n].state;
}

/* Whether the live pieces complete the barrier `state`, at which one of them waits. */
static ALWAYS_INLINE bool is_complete(const struct frame *f, const struct pieces *p, int32_t state)
{
    const struct phase *phase = after(f, state);
    if (phase->kind != BARRIER || phase->barrier < 0 || phase->count || f->s->arrived[phase->barrier])
        return false;
    for (uint32_t n = 0; n < p->count; ++n)
        if (p->each[n].state != state && p->each[n].state != EXITED)
            return false;
    return true;
}

/* Runs threads that have diverged, as long as they are a few pieces. Returns the point at which all of them are together
   again, or DIVERGED when each one's state says where it is. */
static RARE int32_t run_pieces(const struct frame *f)
{
    struct pieces p = {1, {{0, f->threads, DIVERGED}}};
    if (!cut(f, &p, 0))
        return DIVERGED;
    for (;;) {
        bool moved = false, fits = true;
        for (uint32_t n = 0; fits && n < p.count; ++n)
            for (uint32_t step = 0; fits && step < STEPS && after(f, p.each[n].state)->kind == WARP && !must_end(f); ++step) {
                fits = run_whole_warps(f, &p, n);
                moved = true;
            }
        if (must_end(f))
            return EXITED;
        int32_t state = p.each[0].state;
        uint32_t alive = 0, alike_pieces = 0;
        for (uint32_t n = 0; n < p.count; ++n) {
            alike_pieces += p.each[n].state == p.each[0].state;
            if (p.each[n].state != EXITED) {
                state = p.each[n].state;
                ++alive;
            }
        }
        if (!alive)
            return EXITED;
        bool complete = fits && is_complete(f, &p, state);
        if (complete && after(f, state)->resolve)
            note_states(f, &p);
        if (fits && alike_pieces == p.count && (complete || after(f, state)->kind >= YIELD)
            && alike(f->s, after(f, state)->shared, 0, f->threads) == f->threads)
            return state;
        bool yields = false;
        if (complete)
            resolve_barrier(f, after(f, state), state);
        for (uint32_t n = 0; fits && n < p.count && !must_end(f); ++n) {
            uint32_t before = p.count;
            int32_t kind = after(f, p.each[n].state)->kind;
            if (kind < YIELD && !(complete && p.each[n].state == state))
                continue;
            yields |= kind == YIELD;
            moved |= kind != YIELD;
            fits = run_piece(f, &p, n);
            if (fits)
                n += p.count - before; /* its parts have had their turn */
        }
        if (!moved && yields)
            sched_yield();
        if (!fits || (!moved && !yields)) {
            note_states(f, &p);
            return DIVERGED;
        }
    }
}

/* -- thread blocks -- */

/* Runs all threads of a thread block to their ends, or until a fault or the stop flag ends them. */
ALWAYS_INLINE void wl_run_thread_block(
    const struct kernel *kernel, const struct launch *launch, const void *params, struct worker *worker,
    uint32_t block_x, uint32_t block_y, uint32_t block_z)
{
    uint32_t nx = launch->thread_block[0], ny = launch->thread_block[1], nz = launch->thread_block[2];
    struct scratch *s = (struct scratch *)worker->scratch;
    const struct frame frame = {
        launch, params, worker, s, block_x, block_y, block_z, nx, ny, nz, nx * ny * nz, *kernel,
    };
    memset(s->arrived, 0, BARRIERS * sizeof *s->arrived);
    int32_t state = 0, next;
    for (;; state = next) {
        next = kernel->run(&frame, 0, nx, 0, ny, 0, nz, true, state);
        if (must_end(&frame))
            return;
        if (next == DIVERGED)
            next = common_state(s, frame.threads);
        if (next == EXITED)
            return;
        if (next == DIVERGED || (kernel->diverges_at_barriers && kernel->phases[next].kind == BARRIER)) {
            spread(s, kernel->phases[state].not_copied, 0, frame.threads);
            if (!kernel->diverges_at_barriers)
                next = run_pieces(&frame);
            if (next == EXITED)
                return;
            if (next == DIVERGED || kernel->diverges_at_barriers) {
                run_diverged(&frame, next);
                return;
            }
        }
        const struct phase *phase = &kernel->phases[next];
        if ((phase->resolve && !phase->is_direct) || phase->kind == YIELD)
            resolve(&frame, next);
    }
}
