// Fields on a regular grid of points, shape [height, width]: heat by relaxation, waves, drops, and light on them.
#include "frame.cuh"
#include "warploom/random.h"
#include "warploom/vector.h"

// The edge of a plate; its corners belong to the upper and lower edges. The inside does not change.
extern "C" __global__ void heat_edges(
    float* __restrict__ plate, float top, float bottom, float left, float right, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float* here = plate + static_cast<size_t>(y) * width + x;
    if (y == 0)
        *here = top;
    else if (y == height - 1)
        *here = bottom;
    else if (x == 0)
        *here = left;
    else if (x == width - 1)
        *here = right;
}

// Replaces each inner point by the mean of its four neighbours, rounding each sum. `change` is the largest change;
// floats that are not negative compare like their bits, and NaN is larger than all of them.
extern "C" __global__ void jacobi_step(
    const float* __restrict__ u, float* __restrict__ next, unsigned int* __restrict__ change, int width, int height) {
    __shared__ unsigned int largest;
    const bool first = threadIdx.x == 0 && threadIdx.y == 0;
    if (first) largest = 0;
    __syncthreads();
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        const size_t i = static_cast<size_t>(y) * width + x;
        float value = u[i];
        if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
            const float across = __fadd_rn(u[i - 1], u[i + 1]), along = __fadd_rn(u[i - width], u[i + width]);
            const float mean = __fmul_rn(0.25f, __fadd_rn(across, along));
            atomicMax(&largest, __float_as_uint(fabsf(__fsub_rn(mean, value))));
            value = mean;
        }
        next[i] = value;
    }
    __syncthreads();
    if (first) atomicMax(change, largest);
}

// One step of the wave equation, with a kernel each for velocity and height: every velocity needs the old heights
// around it. `speed` is the square of the wave speed in points per step, at most 0.5 for a stable step. The edge
// mirrors.
extern "C" __global__ void wave_velocity(
    const float* __restrict__ heights,
    float* __restrict__ velocities,
    float speed,
    float damping,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float* row = heights + static_cast<size_t>(y) * width;
    const float here = row[x];
    const float around = row[max(x - 1, 0)] + row[min(x + 1, width - 1)] +
                         heights[static_cast<size_t>(max(y - 1, 0)) * width + x] +
                         heights[static_cast<size_t>(min(y + 1, height - 1)) * width + x];
    const size_t i = static_cast<size_t>(y) * width + x;
    velocities[i] = (velocities[i] + speed * (around - 4.0f * here)) * (1.0f - damping);
}

extern "C" __global__ void wave_height(
    float* __restrict__ heights, const float* __restrict__ velocities, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) heights[i] += velocities[i];
}

// Pushes the field down in a round spot with a soft edge, at a place determined by the number of drops so far.
extern "C" __global__ void drop(
    float* __restrict__ field,
    const unsigned int* __restrict__ number,
    const Frame* __restrict__ frame,
    float strength,
    float radius,
    int seed,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    Random random(hash(*number) ^ hash(seed + frame->seed * 0x9E3779B9u));
    const float center_x = random.next() * width, center_y = random.next() * height;
    const float dx = x + 0.5f - center_x, dy = y + 0.5f - center_y;
    const float soft = 1.0f - (dx * dx + dy * dy) / (radius * radius);
    if (soft > 0.0f) field[static_cast<size_t>(y) * width + x] -= strength * soft * soft;
}

// Counts the drop; run by a single thread.
extern "C" __global__ void count_drop(unsigned int* number) { ++*number; }

// Sets `due` to 1 in the first of every `period` calls, otherwise to 0. Run by a single thread.
extern "C" __global__ void every(unsigned int* calls, unsigned int* due, int period) {
    *due = *calls % static_cast<unsigned int>(period) == 0;
    *calls = (*calls + 1) % static_cast<unsigned int>(period);
}

// Shades a surface lit from the upper left.
extern "C" __global__ void relief(
    const float* __restrict__ heights,
    float4* __restrict__ image,
    float steepness,
    float shine,
    float red,
    float green,
    float blue,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float* row = heights + static_cast<size_t>(y) * width;
    const float slope_x = steepness * 0.5f * (row[min(x + 1, width - 1)] - row[max(x - 1, 0)]);
    const float slope_y = steepness * 0.5f * (heights[static_cast<size_t>(min(y + 1, height - 1)) * width + x] -
                                              heights[static_cast<size_t>(max(y - 1, 0)) * width + x]);
    const float scale = 1.0f / sqrtf(1.0f + slope_x * slope_x + slope_y * slope_y);
    const float light = saturate((1.0f + slope_x + slope_y) * scale * 0.57735027f);
    // Blinn's highlight, seen from straight above; the half vector of light and view is (-0.325, -0.325, 0.888).
    const float half_way = saturate((0.325f * (slope_x + slope_y) + 0.888f) * scale);
    const float square = half_way * half_way, fourth = square * square, eighth = fourth * fourth;
    const float glint = shine * eighth * eighth * eighth * eighth;
    const float body = 0.15f + 1.25f * light;
    image[static_cast<size_t>(y) * width + x] = {red * body + glint, green * body + glint, blue * body + glint, 1.0f};
}
