// Matrix products through shared memory: of any size, and with a tile of registers for each thread.

extern "C" __global__ void any_size(const float* a, const float* b, float* c, int rows, int columns, int inner) {
  constexpr int tile = 16;
  __shared__ float as[tile][tile], bs[tile][tile];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * tile + y, column = blockIdx.x * tile + x;
  float sum = 0;
  for (int k = 0; k < inner; k += tile) {
    as[y][x] = row < rows && k + x < inner ? a[row * inner + k + x] : 0;
    bs[y][x] = column < columns && k + y < inner ? b[(k + y) * columns + column] : 0;
    __syncthreads();
    for (int i = 0; i < tile; i++) sum += as[y][i] * bs[i][x];
    __syncthreads();
  }
  if (row < rows && column < columns) c[row * columns + column] = sum;
}

// 256 threads in a row make 64 x 64 numbers, 4 x 4 each.
extern "C" __global__ void __launch_bounds__(256)
    in_registers(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int size) {
  __shared__ float as[16][64], bs[16][64];
  int t = threadIdx.x, tx = t % 16, ty = t / 16;
  a += blockIdx.y * 64 * size;
  b += blockIdx.x * 64;
  c += blockIdx.y * 64 * size + blockIdx.x * 64;
  float sums[4][4] = {};
  for (int k = 0; k < size; k += 16) {
    float4 four = *reinterpret_cast<const float4*>(&a[t / 4 * size + k + t % 4 * 4]);
    as[t % 4 * 4][t / 4] = four.x;
    as[t % 4 * 4 + 1][t / 4] = four.y;
    as[t % 4 * 4 + 2][t / 4] = four.z;
    as[t % 4 * 4 + 3][t / 4] = four.w;
    *reinterpret_cast<float4*>(&bs[ty][tx * 4]) = *reinterpret_cast<const float4*>(&b[(k + ty) * size + tx * 4]);
    __syncthreads();
    for (int i = 0; i < 16; i++)
      for (int m = 0; m < 4; m++)
        for (int n = 0; n < 4; n++) sums[m][n] += as[i][ty * 4 + m] * bs[i][tx * 4 + n];
    __syncthreads();
  }
  for (int m = 0; m < 4; m++)
    *reinterpret_cast<float4*>(&c[(ty * 4 + m) * size + tx * 4]) =
        make_float4(sums[m][0], sums[m][1], sums[m][2], sums[m][3]);
}
