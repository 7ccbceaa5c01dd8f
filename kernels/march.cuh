// Filters along the rows of an image and then along its columns, in one pass. A thread block moves down a strip of the
// image, and keeps those filtered rows that columns still need. So each number is read once, except at the strip's sides.
#pragma once
#include "image_numbers.cuh"
#include "slide.cuh"

constexpr int THREADS = 256, BATCH = 16;

struct Strips {
    const void* image;
    void* out;
    int number, out_number;  // sizes of numbers in bytes
    int channels, width, height, row, column;
    int radius_x, radius_y;
    int tile, batch, segment;  // numbers of a row, rows that are filtered together, and rows of a thread block
};

// `across(found, load)` filters windows next to each other of a row, where load(i) is number i of the first window and
// those after it; `down` does so in a column. choose(radius, work) calls `work` with an array for as many windows as a
// thread filters at once: a divisor of BATCH. `batch` is BATCH unless `radius_y` is 0.
template <typename Choose, typename Across, typename Down>
__device__ inline void march(const Strips& image, Choose choose, Across across, Down down) {
    extern __shared__ float tile[];
    const int channels = image.channels, batch = image.batch, numbers = image.width * channels;
    const int wide_row = image.tile + 2 * image.radius_x * channels, pitch = (wide_row + 31) / 32 * 32 + channels;
    const int kept_rows = 2 * image.radius_y + batch, kept_pitch = image.tile + channels;
    float* const kept = tile + batch * pitch;
    const int left = blockIdx.x * image.tile, top = blockIdx.y * image.segment;
    const int rows = min(image.segment, image.height - top);
    if (left >= numbers || rows <= 0) return;
    const auto fetch = [&](int first, int x, float(&held)[BATCH]) {
        const long long from =
            line((left + x) / channels - image.radius_x, image.width, image.column * channels) + x % channels;
        by_number(image.image, image.number, [&](auto* source) {
#pragma unroll
            for (int k = 0; k < BATCH; ++k)
                if (k < batch) held[k] = wide(source[from + line(first + k, image.height, image.row * channels)]);
        });
    };
    const auto put = [&](int x, const float(&held)[BATCH]) {
#pragma unroll
        for (int k = 0; k < BATCH; ++k)
            if (k < batch) tile[k * pitch + x] = held[k];
    };
    const int x0 = threadIdx.x, x1 = x0 + THREADS;
    float next[2][BATCH];  // loaded while the rows before are filtered
    fetch(top - image.radius_y, x0, next[0]);
    if (x1 < wide_row) fetch(top - image.radius_y, x1, next[1]);
    int slot = 0;  // where the first row of a batch is kept
    for (int y = -2 * image.radius_y; y < rows; y += batch) {  // the first row that the batch completes
        const int first = top + y + image.radius_y;
        put(x0, next[0]);
        if (x1 < wide_row) put(x1, next[1]);
        for (int x = x1 + THREADS; x < wide_row; x += THREADS) {
            float held[BATCH];
            fetch(first, x, held);
            put(x, held);
        }
        __syncthreads();
        if (y + batch < rows) {
            fetch(first + batch, x0, next[0]);
            if (x1 < wide_row) fetch(first + batch, x1, next[1]);
        }
        const auto kept_at = [=](int at) { return kept + (at < kept_rows ? at : at - kept_rows) * kept_pitch; };
        choose(image.radius_x, [&](auto& found) {
            constexpr int RUN = sizeof(found) / sizeof(float);
            for (int item = threadIdx.x; item < batch * image.tile / RUN; item += THREADS) {
                const int k = item / channels % batch, x = item / channels / batch * RUN * channels + item % channels;
                const float* const in = tile + k * pitch + x;
                across(found, [=](int i) { return in[i * channels]; });
                float* const to = kept_at(slot + k) + x;
#pragma unroll
                for (int j = 0; j < RUN; ++j) to[j * channels] = found[j];
            }
        });
        __syncthreads();
        const int begin = slot + batch < kept_rows ? slot + batch : slot + batch - kept_rows;
        if (y > -batch) choose(image.radius_y, [&](auto& found) {
            constexpr int RUN = sizeof(found) / sizeof(float);
            for (int x = threadIdx.x; x < image.tile && left + x < numbers; x += THREADS)
                for (int k = 0; k < batch; k += RUN) {
                    down(found, [=](int i) { return kept_at(begin + k + i)[x]; });
                    by_number(image.out, image.out_number, [&](auto* out) {
#pragma unroll
                        for (int j = 0; j < RUN; ++j)
                            if (y + k + j >= 0 && y + k + j < rows)
                                narrow(found[j], out + (static_cast<size_t>(top + y + k + j) * numbers + left + x));
                    });
                }
        });
        slot = begin;
    }
}
