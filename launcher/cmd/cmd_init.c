/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include <sys/stat.h>

#include "launcher/collect/log/log_file.h"
#include "launcher/plan/begin.h"
#include "launcher/script/template.h"
#include "launcher/study/study.h"
#include "src/atomicfile.h"

#define TAKEN_MAX 8 /* settings of log, quality and work that a log gives */

static struct begin given;
static struct cli_list set;
static const char *log_path; /* --try */
static struct log_form_args answers; /* --column */
static const char *ssh; /* the verb "init --ssh" is another (launcher/remote) */

static const struct cli_option options[] = {
    {"data", 'd', CLI_STRING, "DIR",
     "use this data folder: images/ and masks/, class folders, CIFAR-10; not for a program of yours",
     &given.data_dir, 0, 0},
    {"site", 0, CLI_STRING, "SITE",
     "use this site profile, a name or a file (default: the user's, or generic)", &given.site, 0, 0},
    {"ssh", 0, CLI_STRING | CLI_TYPED, "HOST[:FOLDER]",
     "make the study on this host (default: in ~/unetctl/), and here what runs verbs there by ssh",
     &ssh, 0, 0},
    {"engine", 0, CLI_STRING, "NAME",
     "use this engine, such as pytorch, jax, mpi, command (default: embedded)", &given.engine, 0, 0},
    {"script", 0, CLI_STRING, "FILE", "run this script of yours with the engine", &given.script, 0, 0},
    {"templates", 0, CLI_STRING, "PATH", "use job templates from this folder", &given.templates, 0, 0},
    {"try", 0, CLI_STRING, "LOG",
     "propose what to read of the program's logs from this one, show its first rows, and write it",
     &log_path, 0, 0},
    {"column", 0, CLI_LIST, "ROLE=NAME",
     "--try: read the log by this column (time=sec:step; step, units, quality) or pattern=REGEX",
     &answers.columns, 0, 0},
    {"model", 0, CLI_STRING, "NAME",
     "train this network (default: unet for masks, resnet20 for classes)", &given.model, 0, 0},
    {"name", 0, CLI_STRING, "NAME", "name the study (default: after its folder)", &given.name, 0, 0},
    {"set", 's', CLI_LIST, "KEY=VALUE",
     "set a key of study.yaml, such as train.epochs=30; may be repeated", &set, 0, 0},
    {"full", 0, CLI_FLAG, NULL, "write all keys with their values, not only those chosen here", &given.full,
     0, 0},
    {0},
};

static int write_class_file(const char *folder, const struct buf *text, struct err *e)
{
    char file[PATH_MAX];

    if (text->length == 0)
        return 0;
    snprintf(file, sizeof file, "%s/%s", folder, BEGIN_CLASS_FILE);
    return atomicfile_write(file, text->data, text->length, 0666, e);
}

static int write_study(const char *folder, const char *file, bool *classes, struct err *e)
{
    struct buf b = {0}, class_file = {0};
    int rc = begin_encode(&given, &b, &class_file, e);

    if (rc == 0)
        rc = write_class_file(folder, &class_file, e);
    *classes = rc == 0 && class_file.length;
    if (rc == 0)
        rc = atomicfile_write(file, b.data, b.length, 0666, e);
    buf_destroy(&class_file);
    buf_destroy(&b);
    return rc;
}

/* Shows what a log of the program has, and fills dst, TAKEN_MAX settings, with how it is read.
 * Returns their number, or -1. */
static int take_log(struct log_proposal *log, struct yaml_setting *dst, struct err *e)
{
    struct log_form said;
    int n = 0;

    if (log_form_decode(&answers, &said, e) || log_propose(log_path, &said, log, e))
        return err_prefix(e, "init: --try");
    const struct {
        const char *path, *value;
    } rows[TAKEN_MAX] = {{"log.file", log->file},
                         {"log.pattern", said.pattern ? said.pattern : log->pattern},
                         {"log.time", said.time ? said.time : log->time}, {"log.step", said.step},
                         {"log.units", said.units}, {"log.quality", said.quality},
                         {"quality.name", log->quality}, {"work.unit", log->unit}};
    for (size_t i = 0; i < TAKEN_MAX; i++)
        if (rows[i].value && *rows[i].value)
            dst[n++] = (struct yaml_setting){rows[i].path, rows[i].value, "--try"};
    printf("%s: %zu %s%s, such as\n%s", log_path, log->intervals,
           log->stepped ? "interval" : "epoch", plural((long)log->intervals),
           log->rows.data ? log->rows.data : "");
    if (!*log->quality)
        printf("no quality was seen; set quality.name to what the log has\n");
    if (*log->file)
        printf("each run has to write its %s into $UNETCTL_ATTEMPT_DIR\n", log->file);
    else if (!*log->pattern && !said.pattern)
        puts("each run has to write such a file into $UNETCTL_ATTEMPT_DIR or a folder there");
    return n;
}

static int check_place(const char *folder, struct err *e)
{
    char path[PATH_MAX];

    return realpath(folder, path) ? study_check_length(path, e)
                                  : err_errno(e, ERR_CONFIG, errno, "%s", folder);
}

/* Opens the new study as a check, and removes its study.yaml if that fails. */
static int check_written(const char *folder, const char *file, struct err *e)
{
    struct study study;
    struct site profile;
    int rc = study_open(&study, folder, NULL, 0, e);

    if (rc == 0) {
        rc = workspace_check_effect(&study, NULL, NULL, e) ? -1 : site_open(&profile, study.site,
                                    e);
        if (rc == 0)
            site_close(&profile);
        study_close(&study);
    }
    if (rc)
        unlink(file);
    return rc;
}

static void log_next_step(const char *folder, const char *file)
{
    struct buf word = {0};

    template_quote_sh(&word, folder);
    if (!word.failed)
        log_info("wrote %s; read it, then type: cd %s && unetctl plan --gpus "
                 "1..4", file, word.data);
    buf_destroy(&word);
}

static int cmd_init_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    const char *folder = operands[0];
    char file[PATH_MAX], class_file[PATH_MAX];
    struct yaml_setting proposed[TAKEN_MAX];
    struct log_proposal log = {0};
    bool made, classes = false;

    given.folder = folder;
    given.words = (const char *const *)rest;
    given.nwords = (size_t)nrest;
    given.set = &set;
    if (study_check_length(folder, e))
        return -1;
    if (nrest && given.data_dir)
        return err_set(e, ERR_USAGE,
                       "init: --data DIR is of the engines that train on images; name "
                       "the data in the program's arguments");
    snprintf(file, sizeof file, "%s/%s", folder, STUDY_FILE);
    if (given.engine && !engine_find(given.engine, e))
        return -1;
    if (access(file, F_OK) == 0)
        return err_set(e, ERR_CONFIG, "%s exists already, and nothing is overwritten", file);
    if (answers.columns.count && !log_path)
        return err_set(e, ERR_USAGE, "init: --column needs --try LOG");
    if (log_path && nrest == 0 && !given.script)
        return err_set(e, ERR_USAGE, "init: --try LOG is for a program: init STUDY --try LOG -- "
                       "PROGRAM ARGS");
    int nlog = log_path ? take_log(&log, proposed, e) : 0;
    buf_destroy(&log.rows);
    if (nlog < 0)
        return -1;
    given.log = proposed;
    given.nlog = (size_t)nlog;
    made = mkdir(folder, 0777) == 0;
    if (!made && errno != EEXIST)
        return err_errno(e, ERR_CONFIG, errno, "%s", folder);
    if (check_place(folder, e) || write_study(folder, file, &classes, e) ||
        check_written(folder, file, e)) {
        snprintf(class_file, sizeof class_file, "%s/%s", folder, BEGIN_CLASS_FILE);
        if (classes)
            unlink(class_file);
        if (made)
            rmdir(folder);
        return -1;
    }
    log_next_step(folder, file);
    return 0;
}

const struct cli_command cmd_init = {
    .name = "init",
    .args = "STUDY [-- PROGRAM ARGS]",
    .summary = "write a commented study.yaml for a data folder or a program, and a site",
    .details =
        "With a program or script of yours no images are needed. It finds what it needs in its\n"
        "environment ($UNETCTL_GPUS, $UNETCTL_SEED, ...), and markers in its arguments become\n"
        "{{gpus}}, {{nodes}}, {{tasks}}, {{seed}}, {{global_batch}}, {{batch_per_gpu}}, {{steps}},\n"
        "{{minutes}} and {{attempt_dir}} of the run.\n"
        "Samples the images: their size, rounded to a multiple of what the network needs and at\n"
        "most 1024, and their channels become the defaults; anything unusual is reported. The\n"
        "values or colours of masks become data.classes, data.ignore and a class file where their\n"
        "meaning is clear; where it is not, the choices are printed (exit 7). Settings of\n"
        "~/.config/unetctl/config.yaml are copied.\n"
        "--ssh makes the study on a host where unetctl and rsync are installed. Its verbs, typed here,\n"
        "run there; logs/ and report/ are copied here. Data and programs are the host's.\n"
        "A launcher among the words, such as torchrun or mpirun, chooses the engine that starts the\n"
        "ranks; --engine chooses another. --try LOG writes log.pattern or log.file, quality.name and\n"
        "work.unit as a log of an earlier run shows them.\n"
        "Examples: unetctl init speed -- ./simulate --steps {{steps}}\n"
        "         unetctl init ddp --try old.log -- torchrun --nproc_per_node 4 train.py\n"
        "         unetctl init demo --data DIR --site sandbox --set data.height=96 \\\n"
        "         --set data.width=128 --set train.epochs=30\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = cmd_init_run,
};
