/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the CUDA runtime that the backend uses, emulated on the CPU.
 *
 * Kernels run thread by thread; threads that meet at barriers are coroutines. Work is queued and
 * runs when something waits for it, as late as on a GPU: reading a result too early gives old
 * memory. Each stream has its queue. The host cannot access memory of cudaMalloc at all. A captured
 * graph is replayed from a list.
 * Included by one source only. */
#pragma once

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef GPU_BLOCK
#define GPU_BLOCK 64 /* a GPU has more; each is a coroutine here */
#endif
#ifndef GPU_MOST_BLOCKS
/* A small tensor gets at most two blocks, so that their threads loop; a large one gets more blocks
 * than a block has threads, so that the sums over blocks loop as well. */
#define GPU_MOST_BLOCKS(n) ((n) > GPU_BLOCK ? 8192 : 2)
#endif
#define EMULATE_STACK ((size_t)64 << 10)
#define EMULATE_SHARED 8 /* declarations of shared memory of a kernel */
#define EMULATE_SHARED_BLOCKS (EMULATE_SHARED * 8192)
#define EMULATE_ALLOCATIONS 256

struct emulate_kernel {
    const char *name;
    void (*thunk)(const void *args);
    size_t nargs;
    bool cooperative;
};

struct emulate_work { /* a kernel, a try, a copy, or where src is NULL a fill with zeros */
    const struct emulate_kernel *kernel;
    /* A try returns whether it is done; otherwise it is called again later, once is_blocked returns
     * false. */
    bool (*try)(void *args, size_t *state); /* state begins as 0 */
    bool (*is_blocked)(const void *args, size_t state);
    size_t nargs, state;
    unsigned nblocks;
    void *args, *dst;
    const void *src;
    size_t nbytes;
    int priority; /* of its stream */
    atomic_long *nheld; /* counts the works, in queues and graphs, that use an object; or NULL */
    struct emulate_work *next;
};

struct emulate_queue {
    struct emulate_work *first, *last;
    unsigned long nadded, ndone;
};

typedef struct emulate_stream {
    int priority;
    int device; /* only kernels of this device run in it */
    struct emulate_queue queue, captured;
    bool capturing;
    unsigned ncaptures; /* begun */
    struct emulate_stream *origin; /* the stream that captures its work; NULL: none */
    struct emulate_stream *next;
} *cudaStream_t;
typedef struct {
    cudaStream_t stream;
    unsigned long after; /* work of the stream's queue when it was recorded */
    bool timed;
    double when; /* when the queue reached it */
} *cudaEvent_t;
typedef struct emulate_queue *cudaGraph_t, *cudaGraphExec_t;
typedef enum {
    cudaSuccess, cudaErrorMemoryAllocation, cudaErrorInvalidDevice, cudaErrorCapture,
    cudaErrorNotReady, cudaErrorNoDevice, cudaErrorInsufficientDriver, cudaErrorIllegalAddress,
    cudaErrorLaunchFailure, cudaErrorDevicesUnavailable
} cudaError_t;
enum {
    cudaStreamNonBlocking, cudaHostAllocDefault, cudaEventDisableTiming, cudaMemcpyDefault,
    cudaStreamCaptureModeThreadLocal, cudaEventDefault, cudaDevAttrClockRate,
    cudaDevAttrMemoryClockRate, cudaDevAttrGlobalMemoryBusWidth,
    cudaGraphInstantiateFlagUseNodePriority = 8
};

/* A machine of $EMULATE_GPUS GPUs (default 2) with EMULATE_MEMORY bytes each. $EMULATE_DRIVER: the
 * CUDA that its driver supports (default 13000; 0: there is no driver). $EMULATE_CAPABILITY:
 * compute capability without the dot (default 90). $EMULATE_PROCESSORS: its multiprocessors
 * (default 2). $EMULATE_NAME: the name of its GPUs. */
#define EMULATE_GPUS 2
#define EMULATE_PROCESSORS 2
#ifndef EMULATE_MEMORY
#define EMULATE_MEMORY ((size_t)1 << 30)
#endif

static struct {
    void *p;
    size_t nbytes;
} emulate_local[EMULATE_ALLOCATIONS];
static size_t emulate_nbytes;
static struct emulate_stream *emulate_streams;
static pthread_mutex_t emulate_lock = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local int emulate_device;
static _Thread_local cudaError_t emulate_last = cudaSuccess;

static struct emulate_index {
    unsigned x;
} emulate_block_index, emulate_thread_index, emulate_grid;

/* ---- faults
 *
 * EMULATE_FAULT="NAME N": call N of the function NAME, counted from 1, fails once, in this process.
 * NAME may also be "launch", a kernel launch that the driver refuses, or "kernel", a kernel that
 * reads a wrong address while it runs: from then on every call fails, as after an XID error.
 * EMULATE_SIGNAL="NAME N SIGNAL": that call, or that run of a kernel, sends its process the signal,
 * or for 0 never returns.
 * EMULATE_CALLS=FILE: at the end of the process FILE has a line "NAME COUNT" for each function
 * that was called and each kernel that was run. copied_bytes: from the host, in large copies;
 * late_copies: those of them that waited for kernels. preferred_nodes: nodes of graphs that have a
 * higher priority than the rest. */

#define EMULATE_NAMES 256

static struct {
    const char *name;
    unsigned long count;
} emulate_calls[EMULATE_NAMES];
static pthread_mutex_t emulate_calls_lock = PTHREAD_MUTEX_INITIALIZER;
static bool emulate_lost; /* after a "kernel" fault; read and written by threads of several GPUs */

static void emulate_print_calls(void)
{
    FILE *f = fopen(getenv("EMULATE_CALLS"), "w");

    for (size_t i = 0; f && emulate_calls[i].name; i++)
        fprintf(f, "%s %lu\n", emulate_calls[i].name, emulate_calls[i].count);
    if (f)
        fclose(f);
}

/* Returns the end of the text, which begins with "NAME N", or NULL if it does not. */
static char *emulate_match(const char *text, const char *name, unsigned long count)
{
    size_t n = strlen(name);
    char *end;

    return text && strncmp(text, name, n) == 0 && text[n] == ' ' &&
                   strtoul(text + n, &end, 10) == count
               ? end
               : NULL;
}

/* Adds n to the name's count, which it returns. */
static unsigned long emulate_count(const char *name, unsigned long n)
{
    size_t i = 0;

    pthread_mutex_lock(&emulate_calls_lock);
    if (!emulate_calls[0].name && getenv("EMULATE_CALLS"))
        atexit(emulate_print_calls);
    while (emulate_calls[i].name && strcmp(emulate_calls[i].name, name) != 0)
        i++;
    if (i == EMULATE_NAMES - 1)
        abort();
    emulate_calls[i].name = name;
    n = emulate_calls[i].count += n;
    pthread_mutex_unlock(&emulate_calls_lock);
    return n;
}

/* Returns whether this call of the function is the one that EMULATE_FAULT names. */
static bool emulate_fails(const char *name)
{
    unsigned long count = emulate_count(name, 1);
    const char *text = emulate_match(getenv("EMULATE_SIGNAL"), name, count);
    int signal = text ? atoi(text) : 0;
    if (signal)
        kill(getpid(), signal);
    while (text && !signal)
        sleep(1);
    return emulate_match(getenv("EMULATE_FAULT"), name, count) != NULL;
}

static bool emulate_is_lost(void)
{
    return __atomic_load_n(&emulate_lost, __ATOMIC_RELAXED);
}

/* Returns the result of a call of the CUDA runtime that would succeed without a fault. */
static cudaError_t emulate_result(const char *name, cudaError_t failure)
{
    cudaError_t rc = emulate_is_lost()     ? cudaErrorIllegalAddress
                     : emulate_fails(name) ? failure
                                           : cudaSuccess;

    if (rc != cudaSuccess)
        emulate_last = rc;
    return rc;
}

/* Begins a call of the CUDA runtime: returns from it with the fault, if there is one. */
#define EMULATE_CALL(failure)                                   \
    do {                                                        \
        cudaError_t fault_ = emulate_result(__func__, failure); \
        if (fault_ != cudaSuccess)                              \
            return fault_;                                      \
    } while (0)

/* ---- the thread sanitizer */

/* It is told that the threads of a launch are fibers, which follow what was queued before and
 * precede what is queued after, that those of a block meet at barriers, and what fences order. So
 * it finds races in shared and in global memory. A block has other fibers and stacks than the
 * one before it, which knows nothing of it, and shared memory of its own. */
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined __SANITIZE_THREAD__ || __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define EMULATE_RACES 1
#else
#define EMULATE_RACES 0
#define __tsan_acquire(address) ((void)(address))
#define __tsan_release(address) ((void)(address))
#define __tsan_get_current_fiber() NULL
#define __tsan_create_fiber(flags) NULL
#define __tsan_switch_to_fiber(fiber, flags) ((void)(fiber))
#define __tsan_switch_to_fiber_no_sync 0
#endif

/* Of functions that the sanitizers do not see: those that change stacks, and what belongs to the
 * emulation. */
#ifdef __clang__
#define EMULATE_OWN __attribute__((disable_sanitizer_instrumentation))
#else
#define EMULATE_OWN __attribute__((no_sanitize_thread))
#endif
#define EMULATE_UNCHECKED __attribute__((noinline, no_sanitize_address)) EMULATE_OWN

/* Addresses that it knows what happened at. */
static char emulate_begun, emulate_done, emulate_met[2][2], emulate_fenced;

/* ---- a launch */

static struct emulate_context {
    void *registers[5]; /* as saved by __builtin_setjmp */
    void *fiber;
    bool is_there;
} emulate_scheduler, emulate_threads[EMULATE_RACES + 1][GPU_BLOCK], *emulate_thread;
static bool emulate_ended[GPU_BLOCK], emulate_waits[GPU_BLOCK];
static unsigned emulate_nwaiting; /* threads that wait at the block's barrier */
static unsigned emulate_nmet[GPU_BLOCK], emulate_nshared[GPU_BLOCK]; /* since the block began */
static struct emulate_shared {
    size_t nbytes;
    void *p;
} emulate_of_block[EMULATE_SHARED];
static void *emulate_used[EMULATE_SHARED_BLOCKS]; /* shared memory of the launch's blocks */
static size_t emulate_nused;
static const struct emulate_work *emulate_now;

#define threadIdx emulate_get_thread()
#define blockIdx emulate_get_block()
#define gridDim emulate_get_grid()
static inline EMULATE_OWN struct emulate_index emulate_get_thread(void)
{
    return emulate_thread_index;
}

static inline EMULATE_OWN struct emulate_index emulate_get_block(void)
{
    return emulate_block_index;
}

static inline EMULATE_OWN struct emulate_index emulate_get_grid(void)
{
    return emulate_grid;
}

/* Like swapcontext without its system calls. */
static EMULATE_UNCHECKED void emulate_jump(struct emulate_context *to)
{
    __builtin_longjmp(to->registers, 1); /* must not be in one function with the setjmp */
}

static EMULATE_UNCHECKED void emulate_leave(struct emulate_context *from,
                                            struct emulate_context *to)
{
    __tsan_switch_to_fiber(to->fiber, __tsan_switch_to_fiber_no_sync);
    if (__builtin_setjmp(from->registers) == 0)
        emulate_jump(to);
}

/* Volatile, so that the compiler cannot see which registers a switch preserves. */
static void (*volatile emulate_switch)(struct emulate_context *from,
                                       struct emulate_context *to) = emulate_leave;

/* Runs the thread with one number, of one block after the other. */
static EMULATE_UNCHECKED void emulate_main(void)
{
    unsigned t = emulate_thread_index.x;
    struct emulate_context *own = &emulate_thread[t];

    for (;;) {
        emulate_switch(own, &emulate_scheduler);
        __tsan_acquire(&emulate_begun);
        emulate_now->kernel->thunk(emulate_now->args);
        __tsan_release(&emulate_done);
        emulate_ended[t] = true;
    }
}

/* Starts a coroutine, whose first switch to the scheduler returns here. */
static EMULATE_UNCHECKED void emulate_create(unsigned t)
{
    struct emulate_context *own = &emulate_thread[t];
    ucontext_t start;

    getcontext(&start);
    start.uc_stack.ss_size = EMULATE_STACK;
    start.uc_stack.ss_sp = mmap(NULL, EMULATE_STACK, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    makecontext(&start, emulate_main, 0);
    own->is_there = true;
    own->fiber = __tsan_create_fiber(0);
    emulate_thread_index.x = t;
    if (__builtin_setjmp(emulate_scheduler.registers) == 0) {
        __tsan_switch_to_fiber(own->fiber, __tsan_switch_to_fiber_no_sync);
        setcontext(&start);
    }
}

/* Suspends the running thread until the last one of the block comes. */
static EMULATE_UNCHECKED void emulate_barrier(void)
{
    unsigned t = emulate_thread_index.x;
    /* Threads that have passed may reach the next barrier before others leave this one. */
    char *met = &emulate_met[emulate_block_index.x % 2][emulate_nmet[t]++ % 2];

    __tsan_release(met);
    if (++emulate_nwaiting < GPU_BLOCK) {
        emulate_waits[t] = true;
        emulate_switch(&emulate_thread[t], &emulate_scheduler);
        emulate_thread_index.x = t;
    } else {
        emulate_nwaiting = 0;
        memset(emulate_waits, 0, sizeof emulate_waits);
    }
    __tsan_acquire(met);
}

static EMULATE_UNCHECKED void emulate_fence(void)
{
    __tsan_release(&emulate_fenced);
    __tsan_acquire(&emulate_fenced);
}

/* Returns the memory of the block's next declaration of SHARED in the running thread. */
static EMULATE_UNCHECKED void *emulate_shared(size_t nbytes)
{
    unsigned i = emulate_nshared[emulate_thread_index.x]++;
    struct emulate_shared *s = i < EMULATE_SHARED ? &emulate_of_block[i] : NULL;

    if (s && !s->p && emulate_nused < EMULATE_SHARED_BLOCKS) {
        *s = (struct emulate_shared){nbytes, malloc(nbytes)};
        emulate_used[emulate_nused++] = s->p;
        __tsan_release(s->p);
    }
    if (!s || !s->p || s->nbytes != nbytes) {
        fprintf(stderr, "emulate: thread %u has other shared memory than the block's first\n",
                emulate_thread_index.x);
        exit(1);
    }
    __tsan_acquire(s->p);
    return s->p;
}

static inline unsigned emulate_wrap(unsigned *p, unsigned most)
{
    unsigned old = __atomic_load_n(p, __ATOMIC_RELAXED);

    while (!__atomic_compare_exchange_n(p, &old, old >= most ? 0 : old + 1, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return old;
}

/* Ends the program if a GPU could not access `each` numbers from number i of p in 16 bytes each. */
static inline void emulate_align(const void *p, size_t i, unsigned each, size_t size)
{
    if (each > 1 && (each * size % 16 || ((uintptr_t)p + i * size) % 16)) {
        fprintf(stderr, "emulate: %u numbers of %zu bytes at %p are not 16 aligned bytes\n", each,
                size, (const void *)((const char *)p + i * size));
        exit(1);
    }
}

/* Runs each thread that does not wait until it waits or ends. Returns how many ran. */
static EMULATE_UNCHECKED unsigned emulate_round(void)
{
    unsigned nran = 0;

    for (unsigned t = 0; t < GPU_BLOCK; t++) {
        if (emulate_ended[t] || emulate_waits[t])
            continue;
        emulate_thread_index.x = t;
        nran++;
        emulate_switch(&emulate_scheduler, &emulate_thread[t]);
    }
    return nran;
}

static EMULATE_UNCHECKED void emulate_run_block(void)
{
    emulate_thread = emulate_threads[emulate_block_index.x % (EMULATE_RACES + 1)];
    for (unsigned t = 0; t < GPU_BLOCK; t++) {
        emulate_ended[t] = emulate_waits[t] = false;
        emulate_nmet[t] = emulate_nshared[t] = 0;
        if (!emulate_thread[t].is_there)
            emulate_create(t);
    }
    if (EMULATE_RACES) /* else the blocks use the same */
        memset(emulate_of_block, 0, sizeof emulate_of_block);
    emulate_nwaiting = 0;
    while (emulate_round())
        ;
    for (unsigned t = 0; t < GPU_BLOCK; t++)
        if (!emulate_ended[t]) {
            fprintf(stderr, "emulate: thread %u waits for threads that do not come\n", t);
            exit(1);
        }
}

static EMULATE_UNCHECKED void emulate_run_kernel(const struct emulate_work *w)
{
    emulate_scheduler.fiber = __tsan_get_current_fiber();
    __tsan_release(&emulate_begun);
    emulate_grid.x = w->nblocks;
    memset(emulate_of_block, 0, sizeof emulate_of_block);
    for (unsigned b = 0; b < w->nblocks; b++) {
        emulate_block_index.x = b;
        if (w->kernel->cooperative || EMULATE_RACES)
            emulate_run_block();
        else
            for (unsigned t = 0; t < GPU_BLOCK; t++) {
                emulate_thread_index.x = t;
                w->kernel->thunk(w->args);
            }
    }
    __tsan_acquire(&emulate_done);
    while (emulate_nused > 0)
        free(emulate_used[--emulate_nused]);
}

/* Returns whether the work is done. */
static bool emulate_run(struct emulate_work *w)
{
    emulate_now = w;
    if (w->kernel && emulate_fails("kernel"))
        __atomic_store_n(&emulate_lost, true, __ATOMIC_RELAXED);
    if (emulate_is_lost())
        return true; /* a lost GPU computes nothing */
    if (w->kernel)
        (void)emulate_fails(w->kernel->name);
    if (w->try)
        return w->try(w->args, &w->state);
    if (!w->kernel && w->src)
        memcpy(w->dst, w->src, w->nbytes);
    else if (!w->kernel)
        memset(w->dst, 0, w->nbytes);
    if (w->kernel)
        emulate_run_kernel(w);
    return true;
}

/* ---- queues */

static void emulate_push(struct emulate_queue *q, struct emulate_work work)
{
    struct emulate_work *w = malloc(sizeof *w);

    *w = work;
    w->next = NULL;
    if (q->last)
        q->last->next = w;
    else
        q->first = w;
    q->last = w;
    q->nadded++;
    if (w->nheld)
        ++*w->nheld;
}

static void *emulate_copy_args(const void *args, size_t n)
{
    void *copy = n ? malloc(n) : NULL;

    if (n)
        memcpy(copy, args, n);
    return copy;
}

/* Captured work of branches runs in the order in which it was queued, one of those that a GPU may
 * choose. */
static cudaStream_t emulate_origin(cudaStream_t s)
{
    return s->origin ? s->origin : s;
}

static int emulate_number(const char *variable, int usual)
{
    const char *text = getenv(variable);

    return text ? atoi(text) : usual;
}

static int emulate_capability(void)
{
    return emulate_number("EMULATE_CAPABILITY", 90);
}

static void emulate_add(cudaStream_t s, struct emulate_work work)
{
    work.priority = s->priority;
    s = emulate_origin(s);
    emulate_push(s->capturing ? &s->captured : &s->queue, work);
}

static inline void emulate_launch(const struct emulate_kernel *kernel, unsigned nblocks,
                                  cudaStream_t s, const void *args)
{
    if (nblocks == 0 || s->device != emulate_device) {
        fprintf(stderr,
                "emulate: a launch of %u blocks, by a thread with GPU %d into a queue of GPU %d\n",
                nblocks, emulate_device, s->device);
        exit(1);
    }
    if (emulate_result("launch", cudaErrorLaunchFailure) != cudaSuccess)
        return;
    emulate_add(s, (struct emulate_work){.kernel = kernel, .nblocks = nblocks,
                                         .args = emulate_copy_args(args, kernel->nargs)});
}

static void emulate_pop(struct emulate_queue *q)
{
    struct emulate_work *w = q->first;

    q->first = w->next;
    q->ndone++;
    if (!q->first)
        q->last = NULL;
    if (w->nheld)
        --*w->nheld;
    free(w->args);
    free(w);
}

static void emulate_clear(struct emulate_queue *q)
{
    while (q->first)
        emulate_pop(q);
}

static void emulate_protect(int how)
{
    for (size_t i = 0; i < EMULATE_ALLOCATIONS; i++)
        if (emulate_local[i].p)
            mprotect(emulate_local[i].p, emulate_local[i].nbytes, how);
}

static cudaError_t emulate_not_ready(void)
{
    emulate_last = cudaErrorNotReady; /* some releases of CUDA keep it */
    return cudaErrorNotReady;
}

/* Runs the queue until n of its works are done; returns false if it is blocked before. */
static bool emulate_drain(struct emulate_queue *q, unsigned long n)
{
    while (q->first && q->ndone < n && emulate_run(q->first))
        emulate_pop(q);
    return !q->first || q->ndone >= n;
}

/* Runs all queues until they are empty or blocked, as freeing memory does, which they may use. */
static void emulate_finish(void)
{
    struct emulate_stream *s = emulate_streams;

    pthread_mutex_lock(&emulate_lock);
    while (s && !s->queue.first)
        s = s->next;
    if (s)
        emulate_protect(PROT_READ | PROT_WRITE);
    for (struct emulate_stream *each = s; each; each = each->next)
        (void)emulate_drain(&each->queue, each->queue.nadded);
    if (s)
        emulate_protect(PROT_NONE);
    pthread_mutex_unlock(&emulate_lock);
}

static bool emulate_is_blocked(const struct emulate_work *w)
{
    return w && w->is_blocked && w->is_blocked(w->args, w->state);
}

/* Runs the queue until it is empty or blocked. */
static inline cudaError_t cudaStreamQuery(cudaStream_t s)
{
    const struct emulate_work *first = s->queue.first;

    EMULATE_CALL(cudaErrorIllegalAddress);
    if (s->capturing)
        return cudaErrorCapture;
    if (!first)
        return emulate_is_lost() ? cudaErrorIllegalAddress : cudaSuccess;
    if (emulate_is_blocked(first))
        return emulate_not_ready();
    pthread_mutex_lock(&emulate_lock);
    emulate_protect(PROT_READ | PROT_WRITE);
    (void)emulate_drain(&s->queue, s->queue.nadded);
    for (struct emulate_stream *other = emulate_streams; s->queue.first && other;
         other = other->next)
        (void)emulate_drain(&other->queue, other->queue.nadded); /* what it waits for */
    emulate_protect(PROT_NONE);
    pthread_mutex_unlock(&emulate_lock);
    if (emulate_is_lost())
        return cudaErrorIllegalAddress;
    return s->queue.first ? emulate_not_ready() : cudaSuccess;
}

static inline cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    cudaError_t rc;

    while ((rc = cudaStreamQuery(s)) == cudaErrorNotReady)
        sched_yield();
    return rc;
}

/* ---- memory */

static cudaError_t emulate_map(void **p, size_t nbytes, int how)
{
    cudaError_t rc = cudaErrorMemoryAllocation;

    pthread_mutex_lock(&emulate_lock);
    for (size_t i = 0; i < EMULATE_ALLOCATIONS && emulate_nbytes + nbytes <= EMULATE_MEMORY; i++) {
        if (emulate_local[i].p)
            continue;
        *p = mmap(NULL, nbytes, how, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (*p == MAP_FAILED)
            break;
        emulate_local[i].p = *p;
        emulate_local[i].nbytes = nbytes;
        emulate_nbytes += nbytes;
        rc = cudaSuccess;
        break;
    }
    pthread_mutex_unlock(&emulate_lock);
    if (rc != cudaSuccess)
        emulate_last = rc;
    return rc;
}

static inline cudaError_t cudaMalloc(void **p, size_t nbytes)
{
    *p = NULL;
    EMULATE_CALL(cudaErrorMemoryAllocation);
    return emulate_map(p, nbytes, PROT_NONE);
}

static inline cudaError_t cudaFree(void *p)
{
    emulate_finish();
    pthread_mutex_lock(&emulate_lock);
    for (size_t i = 0; p && i < EMULATE_ALLOCATIONS; i++)
        if (emulate_local[i].p == p) {
            munmap(p, emulate_local[i].nbytes);
            emulate_nbytes -= emulate_local[i].nbytes;
            emulate_local[i].p = NULL;
            p = NULL;
        }
    pthread_mutex_unlock(&emulate_lock);
    return emulate_result(__func__, cudaErrorIllegalAddress);
}

static inline cudaError_t cudaHostAlloc(void **p, size_t nbytes, unsigned flags)
{
    *p = NULL;
    EMULATE_CALL(cudaErrorMemoryAllocation);
    (void)flags;
    *p = aligned_alloc(64, (nbytes + 63) / 64 * 64);
    return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}

static inline cudaError_t cudaFreeHost(void *p)
{
    emulate_finish();
    free(p);
    return emulate_result(__func__, cudaErrorIllegalAddress);
}

static inline cudaError_t cudaMemGetInfo(size_t *room, size_t *total)
{
    EMULATE_CALL(cudaErrorInvalidDevice);
    *total = EMULATE_MEMORY;
    *room = EMULATE_MEMORY - emulate_nbytes;
    return cudaSuccess;
}

#define EMULATE_SMALL 1024 /* bytes of a copy whose time does not count */

static bool emulate_is_host(const void *p)
{
    const char *at = p;

    for (size_t i = 0; i < EMULATE_ALLOCATIONS; i++) {
        const char *local = emulate_local[i].p;
        if (local && at >= local && at < local + emulate_local[i].nbytes)
            return false;
    }
    return true;
}

static bool emulate_has_kernel(const struct emulate_stream *s)
{
    const struct emulate_work *w = s->queue.first;

    while (w && !w->kernel)
        w = w->next;
    return w;
}

static inline cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t n, int how,
                                          cudaStream_t s)
{
    EMULATE_CALL(cudaErrorIllegalAddress);
    (void)how;
    if (n > EMULATE_SMALL && emulate_is_host(src)) {
        emulate_count("copied_bytes", n);
        if (emulate_has_kernel(emulate_origin(s)))
            emulate_count("late_copies", 1);
    }
    emulate_add(s, (struct emulate_work){.dst = dst, .src = src, .nbytes = n});
    return cudaSuccess;
}

static inline cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src,
                                            size_t src_pitch, size_t width, size_t height, int how,
                                            cudaStream_t s)
{
    EMULATE_CALL(cudaErrorIllegalAddress);
    if (width > dst_pitch || width > src_pitch || dst_pitch > INT_MAX || src_pitch > INT_MAX)
        return cudaErrorIllegalAddress;
    for (size_t i = 0; i < height; i++)
        if (cudaMemcpyAsync((char *)dst + i * dst_pitch, (const char *)src + i * src_pitch, width,
                            how, s))
            return cudaErrorIllegalAddress;
    return cudaSuccess;
}

static inline cudaError_t cudaMemsetAsync(void *dst, int value, size_t n, cudaStream_t s)
{
    EMULATE_CALL(cudaErrorIllegalAddress);
    (void)value;
    emulate_add(s, (struct emulate_work){.dst = dst, .nbytes = n});
    return cudaSuccess;
}

/* ---- devices, streams, events, graphs */

#define EMULATE_RUNTIME 13000

static inline cudaError_t cudaRuntimeGetVersion(int *version)
{
    EMULATE_CALL(cudaErrorIllegalAddress);
    *version = EMULATE_RUNTIME;
    return cudaSuccess;
}

static inline cudaError_t cudaDriverGetVersion(int *version)
{
    EMULATE_CALL(cudaErrorIllegalAddress);
    *version = emulate_number("EMULATE_DRIVER", EMULATE_RUNTIME);
    return cudaSuccess;
}

/* Returns the number of GPUs in CUDA_VISIBLE_DEVICES, which ends at the first invalid entry, or all
 * if that is not set. */
static int emulate_visible(void)
{
    const char *p = getenv("CUDA_VISIBLE_DEVICES");
    int n = 0;

    if (!p)
        return emulate_number("EMULATE_GPUS", EMULATE_GPUS);
    while (n < EMULATE_GPUS &&
           (strncmp(p, "MIG-", 4) == 0 || strncmp(p, "GPU-", 4) == 0 ||
            (*p >= '0' && *p < '0' + EMULATE_GPUS && strcspn(p, ",") == 1))) {
        n++;
        p += strcspn(p, ",");
        p += *p == ',';
    }
    return n;
}

static inline cudaError_t cudaGetDeviceCount(int *count)
{
    EMULATE_CALL(cudaErrorInvalidDevice);
    *count = emulate_visible();
    if (emulate_number("EMULATE_DRIVER", EMULATE_RUNTIME) < EMULATE_RUNTIME)
        return cudaErrorInsufficientDriver;
    return *count ? cudaSuccess : cudaErrorNoDevice;
}

static inline cudaError_t cudaSetDevice(int index)
{
    EMULATE_CALL(cudaErrorDevicesUnavailable);
    if (index >= emulate_visible())
        return cudaErrorInvalidDevice;
    emulate_device = index;
    return cudaSuccess;
}

static inline cudaError_t cudaDeviceGetAttribute(int *value, int attribute, int index)
{
    EMULATE_CALL(cudaErrorInvalidDevice);
    (void)attribute;
    (void)index;
    *value = 0;
    return cudaSuccess;
}

typedef struct {
    char bytes[16];
} cudaUUID_t;

struct cudaDeviceProp {
    char name[256];
    int major, minor, multiProcessorCount, pciDomainID, pciBusID, pciDeviceID;
    size_t totalGlobalMem;
    cudaUUID_t uuid;
};

static inline cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int index)
{
    int capability = emulate_capability();

    EMULATE_CALL(cudaErrorInvalidDevice);
    *p = (struct cudaDeviceProp){.major = capability / 10, .minor = capability % 10,
                                 .multiProcessorCount = emulate_number("EMULATE_PROCESSORS",
                                                                       EMULATE_PROCESSORS),
                                 .totalGlobalMem = EMULATE_MEMORY};
    memset(p->uuid.bytes, index, sizeof p->uuid.bytes);
    snprintf(p->name, sizeof p->name, "%s",
             getenv("EMULATE_NAME") ? getenv("EMULATE_NAME") : "Emulated GPU");
    return cudaSuccess;
}

static inline cudaError_t cudaGetLastError(void)
{
    cudaError_t rc = emulate_last;

    emulate_last = cudaSuccess;
    return rc;
}

static inline const char *cudaGetErrorString(cudaError_t rc)
{
    return rc == cudaErrorMemoryAllocation ? "out of memory"
           : rc == cudaErrorIllegalAddress ? "an illegal memory access was encountered"
           : rc == cudaErrorLaunchFailure  ? "unspecified launch failure"
           : rc == cudaErrorNoDevice       ? "no CUDA-capable device is detected"
                                           : "emulated error";
}

static cudaError_t emulate_new_stream(cudaStream_t *s, int priority)
{
    *s = calloc(1, sizeof **s);
    if (!*s)
        return cudaErrorMemoryAllocation;
    (*s)->priority = priority;
    (*s)->device = emulate_device;
    pthread_mutex_lock(&emulate_lock);
    (*s)->next = emulate_streams;
    emulate_streams = *s;
    pthread_mutex_unlock(&emulate_lock);
    return cudaSuccess;
}

static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
    *s = NULL;
    EMULATE_CALL(cudaErrorIllegalAddress);
    (void)flags;
    return emulate_new_stream(s, 0);
}

static inline cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = *greatest = 0;
    EMULATE_CALL(cudaErrorIllegalAddress);
    *greatest = -5;
    return cudaSuccess;
}

static inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags,
                                                       int priority)
{
    *s = NULL;
    EMULATE_CALL(cudaErrorIllegalAddress);
    (void)flags;
    return priority < -5 || priority > 0 ? cudaErrorInvalidDevice
                                         : emulate_new_stream(s, priority);
}

static inline cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    struct emulate_stream **at = &emulate_streams;

    pthread_mutex_lock(&emulate_lock);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    pthread_mutex_unlock(&emulate_lock);
    emulate_clear(&s->queue);
    emulate_clear(&s->captured);
    free(s);
    return emulate_result(__func__, cudaErrorIllegalAddress);
}

static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    *event = NULL;
    EMULATE_CALL(cudaErrorIllegalAddress);
    *event = calloc(1, sizeof **event);
    if (*event)
        (*event)->timed = flags == cudaEventDefault;
    return *event ? cudaSuccess : cudaErrorMemoryAllocation;
}

static bool emulate_stamp(void *args, size_t *state)
{
    struct timespec now;

    (void)state;
    clock_gettime(CLOCK_MONOTONIC, &now);
    (*(cudaEvent_t *)args)->when = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    return true;
}

static inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t s)
{
    EMULATE_CALL(cudaErrorIllegalAddress);
    event->stream = s;
    if (event->timed)
        emulate_add(s, (struct emulate_work){.try = emulate_stamp, .nargs = sizeof event,
                                             .args = emulate_copy_args(&event, sizeof event)});
    event->after = s->queue.nadded;
    return cudaSuccess;
}

static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    *ms = 0;
    EMULATE_CALL(cudaErrorIllegalAddress);
    *ms = (float)(to->when - from->when);
    return cudaSuccess;
}

static inline cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return cudaStreamQuery(emulate_origin(event->stream));
}

struct emulate_wait {
    struct emulate_queue *queue;
    unsigned long after;
};

static bool emulate_awaits_blocked(const void *args, size_t state)
{
    const struct emulate_wait *wait = args;

    (void)state;
    return wait->queue->ndone < wait->after && emulate_is_blocked(wait->queue->first);
}

static bool emulate_await(void *args, size_t *state)
{
    const struct emulate_wait *wait = args;

    (void)state;
    return emulate_drain(wait->queue, wait->after);
}

/* A stream that waits for one that is capturing takes part in its capture. */
static inline cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t event, unsigned flags)
{
    cudaStream_t origin = emulate_origin(event->stream);
    struct emulate_wait wait = {&event->stream->queue, event->after};

    EMULATE_CALL(cudaErrorIllegalAddress);
    (void)flags;
    if (origin == emulate_origin(s))
        return cudaSuccess;
    if (emulate_origin(s)->capturing)
        return cudaErrorCapture;
    if (origin->capturing)
        s->origin = origin;
    else
        emulate_add(s, (struct emulate_work){.try = emulate_await,
                                             .is_blocked = emulate_awaits_blocked,
                                             .nargs = sizeof wait,
                                             .args = emulate_copy_args(&wait, sizeof wait)});
    return cudaSuccess;
}

static inline cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    return cudaStreamSynchronize(event->stream);
}

static inline cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return emulate_result(__func__, cudaErrorIllegalAddress);
}

static inline cudaError_t cudaStreamBeginCapture(cudaStream_t s, int mode)
{
    EMULATE_CALL(cudaErrorIllegalAddress);
    (void)mode;
    s->capturing = true;
    s->ncaptures++;
    return cudaSuccess;
}

static inline cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph)
{
    struct emulate_queue captured = s->captured;

    s->captured = (struct emulate_queue){NULL, NULL, 0, 0};
    s->capturing = false;
    *graph = NULL;
    for (struct emulate_stream *other = emulate_streams; other; other = other->next)
        if (other->origin == s)
            other->origin = NULL;
    if (emulate_result(__func__, cudaErrorIllegalAddress) != cudaSuccess) {
        emulate_clear(&captured);
        return emulate_last;
    }
    *graph = malloc(sizeof **graph);
    **graph = captured;
    return cudaSuccess;
}

/* Without the flag a graph has the priority of the stream that launches it, as a whole. */
static inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                                        unsigned long long flags)
{
    EMULATE_CALL(cudaErrorMemoryAllocation);
    for (const struct emulate_work *w = graph->first; w; w = w->next)
        if (flags == cudaGraphInstantiateFlagUseNodePriority && w->priority < 0)
            (void)emulate_fails("preferred_nodes");
    *exec = malloc(sizeof **exec);
    **exec = *graph;
    *graph = (struct emulate_queue){NULL, NULL, 0, 0};
    return cudaSuccess;
}

static inline cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t s)
{
    EMULATE_CALL(cudaErrorMemoryAllocation);
    (void)exec, (void)s;
    return cudaSuccess;
}

static inline cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s)
{
    EMULATE_CALL(cudaErrorMemoryAllocation);
    for (const struct emulate_work *w = exec->first; w; w = w->next) {
        struct emulate_work again = *w;

        again.args = emulate_copy_args(w->args, w->kernel ? w->kernel->nargs : w->nargs);
        emulate_add(s, again);
    }
    return cudaSuccess;
}

static inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    emulate_clear(exec);
    free(exec);
    return emulate_result(__func__, cudaErrorIllegalAddress);
}

static inline cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    return cudaGraphExecDestroy(graph);
}
