// The stiffness matrix of a net of springs, in CSR form with five entries for each node of a grid.

extern "C" __global__ void spring_net(int* offsets, int* columns, float* entries, float stiffness, float ground,
                                      int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const int node = y * width + x, first = 5 * node;
    if (node == 0) offsets[width * height] = 5 * width * height;
    offsets[node] = first;
    // Held nodes don't move: they have rows of the identity, and a spring to one pulls towards 0. Columns ascend in a
    // row.
    const bool held = x == 0 || y == 0 || x == width - 1 || y == height - 1;
    const int dx[5] = {0, -1, 0, 1, 0}, dy[5] = {-1, 0, 0, 0, 1};
    for (int i = 0; i < 5; ++i) {
        const int nx = x + dx[i], ny = y + dy[i];
        const bool inside = nx > 0 && ny > 0 && nx < width - 1 && ny < height - 1;
        const bool own = i == 2;
        columns[first + i] = held ? node : ny * width + nx;
        entries[first + i] = held ? (own ? 1.0f : 0.0f) : own ? 4.0f * stiffness + ground : inside ? -stiffness : 0.0f;
    }
}
