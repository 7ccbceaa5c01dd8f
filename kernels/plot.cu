// Plots a row of numbers: one thread block finds the range, then each thread draws a pixel.

// An example of the longest text is "-1.23e-10".
constexpr int LETTERS = 9;

// The texts and bounds of the plot: the range of values (their logarithms in a logarithmic plot), and the largest, the
// smallest and the last value as text.
struct Scale {
    float low, high;
    unsigned char labels[3][LETTERS];
};

#define INFINITE __int_as_float(0x7F800000)
constexpr int THREADS = 256, GLYPH_WIDTH = 3, GLYPH_HEIGHT = 5;
// Digits, ".", "-" and "e", 3 x 5 pixels each: bit 14 is the upper left one.
constexpr unsigned short GLYPHS[] = {
    0x7B6F, 0x2C97, 0x73E7, 0x72CF, 0x5BC9, 0x79CF, 0x79EF, 0x7249, 0x7BEF, 0x7BCF, 0x0002, 0x01C0, 0x0FE7};
constexpr unsigned char POINT = 10, MINUS = 11, EXPONENT = 12, END = 255;

__device__ inline bool is_shown(float value, bool is_log) { return isfinite(value) && !(is_log && value <= 0.0f); }

__device__ inline float placed(float value, bool is_log) { return is_log ? log10f(value) : value; }

// Writes a number with three digits, as 12.3, 0.0123 or 1.23e-5.
__device__ void write_number(float value, unsigned char* text) {
    int at = 0;
    if (value < 0.0f) text[at++] = MINUS;
    const double size = fabsf(value);  // a float can't hold the power of 10 for the digits of 1e-38
    int exponent = size > 0.0 ? static_cast<int>(floor(log10(size))) : 0;
    int digits = static_cast<int>(rint(size * exp10(2.0 - exponent)));
    if (digits >= 1000) {
        digits /= 10;
        ++exponent;
    }
    const bool is_short = exponent >= -2 && exponent <= 2;
    int before = is_short ? max(exponent, 0) + 1 : 1;  // digits before the point
    int zeros = is_short ? max(-exponent, 0) : 0;      // zeros in front of the three digits
    const int figure[3] = {digits / 100, digits / 10 % 10, digits % 10};
    int last = 2;
    while (last > 0 && figure[last] == 0 && last + zeros >= before) --last;
    for (int i = 0; i <= last + zeros; ++i) {
        if (i == before) text[at++] = POINT;
        text[at++] = i < zeros ? 0 : figure[i - zeros];
    }
    if (!is_short) {
        text[at++] = EXPONENT;
        if (exponent < 0) text[at++] = MINUS;
        const int power = abs(exponent);
        if (power >= 10) text[at++] = power / 10;
        text[at++] = power % 10;
    }
    if (at < LETTERS) text[at] = END;
}

extern "C" __global__ void find_scale(const float* __restrict__ x, Scale* __restrict__ scale, bool is_log, int count) {
    __shared__ float lows[THREADS], highs[THREADS];
    float low = INFINITE, high = -INFINITE;
    for (int i = threadIdx.x; i < count; i += THREADS)
        if (is_shown(x[i], is_log)) {
            low = fminf(low, x[i]);
            high = fmaxf(high, x[i]);
        }
    lows[threadIdx.x] = low;
    highs[threadIdx.x] = high;
    for (int step = THREADS / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) {
            lows[threadIdx.x] = fminf(lows[threadIdx.x], lows[threadIdx.x + step]);
            highs[threadIdx.x] = fmaxf(highs[threadIdx.x], highs[threadIdx.x + step]);
        }
    }
    if (threadIdx.x != 0) return;
    low = lows[0];
    high = highs[0];
    for (int i = 0; i < 3; ++i) scale->labels[i][0] = END;
    if (low <= high) {
        write_number(high, scale->labels[0]);
        write_number(low, scale->labels[1]);
        if (is_shown(x[count - 1], is_log)) write_number(x[count - 1], scale->labels[2]);
        low = placed(low, is_log);
        high = placed(high, is_log);
    } else {
        low = 0.0f;
        high = 1.0f;
    }
    const float room = fmaxf(0.06f * (high - low), 1e-6f * fmaxf(fabsf(low), 1e-30f));
    scale->low = low - room;
    scale->high = high + room;
}

// The share of a pixel that a text covers. The text starts at (left, top), or ends there with `from_right`; `zoom` is
// the number of pixels per dot.
__device__ bool is_written(const unsigned char* text, int x, int y, int left, int top, int zoom) {
    const int column = x - left, row = y - top;
    if (column < 0 || row < 0 || row >= GLYPH_HEIGHT * zoom) return false;
    const int place = column / ((GLYPH_WIDTH + 1) * zoom), dot = column / zoom % (GLYPH_WIDTH + 1);
    if (place >= LETTERS || dot == GLYPH_WIDTH) return false;
    for (int i = 0; i <= place; ++i)
        if (text[i] == END) return false;
    return GLYPHS[text[place]] >> (14 - (row / zoom * GLYPH_WIDTH + dot)) & 1;
}

extern "C" __global__ void draw_plot(
    const float* __restrict__ x,
    const Scale* __restrict__ scale,
    float4* __restrict__ image,
    bool is_log,
    bool is_light,
    int count,
    int width,
    int height) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) return;
    const float low = scale->low, high = scale->high, per_value = (height - 1) / (high - low);
    // The line's extent in this column: from the lowest to the highest value between its neighbours.
    const float per_column = static_cast<float>(max(count - 1, 1)) / max(width - 1, 1);
    const float begin = (column - 0.5f) * per_column, end = (column + 0.5f) * per_column;
    float least = INFINITE, most = -INFINITE;
    auto cover = [&](float place) {
        const int i = min(max(static_cast<int>(floorf(place)), 0), count - 1), next = min(i + 1, count - 1);
        if (!is_shown(x[i], is_log) || !is_shown(x[next], is_log)) return;
        const float part = fminf(fmaxf(place - i, 0.0f), 1.0f);
        const float value = placed(x[i], is_log) * (1.0f - part) + placed(x[next], is_log) * part;
        least = fminf(least, value);
        most = fmaxf(most, value);
    };
    cover(begin);
    for (int i = max(static_cast<int>(ceilf(begin)), 0); i <= min(static_cast<int>(floorf(end)), count - 1); ++i)
        cover(static_cast<float>(i));
    cover(end);
    const float upper = (high - most) * per_value, lower = (high - least) * per_value;
    const float distance = fmaxf(fmaxf(upper - row, row - lower), 0.0f);
    const float line = least <= most ? fminf(fmaxf(1.6f - distance, 0.0f), 1.0f) : 0.0f;
    // Lines at quarters of the height, or at powers of 10.
    bool is_grid = false;
    if (is_log) {
        const float value = high - row / per_value, above = high - (row - 1) / per_value;
        is_grid = floorf(value) != floorf(above);
    } else {
        is_grid = row * 4 / height != (row + 1) * 4 / height && row + 1 < height;
    }
    const int zoom = max(height / 120, 1), margin = 2 * zoom, letters = GLYPH_HEIGHT * zoom;
    int length = 0;
    while (length < LETTERS && scale->labels[2][length] != END) ++length;
    const int right = width - margin - length * (GLYPH_WIDTH + 1) * zoom;
    const bool is_text = is_written(scale->labels[0], column, row, margin, margin, zoom) ||
                         is_written(scale->labels[1], column, row, margin, height - margin - letters, zoom) ||
                         is_written(scale->labels[2], column, row, right, margin, zoom);
    float3 color = is_light ? float3{0.90f, 0.90f, 0.91f} : float3{0.010f, 0.011f, 0.014f};
    if (is_grid) color = is_light ? float3{0.74f, 0.74f, 0.76f} : float3{0.032f, 0.034f, 0.040f};
    const float3 ink = is_light ? float3{0.02f, 0.20f, 0.55f} : float3{0.16f, 0.55f, 0.95f};
    color.x += (ink.x - color.x) * line;
    color.y += (ink.y - color.y) * line;
    color.z += (ink.z - color.z) * line;
    if (is_text) color = is_light ? float3{0.08f, 0.08f, 0.09f} : float3{0.62f, 0.63f, 0.66f};
    image[row * width + column] = {color.x, color.y, color.z, 1.0f};
}
