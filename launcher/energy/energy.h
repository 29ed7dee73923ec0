/* SPDX-License-Identifier: BSD-3-Clause */
/* The energy of a node's GPUs and CPU packages, measured beside a rank.
 *
 *   sampler.c, a process beside each rank -> energy-HOST-PID.csv in the attempt's folder
 *     -> energy_log.c -> struct energy_log: a track for each device and start of the job
 *
 * The verb energy starts the sampler (launcher/cmd); watch and collecting read its files, and
 * collecting makes the energy of a run of them (launcher/collect/run_energy.c). The doctor asks
 * what could be measured.
 *
 * A sampler never disturbs the run: it is a process of its own that ends with the rank, it uses at
 * most a thousandth of the time, and what it cannot measure is missing from its file. Each device
 * is measured by one process of a node, however many ranks it has. GPUs are asked by NVML, which is
 * loaded if it is there, CPU packages by RAPL.
 *
 * Read sampler.c (NVML first, then the sampler), then energy_log.c. */
#pragma once

#include "src/base.h"
#include <sys/types.h>

/* One device as one sampler measured it. */
struct energy_track {
    char device[96], host[72], start[64]; /* start: which start of the job it belongs to */
    bool gpu;
    double *times, *joules; /* Unix time, and joules since times[0] */
    size_t n, capacity;
    double watts, busy, throttled, memory_mib; /* as in its last row; NaN: unknown */
    bool spoilt;    /* its joules are not those of the run to its end, as the note says */
    char note[200]; /* that, or else its last XID, or "" */
};

/* What samplers have written into the folder of an attempt. */
struct energy_log {
    struct energy_track *tracks;
    size_t n, capacity;
};

/* Adds the tracks of the attempt's files; there may be none. Lines that are cut off are left out.
 * Returns 0, or -1 if memory ran out or a file cannot be read. */
int energy_log_read(struct energy_log *log, const char *attempt_dir, struct err *e);

/* Adds the tracks of one file's text, which is changed. Returns 0, or -1 if memory ran out. */
int energy_log_decode(struct energy_log *log, char *text, const char *host, struct err *e);
void energy_log_destroy(struct energy_log *log);

/* Returns the joules that a track had used at a time, between two rows in proportion. */
double energy_log_until(const struct energy_track *t, double time);

/* Returns the seconds that a track covers. */
double energy_log_seconds(const struct energy_track *t);

/* A sampler appends to its file (doc/FORMATS.md) at first every second, later when another 2 % of
 * the time have passed, and when the rank has ended. Of the samplers of a node one measures a
 * device, and when that has ended another one does. Where there is nothing to measure no file is
 * written. */

#define SAMPLER_HEADER "time,device,joules,watts,busy,throttled,memory_mib,mhz,start,note\n"

/* Starts a process that measures until process `rank` ends, at most ngpus GPUs, and returns at
 * once. Returns 0, or -1 if there is no such process or folder. */
int sampler_start(const char *attempt_dir, pid_t rank, int ngpus, struct err *e);

/* Adds what can be measured here to dst, such as "of GPUs: by NVML; of CPU packages: not measured
 * (no RAPL)". */
void sampler_describe(struct buf *dst);
