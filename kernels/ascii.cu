// Pictures of characters.
#include "warploom/color.h"
#include "warploom/vector.h"

// The mean colour of each cell of a picture, with premultiplied alpha. A thread block has a cell.
extern "C" __global__ void __launch_bounds__(64) average_cells(
    const float4* __restrict__ image, float4* __restrict__ cells, int width, int height, int columns, int rows) {
    if (static_cast<int>(blockIdx.x) >= columns * rows) return;
    __shared__ float4 sums[64];
    const int row = blockIdx.x / columns, column = blockIdx.x - row * columns, thread = threadIdx.x;
    const int left = static_cast<long long>(column) * width / columns, top = static_cast<long long>(row) * height / rows;
    const int right = max(static_cast<int>((column + 1ll) * width / columns), left + 1);
    const int bottom = max(static_cast<int>((row + 1ll) * height / rows), top + 1);
    const int wide = right - left, count = wide * (bottom - top);
    float4 sum = {};
    for (int i = thread; i < count; i += 64) {
        const float4 pixel = image[static_cast<size_t>(top + i / wide) * width + left + i % wide];
        sum += float4{pixel.x * pixel.w, pixel.y * pixel.w, pixel.z * pixel.w, pixel.w};
    }
    sums[thread] = sum;
    for (int step = 32; step > 0; step /= 2) {
        __syncthreads();
        if (thread < step) sums[thread] += sums[thread + step];
    }
    if (thread == 0) cells[blockIdx.x] = sums[0] * (1.0f / count);
}

// Each cell shows the character whose ink is as bright as it. `chosen` has a character for each of `levels` steps of
// brightness, as sRGB's curve encodes it; `glyphs` are the shares of pixels that characters cover.
extern "C" __global__ void draw_characters(
    const float4* __restrict__ cells, const float* __restrict__ glyphs, const int* __restrict__ chosen,
    float4* __restrict__ out, int* __restrict__ characters, int levels, int is_colored, int is_dark, int columns,
    int cell_width, int cell_height, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const int column = x / cell_width, row = y / cell_height, cell = row * columns + column;
    const float4 mean = cells[cell];
    const float3 light = {mean.x, mean.y, mean.z};
    float bright = to_srgb(fminf(fmaxf(luminance(light), 0.0f), 1.0f));
    if (is_dark) bright = 1.0f - bright;
    const int character = chosen[static_cast<int>(bright * (levels - 1) + 0.5f)];
    const int in_x = x - column * cell_width, in_y = y - row * cell_height;
    if (in_x == 0 && in_y == 0) characters[cell] = character;
    const float ink = glyphs[(character * cell_height + in_y) * cell_width + in_x];
    // A colour as bright as the ink allows: its largest part is 1.
    const float most = fmaxf(fmaxf(light.x, light.y), fmaxf(light.z, 1e-6f));
    float3 letter = is_colored && !is_dark ? light * (1.0f / most) : is_colored ? light : float3{1.0f, 1.0f, 1.0f};
    if (is_dark && !is_colored) letter = {0.0f, 0.0f, 0.0f};
    const float paper = is_dark ? 1.0f : 0.0f;
    out[static_cast<size_t>(y) * width + x] = {
        paper + (letter.x - paper) * ink, paper + (letter.y - paper) * ink, paper + (letter.z - paper) * ink, 1.0f};
}
