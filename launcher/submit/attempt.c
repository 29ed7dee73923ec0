/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/submit/attempt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/script/script.h"
#include "launcher/script/script_template.h"
#include "launcher/study/run_dir.h"
#include "launcher/submit/run_settings.h"
#include "launcher/submit/source_files.h"
#include "src/files.h"
#include "src/mem.h"

/* ---- the job ---- */

int attempt_job(const struct plan *p, const struct run *run, int attempt, struct attempt_job *dst,
                struct err *e)
{
    const struct study *s = run->study;
    const struct settings_program *section = study_engine(s, run->engine->name);
    bool resumes = !section || section->resumes;
    struct buf output = {0};
    int n;

    ledger_tag(p->study_id, run->id, attempt, dst->tag);
    snprintf(dst->name, sizeof dst->name, "%s-%s", p->study.name, run->id);
    run_dir_path(p->study.dir, run->id, "submit_file.sh", dst->script);
    run_dir_path(p->study.dir, run->id, NULL, dst->work_dir);
    if (strcmp(p->site.scheduler, "slurm") == 0 && strchr(dst->work_dir, '\\'))
        return err_set(e, ERR_CONFIG, "%s: Slurm cannot write the output of a job into a folder "
                       "whose path has a backslash; rename it", dst->work_dir);
    job_add_output(dst->work_dir, &output);
    buf_addf(&output, "/attempt-%d/slurm-%%j.out", attempt);
    n = snprintf(dst->output, sizeof dst->output, "%s", output.failed ? "" : output.data);
    buf_destroy(&output);
    if (n <= 0 || n >= PATH_MAX)
        return err_set(e, ERR_CONFIG, "%s: the path is too long", dst->work_dir);
    dst->job = (struct job){.tag = dst->tag,
                            .name = dst->name,
                            .script = dst->script,
                            .work_dir = dst->work_dir,
                            .output = dst->output,
                            .nodes = run->layout.nodes,
                            .tasks = run->layout.tasks,
                            .gpus_per_task = run->layout.gpus_per_task,
                            .cpus_per_task =
                                (int)s->slurm.cpus_per_gpu * run->layout.gpus_per_task,
                            .signal_s = resumes ? (int)s->slurm.signal_s : 0,
                            .requeues = resumes ? (int)s->slurm.requeues : 0,
                            .gres = strcmp(p->site.gpu_request, "gres") == 0,
                            .gpu_type = p->site.gpu_type,
                            .options = p->options};
    if (same_nodes_find(p, run, dst->nodes))
        dst->job.options.nodelist = dst->nodes;
    n = script_has_directives(p->templates, run->engine, e);
    dst->job.own_directives = n > 0;
    return n < 0 ? -1 : 0;
}

/* ---- run.json ---- */

/* Adds the run's plan as the file `name` in the run's folder. */
static int add_run_json(const struct plan *p, const struct run *run, const char *name,
                        struct atomicfile_batch *files, struct err *e)
{
    char file[PATH_MAX], *text = run_json_encode(p->study_id, run, e);
    struct buf b = {0};
    int rc;

    if (!text)
        return -1;
    run_dir_path(p->study.dir, run->id, name, file);
    buf_addf(&b, "%s\n", text);
    rc = b.failed ? mem_fail(e)
                  : atomicfile_batch_add(files, file, b.data, b.length, 0666, e);
    buf_destroy(&b);
    free(text);
    return rc;
}

/* ---- folders and scripts ---- */

static int make_folder(const char *path, struct err *e)
{
    return files_make_folder(path)
               ? files_error(e, ERR_INTERNAL, errno, "cannot make the folder", path)
               : 0;
}

static int make_link(const struct plan *p, const struct run *run, const char *target,
                     const char *name, struct err *e)
{
    char path[PATH_MAX];

    run_dir_path(p->study.dir, run->id, name, path);
    return files_symlink(target, path) && errno != EEXIST
               ? files_error(e, ERR_INTERNAL, errno, "cannot make the link", path)
               : 0;
}

/* Makes what templates of the reference systems (doc/FORMATS.md, "The reference's templates")
 * expect: folders to copy log.csv to (../../logs, for Horovod ../logs), and the names script.sh
 * and sub_N.sh for the scripts. */
static int make_surroundings(const struct plan *p, const struct run *run, struct err *e)
{
    static const char *const names[] = {"logs", "runs/logs"};
    char path[PATH_MAX], name[32];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", p->study.dir, names[i]);
        if (make_folder(path, e))
            return -1;
    }
    snprintf(name, sizeof name, "sub_%d.sh", run->layout.nodes);
    return make_link(p, run, "run_file.sh", "script.sh", e) ||
                   make_link(p, run, "submit_file.sh", name, e)
               ? -1
               : 0;
}

static int add_script(const struct plan *p, const struct run *run, const char *name,
                      const char *text, struct atomicfile_batch *files, struct err *e)
{
    char path[PATH_MAX];

    run_dir_path(p->study.dir, run->id, name, path);
    return atomicfile_batch_add(files, path, text, strlen(text), 0777, e);
}

static int add_scripts(const struct plan *p, const struct run *run, int attempt,
                       struct atomicfile_batch *files, struct err *e)
{
    char *run_text, *submit_text;
    struct attempt_job job;
    bool tags;

    if (attempt_job(p, run, attempt, &job, e) ||
        script_render(p, run, attempt, &job.job, &run_text, &submit_text, &tags, e))
        return -1;
    int rc = add_script(p, run, "run_file.sh", run_text, files, e) ||
                     add_script(p, run, "submit_file.sh", submit_text, files, e) ||
                     (tags && make_surroundings(p, run, e))
                 ? -1
                 : 0;
    free(run_text);
    free(submit_text);
    return rc;
}

int attempt_check(const struct plan *p, const struct run *run, struct err *e)
{
    char *run_text, *submit_text;
    struct attempt_job job;

    if (attempt_job(p, run, 1, &job, e) ||
        script_render(p, run, 1, &job.job, &run_text, &submit_text, NULL, e))
        return -1;
    free(run_text);
    free(submit_text);
    return 0;
}

/* Adds the attempt's files. */
static int add_attempt(const struct plan *p, const struct run *run, int attempt,
                       struct atomicfile_batch *files, struct err *e)
{
    char path[PATH_MAX], name[48];

    snprintf(name, sizeof name, "attempt-%d", attempt);
    run_dir_path(p->study.dir, run->id, name, path);
    if (make_folder(path, e))
        return -1;
    snprintf(name, sizeof name, "attempt-%d/run.json", attempt);
    if (run->own_plan && add_run_json(p, run, name, files, e))
        return -1;
    return add_scripts(p, run, attempt, files, e) || source_files_add(p, run, files, e) ? -1 : 0;
}

static int add_next(const struct plan *p, const struct run *run, int attempt,
                    struct atomicfile_batch *files, struct err *e)
{
    struct run next = *run;
    struct study own;

    if (run_settings_open(p, run->id, &own, &next.own_plan, e))
        return -1;
    next.study = &own;
    next.own_plan |= run->resized;
    bool anew = run_dir_never_trained(p->study.dir, run->id) && !run->resized;
    int rc = add_attempt(p, &next, attempt, files, e);
    if (rc == 0 && anew)
        rc = add_run_json(p, &next, "run.json", files, e);
    study_close(&own);
    return rc;
}

int attempt_generate(const struct plan *p, const struct run *run, int attempt,
                     struct atomicfile_batch *files, struct err *e)
{
    struct run_attempt newest;
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/runs", p->study.dir);
    if (make_folder(path, e))
        return -1;
    run_dir_path(p->study.dir, run->id, NULL, path);
    if (make_folder(path, e) || run_dir_attempt(p->study.dir, run->id, &newest, e))
        return -1;
    if (newest.begun && newest.number >= attempt)
        return run_settings_compare(p, run, e);
    if (attempt > 1)
        return add_next(p, run, attempt, files, e);
    return add_attempt(p, run, attempt, files, e) || add_run_json(p, run, "run.json", files, e) ? -1
                                                                                                : 0;
}

bool attempt_is_whole(const struct plan *p, const struct run *run, int attempt, struct err *why)
{
    char attempt_name[32], path[PATH_MAX];
    const char *const names[] = {attempt_name, "run_file.sh", "submit_file.sh"};
    struct run ignored;

    snprintf(attempt_name, sizeof attempt_name, "attempt-%d", attempt);
    if (run_dir_read(p->study.dir, run->id, &ignored, NULL, why))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        run_dir_path(p->study.dir, run->id, names[i], path);
        if (access(path, F_OK) != 0) {
            err_errno(why, ERR_DATA, errno, "%s", path);
            return false;
        }
    }
    return true;
}

int attempt_write(const struct plan *p, const struct run *run, int attempt, struct err *e)
{
    struct atomicfile_batch files = {0};
    int rc = attempt_generate(p, run, attempt, &files, e) || atomicfile_batch_commit(&files, e) ? -1
                                                                                                : 0;

    atomicfile_batch_abort(&files);
    return rc;
}
