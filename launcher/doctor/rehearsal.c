/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/doctor/doctor.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>

#include "launcher/host/child.h"
#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "launcher/plan/look.h"
#include "launcher/script/container.h"
#include "launcher/script/template.h"
#include "launcher/submit/attempt.h"
#include "launcher/submit/submission.h"
#include "src/atomicfile.h"
#include "src/clock.h"
#include "src/files.h"

#define TIME_MIN 10  /* the job's time limit, unless a shorter one is set; its work takes seconds */
#define RANKS_S 60   /* that ranks wait for each other, at most */
#define VISIBLE_S 15 /* time until files of other hosts become visible here (NFS) */
#define SHOWN 20     /* lines of the job's output */

struct rehearsal {
    const struct rehearsal_options *options;
    int gpus;
    char study_id[LEDGER_STUDY_ID_SIZE];
    struct run run;
    int lock; /* held until the ranks have ended, which try to take it; -1: none */
    char folder[PATH_MAX - 64];
    /* The job, or the process in the present job, and its state. */
    struct attempt_job job;
    struct scheduler *scheduler;
    char id[SCHEDULER_ID_SIZE], state[448];
    pid_t child;
    /* What it left: by rank its report or JSON's null, or with bandwidth the attempt. */
    json_t *ranks;
    struct run_attempt attempt;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
    interrupted = signal;
}

/* ---- the run ---- */

static int make_folder(const struct plan *p, struct rehearsal *r, struct err *e)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char date[32], path[PATH_MAX];

    clock_date(date);
    if (snprintf(r->folder, sizeof r->folder, "%s/.unetctl/doctor/%s-%d", p->study.dir, date,
                 (int)getpid()) >= (int)sizeof r->folder)
        return err_set(e, ERR_CONFIG, "%s: the path is too long", p->study.dir);
    for (char *s = strrchr(r->folder, '/'); *s; s++)
        *s = *s == ':' ? '.' : *s;
    if (path_make_folder(r->folder, e))
        return err_prefix(e, "doctor");
    path_format(path, "%s/" FACTS_LOCK, r->folder);
    r->lock = files_open(path, O_RDWR | O_CREAT, 0666);
    if (r->lock < 0 || fcntl(r->lock, F_OFD_SETLK, &lock))
        return err_errno(e, ERR_INTERNAL, errno, "%s: cannot be locked", path);
    return 0;
}

/* Writes the program that replaces the trainer: unet-train, in the container of its runs if they
 * have one, or the check of a rank, which runs outside of the container and starts it first. */
static int write_program(const struct plan *p, const struct rehearsal *r, char path[PATH_MAX],
                         struct err *e)
{
    const char *trainer = p->site.trainer, *stage = p->study.data.stage;
    bool measures = r->options->bandwidth, own = strcmp(p->study.engine, "embedded") == 0;
    const char *bindir = paths_bindir(e);
    struct buf b = {0};
    int rc = 0;

    if (!bindir)
        return -1;
    buf_addf(&b, "#!/bin/sh\n# One rank of a rehearsal by `unetctl doctor`.\n%s",
             measures ? "exec " : "");
    if (!measures || own)
        rc = container_add_words(&p->study, &p->site, &b, e);
    if (measures) {
        template_add_sh(&b, " %s", *trainer ? trainer : bindir);
        buf_addf(&b, "%s \"$@\" --bandwidth", *trainer ? "" : "/unet-train");
    } else {
        bool is_tried = container_is_set(&p->study) && !container_is_pyxis(&p->study);
        buf_add(&b, is_tried ? " true || exit\nexec " : "exec ");
        template_add_sh(&b, "%s/unetctl doctor --probe %s", bindir, r->folder);
        if (*stage)
            template_add_sh(&b, " --stage %s", stage);
    }
    buf_add(&b, "\n");
    path_format(path, "%s/probe.sh", r->folder);
    if (rc == 0)
        rc = b.failed ? err_set(e, ERR_INTERNAL, "no memory")
                      : atomicfile_write(path, b.data, b.length, 0777, e);
    buf_destroy(&b);
    return rc;
}

/* Returns the plan of the rehearsal: the study's, but with its own folder, trainer and id, so that
 * its job is not mistaken for that of a run. */
static struct plan borrow_plan(const struct plan *p, const struct rehearsal *r, char *trainer)
{
    struct plan own = *p;

    own.study_id = r->study_id;
    own.nvariants = 0;
    own.study.dir = (char *)r->folder;
    own.study.markers = (struct setting_lines){0};
    own.study.slurm.signal_s = own.study.slurm.requeues = 0;
    own.site.trainer = trainer;
    own.site.templates = "";
    own.study.data.stage = (char *)"";
    own.templates = "";
    if (!container_is_pyxis(&p->study))
        own.study.container = "";
    own.options.hold = false;
    if (!own.options.time_min || own.options.time_min > TIME_MIN)
        own.options.time_min = TIME_MIN;
    own.options.unlimited = false;
    if (!study_has_images(&own.study)) { /* unet-train has these in any run.json */
        own.study.data.dir = (char *)r->folder;
        own.study.data.height = own.study.data.width = 64;
        own.study.train.global_batch = r->gpus;
    }
    if (own.study.train.timeout_s > RANKS_S)
        own.study.train.timeout_s = RANKS_S;
    return own;
}

static int describe_run(const struct plan *p, struct rehearsal *r, struct err *e)
{
    struct plan plan;
    char count[16];

    snprintf(count, sizeof count, "%d", r->gpus);
    if (plan_compute(p, count, 1, &plan, e))
        return -1;
    r->run = plan.runs[0];
    plan_free_runs(&plan);
    r->run.engine = engine_find("embedded", e);
    snprintf(r->run.id, sizeof r->run.id, "doctor-g%02d", r->gpus);
    return r->run.engine ? 0 : -1;
}

/* ---- its job ---- */

/* Submits the job, or starts its script in the present one. */
static int start(struct workspace *w, const struct plan *own, struct rehearsal *r, struct err *e)
{
    const char *const words[] = {"/bin/bash", r->job.script, NULL};
    const struct layout *l = &r->run.layout;
    struct child c = {.argv = words, .group = true};
    char path[PATH_MAX];
    int rc;

    if (attempt_job(own, &r->run, 1, &r->job, e))
        return -1;
    if (r->options->in_allocation) {
        path_format(path, "%s/attempt-1/here.out", r->job.work_dir);
        c.out = c.err = files_open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
        if (c.out < 0)
            return files_error(e, ERR_INTERNAL, errno, "cannot write", path);
        rc = r->child = child_start(&c, e);
        close(c.out);
    } else {
        r->scheduler = workspace_scheduler(w, workspace_kind(w), e);
        rc = !r->scheduler || scheduler_check(r->scheduler, &r->job.job, e) ||
             scheduler_submit(r->scheduler, &r->job.job, r->id, e) ? -1 : 0;
    }
    if (rc < 0)
        return -1;
    log_info("rehearsing %s%s on %d GPU%s, %d node%s, %d rank%s", r->child ? "here" : "as job ",
             r->id, r->gpus, plural(r->gpus), l->nodes, plural(l->nodes), l->tasks,
             plural(l->tasks));
    return 0;
}

/* Returns 1 if the job has ended or is unknown, 0 if not, with its state, or -1. */
static int has_ended(struct rehearsal *r, struct err *e)
{
    struct job_state *jobs;
    size_t n;
    int code;

    snprintf(r->state, sizeof r->state, "it still ran");
    if (r->child)
        return child_has_ended(r->child, &code);
    if (scheduler_query(r->scheduler, r->job.tag, false, &jobs, &n, e))
        return -1;
    /* COMPLETING: the script has ended, but a node cleans up or does not respond. */
    bool ended = n == 0 || jobs[0].phase == PHASE_ENDED || jobs[0].state == STATE_COMPLETING;
    if (n)
        snprintf(r->state, sizeof r->state, "%s%s%s", state_name(jobs[0].state),
                 *jobs[0].reason ? ", " : "", jobs[0].reason);
    free(jobs);
    return ended;
}

/* Waits until the job has ended. If that takes too long or fails, or unetctl is interrupted, the
 * job is ended; the error says what is left to do if that fails, too. */
static int wait_for_end(struct rehearsal *r, struct err *e)
{
    double end = clock_now() + (double)r->options->timeout_s;
    struct err ignored;
    int ended;

    while ((ended = has_ended(r, e)) == 0 && !interrupted && clock_now() < end)
        clock_sleep(r->child ? 0.05 : 1);
    if (ended > 0)
        return 0;
    if (ended == 0 && interrupted)
        err_set(e, ERR_INTERRUPT, "doctor: interrupted");
    else if (ended == 0)
        err_set(e, ERR_TIMEOUT, "doctor: the rehearsal on %d GPU%s did not end within %ld s (%s); "
                "wait longer with --timeout, or choose a partition that is free", r->gpus,
                plural(r->gpus), r->options->timeout_s, r->state);
    if (r->child)
        kill(-r->child, SIGTERM), child_wait(r->child);
    else if (scheduler_cancel(r->scheduler, r->id, &ignored))
        err_prefix(e, "job %s of the rehearsal may still run (end it with 'scancel %s')", r->id,
                   r->id);
    return -1;
}

/* ---- what it left ---- */

/* Reads the reports of the ranks. Returns how many are missing, but 0 if all are; sets e if one is
 * damaged. */
static int read_ranks(struct rehearsal *r, struct err *e)
{
    int missing = 0, nranks = r->run.layout.tasks;
    char path[PATH_MAX];
    struct err why;

    json_decref(r->ranks);
    r->ranks = json_array();
    for (int i = 0; i < nranks; i++) {
        path_format(path, "%s/rank-%d.json", r->folder, i);
        json_t *report = jsonio_read(path, FILES_TEXT_MAX, &why);
        if (!report && access(path, F_OK) == 0)
            *e = why;
        missing += !report;
        json_array_append_new(r->ranks, report ? report : json_null());
    }
    return missing < nranks ? missing : 0;
}

/* Reads the reports, or with bandwidth the attempt. Files written by other hosts may become visible
 * here with a delay. */
static int read_results(struct rehearsal *r, struct err *e)
{
    double end = clock_now() + VISIBLE_S;
    struct run_attempt *a = &r->attempt;

    for (;;) {
        e->code = ERR_OK;
        bool is_missing = r->options->bandwidth
                              ? run_dir_attempt(r->folder, r->run.id, a, e) == 0 &&
                                    a->marker == RUN_NO_MARKER && !a->stopped
                              : read_ranks(r, e) > 0;
        if (!is_missing || clock_now() >= end)
            return e->code ? -1 : 0;
        clock_sleep(0.2);
    }
}

/* Finds the first line of the job's output, that of the ranks and their launcher, that has the word
 * "error", or "", and prints the first lines on standard error if `shown`. */
static void read_output(const struct rehearsal *r, bool shown, char error[512])
{
    char path[PATH_MAX], line[1024];
    struct run_attempt attempt;
    struct err e;
    bool found = run_dir_attempt(r->folder, r->run.id, &attempt, &e) == 0 &&
                 run_dir_output(&attempt, path, &e) == 0;
    FILE *f = found ? files_stream(path, "r", RUN_OUTPUT_MAX) : NULL;

    *error = 0;
    for (int n = 0; f && fgets(line, sizeof line, f); n++) {
        line[strcspn(line, "\n")] = 0;
        if (shown && n < SHOWN)
            log_info("job: %s", line);
        if (!*error && strstr(line, "error"))
            snprintf(error, 512, "%.511s", line);
    }
    if (f)
        fclose(f);
}

static void judge_ranks(const struct plan *p, const struct rehearsal *r, struct findings *f)
{
    bool is_missing = false;
    char error[512];
    json_t *rank;
    size_t i;

    json_array_foreach(r->ranks, i, rank) {
        is_missing |= json_is_null(rank);
        if (!compute_look_applies(&p->study, &p->site))
            json_object_del(rank, "compute");
    }
    read_output(r, false, error);
    if (is_missing && *error)
        findings_add(f, FINDING_ERROR, "launch", "%s\nlook for nodes that do not respond (sinfo -N "
                     "-l), and exclude them (-- --exclude=NODE)", error);
    findings_judge(r->ranks, f);
}

/* Keeps what was measured beside study.yaml, and notes slow nodes. */
static int judge_bandwidth(const struct plan *p, const struct rehearsal *r, struct findings *f,
                           struct err *e)
{
    const char *why = r->attempt.error;
    char error[512];
    json_t *node;
    size_t i;

    if (r->attempt.marker != RUN_DONE) {
        read_output(r, false, error);
        why = *why ? why : *error ? error : "the job ended before the measurement did";
        findings_add(f, FINDING_ERROR, "bandwidth",
                     "nothing was measured: %s\ntype 'unetctl doctor "
                     "--gpus %d', which checks each node", why, r->gpus);
        return 0;
    }
    json_t *measured = bandwidth_read(r->attempt.path, e), *slow = json_array();
    int rc = !measured ? -1
                       : path_write(p->study.dir, BANDWIDTH_FILE,
                                    json_dumps(measured, JSON_COMPACT | JSON_REAL_PRECISION(6)), e);
    if (rc == 0)
        bandwidth_judge(measured, f, slow);
    json_array_foreach(slow, i, node)
        rc = rc ? rc : bad_nodes_note(p->study.dir, json_string_value(node),
                                      "slow (doctor --bandwidth)", e);
    json_decref(slow);
    json_decref(measured);
    return rc;
}

/* ---- the rehearsal as a whole ---- */

/* Returns the number in a variable of Slurm's (4 for "v100:4"), or preset. */
static int slurm_number(const char *name, int preset)
{
    const char *text = getenv(name), *colon = text ? strrchr(text, ':') : NULL;
    int n = text ? atoi(colon ? colon + 1 : text) : 0;

    return n ? n : preset;
}

/* Returns the number of GPUs in text or, if it is NULL, of the job that this process is in: from
 * its GPUs, its tasks, or its number of nodes. Returns -1 if it is in none. */
static int count_gpus(const struct plan *p, const char *text, struct err *e)
{
    int nodes = slurm_number("SLURM_JOB_NUM_NODES", 0), tasks = slurm_number("SLURM_NTASKS", 0);
    int per_node = p->site.gpus_per_node ? (int)p->site.gpus_per_node : 1;
    char *end;
    long n = text ? strtol(text, &end, 10) : 1;

    if (text && (end == text || *end || n < 1 || n > SETTINGS_GPUS_MAX))
        return err_set(e, ERR_USAGE, "doctor: --gpus %s: must be one number of GPUs", text);
    if (!text && !nodes)
        return err_set(e, ERR_USAGE, "doctor: --in-allocation works inside a job (salloc, or a "
                       "batch script); outside, --gpus N submits one");
    return text ? (int)n
                : slurm_number("SLURM_GPUS",
                               tasks ? tasks * slurm_number("SLURM_GPUS_PER_TASK", 1)
                                     : nodes * slurm_number("SLURM_GPUS_PER_NODE", per_node));
}

static int rehearse(struct workspace *w, struct rehearsal *r, struct err *e)
{
    struct sigaction action = {.sa_handler = on_signal}, old[2];
    char trainer[PATH_MAX];

    if (make_folder(&w->plan, r, e) || write_program(&w->plan, r, trainer, e))
        return -1;
    snprintf(r->study_id, sizeof r->study_id, "%08lx%08x", (unsigned long)time(NULL),
             (unsigned)getpid());
    const struct plan own = borrow_plan(&w->plan, r, trainer);
    if (describe_run(&own, r, e) || attempt_write(&own, &r->run, 1, e))
        return -1;
    interrupted = 0;
    sigaction(SIGINT, &action, &old[0]);
    sigaction(SIGTERM, &action, &old[1]);
    int rc = start(w, &own, r, e) || wait_for_end(r, e) || read_results(r, e) ? -1 : 0;
    sigaction(SIGINT, &old[0], NULL);
    sigaction(SIGTERM, &old[1], NULL);
    return rc;
}

int rehearsal_run(struct workspace *w, const struct rehearsal_options *options, struct findings *f,
                  struct err *e)
{
    struct rehearsal r = {.options = options, .lock = -1,
                          .gpus = count_gpus(&w->plan, options->gpus, e)};
    size_t before = findings_count(f, FINDING_ERROR);
    char error[512];

    if (r.gpus < 0)
        return -1;
    if (options->bandwidth && r.gpus == 1)
        return err_set(e, ERR_USAGE, "doctor: --bandwidth measures between GPUs: give --gpus 2 or "
                       "more");
    if (options->bandwidth && strcmp(w->plan.study.engine, "embedded") != 0)
        log_info("engine %s: the links are measured by unet-train, with NCCL between GPUs and MPI "
                 "or shared memory otherwise; its own communication may be faster or slower",
                 w->plan.study.engine);
    int rc = rehearse(w, &r, e);
    if (rc == 0 && options->bandwidth)
        rc = judge_bandwidth(&w->plan, &r, f, e);
    else if (rc == 0)
        judge_ranks(&w->plan, &r, f);
    if (r.lock >= 0)
        close(r.lock);
    if (rc || findings_count(f, FINDING_ERROR) > before) {
        read_output(&r, true, error);
        log_info("the report of each rank is kept in %s", r.folder);
    } else {
        files_remove_tree(r.folder);
    }
    json_decref(r.ranks);
    return rc;
}
