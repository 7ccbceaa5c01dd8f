// Draws rows of a matrix as tiles side by side: negative numbers blue, positive ones orange, 0 dark.

extern "C" __global__ void draw_tiles(
    const float* __restrict__ x,
    float4* __restrict__ image,
    float range,
    int rows,
    int tile_width,
    int tile_height,
    int columns,
    int zoom,
    int width,
    int height) {
    const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    const int pitch_x = tile_width * zoom + 1, pitch_y = tile_height * zoom + 1;
    const int column = px / pitch_x, row = py / pitch_y, left = px % pitch_x - 1, top = py % pitch_y - 1;
    const int tile = row * columns + column;
    float3 color = {0.004f, 0.004f, 0.005f};
    if (left >= 0 && top >= 0 && column < columns && tile < rows) {
        const float value = x[static_cast<size_t>(tile) * tile_width * tile_height + top / zoom * tile_width + left / zoom];
        const float strength = fminf(fabsf(value) / fmaxf(range, 1e-30f), 1.0f);
        const float3 full = value < 0.0f ? float3{0.05f, 0.35f, 0.95f} : float3{1.0f, 0.42f, 0.05f};
        color = {0.02f + full.x * strength, 0.02f + full.y * strength, 0.02f + full.z * strength};
    }
    image[py * width + px] = {color.x, color.y, color.z, 1.0f};
}
