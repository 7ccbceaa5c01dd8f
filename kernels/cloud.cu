// Draws clouds of points with depth: the nearest point of each pixel is found first, then the picture is shaded.
//
// A pixel's key holds the inverted bits of the depth (high half) and the index of the point (low half), so the largest
// key is the nearest point, the same one in any order of threads. A key of 0 means that no point covers the pixel.
#include "camera.cuh"

typedef unsigned long long Key;

#define LARGEST_POINT 32.0f  // pixels; limits the work for a point right in front of the camera
#define NEAREST 0.01f        // metres; nearer points are not drawn

__device__ inline float depth_of(Key key) { return __uint_as_float(~static_cast<unsigned int>(key >> 32)); }

// One thread per point: writes the point's key to the pixels of its disc, and at least to the pixel of its centre.
extern "C" __global__ void splat_cloud(
    const float4* __restrict__ points,
    const Camera* __restrict__ camera,
    Key* nearest,
    float point_size,
    int count,
    int width,
    int height) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float3 offset = float3{points[i].x, points[i].y, points[i].z} - camera->position;
    const float depth = dot(offset, camera->forward);
    if (!(depth >= NEAREST && depth < 1e30f)) return;
    const float scale = camera->focal / depth;
    const float x = 0.5f * width + dot(offset, camera->right) * scale;
    const float y = 0.5f * height - dot(offset, camera->up) * scale;
    const float radius = fminf(point_size * 0.001f * scale, LARGEST_POINT);
    if (!(x + radius >= 0.0f && x - radius < width && y + radius >= 0.0f && y - radius < height)) return;

    const Key key = static_cast<Key>(~__float_as_uint(depth)) << 32 | static_cast<unsigned int>(i);
    const int center_x = static_cast<int>(floorf(x)), center_y = static_cast<int>(floorf(y));
    const int left = max(min(center_x, static_cast<int>(ceilf(x - radius - 0.5f))), 0);
    const int right = min(max(center_x, static_cast<int>(floorf(x + radius - 0.5f))), width - 1);
    const int top = max(min(center_y, static_cast<int>(ceilf(y - radius - 0.5f))), 0);
    const int bottom = min(max(center_y, static_cast<int>(floorf(y + radius - 0.5f))), height - 1);
    for (int row = top; row <= bottom; ++row) {
        const float dy = row + 0.5f - y;
        for (int column = left; column <= right; ++column) {
            const float dx = column + 0.5f - x;
            if (dx * dx + dy * dy > radius * radius && !(row == center_y && column == center_x)) continue;
            Key* pixel = &nearest[row * width + column];
            if (*pixel < key) atomicMax(pixel, key);
        }
    }
}

// One thread per pixel: the colour of the nearest point, darker where neighbours are nearer (eye-dome lighting).
extern "C" __global__ void develop_cloud(
    const Key* __restrict__ nearest,
    const float4* __restrict__ colors,
    float4* __restrict__ image,
    float shading,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const Key key = nearest[y * width + x];
    if (key == 0) {
        image[y * width + x] = {0.0f, 0.0f, 0.0f, 0.0f};
        return;
    }
    const float depth = log2f(depth_of(key));
    float nearer = 0.0f;
    for (int side = 0; side < 4; ++side) {
        const int step = side % 2 ? -1 : 1;
        for (int reach = 1; reach <= 2; ++reach) {
            const int column = min(max(x + (side < 2 ? step * reach : 0), 0), width - 1);
            const int row = min(max(y + (side < 2 ? 0 : step * reach), 0), height - 1);
            const Key other = nearest[row * width + column];
            if (other != 0) nearer += fmaxf(depth - log2f(depth_of(other)), 0.0f);
        }
    }
    const float light = expf(-20.0f * shading * nearer);
    const float4 color = colors ? colors[static_cast<unsigned int>(key)] : float4{1.0f, 1.0f, 1.0f, 1.0f};
    image[y * width + x] = {color.x * light, color.y * light, color.z * light, 1.0f};
}

// One thread per point: the positions in the first row of `cloud`, the colours in the second.
extern "C" __global__ void pack_cloud(
    const float4* __restrict__ points, const float4* __restrict__ colors, float4* __restrict__ cloud, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    cloud[i] = points[i];
    cloud[count + i] = colors ? colors[i] : float4{1.0f, 1.0f, 1.0f, 1.0f};
}
