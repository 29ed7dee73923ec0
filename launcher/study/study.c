/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/study/study.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/host/path.h"
#include "launcher/study/engine.h"
#include "launcher/study/yaml_environment.h"
#include "src/cli.h"
#include "src/cluster/range.h"
#include "src/files.h"
#include "src/mem.h"
#include "src/settings/settings.h"

int study_base(const struct study *s)
{
    const struct builtin_model *model = settings_find_model(s->model.name);

    return s->model.base || !model ? s->model.base : model->base;
}

int study_depth(const struct study *s)
{
    const struct builtin_model *model = settings_find_model(s->model.name);

    return s->model.depth || !model ? s->model.depth : model->depth;
}

int study_sides(const char *name, int depth)
{
    const struct builtin_model *model = settings_find_model(name);

    if (!model)
        return 1;
    return model->sides ? model->sides : 1 << (depth ? depth : model->depth);
}

const struct settings_program *study_engine(const struct study *s, const char *engine)
{
    const struct setting *args;
    char path[SETTING_PATH_SIZE];

    snprintf(path, sizeof path, "%s.script", engine);
    args = setting_find(settings_of_study, path);
    return args ? (const struct settings_program *)((const char *)&s->settings + args->offset -
                                                    offsetof(struct settings_program, script))
                : NULL;
}

bool study_has_images(const struct study *s)
{
    return s->data.dir && *s->data.dir;
}

bool study_has(const struct study *s, const char *path)
{
    const struct setting *k = setting_find(settings_of_study, path);

    return study_has_images(s) ||
           (k && (!setting_is_of_trainer(k) ||
                  s->origins.at[k - settings_of_study].layer >= YAML_STUDY));
}

bool study_runs_trainer(const struct study *s)
{
    const struct settings_program *section = study_engine(s, s->engine);
    struct err ignored;

    return !section || (!*section->script && engine_find(s->engine, &ignored)->script);
}

/* Finds the nearest folder that has a study.yaml, from dir upwards, and changes dir to it. */
static int find_upwards(char *dir, struct err *e)
{
    char start[PATH_MAX];

    snprintf(start, sizeof start, "%s", dir);
    for (;;) {
        char file[PATH_MAX + sizeof STUDY_FILE];
        snprintf(file, sizeof file, "%s/%s", dir, STUDY_FILE);
        if (access(file, F_OK) == 0)
            return 0;
        char *slash = strrchr(dir, '/');
        if (!slash || !dir[1])
            return err_set(e, ERR_CONFIG, "neither %s nor a folder above it has %s; name a study "
                           "with -C STUDY, or make one with 'unetctl init STUDY --data DIR'", start,
                           STUDY_FILE);
        slash[slash == dir] = 0;
    }
}

int study_check_length(const char *dir, struct err *e)
{
    size_t n = strlen(dir), most = PATH_MAX - 1 - STUDY_BELOW_MAX;

    if (n <= most)
        return 0;
    return err_set(e, ERR_CONFIG, "study %.40s...%s: the path of the folder has %zu bytes, and "
                   "only %zu leave room for the files of its runs; choose a shorter one", dir,
                   dir + n - 20, n, most);
}

int study_locate(const char *dir, char path[PATH_MAX], struct err *e)
{
    if (!realpath(dir ? dir : ".", path))
        return err_errno(e, ERR_CONFIG, errno, "study %s", dir ? dir : ".");
    return dir ? 0 : find_upwards(path, e);
}

static int locate(struct study *s, const char *dir, struct err *e)
{
    char path[PATH_MAX];

    if (study_locate(dir, path, e) || study_check_length(path, e))
        return -1;
    /* Control characters would break the scripts that name the folder, even within quotes. */
    for (const char *p = path; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return err_set(e, ERR_CONFIG, "study %s: the path of the folder has a newline or "
                           "control character; rename it", path);
    json_t *text = json_string(path); /* json_string returns NULL for a text that is not UTF-8 */
    json_decref(text);
    if (!text)
        return err_set(e, ERR_CONFIG, "study %s: the path of the folder is not UTF-8; rename it",
                       path);
    files_own_study(path);
    s->dir = mem_text(path, e);
    s->file = mem_textf(e, "%s/%s", path, STUDY_FILE);
    if (!s->dir || !s->file)
        return -1;
    if (access(s->file, F_OK) != 0)
        return err_errno(e, ERR_CONFIG, errno, "%s ('unetctl init STUDY --data DIR' makes one)",
                         s->file);
    return 0;
}

const char *study_place(const struct study *s, const char *path)
{
    if (!setting_find(settings_of_study, path))
        return s->file;
    const struct yaml_origin *o = yaml_table_origin(settings_of_study, &s->origins, path);

    return o->where ? o->where : "built-in";
}

static int check_side(const struct study *s, const char *path, int side, struct err *e)
{
    int step = study_sides(s->model.name, s->model.depth), below = side / step * step;
    bool halves = study_depth(s) > 0;
    char depth[64];

    if (side % step == 0)
        return 0;
    snprintf(depth, sizeof depth, "2 to the power of model.depth %d", study_depth(s));
    return err_set(e, ERR_CONFIG, "%s: %s %d must be a multiple of %d, such as %d (%s, %s)",
                   study_place(s, path), path, side, step, below + step,
                   halves ? depth : s->model.name,
                   study_place(s, halves ? "model.depth" : "model.name"));
}

/* Checks that settings fit each other, and that a model given as a file exists. */
static int check_together(const struct study *s, struct err *e)
{
    const char *wrong = settings_check(&s->settings, e);

    if (wrong)
        return err_prefix(e, "%s", study_place(s, wrong));
    if (*s->data.stage && !study_has_images(s))
        return err_set(e, ERR_CONFIG, "%s: data.stage needs data.dir, the folder whose files are "
                       "copied to the nodes", study_place(s, "data.stage"));
    if (!study_runs_trainer(s))
        return 0;
    if (settings_model_is_file(s->model.name) && access(s->model.name, F_OK) != 0)
        return err_errno(e, ERR_CONFIG, errno, "%s: model.name %s", study_place(s, "model.name"),
                         s->model.name);
    return check_side(s, "data.height", s->data.height, e) ||
                   check_side(s, "data.width", s->data.width, e)
               ? -1
               : 0;
}

static int add_user_file(struct study *s, struct err *e)
{
    char file[PATH_MAX];
    struct err ignored;

    if (statedir_config_path(STUDY_USER_FILE, file, &ignored) || access(file, F_OK) != 0)
        return 0;
    return yaml_table_add_file(settings_of_study, file, YAML_USER, &s->settings, &s->origins, e);
}

static int add_settings(struct study *s, const struct yaml_setting *settings, size_t n,
                        struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (yaml_table_add_text(settings_of_study, settings[i].path, settings[i].value,
                                YAML_COMMAND, settings[i].where, &s->settings, &s->origins, e))
            return -1;
    return 0;
}

int study_most_gpus(const char *gpus)
{
    struct range counts;
    struct err ignored;

    if (range_decode(gpus, 1, SETTINGS_GPUS_MAX, &counts, &ignored))
        return 0;
    int most = counts.count ? counts.values[counts.count - 1] : 0;
    range_destroy(&counts);
    return most;
}

static void note_effects(struct study *s)
{
    int gpus = study_most_gpus(s->gpus);

    for (const struct setting *k = settings_of_study; k->path; k++)
        s->has_effect[k - settings_of_study] =
            !need_unmet(settings_of_study, k, &s->settings, gpus);
}

/* Variables that begin with UNETCTL_, which is left out here, and a section's name, but are those
 * of options of verbs instead of settings. */
static const char *const other_variables[] = {"SLURM_VERSION", "TRAIN_IMAGES", NULL};

int study_open(struct study *s, const char *dir, const struct yaml_setting *settings,
               size_t nsettings, struct err *e)
{
    *s = (struct study){0};
    if (locate(s, dir, e) || yaml_table_create(settings_of_study, &s->settings, &s->origins, e) ||
        add_user_file(s, e) ||
        yaml_table_add_file(settings_of_study, s->file, YAML_STUDY, &s->settings, &s->origins, e) ||
        yaml_environment_add(settings_of_study, STUDY_ENV_PREFIX, other_variables, &s->settings,
                              &s->origins, e)) {
        study_close(s);
        return -1;
    }
    note_effects(s);
    if (add_settings(s, settings, nsettings, e) ||
        yaml_table_finish(settings_of_study, s->file, study_has_images(s) || study_runs_trainer(s),
                          &s->origins, e) ||
        (!s->data.dir && !(s->data.dir = strdup(""))) || check_together(s, e)) {
        study_close(s);
        return -1;
    }
    return 0;
}

int study_open_user(struct study *s, struct err *e)
{
    *s = (struct study){0};
    if (yaml_table_create(settings_of_study, &s->settings, &s->origins, e) || add_user_file(s, e)) {
        study_close(s);
        return -1;
    }
    return 0;
}

int study_decode_set(const struct cli_list *set, struct yaml_setting *dst, struct err *e)
{
    for (size_t i = 0; i < set->count; i++) {
        /* the text is a word of argv, which may be changed */
        char *equals = (char *)strchr(set->values[i], '=');
        if (!equals)
            return err_set(e, ERR_USAGE, "--set %s: must be KEY=VALUE", set->values[i]);
        *equals = 0;
        dst[i] = (struct yaml_setting){set->values[i], equals + 1, "--set"};
    }
    return 0;
}

int study_copy(const struct study *src, struct study *dst, struct err *e)
{
    *dst = *src;
    dst->dir = strdup(src->dir);
    dst->file = strdup(src->file);
    if (yaml_table_copy(settings_of_study, &src->settings, &src->origins, &dst->settings,
                        &dst->origins, e) == 0 &&
        dst->dir && dst->file)
        return 0;
    study_close(dst);
    return err_errno(e, ERR_INTERNAL, ENOMEM, "study %s", src->dir);
}

void study_close(struct study *s)
{
    yaml_table_destroy(settings_of_study, &s->settings, &s->origins);
    free(s->file);
    free(s->dir);
    *s = (struct study){0};
}
