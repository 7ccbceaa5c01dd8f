// Linear images to sRGB pixels, for the screen and for files.
#include "color.cuh"

// Values up to 1 - roll_off stay as they are; above, they approach 1 without reaching it. Without branches, which would
// cost more than the few operations they save.
__device__ inline float roll_off_highlights(float x, float roll_off) {
    const float knee = 1.0f - roll_off;
    const float excess = fmaxf(x - knee, 0.0f);
    return fminf(x, knee) + roll_off * excess / fmaxf(roll_off + excess, 1e-20f);
}

extern "C" __global__ void show_image(
    const float4* __restrict__ image, uchar4* __restrict__ pixels, float exposure, float roll_off, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float gain = gain_of(exposure);
    const float4 color = image[i];
    pixels[i] = to_pixel({
        roll_off_highlights(color.x * gain, roll_off),
        roll_off_highlights(color.y * gain, roll_off),
        roll_off_highlights(color.z * gain, roll_off),
        color.w,
    });
}

extern "C" __global__ void save_image(const float4* __restrict__ image, uchar4* __restrict__ pixels, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    pixels[i] = to_pixel(image[i]);
}
