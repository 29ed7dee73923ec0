/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "launcher/doctor/facts.h"
#include "launcher/doctor/findings.h"
#include "launcher/doctor/diagnosis.h"
#include "launcher/doctor/imports.h"
#include "launcher/doctor/probe.h"
#include "launcher/doctor/rehearsal.h"
#include "launcher/doctor/rights.h"
#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "launcher/plan/compute_look.h"
#include "launcher/plan/data_look.h"
#include "launcher/plan/run_cost.h"
#include "launcher/sandbox/sandbox.h"
#include "launcher/scheduler/command_text.h"
#include "launcher/study/effect.h"
#include "launcher/submit/attempt.h"
#include "src/atomicfile.h"
#include "src/log.h"
#include "src/plural.h"

#define DEFAULT_TIMEOUT_S 600
#define MAX_DOCUMENT (1 << 20)
#define SERVER_CLOCK_S 5.0

static struct workspace_args args;
static bool as_json, in_allocation;
static const char *probe_folder;
static long timeout_s;

static const struct cli_option options[] = {
    {"gpus", 'g', CLI_STRING | CLI_TYPED, "N",
     "rehearse on N GPUs as well: a job in which every rank checks its node", &args.gpus, 0, 0},
    {"in-allocation", 0, CLI_FLAG, NULL,
     "rehearse on the nodes of the present job, such as one of salloc", &in_allocation, 0, 0},
    {"timeout", 0, CLI_INT, "SECONDS",
     "give up the rehearsal after this time (exit 6; default: 600)", &timeout_s, 1, 1e9},
    {"json", 0, CLI_FLAG, NULL, "print JSON instead of a table", &as_json, 0, 0},
    {"engine", 0, CLI_STRING | CLI_TYPED, "NAME",
     "check for this engine, such as pytorch (default: the study's)", &args.engine, 0, 0},
    WORKSPACE_OPTION_SET(args),
    WORKSPACE_OPTION_SITE(args),
    WORKSPACE_OPTION_SCHEDULER(args),
    WORKSPACE_OPTION_STUDY(args),
    {"probe", 0, CLI_STRING, "DIR", "check this rank and write to DIR (rehearsals start this)",
     &probe_folder, 0, 0},
    {0},
};

/* ---- this host ---- */

static void check_own_name(const json_t *facts, struct findings *f)
{
    const char *host = json_string_value(json_object_get(facts, "host"));
    struct addrinfo *found = NULL;
    int rc = getaddrinfo(host, NULL, NULL, &found);

    if (rc) {
        findings_add(f, FINDING_WARNING, "names", "this host's own name, %s, does not resolve: %s",
                     host, gai_strerror(rc));
        findings_remedy(f, "add it to /etc/hosts, or ask the administrators of DNS");
    } else {
        freeaddrinfo(found);
        findings_add(f, FINDING_OK, "names", "this host's own name, %s, resolves", host);
    }
}

static void check_programs(const json_t *facts, struct findings *f)
{
    const json_t *versions = json_object_get(facts, "versions");
    const char *trainer = json_string_value(json_object_get(versions, "unet-train"));
    const char *own = json_string_value(json_object_get(versions, "unetctl"));

    if (!trainer || strncmp(trainer, "missing", 7) == 0 || strncmp(trainer, "cannot", 6) == 0) {
        findings_add(f, FINDING_ERROR, "versions", "unet-train: %s", trainer ? trainer : "missing");
        findings_remedy(f, "install it beside unetctl: make install");
    } else {
        findings_add(f, FINDING_OK, "versions", "unetctl %s, unet-train %s", own ? own : "?",
                     trainer);
    }
}

static void check_host(struct findings *f)
{
    json_t *facts = facts_collect(NULL), *list = json_array();

    json_array_append(list, facts);
    check_own_name(facts, f);
    check_programs(facts, f);
    diagnosis_of_hosts(list, 1, f);
    json_decref(list);
    json_decref(facts);
}

/* ---- the study's folder ---- */

/* Returns the name of the file system of dir if it is of a kind that only this host can see,
 * otherwise NULL. */
static const char *local_file_system(const char *dir)
{
    static const struct {
        unsigned long type;
        const char *name;
    } known[] = {{0x01021994, "tmpfs"}, {0x858458f6, "ramfs"}, {0x794c7630, "overlay"},
                 {0xef53, "ext4"},      {0x58465342, "xfs"},   {0x9123683e, "btrfs"}};
    struct statfs fs;

    if (statfs(dir, &fs))
        return NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((unsigned long)fs.f_type == known[i].type)
            return known[i].name;
    return NULL;
}

static void check_space(const struct workspace *w, struct findings *f)
{
    struct model_look model;
    struct statvfs fs;
    struct err ignored;

    if (statvfs(w->study.dir, &fs))
        return;
    (void)model_look_open(&w->study, false, &model, &ignored);
    double need = (double)run_cost_disk(&w->study, &model, w->options.time_min);
    double left = (double)fs.f_bavail * (double)fs.f_frsize;
    if (left < need || (fs.f_files && fs.f_favail < 100)) {
        findings_add(f, FINDING_ERROR, "space",
                     "%s: %.1f MiB and %lu files left, but one run writes up to %.1f MiB",
                     w->study.dir, left / 1048576, (unsigned long)fs.f_favail, need / 1048576);
        findings_remedy(f, "make room (df -h %s), or move the study", w->study.dir);
    } else {
        findings_add(f, FINDING_OK, "space", "%.1f GiB left for runs of up to %.1f MiB",
                     left / (1 << 30), need / 1048576);
    }
}

/* Checks that locks work. If two processes could hold one lock, a job might be submitted twice. */
static void check_lock(const char *path, int fd, struct findings *f)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int other = open(path, O_RDWR | O_CLOEXEC);
    int first = fcntl(fd, F_OFD_SETLK, &lock), reason = errno;
    int second = other < 0 || first ? -1 : fcntl(other, F_OFD_SETLK, &lock);

    if (first) {
        findings_add(f, FINDING_ERROR, "lock", "%s: cannot be locked: %s", path, strerror(reason));
        findings_remedy(f, "move the study to a file system with locks (NFS without nolock, Lustre "
                        "with flock)");
    } else if (second == 0) {
        findings_add(f, FINDING_ERROR, "lock", "%s: the file system grants one lock to two holders",
                     path);
        findings_remedy(f, "move the study to another file system");
    } else {
        findings_add(f, FINDING_OK, "lock", "the study can be locked");
    }
    if (other >= 0)
        close(other);
}

/* Compares this host's clock with the file server's, by the time of a file that was just
 * written. */
static void check_server_clock(int fd, struct findings *f)
{
    struct stat st;
    double skew;

    if (write(fd, "x", 1) != 1 || fstat(fd, &st))
        return;
    skew = difftime(st.st_mtime, time(NULL));
    if (fabs(skew) <= SERVER_CLOCK_S)
        return;
    findings_add(f, FINDING_WARNING, "clocks", "the file server's clock is %.0f s %s this host's",
                 fabs(skew), skew > 0 ? "ahead of" : "behind");
    findings_remedy(f, "ask the administrators to run chrony or ntpd on this host and the file "
                       "server");
}

/* Warns of what other users could change: its commands are executed. */
static void check_rights(const struct workspace *w, struct findings *f)
{
    char ledger[PATH_MAX], submit_file[PATH_MAX], run_file[PATH_MAX];
    bool own_site = strchr(w->site.name, '/'); /* others are installed as this program is */
    const char *paths[] = {
        w->study.dir, w->study.file, w->ledger.dir,
        path_format(ledger, "%s/ledger.jsonl", w->ledger.dir), own_site ? w->site.file : "",
        w->templates, path_format(submit_file, "%s/submit_file.sh", w->templates),
        path_format(run_file, "%s/run_file.sh", w->templates)};
    struct rights_writer writer;
    char last[PATH_MAX] = "";

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!*paths[i] || (i > 5 && !*w->templates) || !rights_find_writer(paths[i], &writer) ||
            strcmp(writer.path, last) == 0)
            continue;
        strcpy(last, writer.path);
        findings_add(f, FINDING_WARNING, "rights", "%s may write %s, and so start commands as you",
                     writer.who, writer.path);
        findings_remedy(f, "if that is not meant: chmod go-w %s, or copy it to a folder of your "
                           "own", writer.path);
    }
    if (!*last)
        findings_add(f, FINDING_OK, "rights", "only you may write the study, its site and "
                     "templates");
}

static void check_folder(const struct workspace *w, struct findings *f)
{
    const char *local = local_file_system(w->study.dir);
    bool cluster = strcmp(w->scheduler, "slurm") == 0 && !w->site.sandbox;
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof path, "%s/.doctor.%d", w->study.dir, (int)getpid());
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        findings_add(f, FINDING_ERROR, "study", "%s: cannot be written: %s", w->study.dir,
                     strerror(errno));
        findings_remedy(f, "chmod u+w %s, or make room there", w->study.dir);
        return;
    }
    if (local && cluster) {
        findings_add(f, FINDING_WARNING, "study", "%s is on %s, which other hosts may not see",
                     w->study.dir, local);
        findings_remedy(f, "put studies on the cluster's shared file system ('unetctl doctor "
                           "--gpus "
                        "N' checks that)");
    } else {
        findings_add(f, FINDING_OK, "study", "%s can be written", w->study.dir);
    }
    check_lock(path, fd, f);
    check_server_clock(fd, f);
    close(fd);
    unlink(path);
    check_space(w, f);
}

static void check_data(const struct workspace *w, struct findings *f)
{
    struct data_place place = data_look_place(&w->study);
    struct data_look look;
    char split[PATH_MAX];
    struct err e;

    snprintf(split, sizeof split, "%s/split.json", w->study.dir);
    bool refused = data_look_count(&place, &look, &e) != 0;
    /* Which folder holds the masks is decided once the split is made. */
    if (refused && e.code == ERR_CONFIG && access(split, F_OK) == 0)
        return;
    if (refused) {
        findings_add(f, FINDING_ERROR, "data", "%s", e.text);
        findings_remedy(f, "name the folder with images/ and masks/, or with images of one class "
                        "each, in data.dir of %s", w->study.file);
    } else if (look.images == 0 || look.unpaired) {
        findings_add(f, look.images ? FINDING_WARNING : FINDING_ERROR, "data",
                     "%s: %zu images, %zu masks, %zu without a counterpart%s%s", w->study.data.dir,
                     look.images,
                     look.masks, look.unpaired, look.unpaired ? ", such as " : "", look.odd);
        findings_remedy(f, "give every image a mask of the same name ('unetctl data check FILES' "
                           "lists "
                        "the others)");
    } else if (data_look_complaint(&look, &w->study)) {
        findings_add(f, look.meaning == DATA_ONE_CLASS ? FINDING_WARNING : FINDING_ERROR, "data",
                     "%s: %s", w->study.data.dir, data_look_complaint(&look, &w->study));
        findings_remedy(f, "type 'unetctl data stats --data %s', and set data.* in %s",
                        w->study.data.dir, w->study.file);
    } else if (*look.trouble) {
        findings_add(f, FINDING_ERROR, "data", "%s", look.trouble);
        findings_remedy(f, "type 'unetctl data check %s' for details", w->study.data.dir);
    } else {
        findings_add(f, FINDING_OK, "data", "%zu images with %s in %s", look.images,
                     look.classes ? "classes" : "masks", w->study.data.dir);
    }
}

/* ---- what runs compute on ---- */

static void check_compute(const struct workspace *w, struct findings *f)
{
    struct compute_look look;

    compute_look_open(&w->study, &w->site, &look);
    if (*look.problem) {
        findings_add(f, look.fatal ? FINDING_ERROR : FINDING_WARNING, "backend", "%s",
                     look.problem);
        if (*look.remedy)
            findings_remedy(f, "%s", look.remedy);
    } else if (*look.text) {
        findings_add(f, FINDING_OK, "backend", "the runs compute on %s", look.text);
    }
}

/* ---- the scheduler ---- */

static void check_partition(const struct workspace *w, struct scheduler *s, struct findings *f)
{
    struct scheduler_partition p;
    struct err e;

    if (scheduler_partition(s, w->options.partition, &p, &e)) {
        findings_add(f, FINDING_ERROR, "partition", "%s", e.text);
        findings_remedy(f, "set slurm.partition in %s to one of these", w->study.file);
    } else if (*p.unknown) {
        findings_add(f, FINDING_OK, "partition", "%s: unknown: %s; Slurm decides whether a run fits",
                     p.name, p.unknown);
    } else if (p.nodes && p.gpus_per_node < w->site.gpus_per_node) {
        findings_add(f, FINDING_ERROR, "gres", "site %s plans %d GPUs per node, but the nodes of "
                     "partition %s have %d", w->site.name, w->site.gpus_per_node, p.name,
                     p.gpus_per_node);
        findings_remedy(f, p.gpus_per_node ? "set gpus_per_node: %2$d in %1$s, or choose another "
                        "partition"
                                           : "choose a partition with GPUs (sinfo -o '%%P %%G'), "
                                           "or correct %s",
                        w->site.file, p.gpus_per_node);
    } else {
        findings_add(f, FINDING_OK, "partition", "%s: %d node%s, %d GPU%s on each", p.name, p.nodes,
                     plural(p.nodes), p.gpus_per_node, plural(p.gpus_per_node));
    }
}

/* Checks that srun supports the launcher's --mpi. pmix is not checked in a sandbox (a private
 * Slurm on this machine), where mpirun starts the ranks if srun lacks it. */
static void check_launcher(const struct workspace *w, struct findings *f)
{
    char *argv[] = {"sh", "-c", "exec srun --mpi=list 2>&1", NULL};
    struct buf list = {0};

    if (w->site.sandbox && strstr(w->site.launcher, "--mpi=pmix "))
        return;
    command_text(argv, w->site.sandbox, &list);
    diagnosis_of_launcher(w->site.launcher, list.data, w->site.file, f);
    buf_destroy(&list);
}

/* Checks account, QOS, constraint and limits by a forecast of a run on 1 GPU, since only Slurm
 * knows them. */
static void check_job(const struct workspace *w, struct scheduler *s, struct findings *f)
{
    struct scheduler_forecast forecast;
    struct attempt_job job;
    struct run_plan plan;
    struct err e;

    if (run_plan_compute(&w->study, &w->site, "1", 1, &plan, &e) ||
        attempt_job(w, &plan.runs[0], 1, &job, &e)) {
        findings_add(f, FINDING_ERROR, "job", "%s", e.text);
        findings_remedy(f, "type 'unetctl plan --gpus 1' for details");
        return;
    }
    job.job.script = NULL;
    if (scheduler_forecast(s, &job.job, &forecast, &e)) {
        findings_add(f, FINDING_ERROR, "job", "a run on 1 GPU would be refused: %s", e.text);
        findings_remedy(f, "type 'unetctl config --origin slurm' for account, qos, constraint and "
                           "time");
    } else {
        findings_add(f, FINDING_OK, "job", "a run on 1 GPU would be accepted%s%s",
                     *forecast.nodes ? ", now on " : "", forecast.nodes);
    }
    run_plan_destroy(&plan);
}

static void check_scheduler(struct workspace *w, struct findings *f)
{
    struct scheduler *s;
    struct job_state *jobs = NULL;
    struct sandbox sandbox;
    size_t njobs;
    struct err e;

    s = workspace_scheduler(w, w->scheduler, &e);
    /* only to see whether it answers */
    int rc = s ? scheduler_query(s, "unetctl:", false, &jobs, &njobs, &e) : -1;
    free(jobs);
    if (rc) {
        findings_add(f, FINDING_ERROR, "scheduler", "%s", e.text);
        bool is_up = w->site.sandbox && sandbox_find(NULL, &sandbox, &e) == 0;
        findings_remedy(f, is_up ? "its Slurm has failed: type 'unetctl sandbox down', then "
                        "'unetctl sandbox up'"
                           : w->site.sandbox ? "type 'unetctl sandbox up'"
                                             : "use a login node (where sinfo works), or "
                                             "--scheduler local");
        return;
    }
    findings_add(f, FINDING_OK, "scheduler", "%s answers", w->scheduler);
    if (strcmp(w->scheduler, "slurm") == 0) {
        check_partition(w, s, f);
        check_job(w, s, f);
        check_launcher(w, f);
    }
}

/* ---- the rehearsal: a job in which every rank checks its node ---- */

/* Returns the number in a variable of Slurm's (4 for "v100:4"), or 0. */
static int slurm_number(const char *name)
{
    const char *text = getenv(name), *colon = text ? strrchr(text, ':') : NULL;

    return text ? atoi(colon ? colon + 1 : text) : 0;
}

/* Returns the number of GPUs of the job that this process is in: from its GPUs, its tasks, or its
 * number of nodes. Returns -1 if it is in none. */
static int gpus_here(const struct workspace *w, struct err *e)
{
    int nodes = slurm_number("SLURM_JOB_NUM_NODES"), tasks = slurm_number("SLURM_NTASKS");
    int per_task = slurm_number("SLURM_GPUS_PER_TASK"),
        per_node = slurm_number("SLURM_GPUS_PER_NODE");

    if (!nodes)
        return err_set(e, ERR_USAGE, "doctor: --in-allocation works inside a job (salloc, or a "
                       "batch script); outside, --gpus N submits one");
    if (slurm_number("SLURM_GPUS"))
        return slurm_number("SLURM_GPUS");
    if (tasks)
        return tasks * (per_task ? per_task : 1);
    return nodes * (per_node ? per_node : w->site.gpus_per_node ? (int)w->site.gpus_per_node : 1);
}

static int decode_gpus(const struct workspace *w, struct err *e)
{
    char *end;
    long n;

    if (!args.gpus)
        return gpus_here(w, e);
    n = strtol(args.gpus, &end, 10);
    if (end == args.gpus || *end || n < 1 || n > SETTINGS_GPUS_MAX)
        return err_set(e, ERR_USAGE, "doctor: --gpus %s: must be one number of GPUs",
                       args.gpus);
    return (int)n;
}

/* Lists the ranks that have written a report. */
static json_t *list_reporting(json_t *ranks)
{
    json_t *list = json_array(), *r;
    size_t i;

    json_array_foreach(ranks, i, r) {
        if (!json_is_null(r))
            json_array_append(list, r);
    }
    return list;
}

static void add_rehearsal_findings(const struct workspace *w, const struct rehearsal *r,
                                   struct findings *f)
{
    json_t *rank;
    size_t i;

    json_t *reporting = list_reporting(r->ranks);
    size_t nranks = json_array_size(r->ranks);
    char line[512];

    if (json_array_size(reporting) < nranks && rehearsal_find_error(r, line)) {
        findings_add(f, FINDING_ERROR, "launch", "%s", line);
        findings_remedy(f, "look for nodes that do not respond (sinfo -N -l), and exclude them (-- "
                        "--exclude=NODE)");
    }
    if (!compute_look_applies(&w->study, &w->site))
        json_array_foreach(r->ranks, i, rank)
            json_object_del(rank, "compute");
    diagnosis_of_ranks(r->ranks, f);
    if (json_array_size(reporting))
        diagnosis_of_hosts(reporting, nranks, f);
    json_decref(reporting);
}

static int rehearse(struct workspace *w, struct findings *f, struct err *e)
{
    struct rehearsal r = {.in_allocation = in_allocation,
                          .timeout_s = timeout_s ? timeout_s : DEFAULT_TIMEOUT_S};
    size_t before = findings_count(f, FINDING_ERROR);
    bool bad = true;
    int rc = -1;

    r.gpus = decode_gpus(w, e);
    if (r.gpus > 0)
        rc = rehearsal_run(w, &r, e);
    if (rc == 0) {
        add_rehearsal_findings(w, &r, f);
        bad = findings_count(f, FINDING_ERROR) > before;
    }
    if (bad && *r.folder) {
        rehearsal_show_output(&r);
        log_info("the report of each rank is kept in %s", r.folder);
    }
    rehearsal_close(&r, bad);
    return rc;
}

static int probe_rank(struct err *e)
{
    json_t *run = jsonio_read("run.json", MAX_DOCUMENT, e);
    const char *data = json_string_value(json_object_get(json_object_get(run, "data"), "dir"));
    const json_t *backend = json_object_get(json_object_get(run, "train"), "backend");
    const char *rank_0 = "rank-0.json";
    char path[PATH_MAX];
    int rc = data  ? probe_run(probe_folder, data, json_string_value(backend), e)
             : run ? err_set(e, ERR_CONFIG, "run.json has no data.dir")
                   : -1;

    if (!data)
        err_prefix(e, "--probe: the current folder has no run.json of a rehearsal");

    json_decref(run);
    snprintf(path, sizeof path, "%s/%s", probe_folder, rank_0);
    if (rc == 0 && access(path, F_OK) == 0) /* without it submit_file.sh writes FAILED */
        rc = atomicfile_write("attempt-1/DONE", "{\"schema\":1}\n", 13, 0666, e);
    return rc;
}

/* ---- the verb ---- */

static int examine(struct workspace *w, struct findings *f, struct err *e)
{
    check_host(f);
    check_folder(w, f);
    check_rights(w, f);
    check_data(w, f);
    check_compute(w, f);
    imports_check(w, f);
    check_scheduler(w, f);
    if (!args.gpus && !in_allocation)
        return 0;
    if (!in_allocation && findings_count(f, FINDING_ERROR)) {
        log_warn("the rehearsal is left out because of errors on this host");
        return 0;
    }
    return rehearse(w, f, e);
}

static int report_findings(const struct findings *f, bool complete, struct err *e)
{
    size_t errors = findings_count(f, FINDING_ERROR), warnings = findings_count(f, FINDING_WARNING);

    if (findings_print(f, as_json, e))
        return -1;
    fflush(stdout);
    if (errors)
        return err_set(e, ERR_PEER, "doctor: %zu error%s, %zu warning%s", errors, plural(errors),
                       warnings, plural(warnings));
    if (complete)
        log_info("doctor: no errors%s", warnings ? "; see the warnings" : "");
    return 0;
}

static int cmd_doctor_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct findings f = {0};
    struct workspace w;
    int rc;

    (void)noperands, (void)operands;
    if (probe_folder)
        return probe_rank(e);
    struct workspace_args without_gpus = args; /* --gpus is a number here, not the study's list */
    without_gpus.gpus = NULL;
    if (workspace_open_jobs(&w, &without_gpus, nrest, rest, e))
        return -1;
    rc = effect_check(&w.study, &w.ledger, NULL, e) ? -1 : examine(&w, &f, e);
    /* What was found is printed even if the rehearsal failed. */
    struct err other;
    int shown = report_findings(&f, rc == 0, rc ? &other : e);
    rc = rc ? rc : shown;
    findings_destroy(&f);
    workspace_close(&w);
    return rc;
}

const struct cli_command cmd_doctor = {
    .name = "doctor",
    .args = "[-- SBATCH OPTIONS]",
    .summary = "find what would go wrong before GPUs are paid for",
    .details =
        "Checks on this host: programs, stale TF_CONFIG, MASTER_* and RANK, proxies, limits, the\n"
        "study's folder (space, locks, shared file system, who may write it), the images, Slurm,\n"
        "partition, GPUs and account; for an engine in Python also the modules that its script\n"
        "imports. --gpus N starts a short job in the same way as a run, in\n"
        "which every rank checks names in both directions, routes, ports, rank numbers, versions,\n"
        "clocks, that no GPU is shared, and access to the study's folder and data. Each finding has\n"
        "its remedy. Exit 5 if there is an error.\n"
        "Example: unetctl doctor --gpus 4 -- --partition=gpu\n",
    .options = options,
    .run = cmd_doctor_run,
};
