/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/launcher.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/site.h"
#include "launcher/study.h"
#include "launcher/template.h"
#include "src/atomicfile.h"
#include "src/log.h"

/* What init itself sets, before the words of --set. */
enum { SET_NAME, SET_SITE, SET_DATA, SET_MODEL, SET_HEIGHT, SET_WIDTH, NSET };
#define DEFAULT_HEIGHT "768"
#define DEFAULT_WIDTH "1024"

static const char *data_dir, *site = "generic", *model = "unet", *name;
static struct cli_list set;

static const struct cli_option options[] = {
    {"data", 'd', CLI_STRING, "DIR", "data folder with images/ and masks/ (required)", &data_dir, 0, 0},
    {"site", 0, CLI_STRING, "SITE", "site profile: generic, sandbox, local or a file (generic)", &site,
     0, 0},
    {"model", 0, CLI_STRING, "NAME", "network (unet)", &model, 0, 0},
    {"name", 0, CLI_STRING, "NAME", "name of the study (that of its folder)", &name, 0, 0},
    {"set", 's', CLI_LIST, "KEY=VALUE", "any key of study.yaml, such as train.epochs=30", &set, 0, 0},
    {0},
};

/* A study's name from its folder's: what is not allowed becomes '-'. */
static void derive_name(const char *folder, char dst[65])
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    char path[PATH_MAX];
    const char *base = realpath(folder, path) ? strrchr(path, '/') + 1 : "study";
    size_t n = 0;

    for (; *base && n < 64; base++, n++) {
        char c = *base >= 'A' && *base <= 'Z' ? (char)(*base - 'A' + 'a') : *base;
        dst[n] = strchr(allowed, c) && !(n == 0 && c == '.') ? c : '-';
    }
    dst[n] = 0;
    if (!n)
        strcpy(dst, "study");
}

static int check_data(char dst[PATH_MAX], struct err *e)
{
    static const char *const folders[] = {"images", "masks"};
    char path[PATH_MAX + 16];
    struct stat st;

    if (!data_dir)
        return err_set(e, ERR_USAGE, "init: --data DIR is missing (a folder with images/ and masks/)");
    if (!realpath(data_dir, dst))
        return err_errno(e, ERR_DATA, errno, "--data %s", data_dir);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", dst, folders[i]);
        if (stat(path, &st) || !S_ISDIR(st.st_mode))
            return err_set(e, ERR_DATA, "%s has no folder %s/ (PNG files, one mask for each image, "
                           "equal names)", dst, folders[i]);
    }
    return 0;
}

/* The words of --set behind what init itself sets. */
static int decode_set(struct yaml_setting *settings, struct err *e)
{
    for (size_t i = 0; i < set.count; i++) {
        char *equals = strchr(set.values[i], '=');
        if (!equals)
            return err_set(e, ERR_USAGE, "init: --set %s: KEY=VALUE is expected", set.values[i]);
        *equals = 0;
        settings[NSET + i] = (struct yaml_setting){set.values[i], equals + 1};
    }
    return 0;
}

static int write_study(const char *folder, const char *file, struct err *e)
{
    struct yaml_setting settings[NSET + CLI_LIST_MAX];
    char data[PATH_MAX], derived[65];
    struct buf b = {0};
    int rc;

    derive_name(folder, derived);
    settings[SET_NAME] = (struct yaml_setting){"name", name ? name : derived};
    settings[SET_SITE] = (struct yaml_setting){"site", site};
    settings[SET_DATA] = (struct yaml_setting){"data.dir", data};
    settings[SET_MODEL] = (struct yaml_setting){"model.name", model};
    settings[SET_HEIGHT] = (struct yaml_setting){"data.height", DEFAULT_HEIGHT};
    settings[SET_WIDTH] = (struct yaml_setting){"data.width", DEFAULT_WIDTH};
    if (check_data(data, e) || decode_set(settings, e))
        return -1;
    buf_add(&b, "# A study: the same training on several numbers of GPUs. Made by unetctl init.\n"
                "# unetctl plan shows its runs, unetctl submit starts them.\n");
    rc = study_encode(settings, NSET + set.count, &b, e);
    if (rc == 0)
        rc = b.failed ? err_set(e, ERR_INTERNAL, "init: no memory")
                      : atomicfile_write(file, b.data, b.length, 0666, e);
    buf_destroy(&b);
    return rc;
}

/* A study that cannot be opened again is not left behind. */
static int check_written(const char *folder, const char *file, struct err *e)
{
    struct study study;
    struct site profile;
    int rc = study_open(&study, folder, e);

    if (rc == 0) {
        rc = site_open(&profile, study.site, study.dir, e);
        if (rc == 0)
            site_close(&profile);
        study_close(&study);
    }
    if (rc)
        unlink(file);
    return rc;
}

/* What to type next, with the folder as a shell takes it. */
static void tell_next(const char *folder, const char *file)
{
    struct buf word = {0};

    template_quote_sh(&word, folder);
    if (!word.failed)
        log_info("%s: written; look through it, then: cd %s && unetctl plan --gpus 1..4", file,
                 word.data);
    buf_destroy(&word);
}

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    const char *folder = operands[0];
    char file[PATH_MAX];
    bool made;

    (void)noperands, (void)nrest, (void)rest;
    snprintf(file, sizeof file, "%s/%s", folder, STUDY_FILE);
    if (access(file, F_OK) == 0)
        return err_set(e, ERR_CONFIG, "%s is there already, and nothing is overwritten", file);
    made = mkdir(folder, 0777) == 0;
    if (!made && errno != EEXIST)
        return err_errno(e, ERR_CONFIG, errno, "%s", folder);
    if (write_study(folder, file, e) || check_written(folder, file, e)) {
        if (made)
            rmdir(folder);
        return -1;
    }
    tell_next(folder, file);
    return 0;
}

const struct cli_command cmd_init = {
    .name = "init",
    .args = "STUDY",
    .summary = "write a commented study.yaml for a data folder and a site",
    .details = "Example: unetctl init demo --data DIR --site sandbox --set data.height=96 \\\n"
               "         --set data.width=128 --set train.epochs=30\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
