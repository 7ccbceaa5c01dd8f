// A film's frame as linear RGBA; `blocks/video/frame_layout.py` has the same arithmetic in numpy.
#include "warploom/pixel.h"

// The table from encoded values to linear light, after the numbers of the matrices.
#define TABLE_STEPS 4096
#define TABLE_START 22

namespace {

// A plane of samples that begins after `start` samples.
struct Plane {
    const unsigned char* bytes;
    int start, columns, rows;
    bool is_deep;

    __device__ float at(int x, int y) const {
        const int place = start + y * columns + x;
        if (!is_deep) return bytes[place];
        return bytes[2 * place] + 256 * bytes[2 * place + 1];
    }

    // Between columns of the left edge and rows of the middle, where the plane is halved.
    __device__ float between(int x, int y, int halved_x, int halved_y) const {
        if ((halved_x | halved_y) == 0) return at(x, y);
        const float across = (float)x / (float)(1 << halved_x);
        const float down = ((float)y + 0.5f) / (float)(1 << halved_y) - 0.5f;
        const int left = min((int)across, columns - 1), right = min(left + 1, columns - 1);
        const int above = (int)floorf(down), top = max(above, 0), bottom = min(above + 1, rows - 1);
        const float share = across - (float)left, lower = down - (float)above;
        const float upper_value = at(left, top) + share * (at(right, top) - at(left, top));
        const float lower_value = at(left, bottom) + share * (at(right, bottom) - at(left, bottom));
        return upper_value + lower * (lower_value - upper_value);
    }
};

__device__ float light(const float* __restrict__ numbers, float encoded) {
    const float place = fminf(fmaxf(encoded, 0.0f), 1.0f) * TABLE_STEPS;
    const int step = min((int)place, TABLE_STEPS - 1);
    const float low = numbers[TABLE_START + step];
    return low + (place - (float)step) * (numbers[TABLE_START + step + 1] - low);
}

}  // namespace

// `kind` adds 1 for samples of two bytes, 2 for grey, 4 for alpha; `turns` counts quarter turns clockwise.
extern "C" __global__ void film_to_linear(const unsigned char* __restrict__ bytes, const float* __restrict__ numbers,
                                          PIXEL* __restrict__ out, int columns, int rows, int halved_x, int halved_y,
                                          int kind, int turns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= columns * rows) return;
    const int width = turns & 1 ? rows : columns;
    int x = i % width, y = i / width;
    if (turns == 1) {
        const int turned = rows - 1 - x;
        x = y, y = turned;
    } else if (turns == 2) {
        x = columns - 1 - x, y = rows - 1 - y;
    } else if (turns == 3) {
        const int turned = columns - 1 - y;
        y = x, x = turned;
    }
    const bool is_deep = kind & 1;
    const int small_columns = (columns + (1 << halved_x) - 1) >> halved_x;
    const int small_rows = (rows + (1 << halved_y) - 1) >> halved_y;
    const int full = columns * rows, small = small_columns * small_rows;
    const Plane first = {bytes, 0, columns, rows, is_deep};
    const float a = first.at(x, y);
    float b = a, c = a;
    int end = full;
    if (!(kind & 2)) {
        b = Plane{bytes, full, small_columns, small_rows, is_deep}.between(x, y, halved_x, halved_y);
        c = Plane{bytes, full + small, small_columns, small_rows, is_deep}.between(x, y, halved_x, halved_y);
        end = full + 2 * small;
    }
    const float* m = numbers;
    const float red = light(numbers, m[0] * a + m[1] * b + m[2] * c + m[3]);
    const float green = light(numbers, m[4] * a + m[5] * b + m[6] * c + m[7]);
    const float blue = light(numbers, m[8] * a + m[9] * b + m[10] * c + m[11]);
    float alpha = 1.0f;
    if (kind & 4) alpha = Plane{bytes, end, columns, rows, is_deep}.at(x, y) * m[21];
    m += 12;
    out[i] = make_float4(m[0] * red + m[1] * green + m[2] * blue, m[3] * red + m[4] * green + m[5] * blue,
                         m[6] * red + m[7] * green + m[8] * blue, alpha);
}

// A plane of samples without gaps, out of a surface of NVDEC's: rows of `pitch` bytes, every `step`th sample from `first`
// on. Samples of more than 8 `bits` are in the upper bits of two bytes. The plane begins after `start` bytes.
extern "C" __global__ void plane_of_surface(const unsigned char* __restrict__ surface, unsigned char* __restrict__ out,
                                            int start, int pitch, int columns, int rows, int step, int first,
                                            int bits) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= columns || y >= rows) return;
    const unsigned char* row = surface + (long long)y * pitch;
    const long long place = (long long)y * columns + x;
    const int at = x * step + first;
    if (bits == 8) {
        out[start + place] = row[at];
        return;
    }
    const unsigned short sample = reinterpret_cast<const unsigned short*>(row)[at];
    reinterpret_cast<unsigned short*>(out + start)[place] = sample >> (16 - bits);
}

namespace {

// Linear light of an sRGB value, by a fit without a power: 20 times as fast on the CPU, and off by 2e-6 at most.
__device__ float srgb_light(float encoded) {
    const float c = fminf(fmaxf(encoded, 0.0f), 1.0f);
    float bright = -0.0651380790510211f;
    bright = 0.3242021004360719f + c * bright;
    bright = -0.7079756212732317f + c * bright;
    bright = 0.9155754552594876f + c * bright;
    bright = -0.8434453238910135f + c * bright;
    bright = 0.8535203174359618f + c * bright;
    bright = 0.48728845260473946f + c * bright;
    bright = 0.0351109006987797f + c * bright;
    bright = 0.0008608940835333478f + c * bright;
    return c <= 0.04045f ? c * (1.0f / 12.92f) : bright;
}

}  // namespace

// The same for most films: upright, 8 bits, colours at half the size, sRGB. A thread block makes `WIDE` pixels of a row.
// Their colours are spread in shared memory, so that all accesses are neighbours, and loops over threads vectorised.
#define WIDE 256

extern "C" __global__ void usual_film_to_linear(const unsigned char* __restrict__ bytes,
                                                const float* __restrict__ numbers, PIXEL* __restrict__ out,
                                                int columns, int rows) {
    __shared__ float b_small[WIDE / 2 + 2], c_small[WIDE / 2 + 2], b_wide[WIDE], c_wide[WIDE];
    const int t = threadIdx.x, x = blockIdx.x * WIDE + t, small = blockIdx.x * (WIDE / 2) + t, y = blockIdx.y;
    const int small_columns = (columns + 1) >> 1, small_rows = (rows + 1) >> 1;
    const int near = y >> 1, far = min(max(near + 2 * (y & 1) - 1, 0), small_rows - 1);
    const unsigned char* u = bytes + columns * rows + near * small_columns;
    const unsigned char* v = u + small_columns * small_rows;
    const unsigned char* far_u = bytes + columns * rows + far * small_columns;
    const unsigned char* far_v = far_u + small_columns * small_rows;
    if (t <= WIDE / 2 && small < small_columns) {
        const float b = 0.75f * (float)u[small] + 0.25f * (float)far_u[small];
        const float c = 0.75f * (float)v[small] + 0.25f * (float)far_v[small];
        b_small[t] = b, c_small[t] = c;
        if (small == small_columns - 1) b_small[t + 1] = b, c_small[t + 1] = c;
    }
    __syncthreads();
    if (t < WIDE / 2) {
        const float b = b_small[t], c = c_small[t];
        b_wide[2 * t] = b, b_wide[2 * t + 1] = 0.5f * (b + b_small[t + 1]);
        c_wide[2 * t] = c, c_wide[2 * t + 1] = 0.5f * (c + c_small[t + 1]);
    }
    __syncthreads();
    if (x >= columns) return;
    const float a = bytes[y * columns + x], b = b_wide[t], c = c_wide[t];
    const float* m = numbers;
    out[y * columns + x] = make_float4(srgb_light(m[0] * a + m[2] * c + m[3]),
                                       srgb_light(m[4] * a + m[5] * b + m[6] * c + m[7]),
                                       srgb_light(m[8] * a + m[9] * b + m[11]), 1.0f);
}

namespace {

// A pixel's luma in BT.709 of limited range, with 16 bits after the point.
__device__ int luma(unsigned int pixel) {
    const int red = pixel & 255, green = pixel >> 8 & 255, blue = pixel >> 16 & 255;
    return 11966 * red + 40254 * green + 4064 * blue + (16 << 16) + (1 << 15);
}

}  // namespace

// sRGB pixels as planes of Y, U and V, which most encoders take: even sizes, U and V of half the width and height. A
// thread makes four pixels; behind an odd size, the last column or row is repeated.
extern "C" __global__ void pixels_to_planes(const uchar4* __restrict__ pixels, unsigned char* __restrict__ planes,
                                            int columns, int rows) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    const int half_columns = (columns + 1) >> 1, half_rows = (rows + 1) >> 1;
    if (x >= half_columns) return;
    const unsigned int* top = reinterpret_cast<const unsigned int*>(pixels) + 2 * y * columns;
    const unsigned int* low = reinterpret_cast<const unsigned int*>(pixels) + min(2 * y + 1, rows - 1) * columns;
    const int right = min(2 * x + 1, columns - 1);
    const unsigned int a = top[2 * x], b = top[right], c = low[2 * x], d = low[right];
    unsigned short* lines = reinterpret_cast<unsigned short*>(planes) + 2 * y * half_columns;
    lines[x] = luma(a) >> 16 | luma(b) >> 16 << 8;
    lines[half_columns + x] = luma(c) >> 16 | luma(d) >> 16 << 8;
    // The sums of two components of four pixels, each with 16 bits.
    const unsigned int even = (a & 0xff00ff) + (b & 0xff00ff) + (c & 0xff00ff) + (d & 0xff00ff);
    const unsigned int odd = (a >> 8 & 255) + (b >> 8 & 255) + (c >> 8 & 255) + (d >> 8 & 255);
    const int red = even & 0xffff, green = odd, blue = even >> 16, middle = (128 << 18) + (1 << 17);
    unsigned char* colours = planes + 4 * half_columns * half_rows + y * half_columns;
    colours[x] = (28784 * blue - 6596 * red - 22188 * green + middle) >> 18;
    colours[half_columns * half_rows + x] = (28784 * red - 26145 * green - 2639 * blue + middle) >> 18;
}
