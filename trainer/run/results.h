/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that a training leaves beside its record: scores of the validation images, weights.
 * Rank 0's. */
#ifndef UNETCTL_TRAINER_RUN_RESULTS_H
#define UNETCTL_TRAINER_RUN_RESULTS_H

#include "trainer/core/network.h"
#include "trainer/run/resume.h"

/* images.csv and checkpoint/, and what is worth a warning. scores: of each validation image. Sets
 * the hash and the warning of end. */
int results_write(const struct training *t, const struct network_config *network,
                  const int64_t *scores, struct record_end *end, struct err *e);

/* Of a training that fails with *e: the best weights so far go to best/, and *e names that folder.
 */
void results_rescue(const struct training *t, const struct network_config *network,
                    const struct goal *goal, struct err *e);

#endif
