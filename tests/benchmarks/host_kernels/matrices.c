/* The work of matrices.cu in plain loops. */
#include "reference.h"

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

void matmul_buffered(const float* a, const float* b, float* c, int n) { matmul(a, b, c, n); }

void matmul_tiled(const float* a, const float* b, float* c, int n) { matmul(a, b, c, n); }

void cholesky(const float* in, float* out, int count) {
#pragma omp parallel for
  for (int matrix = 0; matrix < count; matrix++) {
    const float* a = in + 1024 * matrix;
    float* l = out + 1024 * matrix;
    memset(l, 0, 4096);
    for (int i = 0; i < 32; i++)
      for (int j = 0; j <= i; j++) {
        float sum = a[32 * i + j];
        for (int k = 0; k < j; k++) sum -= l[32 * i + k] * l[32 * j + k];
        l[32 * i + j] = i == j ? sqrtf(sum) : sum / l[33 * j];
      }
  }
}
