/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the GPUs and CPU packages of a node beside a rank, in a process of its own.
 *
 * It appends to energy-HOST-PID.csv in the folder of the attempt (doc/FORMATS.md), at first every
 * second, later when another 2 % of the time have passed, and when the rank has ended. Several
 * ranks of a run on one node each start a sampler: one of them measures a device, and when that has
 * ended another one does. Where there is nothing to measure no file is written. */
#ifndef UNETCTL_LAUNCHER_ENERGY_SAMPLER_H
#define UNETCTL_LAUNCHER_ENERGY_SAMPLER_H

#include <sys/types.h>

#include "src/buf.h"
#include "src/err.h"

#define SAMPLER_HEADER "time,device,joules,watts,busy,throttled,memory_mib,mhz,start,note\n"

/* Starts a process that measures until process `rank` ends, at most ngpus GPUs, and returns at
 * once. Returns 0, or -1 if there is no such process or folder. */
int sampler_start(const char *attempt_dir, pid_t rank, int ngpus, struct err *e);

/* Adds what can be measured here to dst, such as "of GPUs: by NVML; of CPU packages: not measured
 * (no RAPL)". */
void sampler_describe(struct buf *dst);

#endif
