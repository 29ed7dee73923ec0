/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/doctor/rehearsal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launcher/doctor/probe.h"
#include "launcher/host/child.h"
#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "launcher/script/container.h"
#include "launcher/script/template.h"
#include "launcher/submit/attempt.h"
#include "src/atomicfile.h"
#include "src/clock.h"
#include "src/files.h"
#include "src/format/schema.h"
#include "src/host/paths.h"
#include "src/log.h"
#include "src/plural.h"

/* The time limit of the job in minutes, unless the options have a shorter one; its work takes
 * seconds. */
#define TIME_MIN 10
#define POLL_S 1
#define RANKS_S 60 /* that ranks wait for each other, at most */
#define VISIBLE_S 15     /* time until files of other hosts become visible here (NFS) */

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
    interrupted = signal;
}

static void catch_signals(struct sigaction old[2])
{
    struct sigaction action = {.sa_handler = on_signal};

    interrupted = 0;
    sigaction(SIGINT, &action, &old[0]);
    sigaction(SIGTERM, &action, &old[1]);
}

static int make_folder(const struct workspace *w, struct rehearsal *r, struct err *e)
{
    char date[32], path[PATH_MAX];

    clock_date(date);
    if (snprintf(r->folder, sizeof r->folder, "%s/.unetctl/doctor/%s-%d", w->study.dir, date,
                 (int)getpid()) >= (int)sizeof r->folder)
        return err_set(e, ERR_CONFIG, "%s: the path is too long", w->study.dir);
    for (char *s = strrchr(r->folder, '/'); *s; s++)
        if (*s == ':')
            *s = '.';
    snprintf(path, sizeof path, "%s/" PROBE_LOCK, r->folder);
    if (path_make_folder(r->folder, e))
        return err_prefix(e, "doctor");
    return atomicfile_write(path, "", 0, 0666, e);
}

/* Adds unet-train, in the container of its runs if they have one. */
static int add_measurement(const struct workspace *w, const char *bindir, struct buf *b,
                           struct err *e)
{
    buf_add(b, "exec ");
    if (strcmp(w->study.engine, "embedded") == 0 && container_add_words(w, b, e))
        return -1;
    template_add_sh(b, " %s", *w->site.trainer ? w->site.trainer : bindir);
    buf_addf(b, "%s \"$@\" --bandwidth", *w->site.trainer ? "" : "/unet-train");
    return 0;
}

/* Adds the check of a rank. It runs outside of the container, which it starts first. */
static int add_probe(const struct workspace *w, const struct rehearsal *r, const char *bindir,
                     struct buf *b, struct err *e)
{
    if (container_add_words(w, b, e))
        return -1;
    buf_add(b, container_is_set(w) && !container_is_pyxis(w) ? " true || exit\nexec " : "exec ");
    template_add_sh(b, "%s/unetctl doctor --probe %s", bindir, r->folder);
    if (*w->study.data.stage)
        template_add_sh(b, " --stage %s", w->study.data.stage);
    return 0;
}

/* Writes the program that replaces the trainer. */
static int write_probe(const struct workspace *w, const struct rehearsal *r, char path[PATH_MAX],
                       struct err *e)
{
    char bindir[PATH_MAX - 16];
    struct buf b = {0};
    int rc;

    if (paths_bindir(bindir, sizeof bindir))
        return err_set(e, ERR_INTERNAL,
                       "the folder of this program was not found (is /proc mounted?)");
    snprintf(path, PATH_MAX, "%s/probe.sh", r->folder);
    buf_add(&b, "#!/bin/sh\n# One rank of a rehearsal by `unetctl doctor`.\n");
    if (r->bandwidth ? add_measurement(w, bindir, &b, e) : add_probe(w, r, bindir, &b, e)) {
        buf_destroy(&b);
        return -1;
    }
    buf_add(&b, "\n");
    rc = b.failed ? err_set(e, ERR_INTERNAL, "no memory") : atomicfile_write(path, b.data, b.length,
                                                                             0777, e);
    buf_destroy(&b);
    return rc;
}

/* Makes the workspace of the rehearsal: the study's, but with its own folder, trainer and id, so
 * that its job is not mistaken for that of a run. It is a shallow copy that is never closed. */
static void borrow_workspace(const struct workspace *w, const struct rehearsal *r, char *trainer,
                             struct workspace *dst)
{
    *dst = *w;
    dst->study.dir = (char *)r->folder;
    dst->study.markers = (struct setting_lines){0};
    dst->study.slurm.signal_s = dst->study.slurm.requeues = 0;
    dst->site.trainer = trainer;
    dst->site.templates = "";
    dst->study.data.stage = (char *)"";
    dst->templates = "";
    if (!container_is_pyxis(w))
        dst->study.container = "";
    dst->options.hold = false;
    if (!dst->options.time_min || dst->options.time_min > TIME_MIN)
        dst->options.time_min = TIME_MIN;
    if (!study_has_images(&dst->study)) { /* unet-train has a size and a folder in any run.json */
        dst->study.data.dir = (char *)r->folder;
        dst->study.data.height = dst->study.data.width = 64;
    }
    if (dst->study.train.timeout_s > RANKS_S)
        dst->study.train.timeout_s = RANKS_S;
    snprintf(dst->ledger.study_id, sizeof dst->ledger.study_id, "%08lx%08x",
             (unsigned long)time(NULL), (unsigned)getpid());
}

static int describe_rehearsal(const struct workspace *w, int gpus, struct run *dst, struct err *e)
{
    struct run_plan plan;
    char count[16];

    snprintf(count, sizeof count, "%d", gpus);
    if (run_plan_compute(&w->study, &w->site, count, 1, &plan, e))
        return -1;
    *dst = plan.runs[0];
    run_plan_destroy(&plan);
    dst->engine = engine_find("embedded", e);
    snprintf(dst->id, sizeof dst->id, "doctor-g%02d", gpus);
    return dst->engine ? 0 : -1;
}

/* Takes the lock that the ranks will try to take. */
static int hold_lock(const struct rehearsal *r, struct err *e)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof path, "%s/" PROBE_LOCK, r->folder);
    fd = files_open(path, O_RDWR, 0);
    if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock)) {
        err_errno(e, ERR_INTERNAL, errno, "%s: cannot be locked", path);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

static int report_timeout(const struct rehearsal *r, const char *state, struct err *e)
{
    if (interrupted)
        return err_set(e, ERR_INTERRUPT, "doctor: interrupted");
    return err_set(e, ERR_TIMEOUT, "doctor: the rehearsal on %d GPU%s did not end within %ld s "
                   "(%s); wait longer with --timeout, or choose a partition that is free", r->gpus,
                   plural(r->gpus), r->timeout_s, state);
}

/* Cancels a job whose end cannot be waited for. The error, which e has, gets what is left to do if
 * that fails. Returns -1. */
static int give_up(struct scheduler *s, const char *id, struct err *e)
{
    struct err ignored;

    return scheduler_cancel(s, id, &ignored) == 0
               ? -1
               : err_prefix(e, "job %s of the rehearsal may still run (end it with 'scancel %s')",
                            id, id);
}

/* Waits until the job has ended or is unknown. If that takes too long or fails, or unetctl is
 * interrupted, the job is cancelled. */
static int wait_for_job(struct scheduler *s, const struct rehearsal *r, const char *tag,
                        const char *id, struct err *e)
{
    double end = clock_now() + (double)r->timeout_s;
    struct job_state *jobs;
    char state[448] = "PENDING";
    size_t n;

    for (;;) {
        if (scheduler_query(s, tag, false, &jobs, &n, e))
            return give_up(s, id, e);
        /* COMPLETING: the script has ended, but a node cleans up or does not respond. */
        bool ended = n == 0 || jobs[0].phase == PHASE_ENDED || jobs[0].state == STATE_COMPLETING;
        if (n)
            snprintf(state, sizeof state, "%s%s%s", state_name(jobs[0].state),
                     *jobs[0].reason ? ", " : "", jobs[0].reason);
        free(jobs);
        if (ended)
            return 0;
        if (interrupted || clock_now() >= end) {
            report_timeout(r, state, e);
            return give_up(s, id, e);
        }
        clock_sleep(POLL_S);
    }
}

static int run_as_job(struct workspace *w, const struct rehearsal *r, const struct run *run,
                      struct err *e)
{
    struct scheduler *s = workspace_scheduler(w, w->scheduler, e);
    char id[SCHEDULER_ID_SIZE];
    struct attempt_job job;

    if (!s || attempt_job(w, run, 1, &job, e) || scheduler_check(s, &job.job, e) ||
        scheduler_submit(s, &job.job, id, e))
        return -1;
    log_info("rehearsing as job %s on %d GPU%s, %d node%s, %d rank%s", id, r->gpus, plural(r->gpus),
             run->layout.nodes, plural(run->layout.nodes), run->layout.tasks,
             plural(run->layout.tasks));
    return wait_for_job(s, r, job.tag, id, e);
}

static pid_t start_script(const struct attempt_job *job, struct err *e)
{
    const char *const words[] = {"/bin/bash", job->script, NULL};
    char path[PATH_MAX + 32];

    snprintf(path, sizeof path, "%s/attempt-1/here.out", job->work_dir);
    int out = files_open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    struct child c = {.argv = words, .out = out < 0 ? CHILD_KEEP : out,
                      .err = out < 0 ? CHILD_KEEP : out, .group = true};
    pid_t child = child_start(&c, e);
    if (out >= 0)
        close(out);
    return child;
}

static int run_here(const struct workspace *w, const struct rehearsal *r, const struct run *run,
                    struct err *e)
{
    double end = clock_now() + (double)r->timeout_s;
    struct attempt_job job;
    int code;

    if (attempt_job(w, run, 1, &job, e))
        return -1;
    log_info("rehearsing here on %d GPU%s, %d node%s, %d rank%s", r->gpus, plural(r->gpus),
             run->layout.nodes,
             plural(run->layout.nodes), run->layout.tasks, plural(run->layout.tasks));
    pid_t child = start_script(&job, e);
    if (child < 0)
        return -1;
    while (!child_has_ended(child, &code)) {
        if (interrupted || clock_now() >= end) {
            kill(-child, SIGTERM);
            child_wait(child);
            return report_timeout(r, "it still ran", e);
        }
        clock_sleep(0.05);
    }
    return 0;
}

/* Returns a rank's report, JSON's null if there is none yet, or NULL if it has another schema. */
static json_t *read_rank(const struct rehearsal *r, int index, struct err *e)
{
    char path[PATH_MAX];
    struct err ignored;
    json_t *facts;

    snprintf(path, sizeof path, "%s/rank-%d.json", r->folder, index);
    facts = jsonio_read(path, FILES_TEXT_MAX, &ignored);
    if (!facts)
        return json_null();
    if (schema_check(json_number_value(json_object_get(facts, "schema")), ERR_DATA, e) == 0)
        return facts;
    err_prefix(e, "%s", path);
    json_decref(facts);
    return NULL;
}

/* Reads the reports of the ranks to r->ranks; a missing one is null. Files written by other hosts
 * may become visible here with a delay, which is waited for if some report exists. */
static int read_ranks(struct rehearsal *r, int nranks, struct err *e)
{
    double end = clock_now() + VISIBLE_S;
    int missing;

    do {
        json_decref(r->ranks);
        r->ranks = json_array();
        missing = 0;
        for (int i = 0; i < nranks; i++) {
            json_t *facts = read_rank(r, i, e);
            if (!facts)
                return -1;
            missing += json_is_null(facts);
            json_array_append_new(r->ranks, facts);
        }
        if (missing)
            clock_sleep(0.2);
    } while (missing && missing < nranks && clock_now() < end);
    return 0;
}

/* Reads the attempt once its marker is visible here. */
static int read_attempt(struct rehearsal *r, const char *run, struct err *e)
{
    double end = clock_now() + VISIBLE_S;

    for (;;) {
        if (run_dir_attempt(r->folder, run, &r->attempt, e))
            return -1;
        if (r->attempt.marker != RUN_NO_MARKER || r->attempt.stopped || clock_now() >= end)
            return 0;
        clock_sleep(0.2);
    }
}

static int rehearse(struct workspace *w, struct rehearsal *r, struct err *e)
{
    char trainer[PATH_MAX];
    struct sigaction old[2];
    struct workspace own;
    struct run run;
    int lock, rc;

    if (write_probe(w, r, trainer, e))
        return -1;
    borrow_workspace(w, r, trainer, &own);
    if (describe_rehearsal(&own, r->gpus, &run, e) || attempt_write(&own, &run, 1, e))
        return -1;
    lock = hold_lock(r, e);
    if (lock < 0)
        return -1;
    catch_signals(old);
    rc = r->in_allocation ? run_here(&own, r, &run, e) : run_as_job(&own, r, &run, e);
    /* schedulers that were opened meanwhile are closed with w */
    memcpy(w->open, own.open, sizeof w->open);
    if (rc == 0)
        rc = r->bandwidth ? read_attempt(r, run.id, e) : read_ranks(r, run.layout.tasks, e);
    sigaction(SIGINT, &old[0], NULL);
    sigaction(SIGTERM, &old[1], NULL);
    close(lock);
    return rc;
}

int rehearsal_run(struct workspace *w, struct rehearsal *r, struct err *e)
{
    r->ranks = NULL;
    return make_folder(w, r, e) || rehearse(w, r, e) ? -1 : 0;
}

void rehearsal_close(struct rehearsal *r, bool keep)
{
    json_decref(r->ranks);
    r->ranks = NULL;
    if (!keep && *r->folder)
        files_remove_tree(r->folder);
}

static FILE *open_output(const struct rehearsal *r)
{
    struct run_attempt attempt;
    char id[RUN_ID_SIZE], path[PATH_MAX];
    struct err e;

    snprintf(id, sizeof id, "doctor-g%02d", r->gpus);
    if (run_dir_attempt(r->folder, id, &attempt, &e) || run_dir_output(&attempt, path, &e))
        return NULL;
    return files_stream(path, "r", RUN_OUTPUT_MAX);
}

bool rehearsal_find_error(const struct rehearsal *r, char dst[512])
{
    FILE *f = open_output(r);
    bool found = false;

    while (f && !found && fgets(dst, 512, f))
        found = strstr(dst, "error") != NULL;
    dst[found ? strcspn(dst, "\n") : 0] = 0;
    if (f)
        fclose(f);
    return found;
}

void rehearsal_show_output(const struct rehearsal *r)
{
    FILE *f = open_output(r);
    char line[1024];

    for (int n = 0; f && n < 20 && fgets(line, sizeof line, f); n++) {
        line[strcspn(line, "\n")] = 0;
        log_info("job: %s", line);
    }
    if (f)
        fclose(f);
}

int rehearsal_probe(const char *folder, const char *stage, struct err *e)
{
    struct err ignored;
    json_t *run = jsonio_read("run.json", FILES_TEXT_MAX, &ignored);
    const char *data = json_string_value(json_object_get(json_object_get(run, "data"), "dir"));
    const json_t *backend = json_object_get(json_object_get(run, "train"), "backend");
    char path[PATH_MAX];
    if (data && strcmp(data, folder) == 0) /* of a study without images (borrow_workspace) */
        data = NULL;
    int rc = run ? probe_run(folder, data, stage, json_string_value(backend), e)
                 : err_set(e, ERR_CONFIG,
                           "--probe: the current folder has no run.json of a rehearsal");

    json_decref(run);
    snprintf(path, sizeof path, "%s/rank-0.json", folder);
    if (rc == 0 && access(path, F_OK) == 0) /* without it submit_file.sh writes FAILED */
        rc = atomicfile_write("attempt-1/DONE", "{\"schema\":1}\n", 13, 0666, e);
    return rc;
}
