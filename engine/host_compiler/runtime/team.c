/* Sections of a graph, whose instructions several workers run side by side.

   A section's instructions have no jump between them, and each is a node of its own: it is ready when all nodes that it
   waits for are done. The worker that ends a node goes on with one that became ready by that; others are queued for
   workers that have nothing to do. Of a kernel with enough work, several workers take thread blocks at once.

   A worker without work looks for some time and then sleeps. It holds no lock of Python's meanwhile. */

#include <semaphore.h>

#include "graph.h"

/* Waking a worker takes this long, so a worker without work looks for some as long before it sleeps. */
enum { LOOK_NS = 50000 };

/* A node has 16 numbers of 64 bits, so that two nodes don't share a cache line. */
struct node {
    /* Python writes these when it plans the section. */
    int64_t operation;
    int64_t waits;       /* the number of nodes in the section that it waits for */
    int64_t first, last; /* the part of the section's links that lists its successors */
    int64_t rank;        /* nanoseconds from its begin to the end of the section: the longest path */
    int64_t workers;     /* the most that run it at once */
    int64_t chunk;       /* thread blocks that a worker takes at a time */
    int64_t wakes;       /* how many workers are worth waking when it is queued */
    /* These change when it runs. */
    int64_t pending;
    int64_t inside;
    int64_t is_queued;
    int64_t busy_ns; /* the time of all workers together */
    struct node *next;
    int64_t wanted; /* the workers of `wakes` that have not come */
    int64_t padding[2];
};

struct section {
    struct node *nodes;   /* by instruction */
    const int64_t *links; /* instructions: those to begin with, then the successors of each node */
    int64_t begins;       /* the number of nodes to begin with */
    int64_t ends;         /* the number of nodes without successors */
    int64_t first_wakes;  /* workers to wake before it begins */
    int64_t left;         /* nodes without successors that are not done */
    int64_t runs;         /* how often it ran */
};

/* A worker's place in the team; the first is the launching thread's. It fills a cache line. */
struct seat {
    struct worker *worker;
    int64_t is_asleep;
    sem_t wake;
    int64_t padding[2];
};

struct team {
    int64_t lock;
    struct node *queue; /* nodes with room for another worker, the highest rank first */
    int64_t calls;      /* workers that have to return to Python */
    int64_t is_closed;
    int64_t seats;
    int64_t idle;   /* workers that look for work */
    int64_t wanted; /* the sum of `wanted` of all nodes in the queue */
    const struct instruction *program;
    struct section *section;
    struct worker *failed;
    int64_t failed_at;
    int64_t padding[5];
    struct seat seat[];
};

int sched_yield(void);

static void lock(struct team *team)
{
    while (__atomic_exchange_n(&team->lock, 1, __ATOMIC_ACQUIRE))
        while (__atomic_load_n(&team->lock, __ATOMIC_RELAXED))
            sched_yield();
}

static void unlock(struct team *team)
{
    __atomic_store_n(&team->lock, 0, __ATOMIC_RELEASE);
}

static void wake(struct team *team, struct seat *seat)
{
    ++team->idle;
    seat->is_asleep = 0;
    sem_post(&seat->wake);
}

static void wake_some(struct team *team, int64_t count)
{
    for (int64_t index = 0; index < team->seats && count > 0; ++index)
        if (team->seat[index].is_asleep) {
            wake(team, &team->seat[index]);
            --count;
        }
}

static void prepare(struct team *team, struct node *node)
{
    node->pending = node->waits;
    node->busy_ns = 0;
    if (node->operation == KERNEL)
        ((struct launch *)team->program[node - team->section->nodes].b)->next = 0;
}

static NOINLINE void enqueue(struct team *team, struct node *node)
{
    lock(team);
    struct node **link = &team->queue;
    while (*link && (*link)->rank >= node->rank)
        link = &(*link)->next;
    node->next = *link;
    node->is_queued = 1;
    node->inside = 0;
    node->wanted = node->wakes;
    team->wanted += node->wakes;
    __atomic_store_n(link, node, __ATOMIC_RELAXED);
    wake_some(team, team->wanted - team->idle);
    unlock(team);
}

static void leave_queue(struct team *team, struct node *node)
{
    struct node **link = &team->queue;
    while (*link != node)
        link = &(*link)->next;
    __atomic_store_n(link, node->next, __ATOMIC_RELAXED);
    node->is_queued = 0;
    team->wanted -= node->wanted;
}

/* The first node of the queue, which gets this worker; NULL when there is none. */
static struct node *take(struct team *team)
{
    struct node *node = team->queue;
    if (node) {
        team->wanted -= node->wanted > 0;
        node->wanted -= node->wanted > 0;
        if (++node->inside == node->workers)
            leave_queue(team, node);
    }
    return node;
}

/* Prepare nodes that became ready; queue them but for one that this worker runs next, which is returned. */
static struct node *begin(struct team *team, int64_t first, int64_t last, bool are_ready)
{
    struct section *section = team->section;
    struct node *mine = 0;
    for (int64_t at = first; at < last; ++at) {
        struct node *node = &section->nodes[section->links[at]];
        if (!are_ready && node->waits > 1 && __atomic_sub_fetch(&node->pending, 1, __ATOMIC_ACQ_REL))
            continue;
        prepare(team, node);
        if (!mine && node->workers == 1)
            mine = node;
        else
            enqueue(team, node);
    }
    return mine;
}

/* Keep the first fault; one with an instruction replaces that of a worker that was stopped before it began. */
static NOINLINE void fail(struct team *team, struct worker *worker, int64_t index)
{
    lock(team);
    struct worker *other = team->failed;
    if (!other || ((other->fault_kind & 255) == STOPPED && !other->fault_line && !other->point_line)) {
        team->failed_at = index;
        __atomic_store_n(&team->failed, worker, __ATOMIC_RELAXED);
    }
    unlock(team);
}

/* Run a node, and nodes that become ready when it ends. After a fault nodes end at once. */
static void work(struct team *team, struct worker *worker, struct node *node)
{
    struct section *section = team->section;
    int64_t began = wl_monotonic();
    while (node) {
        int64_t index = node - section->nodes;
        if (!__atomic_load_n(&team->failed, __ATOMIC_RELAXED)
            && run_instruction(team->program, index, node->operation, worker, node->chunk))
            fail(team, worker, index);
        int64_t ended = wl_monotonic();
        if (node->workers > 1) {
            lock(team);
            node->busy_ns += ended - began;
            if (node->is_queued)
                leave_queue(team, node);
            bool is_shared = --node->inside;
            unlock(team);
            if (is_shared)
                return;
        } else
            node->busy_ns = ended - began;
        began = ended;
        ++worker->finished;
        bool is_last = node->first == node->last;
        node = begin(team, node->first, node->last, false);
        if (is_last && !__atomic_sub_fetch(&section->left, 1, __ATOMIC_ACQ_REL)) {
            lock(team);
            if (team->seat[0].is_asleep)
                wake(team, &team->seat[0]);
            unlock(team);
        }
    }
}

/* Whether a worker must stop running nodes: the section is done, or Python calls the worker. */
static bool must_leave(const struct team *team, const struct seat *seat)
{
    if (seat == team->seat)
        return !__atomic_load_n(&team->section->left, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&team->calls, __ATOMIC_RELAXED) || __atomic_load_n(&team->is_closed, __ATOMIC_RELAXED);
}

/* Run queued nodes until the worker must leave. */
static void run_queued(struct team *team, struct seat *seat)
{
    int64_t until = wl_monotonic() + LOOK_NS;
    lock(team);
    ++team->idle;
    while (!must_leave(team, seat)) {
        struct node *node = take(team);
        bool sleeps = !node && wl_monotonic() >= until;
        team->idle -= node || sleeps;
        seat->is_asleep = sleeps;
        unlock(team);
        if (node || sleeps) {
            if (node)
                work(team, seat->worker, node);
            else
                while (sem_wait(&seat->wake)) {
                }
            until = wl_monotonic() + LOOK_NS;
        }
        while (!__atomic_load_n(&team->queue, __ATOMIC_RELAXED) && !must_leave(team, seat) && wl_monotonic() < until)
            sched_yield();
        lock(team);
        team->idle += node != 0;
    }
    --team->idle;
    unlock(team);
}

/* Run a section; return the index of an instruction that failed and its worker, or -1. */
int64_t wl_run_section(
    struct team *team, const struct instruction *program, struct section *section, struct worker **failed)
{
    team->program = program;
    team->section = section;
    team->failed = 0;
    section->left = section->ends;
    ++section->runs;
    if (section->first_wakes) {
        lock(team);
        wake_some(team, section->first_wakes - team->idle);
        unlock(team);
    }
    work(team, team->seat[0].worker, begin(team, 0, section->begins, true));
    run_queued(team, team->seat);
    *failed = team->failed;
    return team->failed ? team->failed_at : -1;
}

enum call { IS_CALLED = 1, IS_CLOSED = 2 };

/* Be the worker of a seat until Python calls it or closes the team; return which. */
int32_t wl_serve(struct team *team, struct worker *worker, void *unused, int64_t index, int64_t unused_too)
{
    struct seat *seat = &team->seat[index];
    seat->worker = worker;
    for (;;) {
        run_queued(team, seat);
        lock(team);
        bool is_called = team->calls > 0, is_closed = team->is_closed;
        team->calls -= is_called;
        unlock(team);
        if (is_closed || is_called)
            return is_closed ? IS_CLOSED : IS_CALLED;
    }
}

/* Let so many workers return to Python; with a negative number, close the team. */
int32_t wl_call(struct team *team, void *unused, void *unused_too, int64_t count, int64_t more)
{
    lock(team);
    if (count < 0)
        __atomic_store_n(&team->is_closed, 1, __ATOMIC_RELAXED);
    else
        __atomic_store_n(&team->calls, team->calls + count, __ATOMIC_RELAXED);
    wake_some(team, count < 0 ? team->seats : team->calls - team->idle);
    unlock(team);
    return 0;
}

/* Prepare the zeroed memory of a team whose launching thread has this worker. */
int32_t wl_open(struct team *team, struct worker *worker, void *unused, int64_t seats, int64_t unused_too)
{
    team->seats = seats;
    team->seat[0].worker = worker;
    for (int64_t index = 0; index < seats; ++index)
        sem_init(&team->seat[index].wake, 0, 0);
    return 0;
}
