/* SPDX-License-Identifier: BSD-3-Clause */
/* The outcomes of trials: each problem is tried once in a process. */
#ifndef UNETCTL_TRAINER_BACKENDS_TRIAL_VERDICTS_H
#define UNETCTL_TRAINER_BACKENDS_TRIAL_VERDICTS_H

#include <pthread.h>

#include "trainer/backends/trial/trial.h"

/* Kept until the process ends. */
struct verdicts {
    pthread_mutex_t lock;
    struct verdict *first;
};

#define VERDICTS_NONE {PTHREAD_MUTEX_INITIALIZER, NULL}

/* Returns whether the kernel works for the op in the size of the problem. */
typedef bool verdicts_try_f(const struct trial_problem *p, const struct kernel *kernel,
                            const struct op *op);

/* Returns what try returns, or has returned for the same problem. Several threads may call this at
 * the same time. */
bool verdicts_ask(struct verdicts *v, const struct trial_problem *p, verdicts_try_f *try,
                  const struct kernel *kernel, const struct op *op);

/* Adds the number of problems for which a kernel worked to *nworking, that of the others to
 * *nothers. */
void verdicts_count(struct verdicts *v, unsigned *nworking, unsigned *nothers);

#endif
