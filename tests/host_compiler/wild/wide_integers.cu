// Integers of 128 bits: NVRTC builds them from carry chains.

typedef unsigned __int128 wide;

extern "C" __global__ void divide(const unsigned long long* in, unsigned long long* out) {
  const unsigned long long* p = in + threadIdx.x * 3;
  unsigned long long* q = out + threadIdx.x * 4;
  wide number = (wide)p[0] << 64 | p[1];
  wide quotient = number / p[2], rest = number % p[2];
  q[0] = (unsigned long long)(quotient >> 64);
  q[1] = (unsigned long long)quotient;
  q[2] = (unsigned long long)rest;
  __int128 product = (__int128)(long long)p[0] * (long long)p[1];
  q[3] = (unsigned long long)(product / 1000003);
}
