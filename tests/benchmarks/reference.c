/* The work of bench_host.cu as a C programmer would write it: plain loops, one OpenMP loop over the outermost axis.
   Thread counts come from omp_set_num_threads. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

void set_threads(int n) { omp_set_num_threads(n); }

void saxpy(const float* x, const float* y, float* out, float a, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) out[i] = a * x[i] + y[i];
}

void nbody(const float* p, float* acc, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    float ax = 0, ay = 0, az = 0, xi = p[4 * i], yi = p[4 * i + 1], zi = p[4 * i + 2];
    for (int j = 0; j < n; j++) {
      float dx = p[4 * j] - xi, dy = p[4 * j + 1] - yi, dz = p[4 * j + 2] - zi;
      float d2 = dx * dx + dy * dy + dz * dz + 1e-3f;
      float inv = 1.0f / sqrtf(d2), s = p[4 * j + 3] * inv * inv * inv;
      ax += dx * s; ay += dy * s; az += dz * s;
    }
    acc[4 * i] = ax; acc[4 * i + 1] = ay; acc[4 * i + 2] = az; acc[4 * i + 3] = 0;
  }
}

static inline int clampi(int v, int hi) { return v < 0 ? 0 : v > hi ? hi : v; }

void conv5(const float* in, const float* k, float* out, int w, int h) {
#pragma omp parallel for
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      float sum = 0;
      if (y >= 2 && y < h - 2 && x >= 2 && x < w - 2) {
        for (int dy = 0; dy < 5; dy++)
          for (int dx = 0; dx < 5; dx++) sum += k[dy * 5 + dx] * in[(y + dy - 2) * w + x + dx - 2];
      } else {
        for (int dy = 0; dy < 5; dy++)
          for (int dx = 0; dx < 5; dx++)
            sum += k[dy * 5 + dx] * in[clampi(y + dy - 2, h - 1) * w + clampi(x + dx - 2, w - 1)];
      }
      out[y * w + x] = sum;
    }
}

void histogram(const unsigned char* x, unsigned* bins, int n) {
#pragma omp parallel
  {
    unsigned own[256] = {0};
#pragma omp for nowait
    for (int i = 0; i < n; i++) own[x[i]]++;
    for (int b = 0; b < 256; b++) __atomic_fetch_add(&bins[b], own[b], __ATOMIC_RELAXED);
  }
}

void matmul(const float* a, const float* b, float* c, int n) {
#pragma omp parallel for
  for (int i0 = 0; i0 < n; i0 += 16)
    for (int j0 = 0; j0 < n; j0 += 16) {
      float tile[16][16] = {{0}};
      for (int k0 = 0; k0 < n; k0 += 16)
        for (int i = 0; i < 16; i++)
          for (int k = 0; k < 16; k++)
            for (int j = 0; j < 16; j++) tile[i][j] += a[(i0 + i) * n + k0 + k] * b[(k0 + k) * n + j0 + j];
      for (int i = 0; i < 16; i++) memcpy(&c[(i0 + i) * n + j0], tile[i], sizeof tile[i]);
    }
}

void reduce(const float* x, float* out, int n) {
#pragma omp parallel for
  for (int block = 0; block < n / 256; block++) {
    float sum = 0;
    for (int i = 0; i < 256; i++) sum += x[block * 256 + i];
    out[block] = sum;
  }
}
