/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include "launcher/doctor/doctor.h"

static struct {
    struct plan_args args;
    struct rehearsal_options rehearsal;
    bool as_json;
    const char *probe_folder, *probe_stage;
} given = {.rehearsal = {.timeout_s = 600}};

static const struct cli_option options[] = {
    {"gpus", 'g', CLI_STRING | CLI_TYPED, "N",
     "rehearse on N GPUs as well: a job in which every rank checks its node", &given.rehearsal.gpus, 0, 0},
    {"in-allocation", 0, CLI_FLAG, NULL,
     "rehearse on the nodes of the present job, such as one of salloc", &given.rehearsal.in_allocation, 0,
     0},
    {"bandwidth", 0, CLI_FLAG, NULL,
     "measure what connects the ranks of --gpus N instead, in less than a minute",
     &given.rehearsal.bandwidth, 0, 0},
    {"timeout", 0, CLI_INT, "SECONDS",
     "give up the rehearsal after this time (exit 6; default: 600)", &given.rehearsal.timeout_s, 1, 1e9},
    {"json", 0, CLI_FLAG, NULL, "print JSON instead of a table", &given.as_json, 0, 0},
    {"engine", 0, CLI_STRING | CLI_TYPED, "NAME",
     "check for this engine, such as pytorch (default: the study's)", &given.args.engine, 0, 0},
    WORKSPACE_OPTION_SET(given.args),
    WORKSPACE_OPTION_SITE(given.args),
    WORKSPACE_OPTION_SCHEDULER(given.args),
    WORKSPACE_OPTION_STUDY(given.args),
    {"probe", 0, CLI_STRING, "DIR", "check this rank and write to DIR (rehearsals start this)",
     &given.probe_folder, 0, 0},
    {"stage", 0, CLI_STRING | CLI_TYPED, "FOLDER", "data.stage, for --probe", &given.probe_stage, 0, 0},
    {0},
};

static int examine(struct workspace *w, struct findings *f, struct err *e)
{
    bool rehearses = given.rehearsal.gpus || given.rehearsal.in_allocation;

    if (given.rehearsal.bandwidth && !rehearses)
        return err_set(e, ERR_USAGE, "doctor: --bandwidth needs --gpus N, or --in-allocation");
    preflight_check(w, f);
    if (!rehearses)
        return 0;
    if (!given.rehearsal.in_allocation && findings_count(f, FINDING_ERROR)) {
        log_warn("the rehearsal is left out because of errors on this host");
        return 0;
    }
    return rehearsal_run(w, &given.rehearsal, f, e);
}

static int report_findings(const struct findings *f, bool complete, struct err *e)
{
    size_t errors = findings_count(f, FINDING_ERROR), warnings = findings_count(f, FINDING_WARNING);

    if (findings_print(f, given.as_json, e))
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
    struct err other;

    if (given.probe_folder)
        return facts_probe(given.probe_folder, given.probe_stage, e);
    if (workspace_open_jobs(&w, &given.args, nrest, rest, e))
        return -1;
    int rc = workspace_check_effect(&w.plan.study, &w.ledger, NULL, e) ? -1 : examine(&w, &f, e);
    /* What was found is printed even if the rehearsal failed. */
    int shown = report_findings(&f, rc == 0, rc ? &other : e);
    findings_destroy(&f);
    workspace_close(&w);
    return rc ? rc : shown;
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
        "--bandwidth starts such a job, too, in which unet-train measures all-reduces of all ranks\n"
        "and exchanges of each two, of 1 KiB to 128 MiB, by the transport of the embedded engine\n"
        "(NCCL between GPUs; MPI or shared memory otherwise), and names links, ranks and nodes with\n"
        "less than half of the median bandwidth of their peers. STUDY/bandwidth.json keeps the\n"
        "times, which report --predict uses.\n"
        "Example: unetctl doctor --gpus 4 -- --partition=gpu\n",
    .options = options,
    .run = cmd_doctor_run,
};
