/* SPDX-License-Identifier: BSD-3-Clause */
/* The same work on many items, on all cores. */
#ifndef UNETCTL_LAUNCHER_COLLECT_PARALLEL_H
#define UNETCTL_LAUNCHER_COLLECT_PARALLEL_H

#include <stddef.h>

typedef void parallel_f(void *arg, size_t i);

/* f(arg, i) for each i below n, in any order, several at a time; returns when all are done. f must
 * touch nothing that another item touches. Where no thread can be had this one does all of it. */
void parallel_each(size_t n, parallel_f *f, void *arg);

#endif
