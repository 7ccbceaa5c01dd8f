// The numbers of images: f32, f16 or bytes, in one channel or in several. Filters compute in f32.
#pragma once
#include "elements.cuh"

struct Half {
    unsigned short bits;
};

__device__ inline float wide(float number) { return number; }
__device__ inline float wide(unsigned char number) { return number; }
__device__ inline float wide(Half number) { return half_to_float(number.bits); }

__device__ inline void narrow(float number, float* out) { *out = number; }
// Bytes are rounded to the nearest, halves up.
__device__ inline void narrow(float number, unsigned char* out) {
    *out = static_cast<unsigned char>(fminf(fmaxf(number + 0.5f, 0.0f), 255.0f));
}
__device__ inline void narrow(float number, Half* out) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out->bits) : "f"(number));
}

__device__ inline float4 wide(float4 pixel) { return pixel; }
__device__ inline float4 wide(uchar4 p) { return make_float4(p.x, p.y, p.z, p.w); }

__device__ inline void narrow(float4 pixel, float4* out) { *out = pixel; }
__device__ inline void narrow(float4 pixel, uchar4* out) {
    narrow(pixel.x, &out->x);
    narrow(pixel.y, &out->y);
    narrow(pixel.z, &out->z);
    narrow(pixel.w, &out->w);
}

// The size of a number in an element of one or more.
__device__ inline int number_size(unsigned int type) {
    const int size = type & ELEMENT_SIZE, part = type >> ELEMENT_PARTS_AT & 15u;
    return type & ELEMENT_FLOAT ? size : part > 0 ? part : 1;
}

// Calls `work` with `data` as a pointer to numbers of that size.
template <typename Work> __device__ inline void by_number(const void* data, int size, Work work) {
    switch (size) {
        case 4: return work(static_cast<const float*>(data));
        case 2: return work(static_cast<const Half*>(data));
        default: return work(static_cast<const unsigned char*>(data));
    }
}

template <typename Work> __device__ inline void by_number(void* data, int size, Work work) {
    switch (size) {
        case 4: return work(static_cast<float*>(data));
        case 2: return work(static_cast<Half*>(data));
        default: return work(static_cast<unsigned char*>(data));
    }
}
