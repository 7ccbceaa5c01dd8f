// A sparse matrix (CSR) times a vector: a thread for each row, and a warp for each row.

extern "C" __global__ void thread_per_row(int rows, const int* start, const int* column, const float* value,
                                          const float* x, float* y) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int j = start[row]; j < start[row + 1]; j++) sum += value[j] * x[column[j]];
  y[row] = sum;
}

extern "C" __global__ void warp_per_row(int rows, const int* start, const int* column, const double* value,
                                        const double* x, double* y) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  double sum = 0;
  for (int j = start[row] + lane; j < start[row + 1]; j += 32) sum += value[j] * x[column[j]];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
  if (lane == 0) y[row] = sum;
}
