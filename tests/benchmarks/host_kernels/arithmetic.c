/* The work of arithmetic.cu in plain loops, one OpenMP loop over the outermost axis. */
#include "reference.h"

void saxpy(const float* x, const float* y, float* out, float a, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) out[i] = a * x[i] + y[i];
}

void blend(const u8* below, const u8* above, u8* out, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    int w = above[4 * i + 3], v = 255 - w;
    for (int k = 0; k < 3; k++) out[4 * i + k] = (above[4 * i + k] * w + below[4 * i + k] * v) / 255;
    out[4 * i + 3] = 255;
  }
}

void nbody(const float* p, float* acc, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    float ax = 0, ay = 0, az = 0, xi = p[4 * i], yi = p[4 * i + 1], zi = p[4 * i + 2];
    for (int j = 0; j < n; j++) {
      float dx = p[4 * j] - xi, dy = p[4 * j + 1] - yi, dz = p[4 * j + 2] - zi;
      float inv = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 1e-3f), s = p[4 * j + 3] * inv * inv * inv;
      ax += dx * s; ay += dy * s; az += dz * s;
    }
    acc[4 * i] = ax; acc[4 * i + 1] = ay; acc[4 * i + 2] = az; acc[4 * i + 3] = 0;
  }
}

static const u32 K[64] = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline u32 turned(u32 x, int n) { return x >> n | x << (32 - n); }

void sha256(const u32* in, u32* out, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    const u32 start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    u32 w[64], a = start[0], b = start[1], c = start[2], d = start[3];
    u32 e = start[4], f = start[5], g = start[6], h = start[7];
    memcpy(w, in + 16 * i, 64);
    for (int j = 16; j < 64; j++) {
      u32 p = w[j - 15], q = w[j - 2];
      w[j] = w[j - 16] + w[j - 7] + (turned(p, 7) ^ turned(p, 18) ^ p >> 3) + (turned(q, 17) ^ turned(q, 19) ^ q >> 10);
    }
    for (int j = 0; j < 64; j++) {
      u32 t1 = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + K[j] + w[j];
      u32 t2 = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
    }
    const u32 s[8] = {a, b, c, d, e, f, g, h};
    for (int j = 0; j < 8; j++) out[8 * i + j] = s[j] + start[j];
  }
}

void philox(u32* out, u32 seed, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    u32 x = i, y = 0, z = 0, w = 0, k = seed, m = 0;
    for (int round = 0; round < 10; round++) {
      uint64_t a = (uint64_t)0xD2511F53 * x, b = (uint64_t)0xCD9E8D57 * z;
      x = (b >> 32) ^ y ^ k; y = b; z = (a >> 32) ^ w ^ m; w = a;
      k += 0x9E3779B9; m += 0xBB67AE85;
    }
    out[4 * i] = x; out[4 * i + 1] = y; out[4 * i + 2] = z; out[4 * i + 3] = w;
  }
}

void mandelbrot(int* out, int w, int h, int most) {
#pragma omp parallel for
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      float cx = -2.2f + 3.0f * x / w, cy = -1.5f + 3.0f * y / h, zx = 0, zy = 0;
      int n = 0;
      while (n < most && zx * zx + zy * zy < 4) {
        float t = zx * zx - zy * zy + cx;
        zy = 2 * zx * zy + cy;
        zx = t;
        n++;
      }
      out[y * w + x] = n;
    }
}

struct node { float low[3]; int left; float high[3]; int right; };

void bvh(const struct node* nodes, const float* spheres, const float* rays, float* nearest, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    const float *o = rays + 6 * i, *d = o + 3;
    float inv[3] = {1 / d[0], 1 / d[1], 1 / d[2]}, best = 1e30f;
    int stack[32], top = 0;
    stack[top++] = 0;
    while (top) {
      const struct node* node = &nodes[stack[--top]];
      float first = 0, last = best;
      for (int k = 0; k < 3; k++) {
        float a = (node->low[k] - o[k]) * inv[k], b = (node->high[k] - o[k]) * inv[k];
        float near = a < b ? a : b, far = a < b ? b : a;
        first = near > first ? near : first;
        last = far < last ? far : last;
      }
      if (first > last) continue;
      if (node->left >= 0) { stack[top++] = node->left; stack[top++] = node->right; continue; }
      const float* s = spheres + 4 * (-node->left - 1);
      float x = o[0] - s[0], y = o[1] - s[1], z = o[2] - s[2];
      float half = x * d[0] + y * d[1] + z * d[2], under = half * half - (x * x + y * y + z * z - s[3] * s[3]);
      if (under < 0) continue;
      float t = -half - sqrtf(under);
      if (t > 0 && t < best) best = t;
    }
    nearest[i] = best;
  }
}
