/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads over an index. */
#pragma once

#include "src/base.h"

#include <pthread.h>

#define PARALLEL_MOST 64 /* threads */

/* Calls f(arg, i, e) for each i below n, in any order, from this thread and up to nthreads - 1
 * others, and returns when all calls have returned. Calls must not touch the same data. After a
 * call that returns -1 no other begins. Returns 0, or -1 with the first error. */
typedef int parallel_f(void *arg, size_t i, struct err *e);
int parallel_each(size_t n, int nthreads, parallel_f *f, void *arg, struct err *e);

/* Does the same for items that take about a millisecond, such as to read a small file: few of them
 * by one thread, many by several. */
int parallel_many(size_t n, parallel_f *f, void *arg, struct err *e);

/* A call f(arg) beside what the caller does until parallel_join(). */
struct parallel_task {
    void (*f)(void *arg);
    void *arg;
    pthread_t thread;
    bool started; /* in a thread; otherwise parallel_join() makes the call */
};

/* Begins the call in a thread, if it may and one can be started. */
void parallel_begin(struct parallel_task *t, bool may, void (*f)(void *arg), void *arg);
void parallel_join(struct parallel_task *t);
