// Threads that take tasks from a queue until none is left; a task adds its two children.

struct Queue {
  int head, tail, pending;
  int tasks[1024];
};

extern "C" __global__ void work(Queue* queue, int* visits, int limit) {
  volatile Queue* seen = queue;
  while (seen->pending > 0) {
    int head = seen->head;
    if (head >= seen->tail || atomicCAS(&queue->head, head, head + 1) != head) continue;
    int task;
    while ((task = seen->tasks[head]) == 0) {
    }
    atomicAdd(&visits[task], 1);
    for (int child = 2 * task; child <= 2 * task + 1 && child < limit; child++) {
      atomicAdd(&queue->pending, 1);
      atomicExch(&queue->tasks[atomicAdd(&queue->tail, 1)], child);
    }
    __threadfence();
    atomicSub(&queue->pending, 1);
  }
}
