/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/status/watch.h"

#include <math.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>

#include "launcher/energy/energy.h"
#include "src/clock.h"

/* ---- many runs in one line ---- */

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

/* Returns the fraction of a run's training that is done, from 0 to 1. */
static double run_summary_fraction(const struct run_status *s)
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
    bool has_ended = s->phase == RUN_GOOD || s->phase == RUN_BAD;

    if (s->started && (s->ended || !has_ended))
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

/* ---- following runs ---- */

#define POLL_MIN_S 1.0
#define POLL_SHARE 0.2 /* the interval of polls grows to this share of the time without a change */
#define BAR_WIDTH 24
#define EVERY_S 60.0    /* interval of progress lines */
#define PROGRESS_RUNS 8 /* the most runs that have a progress line */
/* seconds after which submission of runs left for later is tried again, if no run ends before */
#define LEFT_S 30.0

static volatile sig_atomic_t interrupted;

struct watch {
    const struct watch_options *options;
    struct status_list list;
    struct map ids;           /* those of options->ids; unused without them */
    struct map reported_of;   /* from a run's id to its index in reported */
    struct reported {
        int state; /* -1: nothing was reported */
        int epoch;
    } * reported;
    size_t nreported, capacity;
    bool live, colors;
    bool warned;      /* the scheduler was unreachable at the last poll; reported unless live */
    int lines;        /* lines drawn on the screen */
    long left;        /* above 0: runs remain to be submitted, or at first, may remain */
    size_t moving;    /* runs that had not ended at the last poll */
    double next_left; /* when submission of those left is tried again */
    double started;   /* clock_now() */
    double every_s;   /* interval of progress lines */
    double next_progress;
    char progress[512]; /* the last summary that was reported */
    uint64_t published; /* fingerprint of the runs that were published last; 0: none */
    bool published_end; /* as the last ones */
    double next_published;
};

static void on_interrupt(int signal)
{
    interrupted = 1;
}

static bool is_followed(const struct watch *w, const struct run_status *s)
{
    return w->options->ids ? map_get(&w->ids, s->run.id, NULL) : s->phase != RUN_PLANNED;
}

static bool is_moving(const struct run_status *s)
{
    return s->phase == RUN_ACTIVE || s->phase == RUN_UNKNOWN;
}

static const char *color_of(const struct watch *w, const struct run_status *s)
{
    if (!w->colors)
        return "";
    switch (s->phase) {
    case RUN_GOOD: return "\033[32m";
    case RUN_BAD: return "\033[31m";
    case RUN_ACTIVE: return s->state == STATE_RUNNING ? "\033[36m" : "\033[33m";
    default: return "";
    }
}

/* Adds what the GPUs of a running run use, as samplers saw it last: "  1210 W, 97 % busy". */
static void add_power(const struct run_status *s, char *dst, size_t size)
{
    struct energy_log log = {0};
    const struct energy_track *newest = NULL;
    double watts = 0, busy = 0, ngpus = 0;
    size_t n = strlen(dst);
    struct err ignored;

    if (s->state == STATE_RUNNING && energy_log_read(&log, s->attempt.path, &ignored) == 0)
        for (size_t i = 0; i < log.n; i++)
            if (!newest || log.tracks[i].times[0] > newest->times[0])
                newest = &log.tracks[i];
    for (size_t i = 0; i < log.n; i++) {
        const struct energy_track *t = &log.tracks[i];
        if (!t->gpu || t->spoilt || strcmp(t->start, newest->start) != 0 || isnan(t->watts))
            continue;
        watts += t->watts;
        busy += t->busy;
        ngpus++;
    }
    if (ngpus > 0 && n < size)
        snprintf(dst + n, size - n, "  %.0f W, %.0f %% busy", watts, 100 * busy / ngpus);
    energy_log_destroy(&log);
}

static void describe_progress(const struct run_status *s, char *dst, size_t size)
{
    const struct run_progress *p = &s->progress;
    double left_s = run_summary_left(s);
    char left[32] = "";

    if (s->phase == RUN_BAD || s->phase == RUN_UNKNOWN || s->state == STATE_PENDING)
        snprintf(dst, size, "%s", s->reason);
    else if (p->quality >= 0)
        snprintf(dst, size, "%d epoch%s  loss %.4f  %s %.4f", p->epoch,
                 plural(p->epoch), p->loss, p->metric,
                 p->quality);
    else if (p->epoch > 0) {
        if (left_s >= 0)
            run_summary_format_time(left_s, left);
        snprintf(dst, size, "epoch %d/%d  loss %.4f  %.3g s/epoch%s%s%s", p->epoch, p->epochs,
                 p->loss, p->epoch_s, *left ? "  " : "", left, *left ? " left" : "");
    } else
        snprintf(dst, size, "%s", s->phase == RUN_ACTIVE ? "starting" : "");
    add_power(s, dst, size);
}

static int screen_size(int *columns)
{
    struct winsize size;

    *columns = 80;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_row < 4)
        return 24;
    if (size.ws_col > 20)
        *columns = size.ws_col;
    return size.ws_row;
}

static void draw_run(const struct watch *w, const struct run_status *s, int columns)
{
    char bar[BAR_WIDTH + 1], text[sizeof s->reason], line[sizeof text + 128];
    int filled = (int)(run_summary_fraction(s) * BAR_WIDTH);

    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', (size_t)filled);
    bar[BAR_WIDTH] = 0;
    describe_progress(s, text, sizeof text);
    snprintf(line, sizeof line, "%-16s %-11s [%s] %s", s->run.id, state_name(s->state), bar, text);
    control_blank(line);
    line[columns - 1 < (int)sizeof line ? columns - 1 : (int)sizeof line - 1] = 0;
    fprintf(stderr, "%s%s%s\033[K\n", color_of(w, s), line, w->colors ? "\033[0m" : "");
}

/* Redraws the lines in place. If the screen has fewer lines than there are runs, only runs that
 * have not ended are drawn, and those that do not fit are counted. */
static void draw_runs(struct watch *w)
{
    int columns, rows = screen_size(&columns) - 2, drawn = 0, left = 0;
    size_t followed = 0;

    for (size_t i = 0; i < w->list.count; i++)
        followed += is_followed(w, &w->list.runs[i]);
    if (w->lines)
        fprintf(stderr, "\033[%dA", w->lines);
    for (size_t i = 0; i < w->list.count; i++) {
        const struct run_status *s = &w->list.runs[i];
        if (!is_followed(w, s) || ((int)followed > rows && !is_moving(s)))
            continue;
        if (drawn < rows)
            draw_run(w, s, columns);
        else
            left++;
        drawn += drawn < rows;
    }
    if (left)
        fprintf(stderr, "... and %d more\033[K\n", left);
    fprintf(stderr, "\033[J");
    w->lines = drawn + (left > 0);
    fflush(stderr);
}

static void log_change(const struct run_status *s)
{
    char text[sizeof s->reason + 2] = "";

    if (s->phase == RUN_GOOD && s->progress.quality >= 0)
        snprintf(text, sizeof text, ", %s %.4f", s->progress.metric,
                 s->progress.quality);
    else if (*s->reason)
        snprintf(text, sizeof text, ": %s", s->reason);
    log_info("%s: %s%s%s%s%s%s", s->run.id, state_name(s->state), *s->job ? " job " : "", s->job,
             *s->nodes ? " on " : "", s->nodes, text);
}

/* Prints one line of JSON for a change of a run's state or epoch. */
static void print_change(const struct run_status *s)
{
    char date[32];
    json_t *o = run_status_encode(s);

    clock_date(date);
    json_object_set_new(o, "schema", json_integer(1));
    json_object_set_new(o, "time", json_string(date));
    if (o && json_dumpf(o, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0)
        putchar('\n');
    fflush(stdout);
    json_decref(o);
}

/* Returns what was last reported of a run, empty at first, or NULL if memory ran out. */
static struct reported *find_reported(struct watch *w, const char *run)
{
    size_t i;

    if (map_get(&w->reported_of, run, &i))
        return &w->reported[i];
    if (mem_grow(&w->reported, w->nreported, &w->capacity, sizeof *w->reported, NULL) ||
        map_set(&w->reported_of, run, w->nreported))
        return NULL;
    w->reported[w->nreported] = (struct reported){.state = -1};
    return &w->reported[w->nreported++];
}

/* Returns whether any state has changed since the last poll. Reports each change unless bars are
 * drawn, as JSON also those of an epoch. */
static bool note_changes(struct watch *w)
{
    bool any = false;

    for (size_t i = 0; i < w->list.count; i++) {
        const struct run_status *s = &w->list.runs[i];
        struct reported *last = is_followed(w, s) ? find_reported(w, s->run.id) : NULL;
        if (!last || s->phase == RUN_UNKNOWN)
            continue;
        bool changed = last->state != (int)s->state;
        if (w->options->json && (changed || last->epoch != s->progress.epoch))
            print_change(s);
        else if (changed && !w->live)
            log_change(s);
        last->state = (int)s->state;
        last->epoch = s->progress.epoch;
        any |= changed;
    }
    return any;
}

static size_t count_moving(const struct watch *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->list.count; i++)
        n += is_followed(w, &w->list.runs[i]) && is_moving(&w->list.runs[i]);
    return n;
}

/* Reports the progress of the runs in state RUNNING, and a summary of all, every every_s. While
 * none is RUNNING, an unchanged summary is not repeated. */
static void log_progress(struct watch *w)
{
    char text[sizeof w->list.runs->reason];
    struct run_summary summary = {0};

    if (w->live || w->options->json || clock_now() < w->next_progress)
        return;
    w->next_progress = clock_now() + w->every_s;
    for (size_t i = 0; i < w->list.count; i++)
        if (is_followed(w, &w->list.runs[i]))
            run_summary_add(&summary, &w->list.runs[i]);
    run_summary_format(&summary, text, sizeof text);
    if (!summary.running && strcmp(text, w->progress) == 0)
        return;
    memcpy(w->progress, text, sizeof w->progress);
    for (size_t i = 0, shown = 0; i < w->list.count && shown < PROGRESS_RUNS; i++) {
        const struct run_status *s = &w->list.runs[i];
        if (!is_followed(w, s) || s->state != STATE_RUNNING)
            continue;
        shown++;
        describe_progress(s, text, sizeof text);
        control_blank(text);
        log_info("%s: %s", s->run.id, text);
    }
    log_info("%s", w->progress);
}

static int poll_runs(struct workspace *work, struct watch *w, struct err *e)
{
    status_list_destroy(&w->list);
    if (status_list_collect(work, &w->list, e))
        return -1;
    if (w->list.unreachable && !w->warned && !w->live)
        log_warn("%s; trying again", w->list.reason.text);
    w->warned = w->list.unreachable;
    return 0;
}

/* Submits runs that were left for later, once another run has ended or LEFT_S have passed. An
 * unreachable scheduler is not an error while others run. */
static int submit_left(struct watch *w, struct err *e)
{
    size_t moving = count_moving(w);
    bool is_due = w->options->in_rounds
                      ? moving == 0 || w->next_left == 0
                      : moving < w->moving || clock_now() >= w->next_left;

    w->moving = moving;
    if (!w->left || !is_due || w->list.unreachable)
        return 0;
    w->next_left = clock_now() + LEFT_S;
    long left = w->options->submit_left(w->options->arg, e);
    if (left < 0 && (e->code != ERR_SCHED || moving == 0))
        return -1;
    if (left < 0)
        log_warn("%s; trying again", e->text);
    else
        w->left = left;
    return 0;
}

/* Returns a hash that differs after a change of the runs. It always differs while a run is running
 * whose trainer writes no record, as its log may have grown. */
static uint64_t fingerprint(const struct status_list *list)
{
    uint64_t h = HASH_BEGIN;
    double now = clock_now();

    for (size_t i = 0; i < list->count; i++) {
        const struct run_status *s = &list->runs[i];
        const int progress[] = {s->state, s->progress.epoch, s->progress.step};
        if (s->state == STATE_RUNNING && !s->attempt.recorded)
            h = hash_bytes(h, &now, sizeof now);
        h = hash_text(hash_bytes(h, progress, sizeof progress), s->reason);
    }
    return h;
}

/* Publishes the runs at first, when they have changed, every every_s, and when watching ends
 * (again_s 0). An error ends watching only at first. */
static int publish(struct watch *w, double again_s, struct err *e)
{
    uint64_t now = w->options->publish ? fingerprint(&w->list) : 0;
    bool first = w->published == 0;

    bool known = again_s > 0 ? now == w->published && clock_now() < w->next_published
                             : w->published_end;

    if (!w->options->publish || known)
        return 0;
    int rc = w->options->publish(w->options->arg, &w->list, again_s, e);
    w->published = now;
    w->published_end = again_s <= 0;
    w->next_published = clock_now() + w->every_s;
    if (rc == 0 || first)
        return rc;
    log_warn("%s; trying again", e->text);
    return 0;
}

static int summarize(const struct watch *w)
{
    size_t good = 0, bad = 0;
    char failed[400] = "";

    for (size_t i = 0; i < w->list.count; i++) {
        const struct run_status *s = &w->list.runs[i];
        if (!is_followed(w, s))
            continue;
        good += s->phase == RUN_GOOD;
        if (s->phase == RUN_GOOD)
            continue;
        bad++;
        size_t n = strlen(failed);
        snprintf(failed + n, sizeof failed - n, "%s%s %s", n ? ", " : "", s->run.id,
                 state_name(s->state));
    }
    if (bad)
        log_error("%zu of %zu runs have no result: %s ('unetctl logs RUN' shows why, 'unetctl "
                  "resume' tries again)", bad, good + bad, failed);
    else
        log_info("%zu run%s done in %.0f s", good, plural(good), clock_now() - w->started);
    return bad ? ERR_INTERNAL : 0;
}

static int follow_runs(struct workspace *work, struct watch *w, struct err *e)
{
    double changed = clock_now(), most = fmin(w->every_s, work->plan.site.poll_s);

    for (;;) {
        if (poll_runs(work, w, e) || publish(w, count_moving(w) || w->left ? most : 0, e))
            return -1;
        if (note_changes(w))
            changed = clock_now();
        if (w->live)
            draw_runs(w);
        if (count_moving(w) == 0 && w->left == 0)
            return summarize(w);
        log_progress(w);
        if (submit_left(w, e))
            return -1;
        if (w->options->timeout_s && clock_now() - w->started > (double)w->options->timeout_s) {
            size_t n = count_moving(w);
            log_error("%zu run%s not ended within %ld s; the jobs continue ('unetctl watch -C %s' "
                      "follows them)", n, n == 1 ? " has" : "s have", w->options->timeout_s,
                      work->plan.study.dir);
            return ERR_TIMEOUT;
        }
        if (!interrupted)
            clock_sleep(fmin(most, fmax(POLL_MIN_S, POLL_SHARE * (clock_now() - changed))));
        if (interrupted) {
            log_error("interrupted; the jobs continue ('unetctl watch -C %s' follows them, "
                      "'unetctl cancel' stops them)", work->plan.study.dir);
            return ERR_INTERRUPT;
        }
    }
}

int watch_runs(struct workspace *work, const struct watch_options *options, struct err *e)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    struct sigaction action = {.sa_handler = on_interrupt}, old_int, old_term;
    struct watch w = {.options = options,
                      .left = options->submit_left != NULL,
                      .started = clock_now(),
                      .every_s = options->every_s ? (double)options->every_s : EVERY_S};
    int rc = 0;

    w.next_progress = w.started + w.every_s;
    w.live = !options->json && log_shows(LOG_INFO) && isatty(STDERR_FILENO) && term &&
             strcmp(term, "dumb") != 0;
    w.colors = w.live && !(no_color && *no_color);
    for (size_t i = 0; rc == 0 && options->ids && i < options->nids; i++)
        rc = map_set(&w.ids, options->ids[i], i);
    if (rc)
        return err_set(e, ERR_INTERNAL, "out of memory");
    interrupted = 0;
    sigaction(SIGINT, &action, &old_int);
    sigaction(SIGTERM, &action, &old_term);
    rc = follow_runs(work, &w, e);
    if (rc >= 0)
        publish(&w, 0, e);
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGTERM, &old_term, NULL);
    status_list_destroy(&w.list);
    map_destroy(&w.ids);
    map_destroy(&w.reported_of);
    free(w.reported);
    return rc;
}
