/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels are tried before they are used: once for each problem. */
#ifndef UNETCTL_TRAINER_BACKENDS_TRIAL_VERDICTS_H
#define UNETCTL_TRAINER_BACKENDS_TRIAL_VERDICTS_H

#include <pthread.h>

#include "trainer/core/kernel.h"

/* Kept to the process's end. */
struct verdicts {
    pthread_mutex_t lock;
    struct verdict *first;
};

#define VERDICTS_NONE {PTHREAD_MUTEX_INITIALIZER, NULL}

/* Does the kernel work for the op, whose problem that is? */
typedef bool verdicts_try_f(const struct kernel *kernel, const struct op *op, const void *problem);

/* What try says, or said when it was asked for a problem of the same bytes. Several threads may ask
 * at the same time; problems of one struct verdicts have one size. */
bool verdicts_ask(struct verdicts *v, const void *problem, size_t size, verdicts_try_f *try,
                  const struct kernel *kernel, const struct op *op);

/* Adds the numbers of problems so far for which a kernel worked, and of the others. */
void verdicts_count(struct verdicts *v, unsigned *nworking, unsigned *nothers);

#endif
