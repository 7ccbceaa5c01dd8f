// Plots a row of numbers between axes: one thread block finds the range and the ticks, then each thread draws a pixel.
#include "plot_font.cuh"

// An example of the longest text is "-1.23e-10".
constexpr int LETTERS = 9, TICKS = 8;

// The bounds, ticks and texts of the plot. In a logarithmic plot, `low`, `high` and the ticks are logarithms. Labels:
// the last value, those of the vertical axis from below, those of the horizontal one from the left.
struct Scale {
    float low, high, first, step, step_x;
    int ticks, ticks_x, label_width;
    unsigned char labels[1 + 2 * TICKS][LETTERS];
};
static_assert(sizeof(Scale) == 188, "blocks/draw/plot.py has this size too");

#define INFINITE __int_as_float(0x7F800000)
constexpr int THREADS = 256;
constexpr unsigned char POINT = 10, MINUS = 11, EXPONENT = 12, END = 255;

__device__ inline bool is_shown(float value, bool is_log) { return isfinite(value) && !(is_log && value <= 0.0f); }

__device__ inline float placed(float value, bool is_log) { return is_log ? log10f(value) : value; }

// Writes a number with three digits, as 12.3, 0.0123 or 1.23e-5. One of 10 to the power of `longest` or less has no
// exponent.
__device__ void write_number(float value, unsigned char* text, int longest) {
    int at = 0;
    if (value < 0.0f) text[at++] = MINUS;
    const double size = fabsf(value);  // a float can't hold the power of 10 for the digits of 1e-38
    int exponent = size > 0.0 ? static_cast<int>(floor(log10(size))) : 0;
    int digits = static_cast<int>(rint(size * exp10(2.0 - exponent)));
    if (digits >= 1000) {
        digits /= 10;
        ++exponent;
    }
    const bool is_short = exponent >= -2 && exponent <= longest;
    int before = is_short ? max(exponent, 0) + 1 : 1;  // digits before the point
    int zeros = is_short ? max(-exponent, 0) : 0;      // zeros in front of the three digits
    const int figure[3] = {digits / 100, digits / 10 % 10, digits % 10};
    int last = 2;
    while (last > 0 && figure[last] == 0 && last + zeros >= before) --last;
    for (int i = 0; i <= max(last + zeros, before - 1); ++i) {
        if (i == before) text[at++] = POINT;
        text[at++] = i < zeros || i > 2 + zeros ? 0 : figure[i - zeros];
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

// The width of a text in the font's pixels.
__device__ int text_width(const unsigned char* text) {
    int width = 0;
    for (int i = 0; i < LETTERS && text[i] != END; ++i) width += ADVANCES[text[i]];
    return width;
}

// A step of 1, 2 or 5 times a power of 10, so that about `count` of them make `range`.
__device__ double nice_step(double range, int count) {
    const double raw = range / count, size = exp10(floor(log10(raw))), part = raw / size;
    return (part < 1.5 ? 1.0 : part < 3.0 ? 2.0 : part < 7.0 ? 5.0 : 10.0) * size;
}

// Finds the ticks of both axes, and writes their labels.
__device__ void find_ticks(Scale* scale, bool is_log, int count) {
    const double low = scale->low, high = scale->high;
    double step = nice_step(high - low, 4);
    if (is_log && high - low >= 1.5) step = max(ceil((high - low) / 7.0), 1.0);  // whole powers of 10
    const double first = ceil(low / step) * step;
    scale->first = static_cast<float>(first);
    scale->step = static_cast<float>(step);
    scale->ticks = min(static_cast<int>(floor((high - first) / step * (1.0 + 1e-9))) + 1, TICKS);
    scale->label_width = 0;
    for (int i = 0; i < scale->ticks; ++i) {
        double value = first + i * step;
        if (fabs(value) < 1e-6 * step) value = 0.0;
        unsigned char* label = scale->labels[1 + i];
        write_number(static_cast<float>(is_log ? exp10(value) : value), label, 5);
        scale->label_width = max(scale->label_width, text_width(label));
    }
    const double step_x = count > 1 ? max(nice_step(count - 1, 4), 1.0) : 1.0;
    scale->step_x = static_cast<float>(step_x);
    scale->ticks_x = min(static_cast<int>((count - 1) / step_x) + 1, TICKS);
    for (int i = 0; i < scale->ticks_x; ++i)
        write_number(static_cast<float>(i * step_x), scale->labels[1 + TICKS + i], 5);
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
    for (int i = 0; i < 1 + 2 * TICKS; ++i) scale->labels[i][0] = END;
    if (low <= high) {
        if (is_shown(x[count - 1], is_log)) write_number(x[count - 1], scale->labels[0], 2);
        low = placed(low, is_log);
        high = placed(high, is_log);
    } else {
        low = 0.0f;
        high = 1.0f;
    }
    const float room = fmaxf(0.06f * (high - low), fmaxf(1e-6f * fabsf(low), 1e-30f));
    scale->low = low - room;
    scale->high = high + room;
    find_ticks(scale, is_log, count);
}

// A level of the font, from 0 to 15; 0 outside the character.
__device__ inline float level(const unsigned long long* glyph, int column, int row) {
    if (column < 0 || column >= GLYPH_COLUMNS || row < 0 || row >= GLYPH_ROWS) return 0.0f;
    return static_cast<float>(glyph[row] >> 4 * (GLYPH_COLUMNS - 1 - column) & 15);
}

// The share of a pixel that a text covers; (x, y) is from its upper left corner. The text is drawn at half, full or
// double size: `half` is 2, 1 or 0.5 pixels of the font per pixel.
__device__ float coverage(const unsigned char* text, int x, int y, float half) {
    if (x < 0 || y < 0 || y * half >= GLYPH_ROWS) return 0.0f;
    float left = 0.0f;
    int i = 0;
    for (; i < LETTERS && text[i] != END; ++i) {
        const float advance = ADVANCES[text[i]];
        if (x * half < left + advance) break;
        left += advance;
    }
    if (i == LETTERS || text[i] == END) return 0.0f;
    const unsigned long long* glyph = GLYPHS[text[i]];
    const int column = static_cast<int>(x * half - left), row = static_cast<int>(y * half);
    if (half < 1.5f) return level(glyph, column, row) / 15.0f;
    return (level(glyph, column, row) + level(glyph, column + 1, row) + level(glyph, column, row + 1) +
            level(glyph, column + 1, row + 1)) / 60.0f;
}

__device__ inline void blend(float3& color, float3 ink, float share) {
    color.x += (ink.x - color.x) * share;
    color.y += (ink.y - color.y) * share;
    color.z += (ink.z - color.z) * share;
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
    // The area of the curve. A small plot has no room for axes.
    const float half = height < 400 ? 2.0f : height < 1000 ? 1.0f : 0.5f;
    const bool has_axes = width >= 160 && height >= 100;
    const int gap = has_axes ? static_cast<int>(8.0f / half) : 0, letters = static_cast<int>(ceilf(GLYPH_ROWS / half));
    const int left = has_axes ? 2 * gap + static_cast<int>(ceilf(scale->label_width / half)) : 0;
    const int right = width - 1 - gap, top = has_axes ? 2 * gap + letters : 0;
    const int bottom = height - 1 - (has_axes ? 2 * gap + letters : 0);
    const float low = scale->low, high = scale->high, per_value = (bottom - top) / (high - low);
    const float per_column = static_cast<float>(max(count - 1, 1)) / max(right - left, 1);
    const bool is_inside = column >= left && column <= right && row >= top && row <= bottom;
    // The line's extent in this column: from the lowest to the highest value between its neighbours.
    const float begin = (column - left - 0.5f) * per_column, end = (column - left + 0.5f) * per_column;
    float least = INFINITE, most = -INFINITE;
    auto cover = [&](float place) {
        const int i = min(max(static_cast<int>(floorf(place)), 0), count - 1), next = min(i + 1, count - 1);
        if (!is_shown(x[i], is_log) || !is_shown(x[next], is_log)) return;
        const float part = fminf(fmaxf(place - i, 0.0f), 1.0f);
        const float value = placed(x[i], is_log) * (1.0f - part) + placed(x[next], is_log) * part;
        least = fminf(least, value);
        most = fmaxf(most, value);
    };
    if (is_inside) {
        cover(begin);
        for (int i = max(static_cast<int>(ceilf(begin)), 0); i <= min(static_cast<int>(floorf(end)), count - 1); ++i)
            cover(static_cast<float>(i));
        cover(end);
    }
    const float upper = top + (high - most) * per_value, lower = top + (high - least) * per_value;
    const float distance = fmaxf(fmaxf(upper - row, row - lower), 0.0f);
    const float line = least <= most ? fminf(fmaxf(1.6f - distance, 0.0f), 1.0f) : 0.0f;
    bool is_grid = false, is_axis = has_axes && ((column == left && row >= top && row <= bottom) ||
                                                 (row == bottom && column >= left && column <= right));
    float text = 0.0f;
    for (int i = 0; i < scale->ticks; ++i) {
        const int at = top + static_cast<int>(rintf((high - (scale->first + i * scale->step)) * per_value));
        is_grid = is_grid || (is_inside && row == at);
        const unsigned char* label = scale->labels[1 + i];
        const int start = left - gap - static_cast<int>(ceilf(text_width(label) / half));
        if (has_axes && column < left) text = fmaxf(text, coverage(label, column - start, row - at + letters / 2, half));
    }
    for (int i = 0; i < scale->ticks_x && has_axes; ++i) {
        const int at = left + static_cast<int>(rintf(i * scale->step_x / per_column));
        is_grid = is_grid || (is_inside && column == at);
        const unsigned char* label = scale->labels[1 + TICKS + i];
        const int wide = static_cast<int>(ceilf(text_width(label) / half));
        const int start = min(at - wide / 2, width - gap / 2 - wide);
        if (row > bottom) text = fmaxf(text, coverage(label, column - start, row - bottom - gap, half));
    }
    const unsigned char* last = scale->labels[0];
    const int start = right - static_cast<int>(ceilf(text_width(last) / half));
    const float value = has_axes && row < top ? coverage(last, column - start, row - gap, half) : 0.0f;
    float3 color = is_light ? float3{0.90f, 0.90f, 0.91f} : float3{0.010f, 0.011f, 0.014f};
    if (is_grid) color = is_light ? float3{0.74f, 0.74f, 0.76f} : float3{0.032f, 0.034f, 0.040f};
    if (is_axis) color = is_light ? float3{0.40f, 0.40f, 0.42f} : float3{0.12f, 0.125f, 0.14f};
    const float3 ink = is_light ? float3{0.02f, 0.20f, 0.55f} : float3{0.16f, 0.55f, 0.95f};
    blend(color, ink, line);
    blend(color, is_light ? float3{0.08f, 0.08f, 0.09f} : float3{0.45f, 0.46f, 0.49f}, text);
    blend(color, ink, value);
    image[row * width + column] = {color.x, color.y, color.z, 1.0f};
}
