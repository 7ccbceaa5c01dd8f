/* The work of scans.cu in plain loops. */
#include "reference.h"

void reduce(const float* x, float* out, int n) {
#pragma omp parallel for
  for (int block = 0; block < n / 256; block++) {
    float sum = 0;
    for (int i = 0; i < 256; i++) sum += x[block * 256 + i];
    out[block] = sum;
  }
}

void histogram(const u8* x, u32* bins, int n) {
#pragma omp parallel
  {
    u32 own[256] = {0};
#pragma omp for nowait
    for (int i = 0; i < n; i++) own[x[i]]++;
    for (int b = 0; b < 256; b++) __atomic_fetch_add(&bins[b], own[b], __ATOMIC_RELAXED);
  }
}

void scan_rows(const int* in, int* out, int rows) {
#pragma omp parallel for
  for (int row = 0; row < rows; row++) {
    int sum = 0;
    for (int i = 0; i < 256; i++) out[row * 256 + i] = sum += in[row * 256 + i];
  }
}

void scan_all(const int* in, int* out, int* counter, int64_t* states, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) out[i] = sum += in[i];
}

void radix_pass(const u32* keys, const int* places, u32* out, int shift, int blocks) {
#pragma omp parallel for
  for (int block = 0; block < blocks; block++) {
    int place[16];
    memcpy(place, places + 16 * block, sizeof place);
    for (int i = 0; i < 256; i++) {
      u32 key = keys[block * 256 + i];
      out[place[key >> shift & 15]++] = key;
    }
  }
}

void bitonic(const u32* in, u32* out, int rows) {
#pragma omp parallel for
  for (int row = 0; row < rows; row++) {
    u32* s = out + row * 1024;
    memcpy(s, in + row * 1024, 4096);
    for (int size = 2; size <= 1024; size *= 2)
      for (int half = size / 2; half > 0; half /= 2)
        for (int base = 0; base < 1024; base += 2 * half)
          for (int i = base; i < base + half; i++) {
            u32 a = s[i], b = s[i + half];
            if ((a > b) == !(i & size)) { s[i] = b; s[i + half] = a; }
          }
  }
}
