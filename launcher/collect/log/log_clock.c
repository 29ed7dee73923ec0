/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/log/log_internal.h"

#include <math.h>

#include "src/stat.h"

#define DAY 86400.
#define HOUR 3600.
#define FAR 10       /* rises of the clock, of which a midnight may hide some */
#define ZONE 900.    /* zones are multiples of it */
#define MOST_ZONES 56
#define NEAR_S 2     /* between the clocks of a job and of its program, in whole seconds */

/* Returns the median of what n values rise by, of those that rise. */
static double typical_rise(const double *values, size_t n)
{
    double *rises = calloc(n + 1, sizeof *rises), typical;
    size_t count = 0;

    for (size_t i = 1; rises && i < n; i++)
        if (values[i] > values[i - 1])
            rises[count++] = values[i] - values[i - 1];
    typical = rises && count ? stat_median(rises, count) : NAN;
    free(rises);
    return typical;
}

bool log_clock_is_of_day(const double *values, size_t n)
{
    double typical = typical_rise(values, n);
    size_t midnights = 0;

    for (size_t i = 0; i < n; i++) {
        bool falls = i && values[i] < values[i - 1];
        if (values[i] >= DAY || (falls && !(values[i] + DAY - values[i - 1] <= FAR * typical)))
            return false;
        midnights += falls;
    }
    return midnights || (n && values[0] >= HOUR && values[0] > FAR * typical);
}

double log_clock_step(const double *values, size_t n)
{
    static const double steps[] = {1, 0.1, 0.01};

    for (size_t k = 0; n > 3 && k < sizeof steps / sizeof *steps; k++) {
        size_t i = 0;
        while (i < n && fabs(values[i] / steps[k] - rint(values[i] / steps[k])) < 1e-4)
            i++;
        if (i == n)
            return steps[k];
    }
    return 0;
}

/* Returns the start in which the time is, or else the nearest, or SIZE_MAX if none is near. A start
 * without an end lasts until the next. */
static size_t find_start(const struct log_form *form, double time)
{
    double nearest = NEAR_S;
    size_t found = SIZE_MAX;

    for (size_t j = 0; j < form->nstarts; j++) {
        double end = !isnan(form->starts[j].end)  ? form->starts[j].end
                     : j + 1 < form->nstarts ? form->starts[j + 1].begin : INFINITY;
        double apart = fmax(fmax(form->starts[j].begin - time, time - end), 0);
        if (apart < nearest) {
            nearest = apart;
            found = j;
        }
    }
    return found;
}

/* Returns how many zones of 15 minutes a clock with dates is ahead of the job's: with those all its
 * times are within the job's starts. Returns INT_MAX if there is none. */
static int find_zone(const struct log_form *form, const double *values, size_t n, bool dated)
{
    for (int k = 0; k <= (dated ? 2 * MOST_ZONES : 0); k++) {
        int zone = k % 2 ? (k + 1) / 2 : -k / 2;
        size_t i = 0;
        while (i < n && find_start(form, values[i] - zone * ZONE) != SIZE_MAX)
            i++;
        if (i == n)
            return zone;
    }
    return INT_MAX;
}

/* Takes the time between an end and the next start from all later times. Of a start whose end is
 * not known, the last time counts as that. */
static void cut_waits(const struct log_form *form, double *values, size_t n, int zone)
{
    double waits = 0, last = NAN;
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        double time = values[i] - zone * ZONE;
        for (size_t now = find_start(form, time); at < now; at++) {
            double end = form->starts[at].end;
            if (isnan(end) && !isnan(last) && last >= form->starts[at].begin)
                end = last;
            waits += isnan(end) ? 0 : form->starts[at + 1].begin - end;
        }
        last = time;
        values[i] -= waits;
    }
}

/* Adds the time of earlier starts to a clock that began anew with each. */
static void join_starts(const struct clock_span *start, double *values, size_t n)
{
    double before = 0, last = 0;

    for (size_t i = 0; i < n; i++) {
        if (values[i] < last) {
            before += fmax(last, start->end - start->begin);
            start++;
        }
        last = values[i];
        values[i] += before;
    }
}

int log_clock_to_job(double *values, size_t n, const struct log_form *form, bool of_day,
                     enum log_clock kind, const struct log_table *t, const char *name,
                     struct err *e)
{
    double midnights = 0, last = 0;

    for (size_t i = 0; i < n && of_day; i++) {
        midnights += values[i] < last ? DAY : 0;
        last = values[i];
        values[i] += midnights;
    }
    if (form->nstarts < 2 || n == 0)
        return 0;
    if (of_day)
        return log_table_ask(t, e, "its job started %zu times, and '%s', a time of day, does not "
                             "show for how many days it waited: log the date, too", form->nstarts,
                             name);
    if (kind == LOG_DATE || values[0] > LOG_DATE_S) {
        int zone = find_zone(form, values, n, kind == LOG_DATE);
        if (zone == INT_MAX)
            return log_table_ask(t, e, "its job started %zu times, but some times of '%s' are "
                                 "outside of them: the clocks of program and job differ",
                                 form->nstarts, name);
        bool first = find_start(form, values[0] - zone * ZONE) == 0;
        cut_waits(form, values, n, zone);
        return first;
    }
    size_t begun = 0, own = form->nstarts - form->nearlier;
    for (size_t i = 1; i < n; i++)
        begun += values[i] < values[i - 1];
    bool all = begun + 1 == form->nstarts;
    if (begun && (all || begun + 1 == own))
        join_starts(form->starts + (all ? 0 : form->nearlier), values, n);
    if (begun == 0 || all || begun + 1 == own)
        return begun && all;
    return log_table_ask(t, e, "its job started %zu times, but '%s' began anew %zu times: log "
                         "dates, or the seconds of each row", form->nstarts, name, begun);
}

double log_clock_slope(const double *work, const double *seconds, size_t n)
{
    double x = 0, y = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;

    for (size_t i = 1; i <= n; i++) { /* before the first interval both sums are 0 */
        x += work[i - 1];
        y += seconds[i - 1];
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    double count = (double)n + 1, spread = sxx - sx * sx / count;
    return spread > 0 ? (sxy - sx * sy / count) / spread : NAN;
}
