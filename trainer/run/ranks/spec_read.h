/* SPDX-License-Identifier: BSD-3-Clause */
/* The cluster spec of a rank, from TF_CONFIG (doc/FORMATS.md). The jobs "chief" and "worker" train,
 * and the chief is rank 0, as in TensorFlow's MultiWorkerMirroredStrategy. */
#ifndef UNETCTL_TRAINER_RUN_RANKS_SPEC_READ_H
#define UNETCTL_TRAINER_RUN_RANKS_SPEC_READ_H

#include "src/err.h"

struct spec {
    int nworkers;
    char **hosts; /* by rank, without port */
    int *ports;
    int rank;     /* of this task */
};

/* Decodes the JSON text. -1 with ERR_PEER if it is not JSON, has an unknown key or job type, an
 * address without host or port, or a task that is not in the cluster. */
int spec_read(const char *text, struct spec *spec, struct err *e);
void spec_destroy(struct spec *spec);

#endif
