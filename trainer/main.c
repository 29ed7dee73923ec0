/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train: the table of verbs. */
#include "src/base.h"

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
        "trains, evaluates, writes log.csv, record.jsonl and a checkpoint.\n"
        "\n"
        "Threads that wait sleep after some microseconds, which leaves their core to other\n"
        "processes; OMP_WAIT_POLICY=active lets them spin. Ranks that wait for each other sleep after\n"
        "half a millisecond, or with OMP_WAIT_POLICY=passive at once.\n",
    .files =
        "OUT/record.jsonl              what happened, one JSON object a line\n"
        "OUT/log.csv                   one row per epoch, in the reference's columns\n"
        "OUT/checkpoint/               weights.safetensors, model.json; state-*: to continue from\n"
        "OUT/best/                     best weights of a run that failed (train.keep: best)\n"
        "OUT/DONE, OUT/FAILED          the result, written last\n"
        "PREFIX/share/doc/unetctl/     README.md, doc/MODELS.md, logs/SCHEMA.md ...\n",
};

/* Rounds that a waiting OpenMP thread spins before it sleeps: some ten microseconds, GNU OpenMP's
 * own number where it knows of too few processors. Its usual one takes milliseconds of a processor
 * from the thread that the others wait for, if another process runs on it. */
#define SPIN_COUNT "1000"

/* GNU OpenMP reads the variables before main, so the program starts again with the count, unless
 * the user has chosen. Returns if that is not needed or not possible. */
static void limit_spinning(char **argv)
{
    char self[PATH_MAX];
    ssize_t n;

    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT"))
        return;
    n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0 || setenv("GOMP_SPINCOUNT", SPIN_COUNT, 1) != 0)
        return;
    self[n] = 0;
    execv(self, argv);
}

int main(int argc, char **argv)
{
    limit_spinning(argv);

    int code = cli_run(&program, argc, argv);
    if (cmd_train_leaves_device)
        _exit(code);
    return code;
}
