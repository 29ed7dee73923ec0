/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread sanitizer finds races of the threads of a launch in shared and in global memory, and
 * none where barriers, fences, atomic sums or the end of a launch order what they do. */
#include "src/base.h"

#include <sys/wait.h>

#define GPU_EMULATE
#include "trainer/backends/cuda/runtime/gpu.h"

#include "t/tap.h"

#define FOUND 66 /* the sanitizer's exit code */
#define NBLOCKS 3

struct race_args {
    unsigned *sums; /* [gridDim.x] */
    unsigned *counter, *total;
    bool is_wrong; /* one of what orders the threads is left out */
};

void cuda_queue_note_launch(void)
{
}

/* Each thread reads what its neighbour has written. */
KERNEL_BLOCK(turn, race_args)
{
    SHARED(unsigned, numbers, GPU_BLOCK);

    numbers[threadIdx.x] = threadIdx.x;
    if (!k.is_wrong)
        BARRIER();
    if (threadIdx.x == 0)
        k.sums[blockIdx.x] = numbers[1];
}

/* The last block adds up what the others have written. */
KERNEL_BLOCK(add_up, race_args)
{
    SHARED(unsigned, last, 1);

    if (threadIdx.x == 0)
        k.sums[blockIdx.x] = blockIdx.x;
    if (k.is_wrong) {
        if (threadIdx.x == 0)
            *last = ATOMIC_WRAP(k.counter, gridDim.x - 1) == gridDim.x - 1;
        BARRIER();
    } else {
        gpu_is_last(k.counter, last);
    }
    for (unsigned i = 0; *last && threadIdx.x == 0 && i < gridDim.x; i++)
        *k.total += k.sums[i];
}

/* All threads add to one number. */
KERNEL(count, race_args)
{
    if (k.is_wrong)
        ++*k.total;
    else
        ATOMIC_ADD(k.total, 1u);
}

/* Runs in a child: launches a kernel twice. Returns its exit code. */
static int run(const struct emulate_kernel *kernel, bool is_wrong)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        struct race_args args = {.is_wrong = is_wrong};
        cudaStream_t stream;
        bool failed = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess ||
                      cudaMalloc((void **)&args.sums, NBLOCKS * sizeof *args.sums) != cudaSuccess ||
                      cudaMalloc((void **)&args.counter, sizeof *args.counter) != cudaSuccess ||
                      cudaMalloc((void **)&args.total, sizeof *args.total) != cudaSuccess;
        (void)freopen("/dev/null", "w", stderr); /* what the sanitizer says */
        for (int i = 0; !failed && i < 2; i++)
            emulate_launch(kernel, NBLOCKS, stream, &args);
        exit(failed || cudaStreamSynchronize(stream) != cudaSuccess ? 1 : 0);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                           : -1;
}

int main(void)
{
    is_int(run(&turn_kernel, false), 0, "a barrier orders accesses to shared memory");
    is_int(run(&add_up_kernel, false), 0, "fences order blocks");
    is_int(run(&count_kernel, false), 0, "atomic sums are no race");
    if (EMULATE_RACES) {
        is_int(run(&turn_kernel, true), FOUND, "a race in shared memory is found");
        is_int(run(&add_up_kernel, true), FOUND, "a race of blocks in global memory is found");
        is_int(run(&count_kernel, true), FOUND, "a race in global memory is found");
    } else {
        tap_skip(3, "this is not built with the thread sanitizer (make check-threads is)");
    }
    return done_testing();
}
