// Draws meshes of triangles with depth and the shadow of a far light: the nearest triangle of each pixel is found first,
// then the picture is shaded.
//
// A pixel's key holds the inverted bits of the depth (high half) and the index of the triangle (low half), so the largest
// key is the nearest triangle, the same one in any order of threads. A key of 0 means that no triangle covers the pixel.
#include "camera.cuh"

typedef unsigned long long Key;

#define SPARE 16384     // threads that a launch has besides one per triangle; equals SPARE in render_mesh.py
#define NEAREST 0.01f  // metres; nearer surfaces are not drawn
#define DEGREE 0.0174532925f

// A corner as a camera sees it: its place in pixels from the picture's centre, times w, which is the depth for a lens and
// 1 for parallel light. So nothing divides by the depth of a corner behind the camera (Olano and Greer, "Triangle scan
// conversion using 2D homogeneous coordinates", 1997).
struct Corner {
    float x, y, w, depth;
};

// a * b - c * d, rounded such that swapping both products only changes the sign: an edge is the same from both sides.
__device__ inline float difference(float a, float b, float c, float d) {
    return __fsub_rn(__fmul_rn(a, b), __fmul_rn(c, d));
}

// The edges of a triangle as functions of the pixel that are not negative inside, and 0 on the edge. Divided by `area`,
// they are the shares of the corners over w.
struct Triangle {
    float3 edges[3];
    float depths[3];
    float area;

    __device__ explicit Triangle(const Corner (&corners)[3]) {
        for (int i = 0; i < 3; ++i) {
            const Corner p = corners[(i + 1) % 3], q = corners[(i + 2) % 3];
            edges[i] = {difference(p.y, q.w, p.w, q.y), difference(p.w, q.x, p.x, q.w), difference(p.x, q.y, p.y, q.x)};
            depths[i] = corners[i].depth;
        }
        area = corners[0].x * edges[0].x + corners[0].y * edges[0].y + corners[0].w * edges[0].z;
        for (int i = 0; i < 3 && area < 0.0f; ++i) edges[i] = -edges[i];
        area = fabsf(area);
    }

    // Sets the shares of the corners at a pixel and the depth. Returns false outside; of two triangles at an edge, one
    // has the pixels on it.
    __device__ bool covers(float x, float y, float (&shares)[3], float& depth) const {
        float sum = 0.0f, weighted = 0.0f;
        for (int i = 0; i < 3; ++i) {
            const float3 e = edges[i];
            const float side = e.x * x + e.y * y + e.z;
            const bool is_first = e.x > 0.0f || (e.x == 0.0f && e.y > 0.0f);
            if (!(side > 0.0f || (side == 0.0f && is_first))) return false;
            shares[i] = side;
            sum += side;
            weighted += side * depths[i];
        }
        for (int i = 0; i < 3; ++i) shares[i] /= sum;
        depth = weighted / sum;
        return sum > 0.0f && depth >= NEAREST && depth < 1e30f;
    }
};

// The triangle of a thread. Several threads share the rows of a triangle if there are few, since these may be large.
struct Share {
    int face, lane, lanes;
    __device__ explicit Share(int face_count) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        lanes = 1 + SPARE / max(face_count, 1);
        face = i / lanes;
        lane = i % lanes;
    }
};

// Calls `draw` with column, row and depth for each pixel in the rows of a triangle's share.
template <class Draw>
__device__ inline void for_each_pixel(const Corner (&corners)[3], Share share, int width, int height, Draw draw) {
    float left = 1e30f, right = -1e30f, top = 1e30f, bottom = -1e30f;
    bool is_behind = false, is_before = false;
    for (int i = 0; i < 3; ++i) {
        const Corner c = corners[i];
        if (!(fabsf(c.x) < 1e30f && fabsf(c.y) < 1e30f && fabsf(c.depth) < 1e30f)) return;
        is_behind |= c.w < NEAREST;
        is_before |= c.w >= NEAREST;
        left = fminf(left, c.x / c.w);
        right = fmaxf(right, c.x / c.w);
        top = fminf(top, c.y / c.w);
        bottom = fmaxf(bottom, c.y / c.w);
    }
    if (!is_before) return;
    const float half_x = 0.5f * width, half_y = 0.5f * height;
    if (is_behind) left = -half_x, right = half_x, top = -half_y, bottom = half_y;
    const int first = static_cast<int>(fmaxf(left + half_x - 0.5f, 0.0f));
    const int last = static_cast<int>(fminf(right + half_x, width - 1.0f));
    const int first_row = static_cast<int>(fmaxf(top + half_y - 0.5f, 0.0f));
    const int last_row = static_cast<int>(fminf(bottom + half_y, height - 1.0f));
    const Triangle triangle(corners);
    for (int row = first_row + share.lane; row <= last_row; row += share.lanes)
        for (int column = first; column <= last; ++column) {
            float shares[3], depth;
            if (triangle.covers(column + 0.5f - half_x, row + 0.5f - half_y, shares, depth)) draw(column, row, depth);
        }
}

__device__ inline float3 point_of(const float4* __restrict__ points, int i) {
    return {points[i].x, points[i].y, points[i].z};
}

__device__ inline Corner seen(const Camera& camera, float3 point) {
    const float3 offset = point - camera.position;
    const float depth = dot(offset, camera.forward);
    return {dot(offset, camera.right) * camera.focal, -dot(offset, camera.up) * camera.focal, depth, depth};
}

// Parallel light from a direction. `reach` is the distance from the target up to which things throw shadows.
struct Light {
    float3 target, right, up, forward;
    float reach;
    int size;  // pixels along an edge of the shadow map; 0 for no shadows

    __device__ Light(float turn, float elevation, float height, float reach, int size) : reach(reach), size(size) {
        const Camera camera = orbit_camera(turn, elevation, 1.0f, height, 90.0f, size);
        target = {0.0f, height, 0.0f};
        right = camera.right, up = camera.up, forward = camera.forward;
    }
    // Depths begin two reaches before the target, so that they are not negative where shadows are.
    __device__ Corner seen(float3 point) const {
        const float3 offset = point - target;
        const float scale = 0.5f * size / reach;
        return {dot(offset, right) * scale, -dot(offset, up) * scale, 1.0f, dot(offset, forward) + 2.0f * reach};
    }
};

// The indices of a triangle's points. Returns false if one is none of the points.
__device__ inline bool corners_of(const int* __restrict__ faces, int face, int count, int (&corners)[3]) {
    bool is_whole = true;
    for (int i = 0; i < 3; ++i) {
        corners[i] = faces[3 * static_cast<size_t>(face) + i];
        is_whole &= 0 <= corners[i] && corners[i] < count;
    }
    return is_whole;
}

// At least one thread per triangle: writes its key to the pixels that it covers.
extern "C" __global__ void draw_mesh(
    const float4* __restrict__ points,
    const int* __restrict__ faces,
    const Camera* __restrict__ camera,
    Key* nearest,
    int point_count,
    int face_count,
    int width,
    int height) {
    const Share share(face_count);
    int at[3];
    if (share.face >= face_count || !corners_of(faces, share.face, point_count, at)) return;
    Corner corners[3];
    for (int k = 0; k < 3; ++k) corners[k] = seen(*camera, point_of(points, at[k]));
    for_each_pixel(corners, share, width, height, [&](int column, int row, float depth) {
        const Key key = static_cast<Key>(~__float_as_uint(depth)) << 32 | static_cast<unsigned int>(share.face);
        Key* pixel = &nearest[static_cast<size_t>(row) * width + column];
        if (*pixel < key) atomicMax(pixel, key);
    });
}

// At least one thread per triangle: writes the inverted bits of its depth to the pixels of the shadow map.
extern "C" __global__ void draw_shadow(
    const float4* __restrict__ points,
    const int* __restrict__ faces,
    unsigned int* shadow,
    float turn,
    float elevation,
    float target,
    float reach,
    int size,
    int point_count,
    int face_count) {
    const Share share(face_count);
    int at[3];
    if (share.face >= face_count || !corners_of(faces, share.face, point_count, at)) return;
    const Light light(turn, elevation, target, reach, size);
    Corner corners[3];
    for (int k = 0; k < 3; ++k) corners[k] = light.seen(point_of(points, at[k]));
    for_each_pixel(corners, share, size, size, [&](int column, int row, float depth) {
        const unsigned int key = ~__float_as_uint(depth);
        unsigned int* pixel = &shadow[static_cast<size_t>(row) * size + column];
        if (*pixel < key) atomicMax(pixel, key);
    });
}

// The share of the light that reaches a point: the mean over 3 x 3 pixels of the shadow map.
__device__ inline float lit(const unsigned int* __restrict__ shadow, const Light& light, float3 point, float3 normal) {
    const float texel = 2.0f * light.reach / light.size;
    const Corner at = light.seen(point + normal * (1.5f * texel));
    const int x = static_cast<int>(floorf(at.x + 0.5f * light.size));
    const int y = static_cast<int>(floorf(at.y + 0.5f * light.size));
    float sum = 0.0f;
    for (int row = y - 1; row <= y + 1; ++row)
        for (int column = x - 1; column <= x + 1; ++column) {
            const bool is_inside = 0 <= row && row < light.size && 0 <= column && column < light.size;
            const unsigned int key = is_inside ? shadow[static_cast<size_t>(row) * light.size + column] : 0u;
            sum += key == 0 || __uint_as_float(~key) > at.depth - texel ? 1.0f : 0.0f;
        }
    return sum * (1.0f / 9.0f);
}

// One thread per pixel: the nearest triangle in the light of the sky and of a far lamp, with Blinn's highlight. Both
// sides of a triangle are alike.
extern "C" __global__ void shade_mesh(
    const float4* __restrict__ points,
    const float4* __restrict__ normals,
    const float4* __restrict__ colors,
    const int* __restrict__ faces,
    const Camera* __restrict__ camera,
    const Key* __restrict__ nearest,
    const unsigned int* __restrict__ shadow,
    float4* __restrict__ image,
    float turn,
    float elevation,
    float target,
    float reach,
    int size,
    float lamp,
    float sky,
    float shine,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const size_t pixel = static_cast<size_t>(y) * width + x;
    image[pixel] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (nearest[pixel] == 0) return;
    const int* at = faces + 3 * static_cast<size_t>(static_cast<unsigned int>(nearest[pixel]));
    Corner corners[3];
    for (int k = 0; k < 3; ++k) corners[k] = seen(*camera, point_of(points, at[k]));
    float shares[3], depth;
    if (!Triangle(corners).covers(x + 0.5f - 0.5f * width, y + 0.5f - 0.5f * height, shares, depth)) return;

    float3 point = {0.0f, 0.0f, 0.0f}, normal = point;
    float4 color = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k = 0; k < 3; ++k) {
        point += point_of(points, at[k]) * shares[k];
        if (normals) normal += point_of(normals, at[k]) * shares[k];
        color += (colors ? colors[at[k]] : float4{1.0f, 1.0f, 1.0f, 1.0f}) * shares[k];
    }
    const float3 corner = point_of(points, at[0]);
    const float3 flat = normalize(cross(point_of(points, at[1]) - corner, point_of(points, at[2]) - corner));
    const float3 to_eye = normalize(camera->position - point);
    const float3 outward = dot(flat, to_eye) < 0.0f ? -flat : flat;
    normal = dot(normal, normal) > 0.0f ? normalize(normal) : outward;
    if (dot(normal, outward) < 0.0f) normal = -normal;

    const Light light(turn, elevation, target, reach, size);
    const float3 to_light = -light.forward;
    const float facing = saturate(dot(normal, to_light));
    float open = facing > 0.0f ? lamp : 0.0f;
    if (size > 0 && open != 0.0f) open *= lit(shadow, light, point, normal);
    const float glint = saturate(dot(normal, normalize(to_light + to_eye)));
    const float square = glint * glint, fourth = square * square, sixteenth = fourth * fourth * fourth * fourth;
    const float body = sky * (0.75f + 0.25f * normal.y) + open * facing;
    const float bright = shine * open * sixteenth * sixteenth;
    image[pixel] = {color.x * body + bright, color.y * body + bright, color.z * body + bright, 1.0f};
}

// One thread per point of a surface over a grid: position, normal and, except in the last row and column, the two
// triangles to its lower right. The longer side of the grid has the length `size`.
extern "C" __global__ void grid_mesh(
    const float* __restrict__ heights,
    float4* __restrict__ points,
    float4* __restrict__ normals,
    int* __restrict__ faces,
    float size,
    float scale,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const int i = y * width + x;
    const float step = size / max(max(width, height) - 1, 1);
    points[i] = {(x - 0.5f * (width - 1)) * step, scale * heights[i], (y - 0.5f * (height - 1)) * step, 1.0f};
    const int left = max(x - 1, 0), right = min(x + 1, width - 1), above = max(y - 1, 0), below = min(y + 1, height - 1);
    const float rise_x = scale * (heights[y * width + right] - heights[y * width + left]) / max(right - left, 1);
    const float rise_z = scale * (heights[below * width + x] - heights[above * width + x]) / max(below - above, 1);
    const float3 normal = normalize(float3{-rise_x, step, -rise_z});
    normals[i] = {normal.x, normal.y, normal.z, 0.0f};
    if (i == 0) faces[0] = faces[1] = faces[2] = 0;  // of a single row; others are written below
    if (x + 1 == width || y + 1 == height) return;
    int* face = faces + 6 * (static_cast<size_t>(y) * (width - 1) + x);
    const int corners[6] = {i, i + width, i + 1, i + 1, i + width, i + width + 1};
    for (int k = 0; k < 6; ++k) face[k] = corners[k];
}
