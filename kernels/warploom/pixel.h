// Pixels of pictures: float4 and half4 hold linear RGBA, srgb4 sRGB's codes with linear alpha, as buffers of uchar4 do.
// A smaller pixel becomes a float4 where one is computed with, and a float4 becomes it where it is stored. A block's
// kernels get the pixels of its pictures as PIXEL; `engine/ops/pixels.py` says how numbers become pixels.
#pragma once

struct alignas(8) half4 {
    unsigned long long bits;  // one word, which is loaded and stored at once

    half4() = default;
    __device__ half4(float x, float y, float z, float w) {
        asm("{.reg .b16 x, y, z, w; cvt.rn.f16.f32 x, %1; cvt.rn.f16.f32 y, %2; cvt.rn.f16.f32 z, %3; "
            "cvt.rn.f16.f32 w, %4; mov.b64 %0, {x, y, z, w};}"
            : "=l"(bits)
            : "f"(x), "f"(y), "f"(z), "f"(w));
    }
    __device__ half4(float4 color) : half4(color.x, color.y, color.z, color.w) {}
    __device__ operator float4() const {
        float4 color;
        asm("{.reg .b16 x, y, z, w; mov.b64 {x, y, z, w}, %4; cvt.f32.f16 %0, x; cvt.f32.f16 %1, y; "
            "cvt.f32.f16 %2, z; cvt.f32.f16 %3, w;}"
            : "=f"(color.x), "=f"(color.y), "=f"(color.z), "=f"(color.w)
            : "l"(bits));
        return color;
    }
};

struct alignas(4) srgb4 {
    unsigned int codes;

    srgb4() = default;
    __device__ srgb4(float x, float y, float z, float w)
        : codes(code(encoded(x)) | code(encoded(y)) << 8 | code(encoded(z)) << 16 | code(saturated(w)) << 24) {}
    __device__ srgb4(float4 color) : srgb4(color.x, color.y, color.z, color.w) {}
    __device__ operator float4() const {
        return {light(codes & 255u), light(codes >> 8 & 255u), light(codes >> 16 & 255u), (codes >> 24) * (1.0f / 255.0f)};
    }

    __device__ static float saturated(float number) { return fminf(fmaxf(number, 0.0f), 1.0f); }  // 0 for NaN
    __device__ static unsigned int code(float share) { return __float2uint_rn(share * 255.0f); }
    // The factors are those of `engine/ops/pixels.py`.
    __device__ static float light(unsigned int code) {
        const float number = code, x = number * (1.0f / 255.0f);
        float curve = -0.08538620918989182f;
        curve = fmaf(curve, x, 0.3167213499546051f);
        curve = fmaf(curve, x, -0.5337648391723633f);
        curve = fmaf(curve, x, 0.768050491809845f);
        curve = fmaf(curve, x, 0.4990750849246979f);
        curve = fmaf(curve, x, 0.03439952805638313f);
        curve = fmaf(curve, x, 0.0008751549758017063f);
        return number <= 10.0f ? x * (1.0f / 12.92f) : curve;
    }
    __device__ static float encoded(float number) {
        const float light = saturated(number), root = sqrtf(light), fourth = sqrtf(root);
        float curve = fmaf(light, 0.081329678f, -0.064611562f);
        curve = fmaf(root, 1.1226810f, curve);
        curve = fmaf(fourth, 0.19613609f, curve);
        curve = fmaf(root * fourth, -0.33550082f, curve);
        return saturated(light <= 0.0031308f ? light * 12.92f : curve);
    }
};

#ifndef PIXEL
#define PIXEL float4
#endif

// Whether elements whose type is known at launch are PIXELs, in kernels that take f32 as well.
__device__ inline bool is_pixel(unsigned int type) {
    return sizeof(PIXEL) != sizeof(float4) || (type & 0xFFFFu) == sizeof(float4);
}
