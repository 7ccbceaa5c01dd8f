/* What warps and barriers compute from the operands that their threads hand over. Formulas are the PTX manual's. */

#include "runtime.h"

#define COLLECTIVE(NAME) NOINLINE void NAME(struct scratch *s, uint32_t first, uint32_t count, uint32_t mask)
#define EACH_LANE(LANE) for (uint32_t LANE = 0; LANE < count; ++LANE) if (mask >> LANE & 1)

/* -- shuffles: operands are the value, the lane or distance, and the clamp with the segment's mask -- */

#define SHUFFLE(NAME, OTHER, FITS) \
    COLLECTIVE(wl_shfl_##NAME) \
    { \
        EACH_LANE(lane) \
        { \
            uint32_t thread = first + lane; \
            uint32_t step = s->given[1][thread] & 31, clamp = s->given[2][thread] & 31; \
            uint32_t segment = s->given[2][thread] >> 8 & 31; \
            uint32_t low = lane & segment; \
            int32_t high = low | (clamp & ~segment), other = OTHER; \
            bool fits = FITS; \
            uint32_t source = fits ? other : lane; \
            s->results[0][thread] = s->given[0][first + (source < count ? source : lane)]; \
            s->results[1][thread] = fits; \
        } \
    }

SHUFFLE(up, lane - step, other >= high)
SHUFFLE(down, lane + step, other <= high)
SHUFFLE(bfly, lane ^ step, other <= high)
SHUFFLE(idx, low | (step & ~segment), other <= high)

/* A shuffle by constants of values in another array, for threads that are not together. */
RARE void wl_shuffle_by(
    struct scratch *s, uint32_t first, uint32_t count, uint32_t mask, uint32_t array, uint32_t step, uint32_t clamp,
    collective *shuffle)
{
    EACH_LANE(lane)
    {
        s->given[0][first + lane] = s->given[array][first + lane];
        s->given[1][first + lane] = step;
        s->given[2][first + lane] = clamp;
    }
    shuffle(s, first, count, mask);
}

/* -- votes and reductions -- */

static ALWAYS_INLINE void give(struct scratch *s, uint32_t first, uint32_t count, uint32_t mask, uint32_t value)
{
    for (uint32_t lane = 0; lane < count; ++lane) {
        uint32_t *result = &s->results[0][first + lane];
        *result = mask >> lane & 1 ? value : *result;
    }
}

typedef uint32_t lanes __attribute__((ext_vector_type(WARP_THREADS), aligned(4)));
typedef bool bits __attribute__((ext_vector_type(WARP_THREADS)));

/* The lanes of a whole warp whose vote is true. */
static ALWAYS_INLINE uint32_t votes_of_warp(const uint32_t *given)
{
    bits votes = __builtin_convertvector(*(const lanes *)given != 0, bits);
    uint32_t found;
    __builtin_memcpy(&found, &votes, sizeof found);
    return found;
}

#define VOTE(NAME, OUTCOME) \
    COLLECTIVE(wl_vote_##NAME) \
    { \
        uint32_t votes = 0; \
        if (mask == UINT32_MAX) { \
            votes = votes_of_warp(s->given[0] + first); \
            *(lanes *)(s->results[0] + first) = OUTCOME; \
            return; \
        } \
        for (uint32_t lane = 0; lane < count; ++lane) \
            votes |= (uint32_t)(s->given[0][first + lane] != 0) << lane; \
        votes &= mask; \
        give(s, first, count, mask, OUTCOME); \
    }

VOTE(ballot, votes)
VOTE(any, votes != 0)
VOTE(all, votes == mask)
VOTE(uni, votes == mask || votes == 0)

#define REDUCTION(NAME, TYPE, START, STEP) \
    COLLECTIVE(wl_redux_##NAME) \
    { \
        TYPE value = START; \
        EACH_LANE(lane) \
        { \
            TYPE x = s->given[0][first + lane]; \
            value = STEP; \
        } \
        give(s, first, count, mask, value); \
    }

REDUCTION(add, uint32_t, 0, value + x)
REDUCTION(and, uint32_t, UINT32_MAX, value & x)
REDUCTION(or, uint32_t, 0, value | x)
REDUCTION(xor, uint32_t, 0, value ^ x)
REDUCTION(umin, uint32_t, UINT32_MAX, x < value ? x : value)
REDUCTION(umax, uint32_t, 0, x > value ? x : value)
REDUCTION(smin, int32_t, INT32_MAX, x < value ? x : value)
REDUCTION(smax, int32_t, INT32_MIN, x > value ? x : value)

union word {
    uint32_t bits;
    float number;
};

enum { NAN_BITS = 0x7FFFFFFF, INFINITY_BITS = 0x7F800000 };

/* Minimum or maximum of f32. START is the bits that any number replaces; the result has the GPU's one NaN. */
#define FLOAT_REDUCTION(NAME, START, FUNCTION, OPERAND) \
    COLLECTIVE(wl_redux_##NAME) \
    { \
        union word value = {START}; \
        EACH_LANE(lane) \
        { \
            union word given = {s->given[0][first + lane]}; \
            float x = given.number; \
            value.number = FUNCTION(value.number, OPERAND); \
        } \
        give(s, first, count, mask, value.number != value.number ? NAN_BITS : value.bits); \
    }

FLOAT_REDUCTION(fmin, NAN_BITS, __builtin_elementwise_minimumnum, x)
FLOAT_REDUCTION(fmin_abs, NAN_BITS, __builtin_elementwise_minimumnum, __builtin_fabsf(x))
FLOAT_REDUCTION(fmin_NaN, INFINITY_BITS, __builtin_elementwise_minimum, x)
FLOAT_REDUCTION(fmin_abs_NaN, INFINITY_BITS, __builtin_elementwise_minimum, __builtin_fabsf(x))
FLOAT_REDUCTION(fmax, NAN_BITS, __builtin_elementwise_maximumnum, x)
FLOAT_REDUCTION(fmax_abs, NAN_BITS, __builtin_elementwise_maximumnum, __builtin_fabsf(x))
FLOAT_REDUCTION(fmax_NaN, 0x80000000 | INFINITY_BITS, __builtin_elementwise_maximum, x)
FLOAT_REDUCTION(fmax_abs_NaN, 0x80000000 | INFINITY_BITS, __builtin_elementwise_maximum, __builtin_fabsf(x))

/* -- other operations of a warp -- */

COLLECTIVE(wl_activemask)
{
    give(s, first, count, mask, mask);
}

COLLECTIVE(wl_elect)
{
    uint32_t leader = __builtin_ctz(mask);
    give(s, first, count, mask, leader);
    EACH_LANE(lane)
        s->results[1][first + lane] = lane == leader;
}

/* The lanes of the mask whose word `index` is `wanted`. */
static NOINLINE uint32_t same(
    const struct scratch *s, uint32_t index, uint32_t first, uint32_t count, uint32_t mask, uint32_t wanted)
{
    uint32_t found = 0;
    for (uint32_t lane = 0; lane < count; ++lane)
        found |= s->given[index][first + lane] == wanted ? 1u << lane : 0;
    return found & mask;
}

#define MATCH(NAME, WORDS, OUTCOME) \
    COLLECTIVE(wl_match_##NAME) \
    { \
        EACH_LANE(lane) \
        { \
            uint32_t members = mask; \
            for (uint32_t index = 0; index < WORDS; ++index) \
                members &= same(s, index, first, count, mask, s->given[index][first + lane]); \
            s->results[0][first + lane] = OUTCOME; \
            s->results[1][first + lane] = members == mask; \
        } \
    }

MATCH(any_b32, 1, members)
MATCH(any_b64, 2, members)
MATCH(all_b32, 1, members == mask ? members : 0)
MATCH(all_b64, 2, members == mask ? members : 0)

/* -- reductions at barriers, over all threads whose state is `mask` -- */

#define BARRIER_REDUCTION(NAME, OUTCOME) \
    COLLECTIVE(wl_bar_##NAME) \
    { \
        uint32_t sum = 0, __attribute__((unused)) here = 0; \
        for (uint32_t thread = 0; thread < count; ++thread) { \
            bool waits = s->state[thread] == (int32_t)mask; \
            here += waits; \
            sum += waits ? s->given[0][thread] : 0; \
        } \
        uint32_t outcome = OUTCOME; \
        for (uint32_t thread = 0; thread < count; ++thread) \
            if (s->state[thread] == (int32_t)mask) \
                s->results[0][thread] = outcome; \
    }

BARRIER_REDUCTION(popc, sum)
BARRIER_REDUCTION(or, sum != 0)
BARRIER_REDUCTION(and, sum == here)
