// Radix 2 in dynamic shared memory, for any power of two and any number of threads.

extern "C" __global__ void fft(float2* signals, int bits, float sign) {
  extern __shared__ float2 s[];
  int size = 1 << bits;
  float2* signal = signals + blockIdx.x * size;
  for (int i = threadIdx.x; i < size; i += blockDim.x) s[__brev(i) >> (32 - bits)] = signal[i];
  __syncthreads();
  for (int length = 2; length <= size; length *= 2) {
    int half = length / 2;
    for (int k = threadIdx.x; k < size / 2; k += blockDim.x) {
      int j = k % half, low = k / half * length + j, high = low + half;
      float sine, cosine;
      sincospif(sign * 2.f * j / length, &sine, &cosine);
      float2 a = s[low], b = s[high];
      float2 turned = make_float2(b.x * cosine - b.y * sine, b.x * sine + b.y * cosine);
      s[low] = make_float2(a.x + turned.x, a.y + turned.y);
      s[high] = make_float2(a.x - turned.x, a.y - turned.y);
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < size; i += blockDim.x) signal[i] = s[i];
}
