/* SPDX-License-Identifier: BSD-3-Clause */
/* Time: durations from a monotonic clock, dates as ISO 8601 UTC. */
#ifndef UNETCTL_SRC_CLOCK_H
#define UNETCTL_SRC_CLOCK_H

/* Seconds since an arbitrary start; never decreases. Only differences are meaningful. */
double clock_now(void);

/* Sleeps for this time, or until a signal arrives. */
void clock_sleep(double seconds);

/* Processor time of all threads of this process, in seconds. */
double clock_cpu(void);

/* The date and time now, "2026-01-31T23:59:59Z". */
void clock_date(char dst[32]);

#endif
