// A fluid on a grid of cells, shape [height, width], between four walls. The velocity's x is the flow through the left
// side of a cell and its y the flow through the upper side, in cells per second; walls let nothing through.
#include "warploom/pixel.h"
#include "warploom/vector.h"

// The element at a position in cells, where whole numbers are centres, between the four cells around it. Positions
// beyond the border are moved onto it.
template <class Element>
__device__ inline auto between(const Element* __restrict__ field, float x, float y, int width, int height) {
    x = fminf(fmaxf(x, 0.0f), width - 1.0f);
    y = fminf(fmaxf(y, 0.0f), height - 1.0f);
    const int left = static_cast<int>(x), top = static_cast<int>(y);
    const Element* upper = field + static_cast<size_t>(top) * width;
    const Element* lower = field + static_cast<size_t>(min(top + 1, height - 1)) * width;
    const int right = min(left + 1, width - 1);
    const auto above = upper[left] + (upper[right] - upper[left]) * (x - left);
    const auto below = lower[left] + (lower[right] - lower[left]) * (x - left);
    return above + (below - above) * (y - top);
}

// Moves a field with the flow: each cell takes what was `time_step` seconds upstream of its centre. A field has one
// float or four in an element.
extern "C" __global__ void advect(
    const void* __restrict__ field,
    const float2* __restrict__ velocity,
    void* __restrict__ out,
    unsigned int element,
    float time_step,
    float fade,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const size_t i = static_cast<size_t>(y) * width + x;
    const float right = x + 1 < width ? velocity[i + 1].x : 0.0f, below = y + 1 < height ? velocity[i + width].y : 0.0f;
    const float from_x = x - 0.5f * time_step * (velocity[i].x + right);
    const float from_y = y - 0.5f * time_step * (velocity[i].y + below);
    const float kept = expf(-fade * time_step);
    if (!is_pixel(element))
        static_cast<float*>(out)[i] = between(static_cast<const float*>(field), from_x, from_y, width, height) * kept;
    else
        static_cast<PIXEL*>(out)[i] = between(static_cast<const PIXEL*>(field), from_x, from_y, width, height) * kept;
}

// Relaxes the pressure of every second cell, as on a chessboard, towards the value at which the fluid's divergence is
// gone. In the last sweep, `change` becomes the largest step of a cell; floats that are not negative compare like their bits, and NaN is larger
// than all of them.
extern "C" __global__ void relax_pressure(
    float* __restrict__ pressure,
    const float* __restrict__ divergence,
    unsigned int* __restrict__ change,
    float over,
    int is_odd,
    int is_last,
    int width,
    int height) {
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + ((y + is_odd) & 1);
    float step = 0.0f;
    if (x < width && y < height) {
        const size_t i = static_cast<size_t>(y) * width + x;
        const float here = pressure[i];
        // A wall has the pressure of the cell before it, so that nothing flows through it.
        float sum = x > 0 ? pressure[i - 1] : here;
        sum += x + 1 < width ? pressure[i + 1] : here;
        sum += y > 0 ? pressure[i - width] : here;
        sum += y + 1 < height ? pressure[i + width] : here;
        const int open = (x > 0) + (x + 1 < width) + (y > 0) + (y + 1 < height);
        if (open > 0) step = over * (sum - 4.0f * here - divergence[i]) / open;
        pressure[i] = here + step;
    }
    if (!is_last) return;
    const unsigned int largest = __reduce_max_sync(0xFFFFFFFFu, __float_as_uint(fabsf(step)));
    if (((threadIdx.y * blockDim.x + threadIdx.x) & 31) == 0 && largest > 0) atomicMax(change, largest);
}
