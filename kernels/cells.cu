// Fields whose cells look at the cells next to them: cellular automata, heat that spreads, and substances that react.
#include "warploom/vector.h"

#define RUN 4  // cells of a column that a thread computes; equals RUN in blocks/field/rows.py

// The columns left and right of a cell: beyond the edge is the other edge of a torus, or else the cell itself.
struct Sides {
    int left, right;
    bool has_left, has_right;

    __device__ Sides(int x, int width, bool is_torus)
        : left(x > 0 ? x - 1 : is_torus ? width - 1 : 0),
          right(x < width - 1 ? x + 1 : is_torus ? 0 : x),
          has_left(is_torus || x > 0),
          has_right(is_torus || x < width - 1) {}
};

// The row of a place that may be one beyond the edge: then the other edge of a torus, or else the last row before it.
__device__ inline int row_of(int y, int height, bool is_torus) {
    return is_torus ? (y < 0 ? height - 1 : y == height ? 0 : y) : min(max(y, 0), height - 1);
}

// One step of a life-like automaton with `last` + 1 states: 0 is dead, `last` alive, and those between are dying. The
// field holds the states divided by `last`. Bit n of `born` and `survives` is for n living neighbours of 8. A thread
// counts each row of three cells once.
extern "C" __global__ void step_automaton(
    const float* __restrict__ cells,
    float* __restrict__ next,
    int born,
    int survives,
    int last,
    int is_torus,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int first = (blockIdx.y * blockDim.y + threadIdx.y) * RUN;
    if (x >= width || first >= height) return;
    const Sides sides(x, width, is_torus);
    const float scale = static_cast<float>(last), least = 1.0f - 0.5f / scale;
    float here[RUN + 2];
    int beside[RUN + 2], all[RUN + 2];  // how many of the cells left and right live, and of all three
#pragma unroll
    for (int k = 0; k < RUN + 2; ++k) {
        const int y = min(first + k - 1, height);
        const float* row = cells + static_cast<size_t>(row_of(y, height, is_torus)) * width;
        const bool is_inside = is_torus || (y >= 0 && y < height);
        here[k] = row[x];
        beside[k] = (is_inside && sides.has_left && row[sides.left] >= least ? 1 : 0) +
                    (is_inside && sides.has_right && row[sides.right] >= least ? 1 : 0);
        all[k] = beside[k] + (is_inside && here[k] >= least ? 1 : 0);
    }
#pragma unroll
    for (int k = 1; k <= RUN; ++k) {
        const int y = first + k - 1, alive = all[k - 1] + beside[k] + all[k + 1];
        const int now = static_cast<int>(saturate(here[k]) * scale + 0.5f);
        const int rule = now == 0 ? born : now == last ? survives : 0;
        const int after = rule >> alive & 1 ? last : max(now - 1, 0);
        if (y < height) next[static_cast<size_t>(y) * width + x] = static_cast<float>(after) / scale;
    }
}

// Heat flows between two cells as through both, one after the other.
__device__ inline float flow(float here, float other, float conducts, float its) {
    const float both = conducts + its;
    return both > 0.0f ? 2.0f * conducts * its / both * (other - here) : 0.0f;
}

// One step of the heat equation, in which cells exchange heat with the four next to them: nothing is lost but to a cold
// edge. `border` is 0 for edges that let nothing through, 1 for a torus, and 2 for edges that are held at 0. The rate is
// held at 1/4, up to which no cell gets hotter than the hottest around it.
extern "C" __global__ void spread_heat(
    const float* __restrict__ field,
    const float* __restrict__ conductivity,
    float* __restrict__ next,
    float rate,
    int steps,
    int border,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int first = (blockIdx.y * blockDim.y + threadIdx.y) * RUN;
    if (x >= width || first >= height) return;
    const bool is_torus = border == 1, is_cold = border == 2;
    const Sides sides(x, width, is_torus);
    const float part = fminf(rate / steps, 0.25f);
    float column[RUN + 2];
#pragma unroll
    for (int k = 0; k < RUN + 2; ++k) {
        const int y = min(first + k - 1, height);
        const float cell = field[static_cast<size_t>(row_of(y, height, is_torus)) * width + x];
        column[k] = is_cold && (y < 0 || y == height) ? 0.0f : cell;
    }
#pragma unroll
    for (int k = 1; k <= RUN; ++k) {
        const int y = min(first + k - 1, height - 1);
        const size_t start = static_cast<size_t>(y) * width;
        const float here = column[k];
        const float left = is_cold && !sides.has_left ? 0.0f : field[start + sides.left];
        const float right = is_cold && !sides.has_right ? 0.0f : field[start + sides.right];
        float change = left + right + column[k - 1] + column[k + 1] - 4.0f * here;
        if (conductivity) {
            const size_t above = static_cast<size_t>(row_of(y - 1, height, is_torus)) * width;
            const size_t below = static_cast<size_t>(row_of(y + 1, height, is_torus)) * width;
            const float conducts = saturate(conductivity[start + x]);
            change = flow(here, left, conducts, saturate(conductivity[start + sides.left])) +
                     flow(here, right, conducts, saturate(conductivity[start + sides.right])) +
                     flow(here, column[k - 1], conducts, saturate(conductivity[above + x])) +
                     flow(here, column[k + 1], conducts, saturate(conductivity[below + x]));
        }
        if (first + k - 1 < height) next[start + x] = here + part * change;
    }
}

// One step of the reaction of Gray and Scott, in which the second substance turns the first into itself (Pearson,
// "Complex patterns in a simple system", 1993). Both spread by the weights of Karl Sims, on a torus.
extern "C" __global__ void react_substances(
    const float2* __restrict__ field,
    float2* __restrict__ next,
    float feed,
    float kill,
    float spread_a,
    float spread_b,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const int left = x > 0 ? x - 1 : width - 1, right = x < width - 1 ? x + 1 : 0;
    const float2* row = field + static_cast<size_t>(y) * width;
    const float2* above = field + static_cast<size_t>(y > 0 ? y - 1 : height - 1) * width;
    const float2* below = field + static_cast<size_t>(y < height - 1 ? y + 1 : 0) * width;
    const float2 here = row[x], sides = row[left] + row[right] + above[x] + below[x];
    const float2 corners = above[left] + above[right] + below[left] + below[right];
    const float2 spread = sides * 0.2f + corners * 0.05f - here;
    const float made = here.x * here.y * here.y;
    next[static_cast<size_t>(y) * width + x] = {
        here.x + spread_a * spread.x - made + feed * (1.0f - here.x),
        here.y + spread_b * spread.y + made - (kill + feed) * here.y,
    };
}
