/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/status/run_summary.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "src/buf.h"
#include "src/clock.h"

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

double run_summary_fraction(const struct run_status *s)
{
    const struct run_progress *p = &s->progress;

    if (s->phase == RUN_GOOD)
        return 1;
    if (p->epochs <= 0)
        return 0;
    return fmin((p->epoch + (p->steps > 0 ? (double)p->step / p->steps : 0)) / p->epochs, 1);
}

double run_summary_elapsed(const struct run_status *s)
{
    if (s->started)
        return s->ended ? fmax(difftime(s->ended, s->started), 0) : clock_age(s->started);
    return s->phase == RUN_GOOD ? s->progress.training_s : -1;
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

/* Adds what a run has used and will use of GPUs. */
static void add_use(struct run_summary *summary, const struct run_status *s, double left)
{
    double elapsed = fmax(run_summary_elapsed(s), 0), gpus = s->layout.gpus;
    double whole = s->phase == RUN_GOOD ? elapsed
                   : left >= 0          ? s->progress.epoch_s * s->progress.epochs
                                        : 0;

    summary->runs++;
    summary->done += run_summary_fraction(s);
    summary->gpu_hours += gpus * elapsed / 3600;
    summary->epochs += s->progress.epoch;
    summary->gpus += s->state == STATE_RUNNING ? s->layout.gpus : 0;
    summary->whole += whole > 0;
    summary->whole_gpu_s += gpus * whole;
    summary->left_gpu_s += left > 0 ? gpus * left : 0;
    summary->untimed += s->phase == RUN_ACTIVE && left < 0;
    summary->planned += s->phase == RUN_PLANNED;
}

double run_summary_total_left(const struct run_summary *summary, bool planned)
{
    double waiting = (double)(summary->untimed + (planned ? summary->planned : 0)), whole = 0;

    if (waiting > 0)
        whole = summary->whole ? summary->whole_gpu_s / (double)summary->whole : -1;
    if (summary->gpus < 1 || whole < 0)
        return -1;
    return fmax((summary->left_gpu_s + waiting * whole) / summary->gpus, summary->left_s);
}

static void add_metric(struct buf *b, const char *name, const char *help, const char *study,
                       double value)
{
    if (value < 0)
        return;
    buf_addf(b, "# HELP unetctl_%s %s\n# TYPE unetctl_%s gauge\nunetctl_%s{study=", name, help, name,
             name);
    buf_add_json_string(b, study);
    buf_addf(b, "} %.9g\n", value);
}

char *run_summary_encode_metrics(const struct run_summary *summary, const char *study,
                                 double left_s)
{
    struct buf b = {0};

    buf_add(&b, RUN_SUMMARY_METRICS_MARK " Runs by state\n# TYPE unetctl_runs gauge\n");
    for (size_t i = 0; i < summary->nstates; i++) {
        buf_add(&b, "unetctl_runs{study=");
        buf_add_json_string(&b, study);
        buf_addf(&b, ",state=\"%s\"} %zu\n", state_name(summary->states[i].state),
                 summary->states[i].runs);
    }
    add_metric(&b, "epochs", "Epochs that all runs have completed", study,
               (double)summary->epochs);
    add_metric(&b, "gpus", "GPUs of running runs", study, summary->gpus);
    add_metric(&b, "gpu_hours", "GPU-hours that all runs have used", study, summary->gpu_hours);
    add_metric(&b, "left_seconds", "Estimated time until all runs have ended", study, left_s);
    return buf_steal(&b);
}

void run_summary_add(struct run_summary *summary, const struct run_status *s)
{
    double left = run_summary_left(s);
    size_t i = 0;

    add_use(summary, s, left);

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
