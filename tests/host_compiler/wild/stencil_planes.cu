// Seven-point stencil: planes go through shared memory, their neighbours through registers.

extern "C" __global__ void laplace(const float* in, float* out, int nx, int ny, int nz) {
  __shared__ float plane[10][34];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  bool inside = x < nx && y < ny;
  size_t step = (size_t)nx * ny, i = (size_t)y * nx + x;
  float back = 0, here = inside ? in[i] : 0, front = inside && nz > 1 ? in[i + step] : 0;
  for (int z = 0; z < nz; z++, i += step) {
    __syncthreads();
    plane[ty][tx] = here;
    if (threadIdx.x == 0) plane[ty][0] = inside && x > 0 ? in[i - 1] : 0;
    if (threadIdx.x == 31) plane[ty][33] = y < ny && x + 1 < nx ? in[i + 1] : 0;
    if (threadIdx.y == 0) plane[0][tx] = inside && y > 0 ? in[i - nx] : 0;
    if (threadIdx.y == 7) plane[9][tx] = x < nx && y + 1 < ny ? in[i + nx] : 0;
    __syncthreads();
    if (inside)
      out[i] = back + front + plane[ty][tx - 1] + plane[ty][tx + 1] + plane[ty - 1][tx] + plane[ty + 1][tx] - 6 * here;
    back = here;
    here = front;
    front = inside && z + 2 < nz ? in[i + 2 * step] : 0;
  }
}
