// Filters along the rows of an image and then along its columns, in one pass. A thread block moves down a strip of the
// image, and keeps those filtered rows that columns still need. So each number is read once, except at the strip's sides.
// Instructions limit its speed: sizes are constants where they can be, and offsets are numbers of 32 bits.
#pragma once
#include "image_numbers.cuh"
#include "slide.cuh"

// The threads of a thread block, which are also the numbers of a strip's row; the rows that are filtered together, the
// largest radius, and the rows that are kept, a power of two. The first batch of them lies behind the others as well.
constexpr int THREADS = 192, BATCH = 16, MOST = 24, KEPT = 64;

struct Strips {
    const void* image;
    void* out;
    int number;  // the size of a number in bytes
    int width, height, row, column;
    int radius_x, radius_y;
};

// The numbers of a strip's row with those beside it that windows need, and a distance between rows that lets threads
// with neighbouring rows or channels use different banks.
template <int CHANNELS> constexpr int pitch_of = (THREADS + 2 * MOST * CHANNELS + 31) / 32 * 32 + CHANNELS;
template <int CHANNELS> constexpr int kept_pitch_of = THREADS + CHANNELS;

// `across(found, load)` filters windows next to each other of a row, where load(i) is number i of the first window and
// those after it. `down(found, is_needed, row)` does so in a column, where row(i) points to number i, and the rows after it
// up to the end of its batch, or BATCH if there are more, are a distance of kept_pitch_of apart. Windows that are not needed
// reach beyond the thread block's rows. `down` is called in order. A thread filters RUN_X windows
// of a row, or RUN_Y of a column, at once: divisors of BATCH.
template <int CHANNELS, int RUN_X, int RUN_Y, typename Byte = unsigned char, typename Across, typename Down>
__device__ inline void march(const Strips& image, Across across, Down down) {
    extern __shared__ float tile[];
    constexpr int PITCH = pitch_of<CHANNELS>, KEPT_PITCH = kept_pitch_of<CHANNELS>;
    static_assert(2 * MOST + BATCH <= KEPT, "a window's rows are kept");
    static_assert(2 * MOST * CHANNELS <= THREADS, "a thread loads two numbers of each row");
    float* const kept = tile + BATCH * PITCH;
    const int numbers = image.width * CHANNELS, side = image.radius_x * CHANNELS, wide_row = THREADS + 2 * side;
    const int strips = (numbers + THREADS - 1) / THREADS, block = blockIdx.y * gridDim.x + blockIdx.x;
    const int segment = segment_of(image.height, strips, image.radius_y), thread = threadIdx.x;
    const int left = block % strips * THREADS, top = block / strips * segment;
    const int rows = min(segment, image.height - top);
    if (rows <= 0) return;

    const int pitch = image.row * CHANNELS;
    const auto place = [&](int x) {  // of a number in a row of the image
        return inside((left + x) / CHANNELS - image.radius_x, image.width) * image.column * CHANNELS + x % CHANNELS;
    };
    const bool has_second = thread + THREADS < wide_row;
    const int place0 = place(thread), place1 = place(thread + THREADS);
    // Loaded while the rows before are filtered; to convert a number means to wait for it.
    unsigned int next[2][BATCH];
    int slot = 0;  // where the first row of a batch is kept
    // `y` is the first row that the batch completes. The first turn only loads.
    for (int y = -2 * image.radius_y - BATCH; y < rows; y += BATCH) {
        const bool has_batch = y >= -2 * image.radius_y;
        if (has_batch) by_number<Byte>(image.image, image.number, [&](auto* source) {
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                tile[k * PITCH + thread] = wide_of(next[0][k], source);
                if (has_second) tile[k * PITCH + thread + THREADS] = wide_of(next[1][k], source);
            }
        });
        __syncthreads();
        if (y + BATCH < rows) by_number<Byte>(image.image, image.number, [&](auto* source) {
            const int first = top + y + BATCH + image.radius_y;
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                const int from = inside(first + k, image.height) * pitch;
                next[0][k] = bits_of(source[from + place0]);
                if (has_second) next[1][k] = bits_of(source[from + place1]);
            }
        });
        if (!has_batch) continue;
        {
            float found[RUN_X];
            const int channel = thread % CHANNELS, k = thread / CHANNELS % BATCH, run = thread / CHANNELS / BATCH;
            const int x = run * RUN_X * CHANNELS + channel;
            const float* in = tile + k * PITCH + x;
            float* to = kept + (slot + k) * KEPT_PITCH + x;
            for (int turn = 0; turn < BATCH / RUN_X; ++turn) {
                across(found, [=](int i) { return in[i * CHANNELS]; });
#pragma unroll
                for (int j = 0; j < RUN_X; ++j) to[j * CHANNELS] = found[j];
                if (slot == 0) {
#pragma unroll
                    for (int j = 0; j < RUN_X; ++j) to[KEPT * KEPT_PITCH + j * CHANNELS] = found[j];
                }
                in += THREADS / BATCH * RUN_X;
                to += THREADS / BATCH * RUN_X;
            }
        }
        __syncthreads();
        if (left + thread < numbers) {
            float found[RUN_Y];
            const float* const column = kept + thread;
            for (int k = y; k < y + BATCH; k += RUN_Y) {
                const int first = slot - 2 * image.radius_y + k - y;
                const bool is_needed = k > -RUN_Y;
                const auto kept_row = [=](int i) { return column + ((first + i) & (KEPT - 1)) * KEPT_PITCH; };
                down(found, is_needed, kept_row);
                if (is_needed) by_number<Byte>(image.out, image.number, [&](auto* out) {
#pragma unroll
                    for (int j = 0; j < RUN_Y; ++j)
                        if (static_cast<unsigned int>(k + j) < rows)
                            narrow(found[j], out + ((top + k + j) * numbers + left + thread));
                });
            }
        }
        slot = (slot + BATCH) & (KEPT - 1);
    }
}
