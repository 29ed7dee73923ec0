/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/status/run_summary.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

double run_summary_left(const struct run_status *s)
{
    const struct run_progress *p = &s->progress;

    if (s->state != STATE_RUNNING || p->epoch < 1 || p->epochs < p->epoch ||
        !(p->epoch_s > 0))
        return -1;
    double part = p->steps > 0 ? (double)p->step / p->steps : 0;
    double epochs = p->epochs - p->epoch - part;
    return epochs > 0 ? epochs * p->epoch_s : 0;
}

void run_summary_format_time(double seconds, char dst[32])
{
    long minutes = (long)((seconds + 30) / 60), hours = (minutes + 30) / 60;

    if (seconds < 100)
        snprintf(dst, 32, "%.0f s", seconds);
    else if (minutes < 60)
        snprintf(dst, 32, "%ld min", minutes);
    else if (minutes < 48 * 60)
        snprintf(dst, 32, "%ld h %ld min", minutes / 60, minutes % 60);
    else
        snprintf(dst, 32, "%ld d %ld h", hours / 24, hours % 24);
}

void run_summary_add(struct run_summary *summary, const struct run_status *s)
{
    double left = run_summary_left(s);
    size_t i = 0;

    while (i < summary->nstates && (summary->states[i].phase != s->phase ||
                                    summary->states[i].state != s->state))
        i++;
    if (i == RUN_SUMMARY_STATES)
        return;
    if (i == summary->nstates)
        summary->states[summary->nstates++] = (struct run_summary_state){s->phase, s->state, 0};
    summary->states[i].runs++;
    if (s->state != STATE_RUNNING) {
        summary->others_wait |= s->phase == RUN_ACTIVE;
        return;
    }
    summary->running++;
    summary->timed += left >= 0;
    summary->left_s = left > summary->left_s ? left : summary->left_s;
}

void run_summary_format(const struct run_summary *summary, char *dst, size_t size)
{
    static const enum run_phase order[] = {RUN_GOOD, RUN_ACTIVE, RUN_BAD, RUN_UNKNOWN, RUN_PLANNED};
    size_t n = 0;
    char left[32];

    *dst = 0;
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        for (size_t i = 0; i < summary->nstates && n < size; i++)
            if (summary->states[i].phase == order[k])
                n += (size_t)snprintf(dst + n, size - n, "%s%zu %s", n ? ", " : "",
                                      summary->states[i].runs,
                                      order[k] == RUN_GOOD ? "done"
                                                           : state_name(summary->states[i].state));
    for (char *c = dst; *c; c++)
        *c = *c == '_' ? ' ' : (char)tolower((unsigned char)*c);
    if (!summary->running || summary->timed < summary->running || n >= size)
        return;
    run_summary_format_time(summary->left_s, left);
    snprintf(dst + n, size - n, "; %s left%s", left,
             summary->others_wait ? " for those running" : "");
}
