/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/doctor/preflight.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/doctor/bandwidth.h"
#include "launcher/doctor/diagnosis.h"
#include "launcher/doctor/facts.h"
#include "launcher/doctor/imports.h"
#include "launcher/doctor/study_folder.h"
#include "launcher/host/path.h"
#include "launcher/plan/compute_look.h"
#include "launcher/plan/data_look.h"
#include "launcher/sandbox/sandbox.h"
#include "launcher/scheduler/sbatch_help.h"
#include "launcher/submit/attempt.h"
#include "launcher/submit/bad_nodes.h"
#include "src/log.h"
#include "src/plural.h"

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

    if (!json_is_true(json_object_get(facts, "has_trainer"))) {
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

/* ---- the study's data, and what runs compute on ---- */

static void check_data(const struct workspace *w, struct findings *f)
{
    struct data_look look;
    char split[PATH_MAX];
    struct err e;

    if (!study_has_images(&w->study))
        return;
    snprintf(split, sizeof split, "%s/split.json", w->study.dir);
    bool refused = data_look_count(&w->study, &look, &e) != 0;
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
                        "lists the others)");
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
        findings_add(f, FINDING_OK, "partition", "%s: unknown: %s; Slurm decides whether a run "
                     "fits", p.name, p.unknown);
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
    sbatch_help_ask(argv, w->site.sandbox, &list);
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

static void check_nodes(const struct workspace *w, struct findings *f)
{
    struct bad_nodes b;
    struct err e;

    if (bad_nodes_read(w->study.dir, &b, &e)) {
        findings_add(f, FINDING_WARNING, "nodes", "%s", e.text);
        return;
    }
    for (size_t i = 0; i < b.count; i++) {
        const struct bad_node *n = &b.nodes[i];
        bool out = bad_nodes_is_out(w, n);
        findings_add(f, out ? FINDING_WARNING : FINDING_OK, "nodes", "%s: %d note%s, the last: %s%s",
                     n->name, n->notes, plural(n->notes), n->last,
                     out ? "; jobs leave it out" : "");
        if (out)
            findings_remedy(f, "report it to the administrators; a run that is done there clears "
                               "it: unetctl submit ... -- --nodelist=%s", n->name);
    }
    bad_nodes_destroy(&b);
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
        check_nodes(w, f);
    }
}

void preflight_check(struct workspace *w, struct findings *f)
{
    check_host(f);
    study_folder_check(w, f);
    study_folder_check_rights(w, f);
    check_data(w, f);
    check_compute(w, f);
    imports_check(w, f);
    check_scheduler(w, f);
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

static int decode_gpus(const struct workspace *w, const char *text, struct err *e)
{
    char *end;
    long n;

    if (!text)
        return gpus_here(w, e);
    n = strtol(text, &end, 10);
    if (end == text || *end || n < 1 || n > SETTINGS_GPUS_MAX)
        return err_set(e, ERR_USAGE, "doctor: --gpus %s: must be one number of GPUs", text);
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

static int add_bandwidth(const struct workspace *w, const struct rehearsal *r, struct findings *f,
                         struct err *e)
{
    char line[512] = "the job ended before the measurement did";

    if (r->attempt.marker != RUN_DONE) {
        if (!*r->attempt.error)
            rehearsal_find_error(r, line);
        findings_add(f, FINDING_ERROR, "bandwidth", "nothing was measured: %s",
                     *r->attempt.error ? r->attempt.error : line);
        findings_remedy(f, "type 'unetctl doctor --gpus %d', which checks each node", r->gpus);
        return 0;
    }
    json_t *measured = bandwidth_read(r->attempt.path, e);
    json_t *slow = json_array(), *node;
    int rc = !measured ? -1 : path_write(w->study.dir, BANDWIDTH_FILE, /* beside study.yaml */
                                         json_dumps(measured, JSON_COMPACT |
                                                                  JSON_REAL_PRECISION(6)), e);
    size_t i;

    if (rc == 0)
        bandwidth_judge(measured, f, slow);
    json_array_foreach(slow, i, node) {
        if (rc == 0)
            rc = bad_nodes_note(w->study.dir, json_string_value(node), "slow (doctor --bandwidth)",
                                e);
    }
    json_decref(slow);
    json_decref(measured);
    return rc;
}

/* Says whose communication is measured where it is not that of the study's engine. */
static void name_transport(const struct workspace *w)
{
    if (strcmp(w->study.engine, "embedded") != 0)
        log_info("engine %s: the links are measured by unet-train, with NCCL between GPUs and MPI "
                 "or shared memory otherwise; its own communication may be faster or slower",
                 w->study.engine);
}

int preflight_rehearse(struct workspace *w, const char *gpus, struct rehearsal r,
                       struct findings *f, struct err *e)
{
    size_t before = findings_count(f, FINDING_ERROR);
    bool bad = true;
    int rc = -1;

    *r.folder = 0;
    r.gpus = decode_gpus(w, gpus, e);
    if (r.gpus == 1 && r.bandwidth)
        return err_set(e, ERR_USAGE, "doctor: --bandwidth measures between GPUs: give --gpus 2 or "
                       "more");
    if (r.bandwidth)
        name_transport(w);
    if (r.gpus > 0)
        rc = rehearsal_run(w, &r, e);
    if (rc == 0 && r.bandwidth)
        rc = add_bandwidth(w, &r, f, e);
    else if (rc == 0)
        add_rehearsal_findings(w, &r, f);
    if (rc == 0)
        bad = findings_count(f, FINDING_ERROR) > before;
    if (bad && *r.folder) {
        rehearsal_show_output(&r);
        log_info("the report of each rank is kept in %s", r.folder);
    }
    rehearsal_close(&r, bad);
    return rc;
}
