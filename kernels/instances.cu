// Copies of a mesh at many places, as one mesh.
#include "warploom/vector.h"

// A vector turned by a quaternion x, y, z, w of any length but 0.
__device__ inline float3 turned(float3 v, float4 turn) {
    const float3 axis = {turn.x, turn.y, turn.z};
    const float3 aside = cross(axis, v) * (2.0f / dot(turn, turn));
    return v + aside * turn.w + cross(axis, aside);
}

// The turn of least angle that brings the z axis into a direction of any length.
__device__ inline float4 turn_to(float3 way) {
    const float far = length(way);
    if (!(far > 0.0f)) return {0.0f, 0.0f, 0.0f, 1.0f};
    if (far + way.z < 1e-5f * far) return {0.0f, 1.0f, 0.0f, 0.0f};
    return {-way.y, way.x, 0.0f, far + way.z};
}

// One thread per point of all copies: the points of a copy follow each other, as those of the mesh do. A copy whose place
// has a fourth number of 0 or less has no size.
extern "C" __global__ void place_points(
    const float4* __restrict__ mesh,
    const float4* __restrict__ normals,
    const float4* __restrict__ colors,
    const float4* __restrict__ places,
    const float4* __restrict__ turns,
    const float4* __restrict__ directions,
    const float* __restrict__ sizes,
    const float4* __restrict__ tints,
    float4* __restrict__ points,
    float4* __restrict__ normals_out,
    float4* __restrict__ colors_out,
    float scale,
    int point_count,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int copy = i / point_count, k = i % point_count;
    const float4 place = places[copy], point = mesh[k];
    float4 turn = {0.0f, 0.0f, 0.0f, 1.0f};
    if (directions) turn = turn_to({directions[copy].x, directions[copy].y, directions[copy].z});
    if (turns && dot(turns[copy], turns[copy]) > 0.0f) turn = turns[copy];
    const float size = place.w > 0.0f ? scale * (sizes ? sizes[copy] : 1.0f) : 0.0f;
    const float3 at = turned({point.x, point.y, point.z}, turn) * size;
    points[i] = {at.x + place.x, at.y + place.y, at.z + place.z, 1.0f};
    const float4 given = normals ? normals[k] : float4{0.0f, 0.0f, 0.0f, 0.0f};
    const float3 normal = turned({given.x, given.y, given.z}, turn);
    normals_out[i] = {normal.x, normal.y, normal.z, 0.0f};
    const float4 white = {1.0f, 1.0f, 1.0f, 1.0f};
    colors_out[i] = (colors ? colors[k] : white) * (tints ? tints[copy] : white);
}

// One thread per corner of the triangles of all copies.
extern "C" __global__ void place_faces(
    const int* __restrict__ faces, int* __restrict__ faces_out, int point_count, int corner_count, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int corner = faces[i % corner_count];
    const bool is_whole = 0 <= corner && corner < point_count;
    faces_out[i] = is_whole ? corner + i / corner_count * point_count : -1;
}
