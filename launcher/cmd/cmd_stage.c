/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include <jansson.h>

#include "launcher/host/path.h"
#include "launcher/stage/stage.h"
#include "src/atomicfile.h"
#include "src/clock.h"
#include "src/files.h"

static struct {
    struct stage_request request;
    const char *attempt_dir;
    bool remove_copies;
} given;

/* Returns whether this is rank 0 of its run, by what 'unetctl spec' has said. */
static bool is_first_rank(void)
{
    const char *rank = getenv("RANK"), *spec = getenv("TF_CONFIG");
    json_t *root = spec ? json_loads(spec, 0, NULL) : NULL;
    const json_t *index = json_object_get(json_object_get(root, "task"), "index");
    bool first = rank ? atoi(rank) == 0 : json_integer_value(index) == 0;

    json_decref(root);
    return first;
}

/* Returns the word, which the caller frees, with the data folder at its beginning or behind a '='
 * replaced by the copy, if the copy has what the word then names. */
static char *replace_folder(const char *word, const char *copy, struct err *e)
{
    const char *equals = strchr(word, '='), *at = *word == '-' && equals ? equals + 1 : word;
    size_t n = strlen(given.request.data);
    char *path = NULL;

    if (strncmp(at, given.request.data, n) == 0 && (!at[n] || at[n] == '/'))
        path = mem_textf(e, "%.*s%s%s", (int)(at - word), word, copy, at + n);
    if (path && access(path + (at - word), F_OK) == 0)
        return path;
    free(path);
    return mem_text(word, e);
}

static int execute(char **words, const char *copy, struct err *e)
{
    for (char **word = words; *word; word++)
        if (!(*word = replace_folder(*word, copy, e)))
            return -1;
    setenv("UNETCTL_DATA_DIR", copy, 1);
    setenv("UNETCTL_STAGED", copy, 1); /* for container.sh */
    execvp(words[0], words);
    return err_errno(e, ERR_CONFIG, errno, "%s", words[0]);
}

static int cmd_stage_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    double began = clock_now();
    struct stage stage;
    char path[PATH_MAX], host[65] = "", line[PATH_MAX + 128];

    bool copies = given.request.split && given.request.data && given.attempt_dir && nrest;

    if (!given.request.folder || (!given.remove_copies && !copies))
        return err_set(e, ERR_USAGE, "stage: --to, --split, --data, --out and a program are needed, "
                       "or --to and --remove");
    gethostname(host, sizeof host - 1);
    if (given.remove_copies)
        return stage_remove(given.request.folder, e);
    if (stage_enter(&given.request, &stage, e))
        return err_prefix(e, "%s", host);
    double seconds = clock_now() - began;
    if (is_first_rank()) {
        log_info("the data are read from %s: %.1f MiB, after %.1f s", stage.path,
                 (double)stage.nbytes / 0x1p20, seconds);
        snprintf(line, sizeof line, "%.3f %lld %s", seconds, (long long)stage.nbytes, stage.path);
        files_own(given.attempt_dir);
        if (atomicfile_append(path_format(path, "%s/stage", given.attempt_dir), line, e))
            return -1;
    }
    return execute(rest, stage.path, e);
}

static const struct cli_option options[] = {
    {"to", 0, CLI_STRING | CLI_TYPED, "FOLDER", "data.stage, whose variables are expanded here",
     &given.request.folder, 0, 0},
    {"split", 0, CLI_STRING | CLI_TYPED, "FILE", "split.json, which names the files",
     &given.request.split, 0, 0},
    {"data", 0, CLI_STRING | CLI_TYPED, "DIR", "the data folder", &given.request.data, 0, 0},
    {"out", 0, CLI_STRING | CLI_TYPED, "DIR", "the attempt's folder, for seconds and bytes",
     &given.attempt_dir, 0, 0},
    {"remove", 0, CLI_FLAG, NULL, "remove copies below FOLDER that no process uses, instead",
     &given.remove_copies, 0, 0},
    {0}};

const struct cli_command cmd_stage = {
    .name = "stage",
    .args = "[-- PROGRAM WORD...]",
    .summary = "copy the data to this node, then execute the program (for job scripts)",
    .details =
        "run_file.sh starts each rank's program by it if data.stage is set. The first process of\n"
        "the user on a node copies the files that split.json names to FOLDER/unetctl-UID/HASH;\n"
        "the others wait for that, and processes of other jobs use the same copy. In the program's\n"
        "words DIR is replaced by the copy, and $UNETCTL_DATA_DIR has its path. A copy that no\n"
        "process uses is removed by submit_file.sh, or when the next copy is made.\n"
        "Exit code: that of the program; 3 if FOLDER cannot be used, 7 if it has not enough room\n"
        "or the data cannot be read.\n",
    .options = options,
    .run = cmd_stage_run,
};
