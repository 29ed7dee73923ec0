/* SPDX-License-Identifier: BSD-3-Clause */
/* Time: durations from a monotonic clock, sleep, processor time, dates as ISO 8601 UTC. */
#pragma once

#include <time.h>

/* From one time to another, in seconds since 1970. */
struct clock_span {
    double begin, end;
};

/* Returns the seconds since an arbitrary start, which never decrease. Only differences are
 * meaningful. */
double clock_now(void);

/* Sleeps until the time has passed or a signal arrives. */
void clock_sleep(double seconds);

/* Returns the processor time of all threads of this process, in seconds. */
double clock_cpu(void);

/* Returns the seconds since a date of the wall clock, such as the time of a file; at least 0. Dates
 * far in the future, because the clock was set back, have an age that begins when this process
 * first asks for that of one, so that a wait for an age ends. */
double clock_age(time_t then);

/* Writes the current date and time, as in "2026-01-31T23:59:59Z". */
void clock_date(char dst[32]);

/* Returns such a date as seconds since 1970, or 0 if text is not one. */
time_t clock_decode_date(const char *text);
