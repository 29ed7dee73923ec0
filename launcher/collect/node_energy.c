/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/node_energy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/collect/results/quantity.h"
#include "launcher/collect/run_energy.h"
#include "launcher/host/path.h"
#include "launcher/study/run_dir.h"
#include "src/atomicfile.h"
#include "src/files.h"

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
        r->node_energy_j = joules;
    if (f)
        fclose(f);
    return known;
}

/* Returns whether exactly one run of the study was submitted as this job. "" never is one. */
static bool is_own(const struct workspace *w, const char *job)
{
    size_t nruns = 0;

    for (size_t i = 0; i < w->ledger.count; i++)
        nruns += *job && strcmp(w->ledger.entries[i].job, job) == 0 &&
                 strcmp(w->ledger.entries[i].scheduler, "slurm") == 0;
    return nruns == 1;
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
    r->node_energy_j = known ? job->joules : NAN;
    find_file(p, r, path);
    snprintf(text, sizeof text, "%.0f of job %s\n", known ? job->joules : 0, job->id);
    atomicfile_write(path, text, strlen(text), 0666, &ignored);
}

/* Reads the answers that are kept, and lists the runs whose energy Slurm is asked for. Returns
 * their number. */
static size_t list_asked(const struct workspace *w, struct results *table, struct asked *dst)
{
    struct run_attempt a;
    struct err ignored;
    size_t n = 0;

    for (struct result *r = table->rows; r < table->rows + table->count; r++)
        if (r->state == RESULT_DONE && isnan(r->energy_j) && !read_known(&w->plan, r) &&
            run_dir_attempt(w->plan.study.dir, r->run, &a,
                            &ignored) == 0 && a.number == r->attempt &&
            a.marker_age_s < ASKED_MAX_S && is_own(w, a.job)) {
            dst[n].r = r;
            memcpy(dst[n++].job, a.job, sizeof a.job);
        }
    return n;
}

void node_energy_resolve(struct workspace *w, struct results *table)
{
    struct asked *asked = calloc(table->count + 1, sizeof *asked);
    const char **ids = calloc(table->count + 1, sizeof *ids);
    struct scheduler_found found = {0};
    struct err ignored;
    size_t n = asked && ids ? list_asked(w, table, asked) : 0;
    struct scheduler *slurm = n ? workspace_scheduler(w, "slurm", &ignored) : NULL;

    for (size_t i = 0; i < n; i++)
        ids[i] = asked[i].job;
    if (slurm && scheduler_find(slurm, &(struct scheduler_ids){ids, n}, true, &found, &ignored))
        found.count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < found.count; k++)
            if (strcmp(found.states[k].id, ids[i]) == 0)
                keep(&w->plan, asked[i].r, &found.states[k]);
    free(found.states);
    free(ids);
    free(asked);
}
