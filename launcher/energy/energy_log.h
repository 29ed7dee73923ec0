/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads what samplers (sampler.h) have written into the folder of an attempt. */
#ifndef UNETCTL_LAUNCHER_ENERGY_ENERGY_LOG_H
#define UNETCTL_LAUNCHER_ENERGY_ENERGY_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

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

#endif
