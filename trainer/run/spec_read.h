/* SPDX-License-Identifier: BSD-3-Clause */
/* The cluster spec of a rank: TF_CONFIG (doc/FORMATS.md). Jobs "chief" and "worker" train, the
 * chief first, as in TensorFlow's MultiWorkerMirroredStrategy. */
#ifndef UNETCTL_TRAINER_RUN_SPEC_READ_H
#define UNETCTL_TRAINER_RUN_SPEC_READ_H

#include "src/err.h"

struct spec {
    int nworkers;
    char **hosts; /* by rank, without port */
    int *ports;
    int rank;     /* of this task */
};

/* text: the JSON. ERR_PEER: not JSON, an unknown key or job type, an address without host or port,
 * a task that is not in the cluster. */
int spec_read(const char *text, struct spec *spec, struct err *e);
void spec_destroy(struct spec *spec);

#endif
