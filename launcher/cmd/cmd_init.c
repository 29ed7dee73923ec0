/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/cmd/cmd.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/host/child.h"
#include "launcher/plan/look.h"
#include "launcher/script/template.h"
#include "launcher/study/study.h"
#include "src/atomicfile.h"
#include "src/log.h"
#include "src/plural.h"
#include "src/text.h"

#define NSET 20 /* keys that init itself sets, before those of --set */

/* The size of the images of the reference systems (the programs that results are compared with),
 * used while a folder has no images, and the longest side that init chooses by itself, in
 * pixels. */
#define DEFAULT_HEIGHT 768
#define DEFAULT_WIDTH 1024
#define LONGEST_SIDE 1024

static struct {
    const char *data_dir, *site, *model, *name, *engine, *templates, *script, *ssh;
    char **program; /* the words after "--" */
    int nprogram;
    struct cli_list set;
    bool full;
} given;

#define ENGINE_ROWS 3
#define CLASS_FILE "classes.txt" /* in the study's folder, if the masks need one */

static const struct cli_option options[] = {
    {"data", 'd', CLI_STRING, "DIR",
     "use this data folder: images/ and masks/, class folders, CIFAR-10; not for a program of yours",
     &given.data_dir, 0, 0},
    {"site", 0, CLI_STRING, "SITE",
     "use this site profile, a name or a file (default: the user's, or generic)", &given.site, 0, 0},
    {"ssh", 0, CLI_STRING | CLI_TYPED, "HOST[:FOLDER]",
     "make the study on this host (default: in ~/unetctl/), and here what runs verbs there by ssh",
     &given.ssh, 0, 0},
    {"engine", 0, CLI_STRING, "NAME",
     "use this engine, such as pytorch, jax, mpi, command (default: embedded)", &given.engine, 0, 0},
    {"script", 0, CLI_STRING, "FILE", "run this script of yours with the engine", &given.script, 0, 0},
    {"templates", 0, CLI_STRING, "PATH", "use job templates from this folder", &given.templates, 0, 0},
    {"model", 0, CLI_STRING, "NAME",
     "train this network (default: unet for masks, resnet20 for classes)", &given.model, 0, 0},
    {"name", 0, CLI_STRING, "NAME", "name the study (default: after its folder)", &given.name, 0, 0},
    {"set", 's', CLI_LIST, "KEY=VALUE",
     "set a key of study.yaml, such as train.epochs=30; may be repeated", &given.set, 0, 0},
    {"full", 0, CLI_FLAG, NULL, "write all keys with their values, not only those chosen here", &given.full,
     0, 0},
    {0},
};

/* Derives a study's name from its folder's: letters become lower case, and characters that are not
 * allowed become '-'. */
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

/* Returns the multiple of step nearest to side, at least step. */
static long fit_side(double side, long step)
{
    long fitted = (long)(side / (double)step + 0.5) * step;

    return fitted < step ? step : fitted;
}

/* Returns the number that height and width must be multiples of with these settings. */
static long choose_step(const struct yaml_setting *settings, size_t n, const struct study *user)
{
    const char *network = user->model.name;
    int depth = user->model.depth;

    for (size_t i = 0; i < n; i++)
        if (strcmp(settings[i].path, "model.depth") == 0)
            depth = atoi(settings[i].value);
        else if (strcmp(settings[i].path, "model.name") == 0)
            network = settings[i].value;
    return study_sides(network, depth > 0 && depth < 16 ? depth : 0);
}

/* Chooses the size that images are trained at: their own, or a smaller one of the same aspect,
 * with sides rounded to multiples of step; without images the default size. */
static void choose_size(const struct data_look *look, long step, long *height, long *width)
{
    long longest = look->height > look->width ? look->height : look->width;
    double scale = longest > LONGEST_SIDE ? (double)LONGEST_SIDE / (double)longest : 1;

    *height = DEFAULT_HEIGHT;
    *width = DEFAULT_WIDTH;
    if (!longest)
        return;
    *height = fit_side(scale * (double)look->height, step);
    *width = fit_side(scale * (double)look->width, step);
}

static void warn_about(const struct data_look *look, const char *dir)
{
    if (*look->trouble && !look->unpaired && !look->unreadable)
        log_warn("%s", look->trouble);
    if (look->looked && look->meaning == DATA_ONE_CLASS)
        log_warn("%s: %s", dir, look->masks_text);
    if (look->images == 0)
        log_warn("%s/images has no image files: the sizes in study.yaml are a guess", dir);
    if (look->strange)
        log_warn("%s: %zu file%s not read, such as %s: the name ends in none of " FILENAME_IMAGES,
                 dir, look->strange, look->strange > 1 ? "s are" : " is", look->stranger);
    if (look->unpaired)
        log_warn("%s: %zu image%s or mask%s without a counterpart of the same name, such as %s",
                 dir, look->unpaired, plural(look->unpaired), plural(look->unpaired), look->odd);
    if (look->unreadable)
        log_warn("%s: %zu of %zu sampled images cannot be read ('unet-train data check "
                 "%s/images/*' says why)", dir, look->unreadable, look->sampled, dir);
    if (look->min_width != look->max_width || look->min_height != look->max_height)
        log_warn("%s: the images differ in size, from %ldx%ld to %ldx%ld (height x width); each is "
                 "resized with its aspect ratio kept, and padded", dir, look->min_height,
                 look->min_width, look->max_height, look->max_width);
    if (look->grey && look->colour)
        log_warn(
            "%s: %zu of %zu sampled images are grey, the others in colour; data.channels is %d",
            dir, look->grey, look->sampled - look->unreadable, look->channels >= 3 ? 3 : 1);
    if (look->images && look->images < 10)
        log_warn("%s: there are only %zu image%s%s", dir, look->images, plural(look->images),
                 look->train ? "" : ", of which a fifth is used for validation");
}

static void describe_data(const struct data_look *look, struct buf *dst)
{
    if (look->width && look->classes)
        buf_addf(dst, "# Data: %zu images of %ld classes; %ldx%ld (height x width), %s%s.\n",
                 look->images, look->classes, look->height, look->width,
                 look->channels >= 3 ? "colour" : "grey", look->deep ? ", 16 bits" : "");
    else if (look->width)
        buf_addf(dst, "# Data: %zu images, %zu masks; %ldx%ld (height x width), %s%s.\n",
                 look->images, look->masks, look->height, look->width,
                 look->channels >= 3 ? "colour" : "grey", look->deep ? ", 16 bits" : "");
    if (look->train)
        buf_addf(dst,
                 "# The data set divides its images into training (%zu) and validation (%zu).\n",
                 look->train, look->val);
    if (look->looked && look->meaning != DATA_FOREGROUND)
        buf_addf(dst, "# Masks: %s.\n", look->masks_text);
}

/* Returns whether the settings so far, those of options and of the user's file, already say what
 * mask values mean. */
static bool are_masks_set(const struct yaml_setting *settings, size_t n)
{
    static const char *const keys[] = {"data.classes", "data.ignore", "data.class_file",
                                       "data.soft_masks"};

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            if (strcmp(settings[i].path, keys[k]) == 0)
                return true;
    return false;
}

/* Stores what the masks seem to mean as settings in dst and returns the number of settings: 0 for
 * plain foreground, a single class, and masks that were not examined. Returns -1 with the possible
 * choices if the masks do not show what they mean, or if a class file is needed and the study's
 * folder has one. */
static int take_masks(const struct data_look *look, const char *dir, const char *folder,
                      char classes[24], struct yaml_setting *dst, struct err *e)
{
    char file[PATH_MAX];
    int n = 0;

    if (!look->looked || look->meaning == DATA_FOREGROUND || look->meaning == DATA_ONE_CLASS)
        return 0;
    if (look->meaning == DATA_UNSURE)
        return err_set(e, ERR_DATA, "%s: %s", dir, look->masks_text);
    snprintf(classes, 24, "%ld", look->mask_classes);
    dst[n++] = (struct yaml_setting){"data.classes", classes, "masks"};
    if (*look->ignore)
        dst[n++] = (struct yaml_setting){"data.ignore", look->ignore, "masks"};
    if (*look->class_file) {
        snprintf(file, sizeof file, "%s/%s", folder, CLASS_FILE);
        if (access(file, F_OK) == 0)
            return err_set(e, ERR_CONFIG, "%s exists already, and nothing is overwritten; use it "
                           "(-s data.class_file=%s -s data.classes=%s) or move it away", file, file,
                           classes);
        dst[n++] = (struct yaml_setting){"data.class_file", "./" CLASS_FILE, "masks"};
    }
    log_info("%s: %s", dir, look->masks_text);
    return n;
}

/* Returns the value that --set gives a key, or "". */
static const char *find_set(const char *key)
{
    size_t n = strlen(key);

    for (size_t i = given.set.count; i-- > 0;)
        if (strncmp(given.set.values[i], key, n) == 0 && given.set.values[i][n] == '=')
            return given.set.values[i] + n + 1;
    return "";
}

static int check_data(char dst[PATH_MAX], struct data_look *look, struct err *e)
{
    if (!given.data_dir)
        return err_set(e, ERR_USAGE, "init: --data DIR is missing; name a folder with images/ and "
                       "masks/, or with a folder of images for each class. For a program of yours: "
                       "init STUDY -- PROGRAM ARGS, or --engine pytorch --script FILE");
    if (!realpath(given.data_dir, dst))
        return err_errno(e, ERR_DATA, errno, "--data %s", given.data_dir);
    struct data_place place = {dst, find_set("data.images"), find_set("data.masks")};
    if (data_look_sample(&place, look, e))
        return -1;
    if (look->sampled && look->unreadable == look->sampled)
        return err_set(e, ERR_DATA, "%s: none of %zu images can be read ('unet-train data check "
                       "%s/images/*' says why)", dst, look->sampled, dst);
    if ((look->train > 0) != (look->val > 0))
        return err_set(e, ERR_DATA, "%s: the data set has no %s images", dst,
                       look->train ? "validation" : "training");
    return 0;
}

/* Changes setting->value, a path of the command line, to the one for study.yaml, which dst holds:
 * relative if it is in the study's folder, otherwise absolute. */
static int place_path(const char *folder, const struct setting *key, struct yaml_setting *setting,
                      struct buf *dst, struct err *e)
{
    char *path = yaml_table_resolve(key, NULL, setting->value), own[PATH_MAX];
    size_t n = realpath(folder, own) ? strlen(own) : 0;

    if (!path)
        return err_errno(e, ERR_INTERNAL, errno, "%s %s", setting->where, setting->value);
    bool inside = n && strncmp(path, own, n) == 0 && path[n] == '/';
    buf_add(dst, inside ? "." : "");
    for (const char *c = inside ? path + n : path; *c; c++)
        buf_addf(dst, *c == '$' ? "$%c" : "%c", *c); /* the file's paths may have variables */
    free(path);
    setting->value = dst->data ? dst->data : "";
    return 0;
}

static int place_paths(const char *folder, struct yaml_setting *settings, size_t n,
                       struct buf *texts, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        const struct setting *key = setting_find(settings_of_study, settings[i].path);
        if (!key || key->type != SETTING_PATH || strncmp(settings[i].where, "--", 2) != 0)
            continue;
        struct buf *text = &texts[SETTINGS_MAX + (key - settings_of_study)];
        buf_destroy(text);
        if (place_path(folder, key, &settings[i], text, e))
            return -1;
    }
    return 0;
}

/* Copies the settings of the user's file, except lists, without `images` those of the trainer, and those that a site's profile has values
 * for, such as slurm.partition. */
static size_t take_user(const struct study *user, struct buf *texts, bool images,
                        struct yaml_setting *dst)
{
    size_t n = 0;

    for (const struct setting *k = settings_of_study; k->path; k++) {
        struct buf *text = &texts[k - settings_of_study];
        if (user->origins.at[k - settings_of_study].layer != YAML_USER || k->blank ||
            setting_is_list(k) || (!images && setting_is_of_trainer(k)))
            continue;
        setting_format(k, &user->settings, text);
        dst[n++] = (struct yaml_setting){k->path, text->data ? text->data : "", "user"};
    }
    return n;
}

static bool runs_programs(const char *of)
{
    struct err ignored;
    const struct engine *own = engine_find(of, &ignored);

    return own && !own->embedded && !own->is_python;
}

/* Adds the key "engine" (the kind of trainer) and, unless it is embedded (unet-train), the
 * engine's section for the user to fill in. */
static size_t take_engine(char paths[ENGINE_ROWS][64], const struct buf *arguments,
                          struct yaml_setting *dst)
{
    const char *const rows[ENGINE_ROWS][2] = {
        {"script", given.script ? given.script : ""}, {"args", arguments->data ? arguments->data : ""},
        {"python", "python3"}};
    int nrows = given.script && runs_programs(given.engine) ? 2 : ENGINE_ROWS;
    size_t n = 0;

    dst[n++] = (struct yaml_setting){"engine", given.engine, "--engine"};
    if (!given.script && strcmp(given.engine, "embedded") != 0) /* the scripts of unetctl have no sync */
        dst[n++] = (struct yaml_setting){"model.batch_norm", "local", "--engine"};
    for (int i = 0; i < nrows && strcmp(given.engine, "embedded") != 0; i++) {
        snprintf(paths[i], 64, "%.40s.%s", given.engine, rows[i][0]);
        dst[n++] = (struct yaml_setting){paths[i], rows[i][1], "--script"};
    }
    return n;
}

/* ---- a program of the user's ---- */

/* Makes the words after "--" the engine command's script and its arguments, as a list in JSON.
 * Files are named by their whole path, as the runs begin in folders of their own. */
static int take_program(char path[PATH_MAX], struct buf *arguments, struct err *e)
{
    char file[PATH_MAX];

    if (given.script || (given.engine && !runs_programs(given.engine)))
        return err_set(e, ERR_USAGE,
                       "init: '-- PROGRAM' is for the engines command and mpi; leave %s out",
                       given.script ? "one of --script and PROGRAM" : "--engine, or name a --script");
    given.engine = given.engine ? given.engine : "command";
    given.script = *given.program;
    if (!strchr(given.script, '/')) {
        if (!child_find(given.script, X_OK, path))
            return err_set(e, ERR_CONFIG,
                           "-- %s: no folder of PATH has this program; give its path, "
                           "such as ./%s", given.script, given.script);
        given.script = path;
    }
    for (int i = 1; i < given.nprogram; i++) {
        bool is_file = *given.program[i] != '-' && access(given.program[i], F_OK) == 0;
        buf_add(arguments, i == 1 ? "[" : ", ");
        buf_add_json_string(arguments, is_file && realpath(given.program[i], file)
                                           ? file
                                           : given.program[i]);
    }
    buf_add(arguments, given.nprogram > 1 ? "]" : "");
    return 0;
}

/* Checks that the script of --script, or the program, is one that the engine can run. */
static int check_script(struct err *e)
{
    struct err ignored;
    const struct engine *own = given.engine ? engine_find(given.engine, &ignored) : NULL;

    if (!own || own->embedded)
        return err_set(e, ERR_USAGE, "init: --script needs the engine that runs it, such "
                       "as --engine pytorch");
    bool found = access(given.script, own->is_python ? R_OK : X_OK) == 0;
    for (size_t i = 0; i < given.set.count && !found; i++) /* it may be in the image */
        found = errno == ENOENT && strncmp(given.set.values[i], "container=", 10) == 0;
    if (found)
        return 0;
    return err_errno(e, ERR_CONFIG, errno, "init: %s%s", given.script,
                     own->is_python ? "" : " (it must be a program, or a script with #! and "
                                           "chmod +x)");
}

/* Adds the settings without which markers in the arguments have no value. */
static size_t take_markers(const struct buf *arguments, struct yaml_setting *dst)
{
    static const char *const rows[][3] = {{"{{steps}}", "limit.steps", "100"},
                                          {"{{minutes}}", "limit.minutes", "10"},
                                          {"{{batch_per_gpu}}", "train.batch_per_gpu", "16"}};
    size_t n = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (arguments->data && strstr(arguments->data, rows[i][0]))
            dst[n++] = (struct yaml_setting){rows[i][1], rows[i][2], ""};
    return n;
}

/* Writes the text of study.yaml for a program of the user's, without images. */
static int encode_program(const char *folder, const struct study *user, struct buf *texts,
                          struct buf *dst, struct err *e)
{
    struct yaml_setting settings[SETTINGS_MAX + NSET + CLI_LIST_MAX];
    char derived[65], paths[ENGINE_ROWS][64], path[PATH_MAX];
    struct buf arguments = {0};
    size_t n = 0;

    buf_add(dst, "# A study: the same program on several numbers of GPUs. Made by unetctl init.\n"
                 "# unetctl plan shows its runs, unetctl submit starts them; further keys: man "
                 "unetctl\n");
    int rc = given.nprogram ? take_program(path, &arguments, e) : 0;

    if (rc == 0 && (rc = check_script(e)) == 0) {
        settings[n++] = (struct yaml_setting){"site", "generic", ""};
        settings[n++] = (struct yaml_setting){"gpus", "1", ""};
        n += take_user(user, texts, false, settings + n);
        derive_name(folder, derived);
        settings[n++] = (struct yaml_setting){"name", given.name ? given.name : derived, "--name"};
        n += take_engine(paths, &arguments, settings + n);
        n += take_markers(&arguments, settings + n);
        if (given.site)
            settings[n++] = (struct yaml_setting){"site", given.site, "--site"};
        rc = study_decode_set(&given.set, settings + n, e) ||
             place_paths(folder, settings, n + given.set.count, texts, e) ||
             yaml_table_encode(settings_of_study, settings, n + given.set.count, false, dst, e);
    }
    buf_destroy(&arguments);
    return rc ? -1 : 0;
}

/* ---- images ---- */

/* Checks the data, and warns about them. Writes the text of study.yaml to dst, and that of the
 * study's class file, if it needs one, to class_file. */
static int encode_study(const char *folder, const struct study *user, struct buf *texts,
                        struct buf *dst, struct buf *class_file, struct err *e)
{
    struct yaml_setting settings[SETTINGS_MAX + NSET + CLI_LIST_MAX] = {
        {"data.height", NULL, ""}, {"data.width", NULL, ""}, {"data.channels", NULL, ""},
        {"site", NULL, ""}, {"gpus", NULL, ""}, {"train.epochs", NULL, ""}};
    char data[PATH_MAX], derived[65], height[24], width[24], engine_paths[ENGINE_ROWS][64];
    char classes[24];
    struct data_look look;
    size_t n = 6;
    long h, w;
    int masks = 0;

    if (!given.data_dir && (given.script || given.nprogram))
        return encode_program(folder, user, texts, dst, e);
    if ((given.script && check_script(e)) || check_data(data, &look, e))
        return -1;
    warn_about(&look, data);
    for (size_t i = 3; i < n; i++) /* what users change first */
        settings[i].value = setting_find(settings_of_study, settings[i].path)->preset;
    n += take_user(user, texts, true, settings + n);
    derive_name(folder, derived);
    settings[n++] = (struct yaml_setting){"name", given.name ? given.name : derived, "--name"};
    settings[n++] = (struct yaml_setting){"data.dir", data, "--data"};
    if (!given.model && look.classes && study_sides(user->model.name, user->model.depth) > 1)
        settings[n++] = (struct yaml_setting){"model.name", "resnet20", "--data"};
    if (given.model)
        settings[n++] = (struct yaml_setting){"model.name", given.model, "--model"};
    if (given.site)
        settings[n++] = (struct yaml_setting){"site", given.site, "--site"};
    if (given.engine)
        n += take_engine(engine_paths, &(struct buf){0}, settings + n);
    if (given.templates && access(given.templates, F_OK) != 0)
        return err_errno(e, ERR_CONFIG, errno, "--templates %s", given.templates);
    if (given.templates)
        settings[n++] = (struct yaml_setting){"templates", given.templates, "--templates"};
    if (study_decode_set(&given.set, settings + n, e) ||
        place_paths(folder, settings, n + given.set.count, texts, e))
        return -1;
    n += given.set.count;
    if (!are_masks_set(settings, n) &&
        (masks = take_masks(&look, data, folder, classes, settings + n, e)) < 0)
        return -1;
    if (masks)
        buf_add(class_file, look.class_file);
    choose_size(&look, choose_step(settings + 3, n - 3, user), &h, &w);
    n += (size_t)masks;
    snprintf(height, sizeof height, "%ld", h);
    snprintf(width, sizeof width, "%ld", w);
    settings[0].value = height;
    settings[1].value = width;
    settings[2].value = look.channels >= 3 ? "3" : "1";
    buf_add(dst, "# A study: the same training on several numbers of GPUs. Made by unetctl init.\n"
                 "# unetctl plan shows its runs, unetctl submit starts them.\n");
    if (!given.full)
        buf_add(dst,
                "# Further keys: 'unetctl config' prints their values, and 'man unetctl' explains "
                     "them.\n");
    describe_data(&look, dst);
    return yaml_table_encode(settings_of_study, settings, n, given.full, dst, e);
}

static int write_class_file(const char *folder, const struct buf *text, struct err *e)
{
    char file[PATH_MAX];

    if (text->length == 0)
        return 0;
    snprintf(file, sizeof file, "%s/%s", folder, CLASS_FILE);
    return atomicfile_write(file, text->data, text->length, 0666, e);
}

static int write_study(const char *folder, const char *file, bool *classes, struct err *e)
{
    struct buf b = {0}, class_file = {0}, texts[2 * SETTINGS_MAX] = {{0}};
    struct study user;
    int rc;

    if (study_open_user(&user, e))
        return -1;
    rc = encode_study(folder, &user, texts, &b, &class_file, e);
    if (rc == 0)
        rc = b.failed || class_file.failed ? err_set(e, ERR_INTERNAL, "init: out of memory")
                                           : write_class_file(folder, &class_file, e);
    *classes = rc == 0 && class_file.length;
    if (rc == 0)
        rc = atomicfile_write(file, b.data, b.length, 0666, e);
    buf_destroy(&class_file);
    buf_destroy(&b);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        buf_destroy(&texts[i]);
    study_close(&user);
    return rc;
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
    bool made, classes = false;

    given.program = rest;
    given.nprogram = nrest;
    if (study_check_length(folder, e))
        return -1;
    if (given.nprogram && given.data_dir)
        return err_set(e, ERR_USAGE,
                       "init: --data DIR is of the engines that train on images; name "
                       "the data in the program's arguments");
    snprintf(file, sizeof file, "%s/%s", folder, STUDY_FILE);
    if (given.engine && !engine_find(given.engine, e))
        return -1;
    if (access(file, F_OK) == 0)
        return err_set(e, ERR_CONFIG, "%s exists already, and nothing is overwritten", file);
    made = mkdir(folder, 0777) == 0;
    if (!made && errno != EEXIST)
        return err_errno(e, ERR_CONFIG, errno, "%s", folder);
    if (check_place(folder, e) || write_study(folder, file, &classes, e) ||
        check_written(folder, file, e)) {
        snprintf(class_file, sizeof class_file, "%s/%s", folder, CLASS_FILE);
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
        "{{gpus}}, {{nodes}}, {{tasks}}, {{seed}}, {{batch_per_gpu}}, {{steps}}, {{minutes}} and\n"
        "{{attempt_dir}} of the run.\n"
        "Samples the images: their size, rounded to a multiple of what the network needs and at\n"
        "most 1024, and their channels become the defaults; anything unusual is reported. The\n"
        "values or colours of masks become data.classes, data.ignore and a class file where their\n"
        "meaning is clear; where it is not, the choices are printed (exit 7). Settings of\n"
        "~/.config/unetctl/config.yaml are copied.\n"
        "--ssh makes the study on a host where unetctl and rsync are installed. Its verbs, typed here,\n"
        "run there; logs/ and report/ are copied here. Data and programs are the host's.\n"
        "Examples: unetctl init speed -- ./simulate --steps {{steps}}\n"
        "         unetctl init demo --data DIR --site sandbox --set data.height=96 \\\n"
        "         --set data.width=128 --set train.epochs=30\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = cmd_init_run,
};
