/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UNETCTL_SRC_CLUSTER_TIME_LIMIT_H
#define UNETCTL_SRC_CLUSTER_TIME_LIMIT_H

/* A Slurm time limit (M, M:S, H:M:S, D-H, D-H:M, D-H:M:S) in minutes, rounded up; -1 if it is
 * none. */
int time_limit_decode(const char *text);

#endif
