/* SPDX-License-Identifier: BSD-3-Clause */
/* Derives findings, with remedies for problems, from the facts of hosts (facts.h), the reports of
 * ranks (probe.h), and the list of MPI types that srun prints. */
#ifndef UNETCTL_LAUNCHER_DOCTOR_DIAGNOSIS_H
#define UNETCTL_LAUNCHER_DOCTOR_DIAGNOSIS_H

#include <jansson.h>

#include "launcher/doctor/findings.h"

/* Checks environment and limits of hosts: stale variables, proxies, ulimits, network interfaces.
 * list is an array of facts. nranks is the largest number of ranks that a host connects to. */
void diagnosis_of_hosts(const json_t *list, size_t nranks, struct findings *dst);

/* Checks that srun supports the --mpi of the site's launcher. list is the output of `srun
 * --mpi=list`, or NULL if srun did not answer. There is no finding if it is NULL or not such a
 * list, or if the launcher is not srun or has no --mpi. file is the site's profile, which the
 * remedy says to edit. */
void diagnosis_of_launcher(const char *launcher, const char *list, const char *file,
                           struct findings *dst);

/* Checks the ranks of one rehearsal (rehearsal.h): names, routes, ports, clocks, numbering,
 * versions, GPUs, data and locks. ranks is indexed by rank; a rank that left no report is null. */
void diagnosis_of_ranks(const json_t *ranks, struct findings *dst);

#endif
