// Fields whose cells look at the cells next to them: cellular automata, heat that spreads, and substances that react.
#include "warploom/vector.h"

#define RUN 4  // rows that a thread of an automaton computes, so that it counts each row of three cells once

// The place of a cell, which may be one beyond the edge: then the one at the other edge of a torus, else -1.
__device__ inline int place_of(int place, int size, int is_torus) {
    if (place >= 0 && place < size) return place;
    return is_torus ? (place < 0 ? size - 1 : 0) : -1;
}

// One step of a life-like automaton with `last` + 1 states: 0 is dead, `last` alive, and those between are dying. The
// field holds the states divided by `last`. Bit n of `born` and `survives` is for n living neighbours of 8.
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
    const int left = place_of(x - 1, width, is_torus), right = place_of(x + 1, width, is_torus);
    const float scale = static_cast<float>(last);
    auto state = [&](int column, int row) {
        return column < 0 ? 0 : static_cast<int>(saturate(cells[static_cast<size_t>(row) * width + column]) * scale + 0.5f);
    };
    int here = 0, beside = 0;  // the state of the cell in the row, and how many of the cells left and right of it live
    auto take = [&](int row) {
        here = row < 0 ? 0 : state(x, row);
        beside = row < 0 ? 0 : (state(left, row) == last) + (state(right, row) == last);
        return beside + (here == last);
    };
    int above = take(place_of(first - 1, height, is_torus));
    int all = take(first);
    for (int row = first; row < min(first + RUN, height); ++row) {
        const int now = here, near = beside;
        const int below = take(place_of(row + 1, height, is_torus));
        const int alive = above + near + below;
        const int lives = now == 0 ? born >> alive & 1 : now == last && survives >> alive & 1;
        const int after = lives ? last : max(now - 1, 0);
        next[static_cast<size_t>(row) * width + x] = static_cast<float>(after) / scale;
        above = all;
        all = below;
    }
}

// One step of the heat equation, in which cells exchange heat with the four next to them: nothing is lost but to a cold
// edge. `border` is 0 for edges that let nothing through, 1 for a torus, and 2 for edges that are held at 0. Heat flows
// between two cells as through both, one after the other. The rate is held at 1/4, up to which no cell gets hotter than
// the hottest around it.
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
    const size_t row = static_cast<size_t>(y) * width, i = row + x;
    const bool is_torus = border == 1, is_cold = border == 2;
    // Beyond an edge is the cell itself, with which it exchanges nothing, or the other edge, or the cold.
    const int left = x > 0 ? x - 1 : is_torus ? width - 1 : x, right = x < width - 1 ? x + 1 : is_torus ? 0 : x;
    const int above = y > 0 ? y - 1 : is_torus ? height - 1 : y, below = y < height - 1 ? y + 1 : is_torus ? 0 : y;
    const size_t sides[4] = {
        row + left, row + right, static_cast<size_t>(above) * width + x, static_cast<size_t>(below) * width + x};
    const bool is_edge[4] = {x == 0, x == width - 1, y == 0, y == height - 1};
    const float here = field[i];
    float change = 0.0f;
    if (conductivity) {
        const float conducts = saturate(conductivity[i]);
        for (int k = 0; k < 4; ++k) {
            const float its = saturate(conductivity[sides[k]]), both = conducts + its;
            const float other = is_cold && is_edge[k] ? 0.0f : field[sides[k]];
            change += both > 0.0f ? 2.0f * conducts * its / both * (other - here) : 0.0f;
        }
    } else {
        for (int k = 0; k < 4; ++k) change += (is_cold && is_edge[k] ? 0.0f : field[sides[k]]) - here;
    }
    next[i] = here + fminf(rate / steps, 0.25f) * change;
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
