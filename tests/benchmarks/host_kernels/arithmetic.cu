// Each thread computes on its own: element-wise kernels, hashes, random numbers, fractals, forces, a walk of a tree.
extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a * x[i] + y[i];
}

extern "C" __global__ void blend(const uchar4* below, const uchar4* above, uchar4* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uchar4 b = below[i], a = above[i];
  int w = a.w, v = 255 - w;
  out[i] = make_uchar4((a.x * w + b.x * v) / 255, (a.y * w + b.y * v) / 255, (a.z * w + b.z * v) / 255, 255);
}

extern "C" __global__ void nbody(const float4* p, float4* acc, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 own = p[i];
  float ax = 0, ay = 0, az = 0;
  for (int j = 0; j < n; j++) {
    float4 q = p[j];
    float dx = q.x - own.x, dy = q.y - own.y, dz = q.z - own.z;
    float inv = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 1e-3f), s = q.w * inv * inv * inv;
    ax += dx * s; ay += dy * s; az += dz * s;
  }
  acc[i] = make_float4(ax, ay, az, 0);
}

__constant__ unsigned K[64] = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ unsigned turned(unsigned x, int n) { return __funnelshift_r(x, x, n); }

extern "C" __global__ void sha256(const unsigned* in, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned w[16], s[8];
  for (int j = 0; j < 16; j++) w[j] = in[16 * i + j];
  for (int j = 0; j < 8; j++) s[j] = start[j];
#pragma unroll
  for (int j = 0; j < 64; j++) {
    if (j >= 16) {
      unsigned p = w[(j + 1) & 15], q = w[(j + 14) & 15];
      w[j & 15] += w[(j + 9) & 15] + (turned(p, 7) ^ turned(p, 18) ^ p >> 3) + (turned(q, 17) ^ turned(q, 19) ^ q >> 10);
    }
    unsigned a = s[0], e = s[4];
    unsigned t1 = s[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + (e & s[5] ^ ~e & s[6]) + K[j] + w[j & 15];
    unsigned t2 = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + (a & s[1] ^ a & s[2] ^ s[1] & s[2]);
    for (int m = 7; m > 0; m--) s[m] = s[m - 1];
    s[4] += t1;
    s[0] = t1 + t2;
  }
  for (int j = 0; j < 8; j++) out[8 * i + j] = s[j] + start[j];
}

extern "C" __global__ void philox(uint4* out, unsigned seed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = i, y = 0, z = 0, w = 0, k = seed, m = 0;
  for (int round = 0; round < 10; round++) {
    unsigned high0 = __umulhi(0xD2511F53, x), low0 = 0xD2511F53 * x, high1 = __umulhi(0xCD9E8D57, z), low1 = 0xCD9E8D57 * z;
    x = high1 ^ y ^ k; y = low1; z = high0 ^ w ^ m; w = low0;
    k += 0x9E3779B9; m += 0xBB67AE85;
  }
  out[i] = make_uint4(x, y, z, w);
}

extern "C" __global__ void mandelbrot(int* out, int w, int h, int most) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
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

struct Node { float low[3]; int left; float high[3]; int right; };  // left < 0: a leaf, the sphere -left - 1

extern "C" __global__ void bvh(const Node* nodes, const float4* spheres, const float* rays, float* nearest, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float o[3], d[3], inv[3], best = 1e30f;
  for (int k = 0; k < 3; k++) { o[k] = rays[6 * i + k]; d[k] = rays[6 * i + 3 + k]; inv[k] = 1 / d[k]; }
  int stack[32], top = 0;
  stack[top++] = 0;
  while (top) {
    Node node = nodes[stack[--top]];
    float first = 0, last = best;
    for (int k = 0; k < 3; k++) {
      float a = (node.low[k] - o[k]) * inv[k], b = (node.high[k] - o[k]) * inv[k];
      first = fmaxf(first, fminf(a, b));
      last = fminf(last, fmaxf(a, b));
    }
    if (first > last) continue;
    if (node.left >= 0) { stack[top++] = node.left; stack[top++] = node.right; continue; }
    float4 s = spheres[-node.left - 1];
    float x = o[0] - s.x, y = o[1] - s.y, z = o[2] - s.z;
    float half = x * d[0] + y * d[1] + z * d[2], under = half * half - (x * x + y * y + z * z - s.w * s.w);
    if (under < 0) continue;
    float t = -half - sqrtf(under);
    if (t > 0 && t < best) best = t;
  }
  nearest[i] = best;
}
