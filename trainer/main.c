/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train: the table of verbs. */
#include "config.h"
#include "trainer/cmd/cmd.h"

static const struct cli_command *const commands[] = {
    &cmd_bench,
    &cmd_data_check,
    &cmd_data_convert,
    &cmd_data_preview,
    &cmd_data_split,
    &cmd_data_stats,
    &cmd_data_synth,
    &cmd_devices,
    &cmd_eval,
    &cmd_export,
    &cmd_model,
    &cmd_predict,
    &cmd_train,
    NULL,
};

static const struct cli_program program = {
    .name = "unet-train",
    .version = PACKAGE_VERSION,
    .summary = "the embedded trainer of unetctl: one run of a segmentation network",
    .env_prefix = "UNETCTL_",
    .commands = commands,
    .description =
        "Executes one run: reads run.json and the cluster spec (TF_CONFIG), forms its communicator,\n"
        "trains, evaluates, writes log.csv, record.jsonl and a checkpoint.\n",
    .files =
        "OUT/record.jsonl              what happened, one JSON object a line\n"
        "OUT/log.csv                   one row per epoch, in the reference's columns\n"
        "OUT/checkpoint/               weights.safetensors, model.json; state-*: to continue from\n"
        "OUT/best/                     best weights of a run that failed (train.keep: best)\n"
        "OUT/DONE, OUT/FAILED          the result, written last\n"
        "PREFIX/share/doc/unetctl/     README.md, doc/MODELS.md, logs/SCHEMA.md ...\n",
};

int main(int argc, char **argv)
{
    return cli_run(&program, argc, argv);
}
