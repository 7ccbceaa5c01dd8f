// Downscales a viewer's picture, or a thumbnail's buffer, to its size on the screen, so that the engine reads back no
// more than that.

__device__ inline float squared(unsigned char value) { return static_cast<float>(value) * static_cast<float>(value); }

__device__ inline unsigned char root(float square) { return static_cast<unsigned char>(sqrtf(square) + 0.5f); }

// One thread per pixel of the small picture: the mean over the area that it covers, where pixels at the edge count by
// the part inside. Colours are sRGB, whose squares are close to linear light; so a bright point keeps its light, and an
// even area its value. Alpha is averaged directly. Positions are in fractions of a pixel, `small_width` per pixel
// across and `small_height` down, relative to the first pixel of the area, so that all weights are small whole numbers.
// The source's strides are `row` and `column`, in elements. The pixel at `probe` is written after the small picture.
// Rows beyond the limit of a grid are computed by the threads of earlier rows.
extern "C" __global__ void reduce_picture(
    const uchar4* __restrict__ picture,
    uchar4* __restrict__ small,
    int width,
    int height,
    long long row,
    long long column,
    int small_width,
    int small_height,
    long long probe) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= small_width) return;
    const int first_row = blockIdx.y * blockDim.y + threadIdx.y, rows = gridDim.y * blockDim.y;
    if (x == 0 && first_row == 0) small[static_cast<long long>(small_width) * small_height] = picture[probe];
    const long long x_parts = static_cast<long long>(x) * width, first_x = x_parts / small_width;
    const int left = static_cast<int>(x_parts - first_x * small_width), right = left + width;
    const float share = 1.0f / (static_cast<float>(width) * static_cast<float>(height));
    for (int y = first_row; y < small_height; y += rows) {
        const long long y_parts = static_cast<long long>(y) * height, first_y = y_parts / small_height;
        const int top = static_cast<int>(y_parts - first_y * small_height), bottom = top + height;
        const uchar4* const area = picture + first_y * row + first_x * column;
        float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
        for (int v = 0; v * small_height < bottom; ++v) {
            const int part = min(bottom, (v + 1) * small_height) - max(top, v * small_height);
            float4 line = {0.0f, 0.0f, 0.0f, 0.0f};
            for (int u = 0; u * small_width < right; ++u) {
                const float weight = static_cast<float>(min(right, (u + 1) * small_width) - max(left, u * small_width));
                const uchar4 color = area[v * row + u * column];
                line.x += weight * squared(color.x);
                line.y += weight * squared(color.y);
                line.z += weight * squared(color.z);
                line.w += weight * static_cast<float>(color.w);
            }
            sum.x += part * line.x;
            sum.y += part * line.y;
            sum.z += part * line.z;
            sum.w += part * line.w;
        }
        small[static_cast<long long>(y) * small_width + x] = {
            root(sum.x * share),
            root(sum.y * share),
            root(sum.z * share),
            static_cast<unsigned char>(sum.w * share + 0.5f),
        };
    }
}

__device__ inline void keep(float& cell, double mean) { cell = static_cast<float>(mean); }

__device__ inline void keep(unsigned char& cell, double mean) { cell = static_cast<unsigned char>(mean + 0.5); }

// One thread per component of a cell: the mean of its columns in the first of its rows, as a thumbnail has it on any
// device. A buffer of `height` x `width` elements with `components` numbers each becomes `rows` x `cells` elements.
template <typename Number>
__device__ void mean_of_cells(
    const Number* buffer, Number* small, int height, int width, int components, int rows, int cells) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= cells * components) return;
    const long long cell = at / components, component = at % components;
    const long long first = cell * width / cells, last = (cell + 1) * width / cells;
    for (long long row = blockIdx.y * blockDim.y + threadIdx.y; row < rows; row += gridDim.y * blockDim.y) {
        const Number* const line = buffer + row * height / rows * width * components + component;
        double total = 0.0;
        for (long long column = first; column < last; ++column) total += line[column * components];
        keep(small[row * cells * components + at], total / static_cast<double>(last - first));
    }
}

extern "C" __global__ void reduce_floats(
    const float* __restrict__ buffer,
    float* __restrict__ small,
    int height,
    int width,
    int components,
    int rows,
    int cells) {
    mean_of_cells(buffer, small, height, width, components, rows, cells);
}

extern "C" __global__ void reduce_bytes(
    const unsigned char* __restrict__ buffer,
    unsigned char* __restrict__ small,
    int height,
    int width,
    int components,
    int rows,
    int cells) {
    mean_of_cells(buffer, small, height, width, components, rows, cells);
}
