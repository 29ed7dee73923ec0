/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/study/study.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>

#include "launcher/host/path.h"
#include "src/cluster/range.h"
#include "src/files.h"
#include "src/format/formula.h"

/* ---- engines ---- */

static const struct engine engines[] = {
    {.name = "embedded", .embedded = true},
    {.name = "tensorflow", .is_python = true, .script = "templates/tensorflow/train.py"},
    {.name = "horovod", .is_python = true, .rank_per_gpu = true, .always_launched = true,
     .sees_node = true, .script = "templates/horovod/train.py"},
    {.name = "pytorch", .is_python = true, .rank_per_gpu = true, .sees_node = true,
     .script = "templates/pytorch/train.py"},
    {.name = "torchrun", .is_python = true, .rank_per_gpu = true, .by_launcher = true,
     .sees_node = true},
    {.name = "jax", .is_python = true, .rank_per_gpu = true, .always_launched = true},
    {.name = "mpi", .rank_per_gpu = true, .always_launched = true},
    {.name = "command"},
};

/* Words that are not near the engine that is meant. */
static const char *const others[][2] = {
    {"torch", "pytorch"}, {"ddp", "pytorch"}, {"lightning", "pytorch"}, {"deepspeed", "pytorch"},
    {"accelerate", "torchrun"}, {"tf", "tensorflow"}, {"keras", "tensorflow"}, {"mpirun", "mpi"},
    {"srun", "mpi"}, {"python", "command"}, {"program", "command"}};

const struct engine *engine_find(const char *name, struct err *e)
{
    const char *const *known = setting_find(settings_of_study, "engine")->words;
    char list[ERR_TEXT_SIZE] = "", near[CLI_SUGGESTION] = "";

    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (strcmp(engines[i].name, name) == 0)
            return &engines[i];
    for (size_t i = 0; i < sizeof others / sizeof *others && !*near; i++)
        if (strcmp(others[i][0], name) == 0)
            snprintf(near, sizeof near, "; did you mean '%s'?", others[i][1]);
    if (!*near)
        cli_suggest(name, known, near);
    for (size_t i = 0, n = 0; known[i] && n < sizeof list; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", known[i]);
    err_set(e, ERR_CONFIG, "unknown engine '%s'%s (known: %s)", name, near, list);
    return NULL;
}

/* ---- sites ---- */

#define SUFFIX ".yaml"

static const char *const schedulers[] = {"slurm", "local", NULL};

#define AT(member) offsetof(struct site, member)

static const char *const interfaces[] = {"auto", "library", "commands", NULL};
static const char *const runtimes[] = {"auto", "pyxis", "apptainer", "singularity", "podman",
                                       "charliecloud", NULL};
static const char *const gpu_requests[] = {"per-task", "gres", "per-node", "gpus", NULL};

static const char *check_gpu_type(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") ==
           strlen(text)
               ? NULL
               : "must be one word, such as v100";
}

static const char *check_shell(const char *text)
{
    const char *name = strrchr(text, '/');

    if (text[0] != '/' || strpbrk(text, " \t"))
        return "must be an absolute path without blanks, such as /bin/bash";
    return strcmp(name, "/bash") == 0 || strcmp(name, "/zsh") == 0 ? NULL : "must be bash or zsh";
}

static const char *check_billing(const char *text)
{
    static const struct formula_value names[] = {
        {"gpus", 1}, {"cores", 1}, {"mem", 1}, {"nodes", 1}, {NULL, 0}};
    double value;

    return !*text || (formula_compute(text, names, &value) && isfinite(value))
               ? NULL
               : "must be a number for gpus, cores, mem or nodes, such as gpus*2, or the largest of "
                 "several: max(gpus, cores/8, mem/64)";
}

static const char *check_host_suffix(const char *text)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";

    return strspn(text, allowed) == strlen(text) ? NULL : "must have only letters, digits, . and -";
}

const struct setting site_keys[] = {
    SETTING_ROW("scheduler", WORD, AT(scheduler), "slurm", .words = schedulers,
                .help = "what starts the jobs"),
    SETTING_ROW("sandbox", SWITCH, AT(sandbox), "false",
                .help = "the Slurm of 'unetctl sandbox up', whose GPUs are fake"),
    SETTING_ROW("gpus_per_node", INT, AT(gpus_per_node), NULL, .min = 0, .max = 4096,
                .help = "GPUs of a node; 0: one node, any number"),
    SETTING_ROW("max_in_flight", INT, AT(max_in_flight), "1", .min = 1, .max = 4096,
                .help = "local: jobs of all studies that run at once"),
    SETTING_ROW("port_base", INT, AT(port_base), "0", .min = 0, .max = 65000,
                .help = "first port of the ranks of a node; 0: 12000"),
    SETTING_ROW("port_count", INT, AT(port_count), "1", .min = 1, .max = 65000,
                .help = "ports from there, of which the job's number selects those of its ranks; "
                        "with port_base 0 it is 1000"),
    SETTING_ROW("poll_s", INT, AT(poll_s), "30", .min = 1, .max = 3600, .unit = "s",
                .help = "the most time between two questions of watch to the scheduler: a fifth "
                        "of the time since a state changed, at least a second"),
    SETTING_ROW("launcher", TEXT, AT(launcher), "",
                .help = "shell words that start several ranks; markers such as {{cpus_per_task}} "
                        "and {{task_list}} are the numbers of 'unetctl template list'"),
    SETTING_ROW("spec", TEXT, AT(spec), "",
                .help = "shell words behind 'unetctl spec', where the scheduler says nothing"),
    SETTING_ROW("trainer", PATH, AT(trainer), "",
                .help = "program instead of unet-train, one for each rank in the run's folder "
                        "with TF_CONFIG: PROGRAM train --run run.json --out attempt-K [--resume "
                        "attempt-J]"),
    SETTING_ROW("templates", PATH, AT(templates), "",
                .help = "folder of templates of the site's own"),
    SETTING_ROW("container", PATH, AT(container), "", .help = "as in study.yaml"),
    SETTING_ROW("container_runtime", WORD, AT(container_runtime), "auto", .words = runtimes,
                .help = "as in study.yaml"),
    SETTING_ROW("shell", TEXT, AT(shell), "/bin/bash", .check = check_shell,
                .help = "that runs submit_file.sh: a bash or a zsh"),
    SETTING_ROW("gpu_request", WORD, AT(gpu_request), "per-task", .words = gpu_requests,
                .help = "per-task: --gpus-per-task; gres, per-node, gpus: --gres=gpu:N, "
                        "--gpus-per-node or --gpus, with --ntasks-per-node, where every node has "
                        "equally many (3 GPUs as 2+1 stay per-task)"),
    SETTING_ROW("gpu_type", TEXT, AT(gpu_type), "", .check = check_gpu_type,
                .help = "such as v100: --gres=gpu:v100:2"),
    SETTING_ROW("host_suffix", TEXT, AT(host_suffix), "", .check = check_host_suffix,
                .help = "behind each host's name in the cluster spec, where the fast network has "
                        "names of its own: node7 + i"),
    SETTING_ROW("setup", LINES, AT(setup), "",
                .help = "shell lines before everything else, such as module load unetctl"),
    SETTING_ROW("env", PAIRS, AT(env), "", .help = "environment of the launcher and the ranks"),
    SETTING_ROW("partition", TEXT, AT(slurm.partition), "", .blank = true,
                .help = "as slurm.partition; empty, as with the keys below: the scheduler's"),
    SETTING_ROW("account", TEXT, AT(slurm.account), "", .blank = true,
                .help = "as slurm.account"),
    SETTING_ROW("qos", TEXT, AT(slurm.qos), "", .blank = true, .help = "as slurm.qos"),
    SETTING_ROW("constraint", TEXT, AT(slurm.constraint), "", .blank = true,
                .help = "as slurm.constraint"),
    SETTING_ROW("licenses", TEXT, AT(licenses), "",
                .help = "slurm: what each job takes of the cluster's licenses; 'machine' in "
                        "the sandbox, so that runs do not measure each other"),
    SETTING_ROW("time", TEXT, AT(slurm.time), "", .blank = true, .check = settings_check_time,
                .help = "as slurm.time"),
    SETTING_ROW("cpus_per_gpu", INT, AT(slurm.cpus_per_gpu), "1", .min = 1, .max = 4096,
                .help = "as slurm.cpus_per_gpu"),
    SETTING_ROW("mem", TEXT, AT(slurm.mem), "", .blank = true, .help = "as slurm.mem"),
    SETTING_ROW("interface", WORD, AT(slurm.interface), "auto", .words = interfaces,
                .help = "as slurm.interface; auto: the library where it fits the cluster's Slurm"),
    SETTING_ROW("billing", TEXT, AT(billing), "", .check = check_billing,
                .help = "what an hour of a job costs, of gpus, cores, mem (GB), nodes, such as "
                        "max(gpus, cores/8, mem/64); for 'report --proposal'"),
    SETTING_ROW("options", LINES, AT(slurm.options), "",
                .help = "further words of sbatch, one an item, such as --hint=nomultithread"),
    {0},
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int is_profile(const struct dirent *d)
{
    return filename_ends(d->d_name, SUFFIX);
}

int site_names(struct setting_lines *names, struct err *e)
{
    struct dirent **files = NULL;
    char folder[PATH_MAX];
    int rc = 0;

    *names = (struct setting_lines){0};
    if (paths_data("templates/sites", folder, sizeof folder, e))
        return -1;
    int n = scandir(folder, &files, is_profile, NULL);
    for (int i = 0; i < n; i++) {
        *strrchr(files[i]->d_name, '.') = 0;
        rc = rc ? rc : setting_append_line(names, files[i]->d_name, e);
        free(files[i]);
    }
    free(files);
    if (names->count)
        qsort(names->lines, names->count, sizeof *names->lines, compare_names);
    return rc;
}

static int unknown_site(const char *name, struct err *e)
{
    struct setting_lines names;

    if (site_names(&names, e) == 0) {
        cli_choose(name, (const char *const *)names.lines, "unknown site", e);
        err_set(e, ERR_CONFIG, "%s; or give the path of a file, with a /", e->text);
    }
    setting_clear_lines(&names);
    return -1;
}

static int locate_site(struct site *s, const char *name, struct err *e)
{
    bool is_path = strchr(name, '/');
    char folder[PATH_MAX];

    if (!is_path && paths_data("templates/sites", folder, sizeof folder, e))
        return -1;
    s->file = is_path ? mem_text(name, e) : mem_textf(e, "%s/%s" SUFFIX, folder, name);
    s->name = mem_text(name, e);
    if (!s->file || !s->name)
        return -1;
    return is_path || access(s->file, F_OK) == 0 ? 0 : unknown_site(name, e);
}

int site_open(struct site *s, const char *name, struct err *e)
{
    *s = (struct site){0};
    if (locate_site(s, name, e) || yaml_table_create(site_keys, s, &s->origins, e) ||
        yaml_table_add_file(site_keys, s->file, YAML_SITE, s, &s->origins, e) ||
        yaml_table_finish(site_keys, s->file, true, &s->origins, e)) {
        site_close(s);
        return -1;
    }
    return 0;
}

void site_close(struct site *s)
{
    yaml_table_destroy(site_keys, s, &s->origins);
    free(s->file);
    free(s->name);
    *s = (struct site){0};
}

static bool has_environment(const struct site *s, const char *line)
{
    for (size_t i = 0; i < s->env.count; i++)
        if (strcmp(s->env.lines[i], line) == 0)
            return true;
    return false;
}

bool site_has_fake_gpus(const struct site *s)
{
    return has_environment(s, "UNET_GPUS=fake") || s->sandbox;
}

bool site_has_foreign_gpus(const struct site *s)
{
    return has_environment(s, "UNET_GPUS=foreign");
}

/* ---- studies ---- */

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

bool study_sets(const struct study *s, const char *path)
{
    const struct setting *k = setting_find(settings_of_study, path);

    return k && s->origins.at[k - settings_of_study].layer >= YAML_STUDY;
}

bool study_has(const struct study *s, const char *path)
{
    const struct setting *k = setting_find(settings_of_study, path);

    return study_has_images(s) || (k && (!setting_is_of_trainer(k) || study_sets(s, path)));
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
                           "with -C STUDY, or make one with 'unetctl init STUDY -- PROGRAM' or "
                           "'--data DIR'", start, STUDY_FILE);
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
        return err_errno(e, ERR_CONFIG, errno, "%s ('unetctl init STUDY -- PROGRAM' makes one)",
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

/* Sets data.height and data.width to the sides of data.patch. It is an error to give both, except
 * where study.yaml has the sides and an option or a variant sets data.patch. */
static int take_patch(struct study *s, struct err *e)
{
    static const char *const sides[] = {"data.height", "data.width"};

    if (!settings_take_patch(&s->settings))
        return 0;
    for (size_t i = 0; i < 2; i++) {
        size_t row = (size_t)(setting_find(settings_of_study, sides[i]) - settings_of_study);
        struct yaml_origin *o = &s->origins.at[row];

        if (o->layer >= YAML_COMMAND || (o->layer >= YAML_STUDY && !s->has_effect[row]))
            return err_set(e, ERR_CONFIG, "%s: %s has no effect beside data.patch: %s, which "
                           "replaces it; leave it out", study_place(s, sides[i]), sides[i],
                           s->data.patch);
        if (!o->where && !(o->where = mem_text("data.patch", e)))
            return -1;
    }
    return 0;
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
    for (size_t i = 0; i < s->expect.count; i++)
        if (!strchr(s->expect.lines[i], '=')[1])
            return err_set(e, ERR_CONFIG, "%s: expect: %d has no reason, which reports give; write "
                           "it, such as {%d: does not fit in memory}", study_place(s, "expect"),
                           atoi(s->expect.lines[i]), atoi(s->expect.lines[i]));
    if (*s->data.patch && strcmp(s->engine, "embedded") != 0)
        return err_set(e, ERR_CONFIG, "%s: data.patch: the scripts of engine %s resize images, and "
                       "cut no patches; leave it out, or use engine embedded",
                       study_place(s, "data.patch"), s->engine);
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

int study_open(struct study *s, const char *dir, const struct yaml_setting *settings,
               size_t nsettings, struct err *e)
{
    *s = (struct study){0};
    if (locate(s, dir, e) || yaml_table_create(settings_of_study, &s->settings, &s->origins, e) ||
        add_user_file(s, e) ||
        yaml_table_add_file(settings_of_study, s->file, YAML_STUDY, &s->settings, &s->origins, e) ||
        yaml_table_add_environment(settings_of_study, &s->settings, &s->origins, e)) {
        study_close(s);
        return -1;
    }
    note_effects(s);
    if (add_settings(s, settings, nsettings, e) || take_patch(s, e) ||
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
