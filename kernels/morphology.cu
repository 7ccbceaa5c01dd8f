// Masks of the surrounding pixels that count.

// Fills a mask of 2 radius + 1 rows and columns with 1 in the `shape`: everywhere (0), in a disc (1), in a diamond (2)
// or in a cross (3).
extern "C" __global__ void mask_shape(unsigned char* __restrict__ mask, int shape, int radius) {
    const int size = 2 * radius + 1;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size * size) return;
    const int x = abs(i % size - radius), y = abs(i / size - radius);
    const bool in_disc = x * x + y * y <= radius * (radius + 1);  // radius + 0.5 from the middle, squared
    mask[i] = shape == 0 || (shape == 1 && in_disc) || (shape == 2 && x + y <= radius) || (shape == 3 && x * y == 0);
}
