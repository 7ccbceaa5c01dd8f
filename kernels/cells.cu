// Fields whose cells look at the cells next to them: cellular automata, heat that spreads, and substances that react.
#include "warploom/vector.h"

#define RUN 4  // cells of an automaton that a thread computes; equals RUN in cellular_automaton.py

// A row of cells, with what lies beyond its ends: nothing, the last cell itself, or the other end. Loads of neighbouring
// threads are next to each other, so the host computes many cells at once.
struct Row {
    const float* cells;
    float first, last;
    int width;

    __device__ Row(const float* cells, int width, bool is_torus, bool is_cold) : cells(cells), width(width) {
        first = is_torus ? cells[width - 1] : is_cold ? 0.0f : cells[0];
        last = is_torus ? cells[0] : is_cold ? 0.0f : cells[width - 1];
    }
    __device__ float left(int x) const { return x == 0 ? first : cells[max(x - 1, 0)]; }
    __device__ float right(int x) const { return x == width - 1 ? last : cells[min(x + 1, width - 1)]; }
};

// The row above or below, which may be one beyond the edge: then the other edge of a torus, or the same row.
__device__ inline int row_of(int y, int height, bool is_torus) {
    if (is_torus) return y < 0 ? height - 1 : y == height ? 0 : y;
    return min(max(y, 0), height - 1);
}

// One step of a life-like automaton with `last` + 1 states: 0 is dead, `last` alive, and those between are dying. The
// field holds the states divided by `last`. Bit n of `born` and `survives` is for n living neighbours of 8. A thread
// computes RUN cells of a column, so it counts each row of three cells once.
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
    const float scale = static_cast<float>(last), least = 1.0f - 0.5f / scale;
    auto lives = [&](float cell) { return cell >= least ? 1 : 0; };
    float here[RUN + 2];
    int beside[RUN + 2], all[RUN + 2];  // how many of the cells left and right live, and of all three
#pragma unroll
    for (int k = 0; k < RUN + 2; ++k) {
        const int y = min(first + k - 1, height);
        const size_t start = static_cast<size_t>(row_of(y, height, is_torus)) * width;
        const Row row(cells + start, width, is_torus, true);
        const int is_inside = is_torus || (y >= 0 && y < height);
        here[k] = row.cells[x];
        beside[k] = is_inside * (lives(row.left(x)) + lives(row.right(x)));
        all[k] = beside[k] + is_inside * lives(here[k]);
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
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const bool is_torus = border == 1, is_cold = border == 2;
    const size_t above = static_cast<size_t>(row_of(y - 1, height, is_torus)) * width + x;
    const size_t below = static_cast<size_t>(row_of(y + 1, height, is_torus)) * width + x;
    const size_t start = static_cast<size_t>(y) * width;
    const Row row(field + start, width, is_torus, is_cold);
    const float here = row.cells[x], left = row.left(x), right = row.right(x);
    const float over = is_cold && y == 0 ? 0.0f : field[above];
    const float under = is_cold && y == height - 1 ? 0.0f : field[below];
    float change = left + right + over + under - 4.0f * here;
    if (conductivity) {
        const Row shares(conductivity + start, width, is_torus, false);
        const float conducts = saturate(shares.cells[x]);
        change = flow(here, left, conducts, saturate(shares.left(x))) +
                 flow(here, right, conducts, saturate(shares.right(x))) +
                 flow(here, over, conducts, saturate(conductivity[above])) +
                 flow(here, under, conducts, saturate(conductivity[below]));
    }
    next[start + x] = here + fminf(rate / steps, 0.25f) * change;
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
