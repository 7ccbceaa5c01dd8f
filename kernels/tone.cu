// Adjustments of single pixels.
#include "color.cuh"

// Contrast pivots on middle grey: 18 % reflectance is unchanged.
__device__ inline float adjust_tone(float x, float gain, float contrast, float inverse_gamma) {
    const float middle_grey = 0.18f;
    const float contrasted = fmaxf((x * gain - middle_grey) * contrast + middle_grey, 0.0f);
    return inverse_gamma == 1.0f ? contrasted : powf(contrasted, inverse_gamma);
}

extern "C" __global__ void tone(
    const float4* __restrict__ image,
    float4* __restrict__ out,
    float exposure,
    float contrast,
    float saturation,
    float gamma,
    int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float gain = gain_of(exposure);
    const float inverse_gamma = 1.0f / gamma;
    const float4 color = image[i];
    const float4 toned = {
        adjust_tone(color.x, gain, contrast, inverse_gamma),
        adjust_tone(color.y, gain, contrast, inverse_gamma),
        adjust_tone(color.z, gain, contrast, inverse_gamma),
        color.w,
    };
    const float grey = luminance(toned);
    out[i] = {
        fmaxf(lerp(grey, toned.x, saturation), 0.0f),
        fmaxf(lerp(grey, toned.y, saturation), 0.0f),
        fmaxf(lerp(grey, toned.z, saturation), 0.0f),
        color.w,
    };
}
