// Lines in space: the trails of moving points, and pictures of lines.
//
// Lines that cover each other are drawn like meshes in mesh.cu: a key has the inverted bits of the depth (high half) and
// the number of the segment (low half), so the largest key is the nearest one, in any order of threads. Each pixel has
// SAMPLES keys, at places that differ in x and in y, and their mean smooths the edges. Lines of light add up in fixed
// point instead, which gives the same sum in any order, too.
#include "camera.cuh"

typedef unsigned long long Key;

#define SPARE 16384    // threads that a launch has besides one per segment; equals SPARE in render_lines.py
#define SAMPLES 4      // equals SAMPLES in render_lines.py
#define NEAREST 0.01f  // metres; what is nearer is not drawn
#define LIGHT_UNIT 4096.0f

// Eighths of a pixel: 1, 3, 5, 7 to the right and 3, 7, 1, 5 down.
__device__ inline float2 sample_place(int sample) {
    return {(sample * 2 + 1) * 0.125f, (0x5173 >> 4 * sample & 7) * 0.125f};
}

// Moves the places of each trail to the next row, the last one out, and puts the newest place into row 0. The fourth
// number is 1 if a line leads to the place in the next row, -1 if not, and 0 if there is no point.
extern "C" __global__ void lengthen_trails(
    const float4* __restrict__ points, float4* __restrict__ lines, float jump, int length, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float4 point = points[i];
    const float4 last = lines[i];
    for (int row = length - 1; row > 0; --row)
        lines[static_cast<size_t>(row) * count + i] = lines[static_cast<size_t>(row - 1) * count + i];
    const float3 way = {point.x - last.x, point.y - last.y, point.z - last.z};
    point.w = point.w == 0.0f ? 0.0f : last.w != 0.0f && sqrtf(dot(way, way)) < jump ? 1.0f : -1.0f;
    lines[i] = point;
}

// The lines of a launch: strips, which are the columns of points, or single segments between the points of an edge.
struct Lines {
    const float4* points;
    const float4* colors;
    const int* edges;
    int rows, count;  // `count` is the number of all points
    int edge_count;   // 0 in a launch for strips, which has no work if there are edges

    __device__ int segments() const { return edges ? edge_count : count - count / rows; }

    // The points of a segment. Returns false if there is none between them.
    __device__ bool ends(int segment, int& a, int& b) const {
        a = edges ? edges[2 * static_cast<size_t>(segment)] : segment;
        b = edges ? edges[2 * static_cast<size_t>(segment) + 1] : segment + count / rows;
        return 0 <= a && a < count && 0 <= b && b < count && points[a].w > 0.0f && (!edges || points[b].w > 0.0f);
    }

    // The colour at a share of the way from one point to the other; strips fade towards their last row.
    __device__ float4 color(int a, int b, float share, float fade) const {
        float4 found = colors ? colors[a] + (colors[b] - colors[a]) * share : float4{1.0f, 1.0f, 1.0f, 1.0f};
        if (!edges) found.w *= 1.0f - fade * (a / (count / rows) + share) / max(rows - 1, 1);
        return found;
    }
};

// A segment as a camera sees it: its ends in pixels, and their depths. The part before the camera is left out.
struct Segment {
    float2 from, way;
    float first, last;  // depths
    float begin, end;   // shares of the way between the points in space, which the part in front of the camera has
    float square;       // of the length in pixels

    __device__ bool see(const Camera& camera, float4 a, float4 b, int width, int height) {
        const float3 p = float3{a.x, a.y, a.z} - camera.position, q = float3{b.x, b.y, b.z} - camera.position;
        const float near = dot(p, camera.forward), far = dot(q, camera.forward);
        if (!(fmaxf(near, far) >= NEAREST && fmaxf(near, far) < 1e30f && fminf(near, far) > -1e30f)) return false;
        begin = near < NEAREST ? (NEAREST - near) / (far - near) : 0.0f;
        end = far < NEAREST ? (NEAREST - near) / (far - near) : 1.0f;
        const float3 s = lerp(p, q, begin), t = lerp(p, q, end);
        first = fmaxf(dot(s, camera.forward), NEAREST), last = fmaxf(dot(t, camera.forward), NEAREST);
        from = {0.5f * width + dot(s, camera.right) * camera.focal / first,
                0.5f * height - dot(s, camera.up) * camera.focal / first};
        way = float2{0.5f * width + dot(t, camera.right) * camera.focal / last,
                     0.5f * height - dot(t, camera.up) * camera.focal / last} - from;
        square = dot(way, way);
        return fabsf(from.x) < 1e9f && fabsf(from.y) < 1e9f && square < 1e18f;
    }
    // The share of the way on the picture at which a place is nearest to the line; it may lie beyond the ends.
    __device__ float along(float2 place) const { return square > 0.0f ? dot(place - from, way) / square : 0.0f; }
    __device__ float distance(float2 place, float share) const { return length(place - from - way * share); }
    // The depth at a share of the way on the picture, and the share of the way in space.
    __device__ float depth(float share) const { return 1.0f / lerp(1.0f / first, 1.0f / last, share); }
    __device__ float in_space(float share) const { return lerp(begin, end, share / last * depth(share)); }
};

// Calls `draw` with column and row for each pixel near a segment, of which several threads have a part each.
template <class Draw>
__device__ inline void for_each_pixel(
    const Segment& segment, float radius, int lane, int lanes, int width, int height, Draw draw) {
    const bool is_steep = fabsf(segment.way.y) > fabsf(segment.way.x);
    const float start = is_steep ? segment.from.y : segment.from.x, run = is_steep ? segment.way.y : segment.way.x;
    const float side = is_steep ? segment.from.x : segment.from.y, rise = is_steep ? segment.way.x : segment.way.y;
    const int most = is_steep ? height : width, across = is_steep ? width : height;
    const float slope = run != 0.0f ? rise / run : 0.0f;
    const float reach = radius + 1.0f, spread = reach * sqrtf(1.0f + slope * slope);
    const int first = static_cast<int>(fmaxf(fminf(start, start + run) - reach, 0.0f));
    const int last = static_cast<int>(fminf(fmaxf(start, start + run) + reach, most - 1.0f));
    for (int k = first + lane; k <= last; k += lanes) {
        const float middle = side + slope * (k + 0.5f - start);
        const float low = fmaxf(middle - spread - reach, fminf(side, side + rise) - reach);
        const float high = fminf(middle + spread + reach, fmaxf(side, side + rise) + reach);
        const int to = static_cast<int>(fminf(high, across - 1.0f));
        for (int j = static_cast<int>(fmaxf(low, 0.0f)); j <= to; ++j) draw(is_steep ? j : k, is_steep ? k : j);
    }
}

// Calls `draw` with each segment that a thread has a part of, seen by the camera.
template <class Draw>
__device__ inline void with_segment(const Lines& lines, const Camera* camera, int width, int height, Draw draw) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, count = lines.segments();
    const int lanes = 1 + SPARE / max(count, 1), number = i / lanes;
    int a, b;
    Segment segment;
    if (number >= count || !lines.ends(number, a, b)) return;
    if (segment.see(*camera, lines.points[a], lines.points[b], width, height)) draw(segment, number, a, b, i % lanes, lanes);
}

// At least one thread per segment: writes its key to the samples that it covers, with round ends.
extern "C" __global__ void draw_lines(
    const float4* __restrict__ points,
    const int* __restrict__ edges,
    const Camera* __restrict__ camera,
    Key* nearest,
    float line_width,
    int rows,
    int count,
    int edge_count,
    int width,
    int height) {
    const Lines lines = {points, nullptr, edges, rows, count, edge_count};
    with_segment(lines, camera, width, height, [&](const Segment& segment, int number, int, int, int lane, int lanes) {
        const float radius = 0.5f * line_width;
        for_each_pixel(segment, radius, lane, lanes, width, height, [&](int column, int row) {
            for (int k = 0; k < SAMPLES; ++k) {
                const float2 place = float2{static_cast<float>(column), static_cast<float>(row)} + sample_place(k);
                const float share = saturate(segment.along(place));
                if (segment.distance(place, share) > radius) continue;
                const Key key = static_cast<Key>(~__float_as_uint(segment.depth(share))) << 32 | static_cast<unsigned>(number);
                Key* sample = &nearest[(static_cast<size_t>(row) * width + column) * SAMPLES + k];
                if (*sample < key) atomicMax(sample, key);
            }
        });
    });
}

// One thread per pixel: the mean of the lines that are nearest at its samples.
extern "C" __global__ void shade_lines(
    const float4* __restrict__ points,
    const float4* __restrict__ colors,
    const int* __restrict__ edges,
    const Camera* __restrict__ camera,
    const Key* __restrict__ nearest,
    float4* __restrict__ image,
    float brightness,
    float fade,
    int rows,
    int count,
    int edge_count,
    int width,
    int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const size_t pixel = static_cast<size_t>(y) * width + x;
    const Lines lines = {points, colors, edges, rows, count, edge_count};
    float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k = 0; k < SAMPLES; ++k) {
        const Key key = nearest[pixel * SAMPLES + k];
        int a, b;
        Segment segment;
        if (key == 0 || !lines.ends(static_cast<int>(key & 0xFFFFFFFFu), a, b)) continue;
        if (!segment.see(*camera, points[a], points[b], width, height)) continue;
        const float2 place = float2{static_cast<float>(x), static_cast<float>(y)} + sample_place(k);
        const float4 color = lines.color(a, b, segment.in_space(saturate(segment.along(place))), fade);
        const float alpha = saturate(color.w);
        sum += float4{color.x * alpha, color.y * alpha, color.z * alpha, alpha};
    }
    const float scale = sum.w > 0.0f ? brightness / sum.w : 0.0f;
    image[pixel] = {sum.x * scale, sum.y * scale, sum.z * scale, sum.w / SAMPLES};
}

// At least one thread per segment: adds its light to the pixels that it covers. Segments end where the next one begins,
// so the joints of a strip are not brighter. Two sums share a 64-bit addition: red and green, then blue alone.
extern "C" __global__ void add_lines(
    const float4* __restrict__ points,
    const float4* __restrict__ colors,
    const int* __restrict__ edges,
    const Camera* __restrict__ camera,
    Key* lights,
    float line_width,
    float brightness,
    float fade,
    int rows,
    int count,
    int edge_count,
    int width,
    int height) {
    const Lines lines = {points, colors, edges, rows, count, edge_count};
    with_segment(lines, camera, width, height, [&](const Segment& segment, int, int a, int b, int lane, int lanes) {
        const float radius = 0.5f * fmaxf(line_width, 1.0f), thin = fminf(line_width, 1.0f);
        for_each_pixel(segment, radius, lane, lanes, width, height, [&](int column, int row) {
            const float2 place = {column + 0.5f, row + 0.5f};
            const float share = segment.along(place);
            const float covered = thin * saturate(radius + 0.5f - segment.distance(place, share));
            if (!(share >= 0.0f && share < 1.0f && covered > 0.0f)) return;
            const float4 color = lines.color(a, b, segment.in_space(share), fade);
            const float light = covered * brightness * saturate(color.w) * LIGHT_UNIT;
            auto part = [&](float of) { return static_cast<Key>(static_cast<unsigned>(saturate(of * light / 1e6f) * 1e6f)); };
            const Key warm = part(color.x) | part(color.y) << 32, cold = part(color.z);
            Key* pixel = &lights[2 * (static_cast<size_t>(row) * width + column)];
            if (warm != 0) atomicAdd(pixel, warm);
            if (cold != 0) atomicAdd(pixel + 1, cold);
        });
    });
}

// One thread per pixel: the light of all lines.
extern "C" __global__ void develop_lines(
    const Key* __restrict__ lights, float4* __restrict__ image, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const size_t pixel = static_cast<size_t>(y) * width + x;
    const Key warm = lights[2 * pixel], cold = lights[2 * pixel + 1];
    const float unit = 1.0f / LIGHT_UNIT;
    image[pixel] = {
        static_cast<float>(static_cast<unsigned>(warm)) * unit,
        static_cast<float>(static_cast<unsigned>(warm >> 32)) * unit,
        static_cast<float>(static_cast<unsigned>(cold)) * unit,
        1.0f,
    };
}
