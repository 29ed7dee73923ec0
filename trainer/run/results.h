/* SPDX-License-Identifier: BSD-3-Clause */
/* The results that rank 0 writes beside the record: scores of the validation images, and
 * weights. */
#ifndef UNETCTL_TRAINER_RUN_RESULTS_H
#define UNETCTL_TRAINER_RUN_RESULTS_H

#include "trainer/evaluate/evaluate.h"
#include "trainer/network/network.h"
#include "trainer/run/resume.h"

/* Writes images.csv, examples/ and checkpoint/, logs warnings, and sets weights_sha256 and warning
 * of *end. v has the score of each validation image; its network is that of t. */
int results_write(const struct training *t, struct evaluation *v, struct run_log_end *end,
                  struct err *e);

/* Called on every rank after a training has failed with *e. Where the best weights so far are kept
 * (rank 0, train.keep: best, after a validation), writes them to the folder best/ and adds its name
 * to *e; a failure to write is only logged. */
void results_rescue(const struct training *t, const struct network_config *network,
                    const struct goal *goal, struct err *e);

#endif
