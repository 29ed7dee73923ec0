/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/clock.h"

#include <stdatomic.h>

/* Clocks of hosts that share files may differ by so much. */
#define SKEW_S 60.0

double clock_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void clock_sleep(double seconds)
{
    time_t whole = (time_t)seconds;

    if (seconds > 0)
        nanosleep(&(struct timespec){whole, (long)(1e9 * (seconds - (double)whole))}, NULL);
}

double clock_cpu(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double clock_age(time_t then)
{
    static _Atomic double met; /* when the first such date was met */
    double age = difftime(time(NULL), then), unmet = 0;

    if (age >= -SKEW_S)
        return age > 0 ? age : 0;
    atomic_compare_exchange_strong(&met, &unmet, clock_now());
    return clock_now() - met;
}

void clock_date(char dst[32])
{
    time_t now = time(NULL);
    struct tm tm;

    strftime(dst, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
}

time_t clock_decode_date(const char *text)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);

    return end && !*end ? timegm(&tm) : 0;
}
