// The numbers of images: f32, f16 or bytes, in one channel or in several. Filters compute in f32.
#pragma once
#include "elements.cuh"
#include "warploom/pixel.h"

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

// A byte of an srgb4. Its address tells its channel, since pixels are aligned.
struct Code {
    unsigned char code;

    __device__ bool is_alpha() const { return (reinterpret_cast<size_t>(this) & 3u) == 3u; }
};

__device__ inline float wide(const Code& number) {
    return number.is_alpha() ? number.code * (1.0f / 255.0f) : srgb4::light(number.code);
}
__device__ inline void narrow(float number, Code* out) {
    out->code = srgb4::code(out->is_alpha() ? srgb4::saturated(number) : srgb4::encoded(number));
}

// A number's bits, for kernels that load numbers long before they compute with them. Those of an alpha have 256 added.
__device__ inline unsigned int bits_of(const float& number) { return __float_as_uint(number); }
__device__ inline unsigned int bits_of(const unsigned char& number) { return number; }
__device__ inline unsigned int bits_of(const Half& number) { return number.bits; }
__device__ inline unsigned int bits_of(const Code& number) { return number.code | (number.is_alpha() ? 256u : 0u); }

// The number that has these bits in an image of such numbers.
__device__ inline float wide_of(unsigned int bits, const float*) { return __uint_as_float(bits); }
__device__ inline float wide_of(unsigned int bits, const unsigned char*) { return bits; }
__device__ inline float wide_of(unsigned int bits, const Half*) { return half_to_float(bits); }
__device__ inline float wide_of(unsigned int bits, const Code*) {
    return bits & 256u ? (bits & 255u) * (1.0f / 255.0f) : srgb4::light(bits);
}

__device__ inline float4 wide(float4 pixel) { return pixel; }
__device__ inline float4 wide(uchar4 p) { return make_float4(p.x, p.y, p.z, p.w); }

template <typename Pixel> __device__ inline void narrow(float4 pixel, Pixel* out) { *out = pixel; }
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
template <typename Byte = unsigned char, typename Work> __device__ inline void by_number(const void* data, int size, Work work) {
    switch (size) {
        case 4: return work(static_cast<const float*>(data));
        case 2: return work(static_cast<const Half*>(data));
        default: return work(static_cast<const Byte*>(data));
    }
}

template <typename Byte = unsigned char, typename Work> __device__ inline void by_number(void* data, int size, Work work) {
    switch (size) {
        case 4: return work(static_cast<float*>(data));
        case 2: return work(static_cast<Half*>(data));
        default: return work(static_cast<Byte*>(data));
    }
}
