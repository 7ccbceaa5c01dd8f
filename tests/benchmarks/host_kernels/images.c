/* The work of images.cu in plain loops. */
#include "reference.h"

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
            sum += k[dy * 5 + dx] * in[least(most(y + dy - 2, 0), h - 1) * w + least(most(x + dx - 2, 0), w - 1)];
      }
      out[y * w + x] = sum;
    }
}

void life(const u8* in, u8* out, int w, int h) {
#pragma omp parallel for
  for (int y = 0; y < h; y++) {
    const u8 *own = in + y * w, *up = in + (y + h - 1) % h * w, *down = in + (y + 1) % h * w;
    for (int x = 0; x < w; x++) {
      int left = x ? x - 1 : w - 1, right = x + 1 < w ? x + 1 : 0;
      int count = up[left] + up[x] + up[right] + own[left] + own[right] + down[left] + down[x] + down[right];
      out[y * w + x] = count == 3 || (count == 2 && own[x]);
    }
  }
}

void stencil(const float* in, float* out, int w, int h, float rate) {
#pragma omp parallel for
  for (int y = 0; y < h; y++) {
    const float* own = in + y * w;
    for (int x = 0; x < w; x++) {
      float up = y ? own[x - w] : 0, down = y + 1 < h ? own[x + w] : 0;
      float left = x ? own[x - 1] : 0, right = x + 1 < w ? own[x + 1] : 0;
      out[y * w + x] = own[x] + rate * (up + down + left + right - 4 * own[x]);
    }
  }
}

void smith_waterman(const u8* a, const u8* b, int* best, int n, int pairs) {
#pragma omp parallel for
  for (int pair = 0; pair < pairs; pair++) {
    int row[129] = {0}, highest = 0;
    for (int i = 0; i < n; i++) {
      int corner = 0;
      for (int j = 0; j < 128; j++) {
        int score = corner + (a[pair * n + i] == b[pair * 128 + j] ? 2 : -1);
        score = most(most(score, 0), most(row[j], row[j + 1]) - 1);
        corner = row[j + 1];
        row[j + 1] = score;
        highest = most(highest, score);
      }
    }
    best[pair] = highest;
  }
}

void dither(const u8* in, u8* out, int w, int h, int images) {
#pragma omp parallel for
  for (int image = 0; image < images; image++) {
    int rows[2][1026] = {{0}}; /* the errors of two rows, from column -1 on */
    for (int y = 0; y < h; y++) {
      const int* above = rows[y & 1] + 1;
      int *own = rows[~y & 1] + 1, right = 0;
      for (int x = 0; x < w; x++) {
        int at = (image * h + y) * w + x;
        int value = in[at] + ((7 * right + above[x - 1] + 5 * above[x] + 3 * above[x + 1]) >> 4);
        int white = value > 127;
        right = value - (white ? 255 : 0);
        own[x] = right;
        out[at] = white;
      }
    }
  }
}
