// Parts of an image that hang together, as sets with a common root (union-find; Playne and Hawick, "A new algorithm for
// parallel connected-component labelling on GPUs", 2018). The root of a part is its first pixel, whatever the order of
// the threads.
#include "elements.cuh"
#include "warploom/color.h"
#include "warploom/pixel.h"
#include "warploom/vector.h"

typedef unsigned int Label;  // 0 for none, else a pixel of the same part, plus 1

__device__ inline Label root_of(const volatile Label* labels, Label label) {
    while (labels[label - 1] != label) label = labels[label - 1];
    return label;
}

__device__ inline void join(Label* labels, Label a, Label b) {
    while (true) {
        a = root_of(labels, a);
        b = root_of(labels, b);
        if (a == b) return;
        if (a > b) {
            const Label larger = a;
            a = b;
            b = larger;
        }
        const Label before = atomicMin(&labels[b - 1], a);
        if (before == b) return;
        b = before;  // another thread has joined it to something else in the meantime
    }
}

// Makes each pixel that is not 0 a part of its own.
extern "C" __global__ void begin_parts(
    const void* __restrict__ mask, Label* __restrict__ labels, unsigned int type, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) labels[i] = is_true(mask, type, i) ? i + 1 : 0;
}

// Joins each pixel with its neighbours to the left and above, and with corners on both sides.
extern "C" __global__ void join_parts(Label* labels, int corners, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const int i = y * width + x;
    if (labels[i] == 0) return;
    if (x > 0 && labels[i - 1] != 0) join(labels, i + 1, i);
    if (y == 0) return;
    const int above = i - width;
    if (labels[above] != 0) join(labels, i + 1, above + 1);
    if (corners && x > 0 && labels[above - 1] != 0) join(labels, i + 1, above);
    if (corners && x + 1 < width && labels[above + 1] != 0) join(labels, i + 1, above + 2);
}

// Gives each pixel the root of its part, and counts the parts.
extern "C" __global__ void end_parts(
    const Label* __restrict__ parts, Label* __restrict__ labels, unsigned int* __restrict__ number, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    labels[i] = parts[i] == 0 ? 0 : root_of(parts, parts[i]);
    if (labels[i] == static_cast<Label>(i) + 1) atomicAdd(number, 1u);
}

// Distances.

// How many rows away the nearest pixel of the mask in the same column is; `height` if there is none.
extern "C" __global__ void column_distances(
    const void* __restrict__ mask, int* __restrict__ rows, unsigned int type, int of_empty, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width) return;
    int since = height;
    for (int y = 0; y < height; ++y) {
        const size_t i = static_cast<size_t>(y) * width + x;
        since = is_true(mask, type, i) != (of_empty != 0) ? 0 : min(since + 1, height);
        rows[i] = since;
    }
    for (int y = height - 1; y >= 0; --y) {
        const size_t i = static_cast<size_t>(y) * width + x;
        since = rows[i] == 0 ? 0 : min(since + 1, height);
        rows[i] = min(rows[i], since);
    }
}

// The distance to the nearest pixel in any column. Columns are compared from near to far, until none can be nearer.
__device__ inline float nearest_in(const int* __restrict__ rows, int x, int width, int height) {
    long long best = rows[x] < height ? static_cast<long long>(rows[x]) * rows[x] : 0x7FFFFFFFFFFFll;
    for (long long dx = 1; dx * dx < best && dx < width; ++dx) {
        const int sides[2] = {x - static_cast<int>(dx), x + static_cast<int>(dx)};
        for (int side = 0; side < 2; ++side) {
            if (sides[side] < 0 || sides[side] >= width || rows[sides[side]] >= height) continue;
            const long long row = rows[sides[side]];
            best = min(best, row * row + dx * dx);
        }
    }
    return best == 0x7FFFFFFFFFFFll ? 1e30f : static_cast<float>(sqrt(static_cast<double>(best)));
}

// The distance of each pixel to the mask, and inside of it, if `is_signed`, minus the distance to what is outside.
extern "C" __global__ void distances(
    const int* __restrict__ rows,
    const int* __restrict__ empty_rows,
    float* __restrict__ out,
    int is_signed,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const size_t row = static_cast<size_t>(y) * width;
    float distance = nearest_in(rows + row, x, width, height);
    if (is_signed && distance == 0.0f) distance = -nearest_in(empty_rows + row, x, width, height);
    out[row + x] = distance;
}

// Canny's edges.

// Where the luminance changes most across an edge: the length of the gradient there, else 0. Gradients are Sobel's.
extern "C" __global__ void thin_edges(
    const PIXEL* __restrict__ image, float* __restrict__ edges, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    auto light = [&](int dx, int dy) {
        const int column = min(max(x + dx, 0), width - 1), row = min(max(y + dy, 0), height - 1);
        return luminance(image[static_cast<size_t>(row) * width + column]);
    };
    auto gradient = [&](int dx, int dy) {
        const float2 slope = {
            light(dx + 1, dy - 1) + 2.0f * light(dx + 1, dy) + light(dx + 1, dy + 1) - light(dx - 1, dy - 1) -
                2.0f * light(dx - 1, dy) - light(dx - 1, dy + 1),
            light(dx - 1, dy + 1) + 2.0f * light(dx, dy + 1) + light(dx + 1, dy + 1) - light(dx - 1, dy - 1) -
                2.0f * light(dx, dy - 1) - light(dx + 1, dy - 1)};
        return slope;
    };
    const float2 slope = gradient(0, 0);
    const float size = length(slope);
    // The two neighbours across the edge, to the nearest eighth of a turn.
    const float steep = 0.41421356f;  // the tangent of 22.5 degrees
    const int dx = fabsf(slope.x) < steep * fabsf(slope.y) ? 0 : slope.x > 0.0f ? 1 : -1;
    const int dy = fabsf(slope.y) < steep * fabsf(slope.x) ? 0 : slope.y > 0.0f ? 1 : -1;
    const bool is_top = size > length(gradient(dx, dy)) && size >= length(gradient(-dx, -dy));
    edges[static_cast<size_t>(y) * width + x] = is_top ? size : 0.0f;
}

extern "C" __global__ void begin_edges(
    const float* __restrict__ edges, Label* __restrict__ labels, float low, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) labels[i] = edges[i] > 0.0f && edges[i] >= low ? i + 1 : 0;
}

// Marks the root of each part that is strong somewhere.
extern "C" __global__ void mark_strong(
    const float* __restrict__ edges, const Label* __restrict__ labels, unsigned int* __restrict__ strong, float high, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count && labels[i] != 0 && edges[i] >= high) strong[root_of(labels, labels[i]) - 1] = 1;
}

extern "C" __global__ void draw_edges(
    const PIXEL* __restrict__ image,
    const Label* __restrict__ labels,
    const unsigned int* __restrict__ strong,
    PIXEL* __restrict__ out,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float edge = labels[i] != 0 && strong[root_of(labels, labels[i]) - 1] ? 1.0f : 0.0f;
    out[i] = {edge, edge, edge, float4(image[i]).w};
}
