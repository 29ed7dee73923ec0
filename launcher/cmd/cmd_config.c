/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include "launcher/host/jsonio.h"
#include "launcher/study/plan.h"

static struct {
    struct plan_args args;
    bool with_origin, as_json;
} given;

static const struct cli_option options[] = {
    {"origin", 'o', CLI_FLAG, NULL, "show where each value comes from, with file and line",
     &given.with_origin, 0, 0},
    {"json", 0, CLI_FLAG, NULL, "print JSON, with the origin of each value", &given.as_json, 0, 0},
    WORKSPACE_OPTIONS_PLAN(given.args),
    WORKSPACE_OPTION_SCHEDULER(given.args),
    WORKSPACE_OPTION_STUDY(given.args),
    {0},
};

static const char *const layers[] = {"built-in", "sbatch", "user", "site",
                                     "study", "environment", "command line"};

/* A setting that is printed. */
struct shown_setting {
    char name[128];
    const struct setting *key;
    const void *src;
    const struct yaml_origin *origin;
};

#define MAX_VALUES (2 * SETTINGS_MAX)

struct values {
    struct shown_setting at[MAX_VALUES];
    size_t count;
};

/* Returns whether this key of the site's profile (the defaults for a cluster) is shown as
 * slurm.NAME of the study, to which its value was copied. */
static bool is_shown_as_slurm(const char *path)
{
    char name[128];

    snprintf(name, sizeof name, "slurm.%s", path);
    return setting_find(settings_of_study, name) != NULL;
}

static void list_values(const struct plan *p, struct values *dst)
{
    dst->count = 0;
    for (const struct setting *k = settings_of_study; k->path; k++) {
        struct shown_setting *v = &dst->at[dst->count++];
        *v = (struct shown_setting){"", k, &p->study.settings,
                                    &p->study.origins.at[k - settings_of_study]};
        snprintf(v->name, sizeof v->name, "%s", k->path);
    }
    for (const struct setting *k = site_keys; k->path; k++) {
        if (is_shown_as_slurm(k->path))
            continue;
        struct shown_setting *v = &dst->at[dst->count++];
        *v = (struct shown_setting){"", k, &p->site, &p->site.origins.at[k - site_keys]};
        snprintf(v->name, sizeof v->name, "profile.%s", k->path);
    }
}

/* Returns whether the value is one of an engine that the study does not use. */
static bool is_of_other_engine(const struct plan *p, const struct shown_setting *v)
{
    const size_t n = strcspn(v->name, ".");
    char section[sizeof v->name];
    struct err ignored;

    snprintf(section, sizeof section, "%.*s", (int)n, v->name);
    return (v->src == &p->study.settings && !study_has(&p->study, v->name)) ||
           (v->name[n] && engine_find(section, &ignored) && strcmp(section, p->study.engine) != 0);
}

/* Returns whether the names on the command line select the value, by its own name or its
 * section's. */
static bool is_asked_for(const struct shown_setting *v, int nnames, char **names)
{
    for (int i = 0; i < nnames; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(v->name, names[i], n) == 0 && (!v->name[n] || v->name[n] == '.'))
            return true;
    }
    return nnames == 0;
}

static int check_names(const struct values *all, int nnames, char **names, struct err *e)
{
    const char *known[MAX_VALUES + 1];
    size_t found;

    for (int i = 0; i < nnames; i++) {
        found = 0;
        for (size_t k = 0; k < all->count; k++) {
            known[k] = all->at[k].name;
            found += is_asked_for(&all->at[k], 1, names + i);
        }
        if (found)
            continue;
        known[all->count] = NULL;
        return err_set(e, ERR_USAGE, "config: unknown key '%s'%s ('unetctl config' lists all)",
                       names[i], cli_suggest(names[i], known, (char[CLI_SUGGESTION]){0}));
    }
    return 0;
}

static json_t *encode_value(const struct shown_setting *v)
{
    return json_pack("{s:s, s:o, s:s, s:s?}", "key", v->name, "value",
                     setting_json_encode(v->key, v->src), "layer", layers[v->origin->layer],
                     "where", v->origin->where);
}

static int print_settings_json(const struct plan *p, const struct values *all, int nnames,
                               char **names, struct err *e)
{
    json_t *list = json_array();

    for (size_t i = 0; i < all->count; i++)
        if (is_asked_for(&all->at[i], nnames, names))
            json_array_append_new(list, encode_value(&all->at[i]));
    return jsonio_print(json_pack("{s:i, s:s, s:s, s:o}", "schema", 1, "study", p->study.dir,
                                  "site", p->site.file, "values", list),
                        15, "the configuration", e);
}

static int print_value(const struct shown_setting *v, struct err *e)
{
    struct buf text = {0};
    int n;

    setting_format(v->key, v->src, &text);
    if (text.failed) {
        buf_destroy(&text);
        return err_errno(e, ERR_INTERNAL, ENOMEM, "config");
    }
    n = printf("%s: %s", v->name, text.data ? text.data : "");
    if (given.with_origin)
        printf("%*s # %s%s%s", n < 40 ? 40 - n : 0, "", layers[v->origin->layer],
               v->origin->where ? " " : "", v->origin->where ? v->origin->where : "");
    putchar('\n');
    buf_destroy(&text);
    return 0;
}

static int print_values(const struct plan *p, int nnames, char **names, struct err *e)
{
    struct values all;
    int rc = 0;

    list_values(p, &all);
    if (check_names(&all, nnames, names, e))
        return -1;
    if (given.as_json)
        return print_settings_json(p, &all, nnames, names, e);
    for (size_t i = 0; rc == 0 && i < all.count; i++)
        if (nnames ? is_asked_for(&all.at[i], nnames, names) : !is_of_other_engine(p, &all.at[i]))
            rc = print_value(&all.at[i], e);
    return rc;
}

static int cmd_config_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct workspace w;
    int rc;

    if (workspace_open(&w, &given.args, e))
        return -1;
    rc = print_values(&w.plan, noperands, operands, e);
    workspace_close(&w);
    return rc;
}

static void list_settings(struct buf *dst)
{
    settings_describe(settings_of_study, dst);
}

const struct cli_command cmd_config = {
    .name = "config",
    .args = "[KEY ...]",
    .summary = "print the settings in force, and where each comes from",
    .details =
        "A value comes from the first of: the command line (--set KEY=VALUE, --gpus ...), the\n"
        "environment (train.lr: UNETCTL_TRAIN_LR), study.yaml, the site profile (slurm.* only),\n"
        "~/.config/unetctl/config.yaml (keys of study.yaml), sbatch's variables (SBATCH_ACCOUNT\n"
        "...; slurm.* only), the preset. KEY is a key or a section; profile.* are the other keys\n"
        "of the site profile, sbatch the options that sbatch's variables stand for. Of the\n"
        "engines' sections (pytorch ...) only that of the engine in use is shown, unless KEY\n"
        "names another.\n"
        "Example: unetctl config --origin train slurm\n",
    .options = options,
    .settings = list_settings,
    .max_operands = -1,
    .run = cmd_config_run,
};
