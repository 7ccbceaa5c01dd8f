// A machine with a stack: a switch in a loop, and a local array with computed indices.

enum Code : unsigned char { push, add, multiply, thread, copy, swap, skip_if_above, negate };

extern "C" __global__ void run(const unsigned char* program, int length, int* out) {
  int stack[16], top = 0;
  for (int at = 0; at < length;) {
    switch (program[at++]) {
      case push:
        stack[top++] = program[at++];
        break;
      case add:
        top--;
        stack[top - 1] += stack[top];
        break;
      case multiply:
        top--;
        stack[top - 1] *= stack[top];
        break;
      case thread:
        stack[top++] = threadIdx.x;
        break;
      case copy:
        stack[top] = stack[top - 1];
        top++;
        break;
      case swap: {
        int kept = stack[top - 1];
        stack[top - 1] = stack[top - 2];
        stack[top - 2] = kept;
        break;
      }
      case skip_if_above:
        at += stack[--top] > 5 ? program[at] + 1 : 1;
        break;
      case negate:
        stack[top - 1] = -stack[top - 1];
        break;
    }
  }
  out[threadIdx.x] = stack[0];
}
