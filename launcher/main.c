/* SPDX-License-Identifier: BSD-3-Clause */
/* unetctl: the table of verbs. */
#include "src/base.h"
#include "launcher/cmd/cmd.h"
#include "launcher/remote/remote.h"

static const struct cli_command *const commands[] = {
    &cmd_init,
    &cmd_site,
    &cmd_config,
    &cmd_data,
    &cmd_template,
    &cmd_completion,
    &cmd_plan,
    &cmd_doctor,
    &cmd_generate,
    &cmd_submit,
    &cmd_resume,
    &cmd_release,
    &cmd_cancel,
    &cmd_status,
    &cmd_watch,
    &cmd_logs,
    &cmd_collect,
    &cmd_report,
    &cmd_spec,
    &cmd_nodelist,
    &cmd_finish,
    &cmd_energy,
    &cmd_stage,
    &cmd_sandbox,
    NULL,
};

/* In the order in which a study uses them. */
static const struct cli_group groups[] = {
    {"Begin a study", &cmd_init},
    {"Check it before GPUs are paid for", &cmd_plan},
    {"Run it", &cmd_generate},
    {"Follow it", &cmd_status},
    {"Read the results", &cmd_collect},
    {"On the nodes of a job", &cmd_spec},
    {"Rehearse on one machine", &cmd_sandbox},
    {0},
};

static const struct cli_program program = {
    .name = "unetctl",
    .version = PACKAGE_VERSION,
    .summary = "scaling studies of trainings and other programs on Slurm",
    .env_prefix = "UNETCTL_",
    .commands = commands,
    .groups = groups,
    .elsewhere = remote_elsewhere,
    .description =
        "A study runs one training or program on 1, 2, ... N GPUs. unetctl renders the job scripts,\n"
        "submits them exactly once, watches them, collects their logs, and reports how much\n"
        "faster N GPUs are, how the quality changes, and how many GPUs are worth paying for.\n",
    .files =
        "STUDY/study.yaml              the settings of the study; 'unetctl init' writes it\n"
        "STUDY/runs/RUN/               run.json, run_file.sh, submit_file.sh of a run\n"
        "STUDY/runs/RUN/attempt-K/     output, record.jsonl, log.csv, checkpoint/, DONE or FAILED\n"
        "STUDY/logs/                   log_N.csv and results.csv; 'unetctl collect' writes them\n"
        "STUDY/report/                 report.html and figures; 'unetctl report' writes them\n"
        "STUDY/.unetctl/               ledger of submissions, lock\n"
        "PREFIX/share/doc/unetctl/     README.md, doc/FORMATS.md, doc/SLURM.md, logs/SCHEMA.md\n",
};

int main(int argc, char **argv)
{
    return cli_run(&program, argc, argv);
}
