/* SPDX-License-Identifier: BSD-3-Clause */
/* What one rank sees of the cluster and of itself, and what it finds wrong on its own: it does
 * not run at its address, or has another number there (SLURM_LOCALID); its address does not
 * resolve, or it cannot listen there; or its environment has another TF_CONFIG. */
#ifndef UNETCTL_LAUNCHER_SPEC_SPEC_VIEW_H
#define UNETCTL_LAUNCHER_SPEC_SPEC_VIEW_H

#include <jansson.h>
#include <netdb.h>
#include <stdbool.h>

#include "launcher/spec/spec_source.h"

#define SPEC_VIEW_HOST_SIZE 512
#define SPEC_VIEW_ONE_STEP                                                                         \
    "start all ranks as one step (one srun), and let no start-up file set SLURM_ variables"

struct spec_view {
    const struct cluster_spec *spec;
    const struct spec_source *source;
    const char *text;               /* the specification as printed */
    /* Slurm's name of the node that this rank runs on, or without it the host's name */
    char node[SPEC_VIEW_HOST_SIZE];
    char host[SPEC_VIEW_HOST_SIZE]; /* the host in this rank's address in the specification */
    char first_host[SPEC_VIEW_HOST_SIZE];  /* the host in rank 0's address */
    struct cluster_spec_task self, first;  /* this rank and rank 0 */
    char hash[65];                         /* SHA-256 of the cluster, without the task */
    /* Slurm's JOB.STEP; a number that is not set is left out */
    char step[64];
    bool is_here;                          /* this rank runs on the host of its address */
    int fd;          /* the socket that rank 0 listens with at its address, or -1 */
    bool is_busy;    /* another process listens there */
    json_t *findings; /* [[problem, what to do], ...] */
};

/* Keeps the pointers spec, source and text. Returns 0, with all that is wrong in v->findings, or
 * -1 if the rank does not exist or memory ran out. */
int spec_view_open(struct spec_view *v, const struct cluster_spec *spec,
                   const struct spec_source *source, const char *text, struct err *e);
void spec_view_close(struct spec_view *v);

/* Returns the addresses of host:port, for freeaddrinfo, or NULL with the reason in *why. */
struct addrinfo *spec_view_resolve(const char *host, int port, const char **why);

#endif
