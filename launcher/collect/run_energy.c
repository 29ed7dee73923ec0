/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/collect_internal.h"

#include <math.h>

#include "launcher/energy/energy.h"
#include "launcher/host/path.h"
#include "src/atomicfile.h"
#include "src/files.h"
#include "src/stat.h"

/* What the tracks of GPUs have together. */
struct total {
    size_t ngpus; /* tracks of GPUs */
    double joules, seconds, busy_s, throttled_s, memory_mib;
    double begin, end; /* Unix time of the first and last row */
    bool once;         /* all belong to one start of the job */
    const struct energy_track *noted; /* the first that is spoilt, or has a note; NULL: none */
};

static void read_attempts(const char *study_dir, const struct result *r, struct energy_log *log)
{
    char dir[PATH_MAX];
    struct err ignored; /* what cannot be read was not measured */

    for (int k = r->attempt; k > 0; k = run_dir_checkpoint(study_dir, r->run, k - 1))
        energy_log_read(log, path_format(dir, "%s/runs/%s/attempt-%d", study_dir, r->run, k),
                        &ignored);
}

static struct total sum_gpus(const struct energy_log *log)
{
    struct total sum = {.begin = INFINITY, .once = true, .memory_mib = NAN};
    const struct energy_track *first = NULL;

    for (size_t i = 0; i < log->n; i++) {
        const struct energy_track *t = &log->tracks[i];
        double seconds = energy_log_seconds(t);
        if (!t->gpu)
            continue;
        first = first ? first : t;
        sum.ngpus++;
        sum.joules += t->joules[t->n - 1];
        sum.seconds += seconds;
        sum.busy_s += seconds > 0 ? t->busy * seconds : 0;
        sum.throttled_s += seconds > 0 ? t->throttled * seconds : 0;
        sum.memory_mib = fmax(sum.memory_mib, t->memory_mib);
        sum.begin = fmin(sum.begin, t->times[0]);
        sum.end = fmax(sum.end, t->times[t->n - 1]);
        sum.once &= strcmp(t->start, first->start) == 0;
        if (*t->note && (!sum.noted || (t->spoilt && !sum.noted->spoilt)))
            sum.noted = t;
    }
    return sum;
}

/* Sets the joules of each interval, which follow the start-up; time that is neither a part of the
 * intervals nor of the evaluation counts as such. */
static void measure_curve(const struct energy_log *log, const struct total *sum, struct result *r)
{
    const struct curve *c = r->curve;
    double all = 0, time, before = 0;

    for (size_t i = 0; i < c->n; i++)
        all += c->seconds[i];
    double rest = sum->end - sum->begin - all - (isnan(r->test_time) ? 0 : r->test_time);
    time = sum->begin + (isnan(r->startup_s) ? fmax(rest, 0) : r->startup_s) +
           (isnan(r->startup_s) || isnan(r->stage_s) ? 0 : r->stage_s);
    for (size_t i = 0; i <= c->n; i++) {
        double until = 0;
        for (size_t k = 0; k < log->n; k++)
            until += log->tracks[k].gpu ? energy_log_until(&log->tracks[k], time) : 0;
        if (i)
            c->joules[i - 1] = until - before;
        before = until;
        time += i < c->n ? c->seconds[i] : 0;
    }
    double *room = calloc(c->n, sizeof *room);
    size_t n = room ? curve_steady(c, c->joules, room) : 0;
    r->energy.epoch_j = n ? stat_median(room, n) : NAN;
    free(room);
}

static void set_note(struct result *r, const struct total *sum, double covered, bool known)
{
    char note[sizeof r->note] = "";
    size_t n = 0;

    if (!known)
        n = (size_t)snprintf(note, sizeof note,
                             "its energy is not known: %.0f %% of its GPUs' time "
                             "was measured%s", 100 * covered, sum->noted ? "; " : "");
    if (sum->noted)
        snprintf(note + n, sizeof note - n, "%s, %s: %s", sum->noted->host, sum->noted->device,
                 sum->noted->note);
    if (*note && !*r->note)
        result_set_text(r->note, sizeof r->note, note);
}

void run_energy_measure(const char *study_dir, struct result *r)
{
    struct energy_log log = {0};
    double cpus = NAN, whole = quantity_of(r, QUANTITY_WHOLE);

    read_attempts(study_dir, r, &log);
    struct total sum = sum_gpus(&log);
    for (size_t i = 0; i < log.n; i++)
        if (!log.tracks[i].gpu)
            cpus = (isnan(cpus) ? 0 : cpus) + log.tracks[i].joules[log.tracks[i].n - 1];
    r->energy.cpus_j = cpus;
    if (sum.ngpus) {
        double seconds = r->gpus * fmax(whole, sum.once ? sum.end - sum.begin : NAN);
        double covered = seconds > 0 ? sum.seconds / seconds : 0;
        bool known = covered >= RUN_ENERGY_COVERED && !(sum.noted && sum.noted->spoilt);
        r->gpu.watts = sum.joules / sum.seconds;
        r->gpu.busy = sum.busy_s / sum.seconds;
        r->gpu.throttled = sum.throttled_s / sum.seconds;
        r->gpu.memory_mib = sum.memory_mib;
        if (known && isnan(r->energy.gpus_j))
            r->energy.gpus_j = sum.joules;
        /* the curve of a limited run of unet-train has not the times that passed */
        bool scaled = r->limited == 1 && strcmp(r->engine, "embedded") == 0;
        if (known && sum.once && r->curve && !scaled)
            measure_curve(&log, &sum, r);
        set_note(r, &sum, covered, known);
    }
    energy_log_destroy(&log);
}

/* ---- energy of nodes by Slurm's accounting ---- */

#define ASKED_MAX_S (30 * 86400.0) /* after the end of a run; accounting may have forgotten it */

/* A run whose energy Slurm is asked for. */
struct asked {
    struct result *r;
    char job[sizeof ((struct run_attempt *)0)->job];
};

static void find_file(const struct plan *p, const struct result *r, char dst[PATH_MAX])
{
    path_format(dst, "%s/runs/%s/attempt-%d/node-energy", p->study.dir, r->run, r->attempt);
}

/* Reads "JOULES of job ID"; 0 joules: they are unknown. Returns whether the file exists. */
static bool read_known(const struct plan *p, struct result *r)
{
    char path[PATH_MAX];
    double joules;

    find_file(p, r, path);
    FILE *f = files_stream(path, "r", FILES_TEXT_MAX);
    bool known = f && fscanf(f, "%lf of job", &joules) == 1 && isfinite(joules);
    if (known && joules > 0)
        r->energy.nodes_j = joules;
    if (f)
        fclose(f);
    return known;
}

static void keep(const struct plan *p, struct result *r, const struct job_state *job)
{
    char path[PATH_MAX], text[80], name[160];
    struct err ignored; /* the folder may belong to another user */

    snprintf(name, sizeof name, "%s-%s", p->study.name, r->run);
    if (job->phase != PHASE_ENDED || strcmp(job->name, name) != 0)
        return;
    bool known = job->joules > 0 && /* its seconds are rounded down */
                 job->joules_s + 1 >= RUN_ENERGY_COVERED * quantity_of(r, QUANTITY_WHOLE);
    r->energy.nodes_j = known ? job->joules : NAN;
    find_file(p, r, path);
    snprintf(text, sizeof text, "%.0f of job %s\n", known ? job->joules : 0, job->id);
    atomicfile_write(path, text, strlen(text), 0666, &ignored);
}

static int compare_jobs(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns whether exactly one of the sorted jobs is this one. "" never is one. */
static bool is_own(const char **jobs, size_t n, const char *job)
{
    const char **found = bsearch(&job, jobs, n, sizeof *jobs, compare_jobs);

    return *job && found && (found == jobs || strcmp(found[-1], job) != 0) &&
           (found == jobs + n - 1 || strcmp(found[1], job) != 0);
}

/* Asks a Slurm for the energy of those of the runs that were submitted to it. */
static void resolve_of(struct workspace *w, const char *kind, const struct asked *asked, size_t n)
{
    const struct ledger *l = &w->ledger;
    const char **jobs = calloc(l->count + 1, sizeof *jobs);
    const char **ids = calloc(n + 1, sizeof *ids);
    struct scheduler_found found = {0};
    struct err ignored;
    size_t njobs = 0, nids = 0;

    for (size_t i = 0; jobs && i < l->count; i++)
        if (strcmp(l->entries[i].scheduler, kind) == 0)
            jobs[njobs++] = l->entries[i].job;
    if (jobs)
        qsort(jobs, njobs, sizeof *jobs, compare_jobs);
    for (size_t i = 0; jobs && ids && i < n; i++)
        if (is_own(jobs, njobs, asked[i].job))
            ids[nids++] = asked[i].job;
    struct scheduler *slurm = nids ? workspace_scheduler(w, kind, &ignored) : NULL;
    if (slurm && scheduler_find(slurm, &(struct scheduler_ids){ids, nids}, true, &found, &ignored))
        found.count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < found.count; k++)
            if (strcmp(found.states[k].id, asked[i].job) == 0)
                keep(&w->plan, asked[i].r, &found.states[k]);
    free(found.states);
    free(ids);
    free(jobs);
}

void node_energy_resolve(struct workspace *w, struct results *table)
{
    struct asked *asked = calloc(table->count + 1, sizeof *asked);
    struct run_attempt a;
    struct err ignored;
    size_t n = 0;

    for (struct result *r = table->rows; asked && r < table->rows + table->count; r++)
        if (r->state == RESULT_DONE && isnan(r->energy.gpus_j) && !read_known(&w->plan, r) &&
            w->ledger.count && run_dir_attempt(w->plan.study.dir, r->run, &a, &ignored) == 0 &&
            a.number == r->attempt && a.marker_age_s < ASKED_MAX_S && *a.job) {
            asked[n].r = r;
            memcpy(asked[n++].job, a.job, sizeof a.job);
        }
    resolve_of(w, "slurm", asked, n);
    resolve_of(w, "sandbox", asked, n);
    free(asked);
}
