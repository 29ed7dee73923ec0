/* SPDX-License-Identifier: BSD-3-Clause */
/* The results that rank 0 writes beside the record: scores of the validation images, and
 * weights. */
#ifndef UNETCTL_TRAINER_RUN_RESULTS_H
#define UNETCTL_TRAINER_RUN_RESULTS_H

#include "trainer/network/network.h"
#include "trainer/run/resume.h"

/* Writes images.csv and checkpoint/, logs warnings, and sets weights_sha256 and warning of *end.
 * scores: the score of each validation image, one after the other. */
int results_write(const struct training *t, const struct network_config *network,
                  const int64_t *scores, struct record_end *end, struct err *e);

/* Called on every rank after a training has failed with *e. Where the best weights so far are kept
 * (rank 0, train.keep: best, after a validation), writes them to the folder best/ and adds its name
 * to *e; a failure to write is only logged. */
void results_rescue(const struct training *t, const struct network_config *network,
                    const struct goal *goal, struct err *e);

#endif
