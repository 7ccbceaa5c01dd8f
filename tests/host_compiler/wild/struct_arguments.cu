// Structs by value, up to the 4 KB that a kernel may take.

struct Settings {
  int count;
  float weights[800];
  double scales[60];
  short offsets[101];
  char bias;
};

extern "C" __global__ void apply(Settings settings, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= settings.count) return;
  out[i] = settings.weights[i % 800] * (float)settings.scales[i * 7 % 60] + settings.offsets[100 - i % 101] +
           settings.bias;
}

struct View {
  const float* data;
  int stride;
};

extern "C" __global__ void through(const __grid_constant__ View view, float* out) {
  const View* v = &view;
  out[threadIdx.x] = v->data[threadIdx.x * v->stride];
}
