/* Matrix products and permutations of a warp.

   A fragment is described by a table: for each element of the matrix, row by row, where it lies from the warp's place
   in the first exchange or result array. Translated code calls gather, product and scatter with constant tables and
   sizes, and inlines them. Every element is summed in the order of the columns of A. */

#include "runtime.h"

/* -- gather: the elements of a matrix as numbers; offsets count half bytes -- */

typedef _Float16 half;

union word {
    uint32_t bits;
    float number;
};

static float float_of(uint32_t bits)
{
    return (union word){bits}.number;
}

static float half_of(uint16_t bits)
{
    union {
        uint16_t bits;
        half number;
    } word = {bits};
    return word.number;
}

/* With the exponent field of an f16 it is 2^8 too small; all ones are NaN. */
static float e4m3_of(int8_t byte)
{
    uint16_t sign = byte & 0x8000, size = byte & 127;
    float value = half_of(sign | size << 7) * 256;
    return size == 127 ? float_of(0x7FC00000) : value;
}

static double double_of(const uint32_t *low)
{
    union {
        uint64_t bits;
        double number;
    } word = {(uint64_t)low[MAX_THREADS] << 32 | low[0]};
    return word.number;
}

#define GATHER(NAME, TYPE, ELEMENT, VALUE) \
    ALWAYS_INLINE void wl_gather_##NAME( \
        TYPE *matrix, const struct scratch *s, uint32_t first, const uint32_t *offsets, int count) \
    { \
        const char *given = (const char *)&s->given[0][first]; \
        for (int index = 0; index < count; ++index) { \
            uint32_t offset = offsets[index]; \
            const ELEMENT *from = (const ELEMENT *)(given + offset / 2); \
            matrix[index] = VALUE; \
        } \
    }

GATHER(f32_from_f32, float, float, *from)
GATHER(f32_from_tf32, float, uint32_t, float_of(*from & ~0x1FFFu)) /* the low 13 bits are not used */
GATHER(f32_from_bf16, float, uint16_t, float_of((uint32_t)*from << 16))
GATHER(f32_from_f16, float, half, *from)
GATHER(f32_from_e5m2, float, uint8_t, half_of(*from << 8)) /* the high byte of an f16 */
GATHER(f32_from_e4m3, float, int8_t, e4m3_of(*from))
GATHER(f64_from_f64, double, uint32_t, double_of(from))

#define GATHER_INTEGERS(NAME, TYPE) \
    GATHER(NAME##_from_s32, TYPE, int32_t, *from) \
    GATHER(NAME##_from_s8, TYPE, int8_t, *from) \
    GATHER(NAME##_from_u8, TYPE, uint8_t, *from) \
    GATHER(NAME##_from_s4, TYPE, uint8_t, (int8_t)((*from >> 4 * (offset & 1)) << 4) >> 4) \
    GATHER(NAME##_from_u4, TYPE, uint8_t, *from >> 4 * (offset & 1) & 15)

GATHER_INTEGERS(i32, int32_t)
GATHER_INTEGERS(i64, int64_t)
GATHER(i32_from_b1, int32_t, int32_t, *from)

/* -- product: C += A B; `rows` of C each take one row of A, and B has `depth` rows for every `rows_of_one` of them -- */

#define PRODUCT(NAME, TYPE, COLUMNS, SUM) \
    ALWAYS_INLINE void wl_product_##NAME##_##COLUMNS( \
        TYPE *c, const TYPE *a, const TYPE *b, int rows, int depth, int rows_of_one) \
    { \
        typedef TYPE vector __attribute__((ext_vector_type(COLUMNS), aligned(4))); \
        for (int row = 0; row < rows; ++row) { \
            const TYPE *left_row = a + row * depth, *right_rows = b + row / rows_of_one * depth * COLUMNS; \
            vector sum = *(vector *)(c + row * COLUMNS); \
            for (int k = 0; k < depth; ++k) { \
                vector left = left_row[k], right = *(const vector *)(right_rows + k * COLUMNS); \
                sum = SUM; \
            } \
            *(vector *)(c + row * COLUMNS) = sum; \
        } \
    }

#define PRODUCTS(NAME, TYPE, SUM) PRODUCT(NAME, TYPE, 8, SUM) PRODUCT(NAME, TYPE, 16, SUM) PRODUCT(NAME, TYPE, 32, SUM)

PRODUCTS(f32, float, sum + left * right) /* the products of these short types are exact in f32 */
PRODUCTS(i32, int32_t, sum + left * right)
PRODUCTS(i64, int64_t, sum + left * right)
PRODUCT(f64, double, 8, __builtin_elementwise_fma(left, right, sum))
PRODUCT(xor, int32_t, 8, sum + __builtin_elementwise_popcount(left ^ right))
PRODUCT(and, int32_t, 8, sum + __builtin_elementwise_popcount(left & right))

/* Sums in a directed rounding mode go through functions that the translator writes. */
#define ROUNDED_PRODUCT(MODE) \
    double wl_rounded_fma_##MODE(double, double, double) __asm__("wl.rounded.fma." #MODE); \
    ALWAYS_INLINE void wl_product_f64_##MODE##_8( \
        double *c, const double *a, const double *b, int rows, int depth, int rows_of_one) \
    { \
        for (int row = 0; row < rows; ++row) \
            for (int k = 0; k < depth; ++k) \
                for (int column = 0; column < 8; ++column) { \
                    double *sum = c + row * 8 + column; \
                    *sum = wl_rounded_fma_##MODE( \
                        a[row * depth + k], b[(row / rows_of_one * depth + k) * 8 + column], *sum); \
                } \
    }

ROUNDED_PRODUCT(rz)
ROUNDED_PRODUCT(rm)
ROUNDED_PRODUCT(rp)

/* -- scatter: numbers to the threads that hold them; offsets count bytes -- */

static void store_double(uint32_t *low, double value)
{
    union {
        double number;
        uint64_t bits;
    } word = {value};
    low[0] = word.bits;
    low[MAX_THREADS] = word.bits >> 32;
}

static int32_t saturated(int64_t value)
{
    return value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : value;
}

#define SCATTER(NAME, TYPE, ELEMENT, STORE) \
    ALWAYS_INLINE void wl_scatter_##NAME( \
        const TYPE *matrix, struct scratch *s, uint32_t first, const uint32_t *offsets, int count) \
    { \
        char *results = (char *)&s->results[0][first]; \
        for (int index = 0; index < count; ++index) { \
            ELEMENT *to = (ELEMENT *)(results + offsets[index]); \
            TYPE value = matrix[index]; \
            STORE; \
        } \
    }

SCATTER(f32_to_f32, float, float, *to = value)
SCATTER(f32_to_f16, float, half, *to = value)
SCATTER(f64_to_f64, double, uint32_t, store_double(to, value))
SCATTER(i32_to_s32, int32_t, int32_t, *to = value)
SCATTER(i64_to_s32, int64_t, int32_t, *to = saturated(value))

/* -- permute: words made of halves that other threads handed over, for ldmatrix, stmatrix and movmatrix -- */

/* `halves` are, for each word and thread, the offsets in bytes of its low and its high half. */
void wl_permute(struct scratch *s, uint32_t first, const uint32_t (*halves)[WARP_THREADS][2], int words)
{
    const char *given = (const char *)&s->given[0][first];
    for (int word = 0; word < words; ++word)
        for (int lane = 0; lane < WARP_THREADS; ++lane) {
            uint32_t low = *(const uint16_t *)(given + halves[word][lane][0]);
            uint32_t high = *(const uint16_t *)(given + halves[word][lane][1]);
            s->results[word][first + lane] = high << 16 | low;
        }
}
