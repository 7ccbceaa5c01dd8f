// Arithmetic on CUDA's small vectors, as far as these kernels need it.
#pragma once

__device__ inline float3 operator+(float3 a, float3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ inline float3 operator-(float3 a, float3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__device__ inline float3 operator*(float3 a, float s) { return {a.x * s, a.y * s, a.z * s}; }
__device__ inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ inline float3 cross(float3 a, float3 b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

__device__ inline float4 operator+(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }
__device__ inline float4 operator-(float4 a, float4 b) { return {a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w}; }
__device__ inline float4 operator*(float4 a, float s) { return {a.x * s, a.y * s, a.z * s, a.w * s}; }

__device__ inline float saturate(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }
__device__ inline float lerp(float a, float b, float t) { return a + (b - a) * t; }
__device__ inline float3 lerp(float3 a, float3 b, float t) { return a + (b - a) * t; }
__device__ inline float smooth_step(float from, float to, float x) {
    const float t = saturate((x - from) / (to - from));
    return t * t * (3.0f - 2.0f * t);
}
