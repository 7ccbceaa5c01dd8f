// Arithmetic on CUDA's small vectors of float, component by component, and what shaders have for them.
#pragma once

#define WARPLOOM_OPERATOR(OP)                                                                                          \
    __device__ inline float2 operator OP(float2 a, float2 b) { return {a.x OP b.x, a.y OP b.y}; }                      \
    __device__ inline float3 operator OP(float3 a, float3 b) { return {a.x OP b.x, a.y OP b.y, a.z OP b.z}; }          \
    __device__ inline float4 operator OP(float4 a, float4 b) {                                                         \
        return {a.x OP b.x, a.y OP b.y, a.z OP b.z, a.w OP b.w};                                                       \
    }                                                                                                                  \
    __device__ inline float2 operator OP(float2 a, float s) { return {a.x OP s, a.y OP s}; }                           \
    __device__ inline float3 operator OP(float3 a, float s) { return {a.x OP s, a.y OP s, a.z OP s}; }                 \
    __device__ inline float4 operator OP(float4 a, float s) { return {a.x OP s, a.y OP s, a.z OP s, a.w OP s}; }       \
    __device__ inline float2 operator OP(float s, float2 a) { return {s OP a.x, s OP a.y}; }                           \
    __device__ inline float3 operator OP(float s, float3 a) { return {s OP a.x, s OP a.y, s OP a.z}; }                 \
    __device__ inline float4 operator OP(float s, float4 a) { return {s OP a.x, s OP a.y, s OP a.z, s OP a.w}; }       \
    __device__ inline float2& operator OP##=(float2 & a, float2 b) { return a = a OP b; }                              \
    __device__ inline float3& operator OP##=(float3 & a, float3 b) { return a = a OP b; }                              \
    __device__ inline float4& operator OP##=(float4 & a, float4 b) { return a = a OP b; }                              \
    __device__ inline float2& operator OP##=(float2 & a, float s) { return a = a OP s; }                               \
    __device__ inline float3& operator OP##=(float3 & a, float s) { return a = a OP s; }                               \
    __device__ inline float4& operator OP##=(float4 & a, float s) { return a = a OP s; }
WARPLOOM_OPERATOR(+)
WARPLOOM_OPERATOR(-)
WARPLOOM_OPERATOR(*)
WARPLOOM_OPERATOR(/)
#undef WARPLOOM_OPERATOR

__device__ inline float2 operator-(float2 a) { return {-a.x, -a.y}; }
__device__ inline float3 operator-(float3 a) { return {-a.x, -a.y, -a.z}; }
__device__ inline float4 operator-(float4 a) { return {-a.x, -a.y, -a.z, -a.w}; }

__device__ inline float dot(float2 a, float2 b) { return a.x * b.x + a.y * b.y; }
__device__ inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ inline float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
__device__ inline float3 cross(float3 a, float3 b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

__device__ inline float length(float2 a) { return sqrtf(dot(a, a)); }
__device__ inline float length(float3 a) { return sqrtf(dot(a, a)); }
__device__ inline float length(float4 a) { return sqrtf(dot(a, a)); }

// The direction of a vector, of length 1; a vector whose square is 0 stays as it is.
template <class Vector>
__device__ inline Vector normalize(Vector a) {
    const float square = dot(a, a);
    return square > 0.0f ? a * (1.0f / sqrtf(square)) : a;
}
template <class Vector>
__device__ inline float distance(Vector a, Vector b) {
    return length(a - b);
}
// The direction in which a mirror with the normal n, of length 1, sends what comes along a.
template <class Vector>
__device__ inline Vector reflect(Vector a, Vector n) {
    return a - n * (2.0f * dot(n, a));
}

__device__ inline float fract(float x) { return x - floorf(x); }
__device__ inline float saturate(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }
__device__ inline float clamp(float x, float low, float high) { return fminf(fmaxf(x, low), high); }
__device__ inline float lerp(float a, float b, float t) { return a + (b - a) * t; }
template <class Vector>
__device__ inline Vector lerp(Vector a, Vector b, float t) {
    return a + (b - a) * t;
}
// 0 up to `from`, 1 beyond `to`, with a smooth way in between; `from` may be the larger one.
__device__ inline float smoothstep(float from, float to, float x) {
    const float t = saturate((x - from) / (to - from));
    return t * t * (3.0f - 2.0f * t);
}

#define WARPLOOM_EACH(NAME, COMPONENT)                                                                                 \
    __device__ inline float2 NAME(float2 a) { return {COMPONENT(a.x), COMPONENT(a.y)}; }                               \
    __device__ inline float3 NAME(float3 a) { return {COMPONENT(a.x), COMPONENT(a.y), COMPONENT(a.z)}; }               \
    __device__ inline float4 NAME(float4 a) { return {COMPONENT(a.x), COMPONENT(a.y), COMPONENT(a.z), COMPONENT(a.w)}; }
WARPLOOM_EACH(abs, fabsf)
WARPLOOM_EACH(floor, floorf)
WARPLOOM_EACH(fract, fract)
WARPLOOM_EACH(saturate, saturate)
#undef WARPLOOM_EACH

#define WARPLOOM_PAIR(NAME, COMPONENT)                                                                                 \
    __device__ inline float2 NAME(float2 a, float2 b) { return {COMPONENT(a.x, b.x), COMPONENT(a.y, b.y)}; }           \
    __device__ inline float3 NAME(float3 a, float3 b) {                                                                \
        return {COMPONENT(a.x, b.x), COMPONENT(a.y, b.y), COMPONENT(a.z, b.z)};                                        \
    }                                                                                                                  \
    __device__ inline float4 NAME(float4 a, float4 b) {                                                                \
        return {COMPONENT(a.x, b.x), COMPONENT(a.y, b.y), COMPONENT(a.z, b.z), COMPONENT(a.w, b.w)};                   \
    }
WARPLOOM_PAIR(min, fminf)
WARPLOOM_PAIR(max, fmaxf)
#undef WARPLOOM_PAIR
