/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of rank 0 beside the record: scores of the validation images, and weights. */
#ifndef UNETCTL_TRAINER_RUN_RESULTS_H
#define UNETCTL_TRAINER_RUN_RESULTS_H

#include "trainer/network/network.h"
#include "trainer/run/resume.h"

/* Writes images.csv and checkpoint/ and logs warnings. scores: of each validation image. Sets the
 * hash and the warning of end. */
int results_write(const struct training *t, const struct network_config *network,
                  const int64_t *scores, struct record_end *end, struct err *e);

/* For a training that fails with *e: writes the best weights so far to best/, and names the folder
 * in *e. */
void results_rescue(const struct training *t, const struct network_config *network,
                    const struct goal *goal, struct err *e);

#endif
