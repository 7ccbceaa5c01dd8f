// Smallest or largest numbers of discs, diamonds and crosses around each pixel on a GPU, as `shapes.cu` has on a CPU. Beyond
// the border, the nearest pixel is used. A thread block moves down a strip of the image, and keeps the rows that its
// windows still need in shared memory.
//
// Windows begin as single numbers. In turns, they grow by a row above and below, and what was found spreads to the neighbours
// on both sides, where it joins their windows: a shape's outermost columns, which are no taller than others, come first and
// spread most often. A lane has four columns of one channel, so it exchanges only the outer two with other lanes.
//
// Numbers are compared as whole numbers in the same order: a GPU finds the largest of three by one instruction.
#include "image_numbers.cuh"
#include "slide.cuh"
#include "windows.cuh"

#ifndef SHAPE
#define SHAPE 1  // a disc (1), a diamond (2) or a cross (3)
#define RADIUS 2
#endif

// The rows that are completed together, the columns that a warp loads, and the threads of a thread block: a warp for each
// channel of pixels. The warps of a field have strips of their own.
constexpr int BATCH = 8, SPAN = 128, WARPS = 4, SPREADING = 32 * WARPS, ROW = WARPS * SPAN;

// NaN comes last, so it is left out.
constexpr int LAST = TAKE == 1 ? 0x7FFFFFFF : static_cast<int>(0x80000000u);

__device__ inline int first_of(int a, int b, int c) { return TAKE == 1 ? __vimin3_s32(a, b, c) : __vimax3_s32(a, b, c); }

// The bits of a float as a number in the order of floats, and back. A number of 16 bits is in the upper half.
__device__ inline int ordered(int bits) { return bits ^ (bits >> 31 & 0x7FFFFFFF); }
__device__ inline int key_of(unsigned int bits, const float*) {
    return (bits & 0x7FFFFFFFu) > 0x7F800000u ? LAST : ordered(static_cast<int>(bits));
}
__device__ inline int key_of(unsigned int bits, const Half*) {
    return (bits & 0x7FFFu) > 0x7C00u ? LAST : ordered(static_cast<int>(bits << 16));
}
__device__ inline int key_of(unsigned int bits, const unsigned char*) { return static_cast<int>(bits); }
__device__ inline void put_key(int key, float* out) { *out = __int_as_float(ordered(key)); }
__device__ inline void put_key(int key, Half* out) { out->bits = static_cast<unsigned int>(ordered(key)) >> 16; }
__device__ inline void put_key(int key, unsigned char* out) { *out = static_cast<unsigned char>(key); }

// The channels of a pixel.
template <typename Number> struct alignas(4 * sizeof(Number)) Four {
    Number numbers[4];
};

// A channel of a pixel in 32-bit words.
__device__ inline unsigned int channel(const unsigned int (&words)[4], int at, const float*) { return words[at]; }
__device__ inline unsigned int channel(const unsigned int (&words)[4], int at, const Half*) {
    return words[at / 2] >> at % 2 * 16 & 0xFFFFu;
}
__device__ inline unsigned int channel(const unsigned int (&words)[4], int at, const unsigned char*) {
    return words[0] >> at * 8 & 0xFFu;
}

template <typename Number> __device__ inline void put_pixel(const int* keys, Number* out, int at) {
    Four<Number> pixel;
#pragma unroll
    for (int j = 0; j < 4; ++j) put_key(keys[j * SPAN], &pixel.numbers[j]);
    reinterpret_cast<Four<Number>*>(out)[at] = pixel;
}

// The square root, rounded down.
__device__ constexpr int root(int number) {
    int found = 0;
    while ((found + 1) * (found + 1) <= number) ++found;
    return found;
}

// How far the shape reaches up and down at a distance from its middle column. A disc reaches up to radius + 0.5.
__device__ constexpr int reach(int distance) {
    if (SHAPE == 1) return root(RADIUS * (RADIUS + 1) - distance * distance);
    return SHAPE == 2 ? RADIUS - distance : distance == 0 ? RADIUS : 0;
}

// The windows of a thread.
struct Windows {
    int all[BATCH][4], tall[BATCH][4];      // what was found, and the windows' columns now
    int above[BATCH][4], below[BATCH][4];  // the rows at the ends of these: row r is at r modulo BATCH

    __device__ void spread() {
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            const int before = __shfl_up_sync(~0u, all[k][3], 1), after = __shfl_down_sync(~0u, all[k][0], 1);
            const int a = all[k][0], b = all[k][1], c = all[k][2], d = all[k][3];
            all[k][0] = first_of(before, b, tall[k][0]);
            all[k][1] = first_of(a, c, tall[k][1]);
            all[k][2] = first_of(b, d, tall[k][2]);
            all[k][3] = first_of(c, after, tall[k][3]);
        }
    }

    // Takes the turns from windows of 2 HEIGHT + 1 rows on; those of the columns beyond DISTANCE are done. load(r, four) gets
    // row r, counted from the first row of the batch.
    template <int HEIGHT, int DISTANCE, typename Load> __device__ void take(Load load) {
        if constexpr (DISTANCE >= 0) {
            if constexpr (reach(DISTANCE) == HEIGHT) {
                spread();
                take<HEIGHT, DISTANCE - 1>(load);
            } else {
                load(-HEIGHT - 1, above[(RADIUS * BATCH - HEIGHT - 1) % BATCH]);
                load(HEIGHT + BATCH, below[HEIGHT % BATCH]);
#pragma unroll
                for (int k = 0; k < BATCH; ++k)
#pragma unroll
                    for (int j = 0; j < 4; ++j)
                        tall[k][j] = first_of(tall[k][j], above[(RADIUS * BATCH + k - HEIGHT - 1) % BATCH][j],
                                              below[(k + HEIGHT + 1) % BATCH][j]);
                take<HEIGHT + 1, DISTANCE>(load);
            }
        }
    }

    template <typename Load> __device__ void take_all(Load load) {
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            load(k, tall[k]);
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                above[k][j] = below[k][j] = tall[k][j];
                all[k][j] = LAST;
            }
        }
        take<0, RADIUS>(load);
    }
};

struct Picture {
    const void* image;
    void* out;
    int number;  // the size of a number in bytes
    bool is_field;
    int width, height, row, column;
};

__device__ inline void spread(const Picture& picture) {
    extern __shared__ int4 shared[];
    constexpr int KEPT = 2 * RADIUS + BATCH, INNER = SPAN - 2 * RADIUS;
    int* const ring = &shared[0].x;
    int* const found = ring + KEPT * ROW;
    const bool is_field = picture.is_field;
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32, width = picture.width;
    const int wide = is_field ? WARPS * INNER : INNER, strips = (width + wide - 1) / wide;
    const int block = blockIdx.y * gridDim.x + blockIdx.x, segment = segment_of(picture.height, strips, RADIUS);
    const int top = block / strips * segment, rows = min(segment, picture.height - top);
    if (rows <= 0) return;
    // A thread loads a pixel of a row or, of a field, four numbers that are 32 columns apart.
    const int left = block % strips * wide + (is_field ? warp * INNER : 0) - RADIUS, first = is_field ? lane : thread;
    const int place = is_field ? warp * SPAN + lane : thread, step = is_field ? 32 : SPAN;  // in a row of shared memory
    int columns[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) columns[j] = inside(left + first + j * 32, width) * picture.column;
    // Words of a pixel or numbers of a field: to split or convert a word means to wait for it.
    unsigned int next[BATCH][4];
    const auto load = [&](int from) {
        int lines[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; ++k) lines[k] = inside(from + k, picture.height) * picture.row;
        const auto load_pixels = [&](auto* image) {
            constexpr int WORDS = sizeof(*image) / 4;
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                const auto pixel = image[lines[k] + columns[0]];
#pragma unroll
                for (int j = 0; j < WORDS; ++j) next[k][j] = reinterpret_cast<const unsigned int*>(&pixel)[j];
            }
        };
        const auto load_numbers = [&](auto* image) {
#pragma unroll
            for (int k = 0; k < BATCH; ++k)
#pragma unroll
                for (int j = 0; j < 4; ++j) next[k][j] = bits_of(image[lines[k] + columns[j]]);
        };
        if (is_field)
            by_number(picture.image, picture.number, load_numbers);
        else if (picture.number == 4)
            load_pixels(static_cast<const uint4*>(picture.image));
        else if (picture.number == 2)
            load_pixels(static_cast<const uint2*>(picture.image));
        else
            load_pixels(static_cast<const unsigned int*>(picture.image));
    };
    load(top - RADIUS);
    int slot = 0;  // where the first row of a batch is kept
    for (int y = -2 * RADIUS; y < rows; y += BATCH) {  // the first row that the batch completes
        by_number(picture.image, picture.number, [&](auto* image) {
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                int* const to = ring + (slot + k < KEPT ? slot + k : slot + k - KEPT) * ROW + place;
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    to[j * step] = key_of(is_field ? next[k][j] : channel(next[k], j, image), image);
            }
        });
        __syncthreads();
        if (y + BATCH < rows) load(top + y + BATCH + RADIUS);
        if (y > -BATCH) {
            const int middle = slot < RADIUS ? slot - RADIUS + KEPT : slot - RADIUS, own = warp * SPAN + lane * 4;
            Windows windows;
            windows.take_all([=](int row, int (&four)[4]) {
                const int at = middle + row + (row < 0 ? middle + row < 0 ? KEPT : 0 : middle + row < KEPT ? 0 : -KEPT);
                const int4 keys = *reinterpret_cast<const int4*>(ring + at * ROW + own);
                four[0] = keys.x, four[1] = keys.y, four[2] = keys.z, four[3] = keys.w;
            });
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                const int(&all)[4] = windows.all[k];
                *reinterpret_cast<int4*>(found + k * ROW + own) = make_int4(all[0], all[1], all[2], all[3]);
            }
        }
        __syncthreads();
        const auto is_out = [=](int j) {
            const int column = first + j * 32;
            return RADIUS <= column && column < SPAN - RADIUS && left + column < width;
        };
        by_number(picture.out, picture.number, [&](auto* out) {
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                if (y + k < 0 || y + k >= rows) continue;
                const int* const from = found + k * ROW + place;
                const int at = (top + y + k) * width + left + first;
                if (is_field) {
#pragma unroll
                    for (int j = 0; j < 4; ++j)
                        if (is_out(j)) put_key(from[j * 32], out + (at + j * 32));
                } else if (is_out(0)) {
                    put_pixel(from, out, at);
                }
            }
        });
        slot = slot + BATCH < KEPT ? slot + BATCH : slot + BATCH - KEPT;
    }
}

extern "C" __global__ void __launch_bounds__(SPREADING, RADIUS <= 5 ? 3 : 2) spread_shapes(
    const void* __restrict__ image, void* __restrict__ out, unsigned int type, int width, int height, int row, int column) {
#ifndef WARPLOOM_CPU
    const int number = number_size(type);
    spread({image, out, number, (type & ELEMENT_SIZE) == number, width, height, row, column});
#endif
}
