/* SPDX-License-Identifier: BSD-3-Clause */
/* unetctl: the table of verbs. */
#include "config.h"
#include "launcher/cmd/cmd.h"

static const struct cli_command *const commands[] = {
    &cmd_cancel,
    &cmd_collect,
    &cmd_completion,
    &cmd_config,
    &cmd_data,
    &cmd_doctor,
    &cmd_finish,
    &cmd_generate,
    &cmd_init,
    &cmd_logs,
    &cmd_nodelist,
    &cmd_plan,
    &cmd_report,
    &cmd_resume,
    &cmd_sandbox,
    &cmd_site,
    &cmd_spec,
    &cmd_status,
    &cmd_submit,
    &cmd_template,
    &cmd_watch,
    NULL,
};

static const struct cli_program program = {
    .name = "unetctl",
    .version = PACKAGE_VERSION,
    .summary = "data-parallel scaling studies of image segmentation on Slurm",
    .env_prefix = "UNETCTL_",
    .commands = commands,
    .description =
        "A study trains the same network on 1, 2, ... N GPUs. unetctl renders the job scripts,\n"
        "submits them exactly once, watches them, collects their logs, and reports how much "
        "faster\n"
        "N GPUs are, what that does to the quality, and how many GPUs are worth paying for.\n",
    .files =
        "STUDY/study.yaml              what you write; 'unetctl init' makes a commented one\n"
        "STUDY/runs/RUN/               run.json, run_file.sh, submit_file.sh of a run\n"
        "STUDY/runs/RUN/attempt-K/     output, record.jsonl, log.csv, checkpoint/, DONE or FAILED\n"
        "STUDY/logs/                   log_N.csv and results.csv, made by 'unetctl collect'\n"
        "STUDY/report/                 report.html and figures, made by 'unetctl report'\n"
        "STUDY/.unetctl/               ledger of submissions, lock\n"
        "PREFIX/share/doc/unetctl/     README.md, doc/FORMATS.md, doc/SLURM.md, logs/SCHEMA.md "
        "...\n",
};

int main(int argc, char **argv)
{
    return cli_run(&program, argc, argv);
}
