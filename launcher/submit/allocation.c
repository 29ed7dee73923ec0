/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/submit/submit_internal.h"

#include <sys/stat.h>

#include "launcher/host/path.h"
#include "launcher/plan/cost.h"
#include "launcher/script/template.h"
#include "launcher/status/status.h"
#include "src/files.h"

#define MAX_TEMPLATE (1 << 16)

/* ---- the job ---- */

static void choose_name(const struct plan *p, struct allocation *a)
{
    struct stat st;
    int k = 0;

    do {
        snprintf(a->name, sizeof a->name, ALLOCATION_JOBS_PREFIX "%d", ++k);
        snprintf(a->dir, sizeof a->dir, "%s/.unetctl/%s", p->study.dir, a->name);
    } while (files_stat(a->dir, &st) == 0);
}

static int set_paths(const struct plan *p, struct allocation *a, struct err *e)
{
    struct attempt_job *j = &a->job;
    struct buf output = {0};
    int n;

    snprintf(j->name, sizeof j->name, "%s-%s", p->study.name, a->name);
    ledger_tag(p->study_id, a->name, 1, j->tag);
    n = snprintf(j->script, sizeof j->script, "%s/submit_file.sh", a->dir);
    if (n >= (int)sizeof j->script)
        return err_set(e, ERR_CONFIG, "%s: the path is too long", a->dir);
    snprintf(j->work_dir, sizeof j->work_dir, "%s", p->study.dir);
    job_add_output(a->dir, &output);
    buf_add(&output, "/slurm-%j.out");
    n = snprintf(j->output, sizeof j->output, "%s", output.failed ? "" : output.data);
    buf_destroy(&output);
    return n > 0 && n < (int)sizeof j->output
               ? 0
               : err_set(e, ERR_CONFIG, "%s: the path is too long", a->dir);
}

int allocation_describe(const struct plan *p, const struct run *largest,
                        struct allocation *dst, struct err *e)
{
    struct job *job = &dst->job.job;

    if (attempt_job(p, largest, 1, &dst->job, e))
        return -1;
    choose_name(p, dst);
    if (set_paths(p, dst, e))
        return -1;
    job->tasks = job->nodes * (int)p->site.gpus_per_node;
    job->gpus_per_task = 1;
    if (job->gpu_request == JOB_GPUS_PER_TASK) /* steps may need more per task than the job */
        job->gpu_request = JOB_GPUS_GRES;
    job->cpus_per_task = (int)p->study.slurm.cpus_per_gpu;
    job->own_directives = false;
    return 0;
}

double allocation_gpu_hours(const struct allocation *a, int time_min)
{
    return a->job.job.tasks * time_min / 60.0;
}

/* ---- its folder ---- */

static int by_gpus(const void *a, const void *b)
{
    const struct batch_item *x = a, *y = b;

    return y->run.layout.gpus - x->run.layout.gpus;
}

/* Adds both lists of the script: the runs to start, and the folders of all attempts. */
static int add_lists(const struct batch_item *runs, size_t count, struct buf *waiting,
                     struct buf *all, struct err *e)
{
    struct batch_item *sorted = mem_alloc(count, sizeof *sorted, e);

    if (!sorted)
        return -1;
    memcpy(sorted, runs, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_gpus);
    for (size_t i = 0; i < count; i++) {
        const struct run *run = &sorted[i].run;
        buf_addf(waiting, "%s    \"%d %s %d\"", i ? "\n" : "", run->layout.gpus, run->id,
                 sorted[i].attempt);
        buf_addf(all, "%sruns/%s/attempt-%d", i ? " " : "", run->id, sorted[i].attempt);
    }
    free(sorted);
    return 0;
}

static char *read_template(char path[PATH_MAX], struct err *e)
{
    size_t n;

    return paths_data("templates/allocation.sh", path, PATH_MAX, e)
               ? NULL
               : atomicfile_read(path, MAX_TEMPLATE, &n, e);
}

char *allocation_render(const struct plan *p, const struct allocation *a,
                        const struct batch_item *runs, size_t count, struct err *e)
{
    char path[PATH_MAX], gpus[16], per_node[16], requeues[16], port[64], *rendered = NULL;
    char *text = read_template(path, e), *lines = job_directives(&a->job.job);
    struct buf waiting = {0}, all = {0}, b = {0};
    long bases = 1000; /* the number of ports from which the job's number selects the first */

    snprintf(gpus, sizeof gpus, "%d", a->job.job.tasks);
    snprintf(per_node, sizeof per_node, "%d", p->site.gpus_per_node);
    snprintf(requeues, sizeof requeues, "%d", a->job.job.requeues);
    if (p->site.port_base)
        bases = p->site.port_count - p->site.gpus_per_node * (long)count + 1;
    snprintf(port, sizeof port, "$((%d + SLURM_JOB_ID %% %ld))",
             p->site.port_base ? p->site.port_base : 12000, bases > 1 ? bases : 1);
    if (lines && *lines)
        lines[strlen(lines) - 1] = 0; /* the template has a newline after "directives" */
    if (text && add_lists(runs, count, &waiting, &all, e) == 0) {
        const struct template_value values[] = {
            {"directives", lines ? lines : ""}, {"study", p->study.name},
            {"study_dir", p->study.dir}, {"allocation", a->name}, {"gpus", gpus},
            {"gpus_per_node", per_node}, {"requeues", requeues}, {"port_base", port},
            {"runs", waiting.data}, {"all", all.data}, {0}};
        bool whole = lines && !waiting.failed && !all.failed, used[TEMPLATE_VALUES_MAX];
        if (!whole || (template_expand(path, text, false, values, used, &b, e) == 0 &&
                       !(rendered = buf_steal(&b))))
            mem_fail(e);
    }
    buf_destroy(&waiting);
    buf_destroy(&all);
    buf_destroy(&b);
    free(lines);
    free(text);
    return rendered;
}

int allocation_write(const struct plan *p, const struct allocation *a,
                     const struct batch_item *runs, size_t count, struct err *e)
{
    char *script = allocation_render(p, a, runs, count, e), list_path[PATH_MAX + 8];
    struct atomicfile_batch files = {0};
    struct buf list = {0};
    int rc = script ? 0 : -1;

    for (size_t i = 0; i < count; i++)
        buf_addf(&list, "%s %d\n", runs[i].run.id, runs[i].attempt);
    snprintf(list_path, sizeof list_path, "%s/runs", a->dir);
    if (rc == 0 && list.failed)
        rc = mem_fail(e);
    if (rc == 0 && files_mkdir(a->dir))
        rc = files_error(e, ERR_INTERNAL, errno, "cannot make the folder", a->dir);
    if (rc == 0)
        rc = atomicfile_batch_add(&files, list_path, list.data, list.length, 0666, e) ||
                     atomicfile_batch_add(&files, a->job.script, script, strlen(script), 0777, e)
                 ? -1
                 : atomicfile_batch_commit(&files, e);
    atomicfile_batch_abort(&files);
    buf_destroy(&list);
    free(script);
    return rc;
}
