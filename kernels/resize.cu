// Resizes images of f32, or of several f32 per pixel.
#include "elements.cuh"

// The pixel at or before the centre of new pixel `at`, and the distance from there towards the next one, from 0 to 1.
__device__ inline int place(int at, int source, int target, float& beyond)
{
    // (at + 0.5) * source / target - 0.5, in units of half a new pixel.
    const long long middle = (2ll * at + 1) * source - target, unit = 2ll * target;
    if (middle <= 0) {
        beyond = 0.0f;
        return 0;
    }
    const int before = static_cast<int>(middle / unit);
    beyond = before >= source - 1 ? 0.0f : static_cast<float>(middle % unit) / static_cast<float>(unit);
    return before >= source - 1 ? source - 1 : before;
}

extern "C" __global__ void resize(const float* __restrict__ image, float* __restrict__ out, unsigned int element,
                                  int source_width, int source_height, long long row, long long column, int width,
                                  int height, bool is_linear)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const int channels = (element & ELEMENT_SIZE) / 4;
    float u, v;
    int left = place(x, source_width, width, u), top = place(y, source_height, height, v);
    if (!is_linear) {  // the nearer one, or the later one of two at equal distance
        left = static_cast<int>((2ll * x + 1) * source_width / (2ll * width));
        top = static_cast<int>((2ll * y + 1) * source_height / (2ll * height));
    }
    const long long right = is_linear && u > 0.0f ? column : 0, down = is_linear && v > 0.0f ? row : 0;
    const float* first = image + (top * row + left * column) * channels;
    for (int c = 0; c < channels; ++c) {
        float found = first[c];
        if (is_linear) {
            const float above = found + (first[right * channels + c] - found) * u;
            const float* below = first + down * channels;
            const float under = below[c] + (below[right * channels + c] - below[c]) * u;
            found = above + (under - above) * v;
        }
        out[(static_cast<long long>(y) * width + x) * channels + c] = found;
    }
}
