/* SPDX-License-Identifier: BSD-3-Clause */
/* The outcomes of trials: each problem of a table (struct verdicts; the CUDA backend has one for
 * each GPU) is tried once in a process. */
#ifndef UNETCTL_TRAINER_BACKENDS_TRIAL_VERDICTS_H
#define UNETCTL_TRAINER_BACKENDS_TRIAL_VERDICTS_H

#include "trainer/backends/trial/trial.h"

#define VERDICTS_FAULT 512

/* What all trials of this process have found so far. */
struct verdicts_tally {
    unsigned nright, nwrong; /* problems */
    char faults[2 * VERDICTS_FAULT]; /* of the wrong ones, joined by "; "; cut off with "..." */
};

/* Kept until the process ends. */
struct verdicts {
    struct verdict *first;
};

/* Tries the kernel for the op in the size of the problem. Sets fault to what is wrong, as
 * "conv2d, of 16 channels, on GPU 0 gives wrong results", or leaves it if the kernel works. Returns
 * whether the problem could be tried. */
typedef bool verdicts_try_f(const struct trial_problem *p, const struct kernel *kernel,
                            const struct op *op, char fault[VERDICTS_FAULT]);

/* Returns false if try, which is called once for each problem of *v, has found a fault. */
bool verdicts_ask(struct verdicts *v, const struct trial_problem *p, verdicts_try_f *try,
                  const struct kernel *kernel, const struct op *op);

void verdicts_tally(struct verdicts_tally *dst);

#endif
