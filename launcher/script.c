/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/script.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/run_dir.h"
#include "launcher/template.h"
#include "src/atomicfile.h"
#include "src/paths.h"

#define MAX_TEMPLATE (1 << 20)

static const char *const file_names[] = {[SCRIPT_RUN] = "run_file", [SCRIPT_SUBMIT] = "submit_file"};

static const struct script_marker markers[] = {
    {"directives", "submit_file.sh", "the #SBATCH lines of the job (or write lines of your own)"},
    {"launcher", "submit_file.sh", "the site's words that start several ranks; empty for one"},
    {"run_file", "submit_file.sh", "path of run_file.sh"},
    {"requeues", "", "times that the job may be started again by itself (slurm.requeues)"},
    {"finish", "submit_file.sh", "turns $code and log.csv into DONE or FAILED; not for embedded"},
    {"command", "run_file.sh", "the trainer or script with its arguments, as quoted words"},
    {"resume", "", "behind trainer: the option that continues an earlier attempt, or empty"},
    {"resume_dir", "", "the earlier attempt whose checkpoint/ is to be continued, or empty"},
    {"trainer", "", "embedded: path of unet-train (in place of command)"},
    {"script", "", "other engines: path of the script (in place of command)"},
    {"python", "", "other engines: what runs a Python script"},
    {"spec", "run_file.sh", "options of 'unetctl spec' on this site; embedded: must stand there"},
    {"variables", "run_file.sh", "export lines of UNETCTL_ATTEMPT_DIR and so on; not for embedded"},
    {"setup", "both", "the site's and the engine's shell lines; may be absent where there are none"},
    {"env", "both", "export lines of the site's and the engine's environment; likewise"},
    {"shell", "", "the site's shell for submit_file.sh: /bin/bash"},
    {"shell_setup", "", "zsh: the line that makes it split words as other shells do"},
    {"unetctl", "", "path of this program"},
    {"study", "", "name of the study"},
    {"study_dir", "", "its folder"},
    {"run", "", "id of the run, such as unet-g03-s1"},
    {"run_dir", "", "its folder"},
    {"engine", "", "embedded, tensorflow, horovod, pytorch or command"},
    {"attempt", "", "number of the attempt, from 1"},
    {"attempt_dir", "", "its folder: the place of log.csv"},
    {"seed", "", "seed of the run"},
    {"model", "", "model.name"},
    {"gpus", "", "GPUs of the run"},
    {"nodes", "", "nodes of the job"},
    {"tasks", "", "ranks of the job"},
    {"tasks_per_node", "", "ranks on the fullest node; the last one may have fewer"},
    {"task_list", "", "ranks of each node as Slurm writes them, such as 2(x3),1"},
    {"gpus_per_node", "", "GPUs on the fullest node"},
    {"gpus_per_task", "", "GPUs of a rank"},
    {"cpus_per_task", "", "CPUs of a rank"},
    {"data_dir", "", "data.dir: images/ and masks/, or images of one class each"},
    {"split", "", "path of split.json"},
    {"epochs", "", "train.epochs"},
    {"batch_per_gpu", "", "images of a step and GPU"},
    {"global_batch", "", "images of a step over all GPUs"},
    {"lr", "", "train.lr, not scaled"},
    {"job_name", "", "the job's name, for #SBATCH lines of your own"},
    {"comment", "", "the job's comment, by which unetctl finds it again"},
    {"output", "", "the job's output file"},
    {"partition", "", "as the site, the study and the command line have it; or empty"},
    {"account", "", "likewise"},
    {"qos", "", "likewise"},
    {"constraint", "", "likewise"},
    {"time_min", "", "the time limit in minutes; 0 for none"},
    {"tag_program", "", "the reference's tags: the script"},
    {"tag_program1", "", "a program that prints TF_CONFIG"},
    {"tag_program2", "", "the script"},
    {"tag_epoch", "", "train.epochs"},
    {"tag_batch", "", "global batch"},
    {"tag_aug", "", "0; another value: markers: {tag_aug: 1} in study.yaml"},
    {"tag_task", "", "ranks and GPUs of each node"},
    {"tag_node", "", "nodes"},
    {"tag_command", "", "1 with MPI, on several nodes; 2 without"},
    {"setup.sh", "", "beside tags: path of a script that sets RANK, LOCAL_RANK, WORLD_SIZE"},
    {NULL, NULL, NULL},
};

const struct script_marker *script_markers(void)
{
    return markers;
}

/* Everything that the scripts of one attempt are made from. */
struct script {
    const struct workspace *w;
    const struct run *run;
    const struct job *job;
    const struct study_engine *section; /* NULL for the embedded engine */
    int attempt;
    struct template_value values[TEMPLATE_VALUES_MAX + 1]; /* the user's markers, then ours */
    size_t nuser, nvalues;
    bool used_by_user[TEMPLATE_VALUES_MAX];
};

static void destroy(struct script *s)
{
    for (size_t i = 0; i < s->nvalues; i++) {
        if (i < s->nuser)
            free((char *)s->values[i].name);
        free((char *)s->values[i].value);
    }
}

/* ---- values ---- */

static size_t place_of(const struct script *s, const char *name)
{
    size_t i = s->nuser;

    while (strcmp(s->values[i].name, name) != 0)
        i++;
    return i;
}

static const char *get(const struct script *s, const char *name)
{
    return s->values[place_of(s, name)].value;
}

/* Takes the text; a NULL one is found by check_memory. */
static void set_text(struct script *s, const char *name, char *text)
{
    s->values[place_of(s, name)].value = text;
}

static void set(struct script *s, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void set(struct script *s, const char *name, const char *fmt, ...)
{
    va_list ap;
    char *text;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    set_text(s, name, text);
}

static int check_memory(const struct script *s, struct err *e)
{
    for (size_t i = 0; i < s->nvalues; i++)
        if (!s->values[i].value)
            return err_set(e, ERR_INTERNAL, "no memory for the marker '%s'", s->values[i].name);
    return 0;
}

static bool is_marker(const char *name)
{
    for (const struct script_marker *m = markers; m->name; m++)
        if (strcmp(m->name, name) == 0)
            return true;
    return false;
}

/* The names: the user's first, so that a tag of theirs wins. */
static int init_values(struct script *s, struct err *e)
{
    const struct yaml_lines *own = &s->w->study.markers;

    for (size_t i = 0; i < own->count; i++) {
        char *equals = strchr(own->lines[i], '=');
        if (s->nvalues + sizeof markers / sizeof *markers > TEMPLATE_VALUES_MAX)
            return err_set(e, ERR_CONFIG, "%s: too many markers", s->w->study.file);
        char *name = strndup(own->lines[i], (size_t)(equals - own->lines[i]));
        if (!name)
            return err_errno(e, ERR_INTERNAL, errno, "markers");
        s->values[s->nvalues++] = (struct template_value){name, strdup(equals + 1), true};
        s->nuser++;
        if (is_marker(name) && strncmp(name, "tag_", 4) != 0)
            return err_set(e, ERR_CONFIG, "%s: markers.%s: '%s' is a marker of unetctl; choose another "
                           "name (unetctl template list has all)", s->w->study.file, name, name);
    }
    for (const struct script_marker *m = markers; m->name; m++)
        s->values[s->nvalues++] = (struct template_value){m->name, NULL, true};
    return 0;
}

/* Words with this run's values in them, as far as those are known by now. */
static char *expand_words(const struct script *s, const char *where, const char *words, struct err *e)
{
    struct template_value known[TEMPLATE_VALUES_MAX + 1];
    struct buf b = {0};
    char *text = NULL;
    size_t n = 0;

    for (size_t i = 0; i < s->nvalues; i++)
        if (s->values[i].value)
            known[n++] = s->values[i];
    known[n] = (struct template_value){0};
    if (template_render(where, words, known, &b, e) == 0 && !(text = buf_steal(&b)))
        err_set(e, ERR_INTERNAL, "%s: no memory", where);
    buf_destroy(&b);
    return text;
}

/* The same, with the blank that separates it from what follows in the template. */
static int set_words(struct script *s, const char *name, const char *words, struct err *e)
{
    char *text = expand_words(s, s->w->site.file, words, e);

    if (!text)
        return -1;
    set(s, name, "%s%s", text, *text ? " " : "");
    free(text);
    return 0;
}

static void add_lines(struct buf *b, const struct yaml_lines *list)
{
    for (size_t i = 0; i < list->count; i++)
        buf_addf(b, "%s%s", b->length ? "\n" : "", list->lines[i]);
}

static void add_export(struct buf *b, const char *name, size_t length, const char *value)
{
    buf_addf(b, "%sexport %.*s=", b->length ? "\n" : "", (int)length, name);
    template_quote_sh(b, value);
}

static void add_exports(struct buf *b, const struct yaml_lines *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *equals = strchr(list->lines[i], '=');
        add_export(b, list->lines[i], (size_t)(equals - list->lines[i]), equals + 1);
    }
}

static void set_lines(struct script *s)
{
    struct buf setup = {0}, env = {0};

    add_lines(&setup, &s->w->site.setup);
    add_exports(&env, &s->w->site.env);
    if (s->section) {
        add_lines(&setup, &s->section->setup);
        add_exports(&env, &s->section->env);
    }
    set_text(s, "setup", buf_steal(&setup));
    set_text(s, "env", buf_steal(&env));
}

static void set_layout(struct script *s)
{
    const struct layout *l = &s->run->layout;
    const struct study *study = &s->w->study;
    struct run_batch batch = run_plan_batch(study, s->run);

    set(s, "gpus", "%d", l->gpus);
    set(s, "nodes", "%d", l->nodes);
    set(s, "tasks", "%d", l->tasks);
    set(s, "tasks_per_node", "%d", l->tasks_per_node);
    int rest = l->tasks - (l->nodes - 1) * l->tasks_per_node;
    if (l->nodes == 1)
        set(s, "task_list", "%d", rest);
    else if (rest == l->tasks_per_node)
        set(s, "task_list", "%d(x%d)", rest, l->nodes);
    else if (l->nodes > 2)
        set(s, "task_list", "%d(x%d),%d", l->tasks_per_node, l->nodes - 1, rest);
    else
        set(s, "task_list", "%d,%d", l->tasks_per_node, rest);
    set(s, "gpus_per_task", "%d", l->gpus_per_task);
    set(s, "gpus_per_node", "%d", l->tasks_per_node * l->gpus_per_task);
    set(s, "cpus_per_task", "%d", s->job->cpus_per_task);
    set(s, "requeues", "%d", s->job->requeues);
    set(s, "epochs", "%ld", study->train.epochs);
    set(s, "batch_per_gpu", "%ld", batch.per_gpu);
    set(s, "global_batch", "%ld", batch.global);
    set(s, "lr", "%.15g", study->train.lr);
}

static void set_job(struct script *s)
{
    const struct job_options *o = &s->w->options;
    const struct job *job = s->job;
    struct job whole = *job;
    whole.own_directives = false; /* lines of the template's own stand beside these */
    char *lines = job_directives(&whole);
    size_t n = lines ? strlen(lines) : 0;

    if (n && lines[n - 1] == '\n') /* the marker's own line has one */
        lines[n - 1] = 0;
    set_text(s, "directives", lines);
    set(s, "job_name", "%s", job->name);
    set(s, "comment", "%s", job->tag);
    set(s, "output", "%s", job->output);
    set(s, "partition", "%s", o->partition ? o->partition : "");
    set(s, "account", "%s", o->account ? o->account : "");
    set(s, "qos", "%s", o->qos ? o->qos : "");
    set(s, "constraint", "%s", o->constraint ? o->constraint : "");
    set(s, "time_min", "%d", o->time_min);
}

static int set_names(struct script *s, struct err *e)
{
    const struct workspace *w = s->w;
    char bindir[PATH_MAX - 16], path[PATH_MAX], data[PATH_MAX];

    if (paths_bindir(bindir, sizeof bindir))
        return err_set(e, ERR_INTERNAL, "cannot tell where this program lies (is /proc mounted?)");
    set(s, "unetctl", "%s/unetctl", bindir);
    if (*w->site.trainer)
        set(s, "trainer", "%s", w->site.trainer);
    else
        set(s, "trainer", "%s/unet-train", bindir);
    set(s, "shell", "%s", w->site.shell);
    set(s, "shell_setup", "%s", strstr(w->site.shell, "/zsh") ? "setopt sh_word_split" : "");
    set(s, "study", "%s", w->study.name);
    set(s, "study_dir", "%s", w->study.dir);
    set(s, "run", "%s", s->run->id);
    set(s, "engine", "%s", s->run->engine->name);
    set(s, "attempt", "%d", s->attempt);
    set(s, "seed", "%d", s->run->seed);
    set(s, "model", "%s", s->w->study.model.name);
    run_dir_path(w->study.dir, s->run->id, NULL, path);
    set(s, "run_dir", "%s", path);
    set(s, "attempt_dir", "%s/attempt-%d", path, s->attempt);
    set(s, "run_file", "%s/run_file.sh", path);
    int from = run_dir_checkpoint(w->study.dir, s->run->id, s->attempt - 1);
    if (from) {
        set(s, "resume", " --resume attempt-%d", from);
        set(s, "resume_dir", "%s/attempt-%d", path, from);
    } else {
        set(s, "resume", "%s", "");
        set(s, "resume_dir", "%s", "");
    }
    set(s, "data_dir", "%s", realpath(w->study.data.dir, data) ? data : w->study.data.dir);
    set(s, "split", "%s/split.json", w->study.dir);
    return 0;
}

/* ---- the engine ---- */

static int check_program(const struct script *s, const char *path, struct err *e)
{
    const struct engine *engine = s->run->engine;

    if (access(path, engine->is_python ? R_OK : X_OK) == 0)
        return 0;
    return err_errno(e, ERR_CONFIG, errno, "%s: %s.script: %s%s", s->w->study.file, engine->name, path,
                     engine->is_python ? "" : " (a program, or a script with #! and chmod +x)");
}

/* The script that runs: the study's, or the one that comes with unetctl. */
static int set_script(struct script *s, struct err *e)
{
    const struct engine *engine = s->run->engine;
    char shipped[PATH_MAX] = "";

    set(s, "python", "%s", s->section ? s->section->python : "");
    if (!s->section || *s->section->script) {
        set(s, "script", "%s", s->section ? s->section->script : "");
        return s->section ? check_program(s, s->section->script, e) : 0;
    }
    if (!engine->script)
        return err_set(e, ERR_CONFIG, "%s: engine %s runs a script of yours: name it in a section\n"
                       "%s:\n  script: ./PROGRAM", s->w->study.file, engine->name, engine->name);
    if (paths_data(engine->script, shipped, sizeof shipped, e))
        return -1;
    set(s, "script", "%s", shipped);
    return 0;
}

static void add_word(struct buf *b, const char *word)
{
    if (b->length)
        buf_add(b, " ");
    template_quote_sh(b, word);
}

static int set_command(struct script *s, struct err *e)
{
    struct buf b = {0};
    char where[PATH_MAX + 32];
    int rc = 0;

    snprintf(where, sizeof where, "%s: %s.args", s->w->study.file, s->run->engine->name);
    if (!s->section) {
        template_quote_sh(&b, get(s, "trainer"));
        buf_addf(&b, " train --run run.json --out attempt-%d%s", s->attempt, get(s, "resume"));
    } else if (s->run->engine->is_python) {
        add_word(&b, s->section->python);
        add_word(&b, get(s, "script"));
    } else {
        add_word(&b, get(s, "script"));
    }
    for (size_t i = 0; rc == 0 && s->section && i < s->section->args.count; i++) {
        char *word = expand_words(s, where, s->section->args.lines[i], e);
        if (word)
            add_word(&b, word);
        else
            rc = -1;
        free(word);
    }
    if (rc)
        buf_destroy(&b);
    else
        set_text(s, "command", buf_steal(&b));
    return rc;
}

/* Where unetctl_run.py lies, which scripts may import. */
static int add_python_path(struct buf *b, struct err *e)
{
    char path[PATH_MAX];

    if (paths_data("templates/python", path, sizeof path, e))
        return -1;
    add_export(b, "PYTHONPATH", strlen("PYTHONPATH"), path);
    buf_add(b, "\"${PYTHONPATH:+:$PYTHONPATH}\"");
    return 0;
}

/* What every engine but the embedded one finds in its environment. */
static int set_variables(struct script *s, struct err *e)
{
    static const struct { const char *variable, *marker; } rows[] = {
        {"STUDY_DIR", "study_dir"}, {"RUN", "run"}, {"RUN_DIR", "run_dir"}, {"ATTEMPT", "attempt"},
        {"ATTEMPT_DIR", "attempt_dir"}, {"RESUME_DIR", "resume_dir"}, {"ENGINE", "engine"},
        {"SEED", "seed"}, {"GPUS", "gpus"},
        {"NODES", "nodes"}, {"TASKS", "tasks"}, {"TASK_GPUS", "gpus_per_task"},
        {"DATA_DIR", "data_dir"}, {"SPLIT", "split"}, {"TRAIN_EPOCHS", "epochs"},
        {"TRAIN_BATCH_PER_GPU", "batch_per_gpu"}, {"TRAIN_LR", "lr"}};
    struct buf b = {0};
    char name[64], json[PATH_MAX + 16];
    int rc = 0;

    if (s->section) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            snprintf(name, sizeof name, "UNETCTL_%s", rows[i].variable);
            add_export(&b, name, strlen(name), get(s, rows[i].marker));
        }
        snprintf(json, sizeof json, "%s/run.json",
                 get(s, s->run->resized ? "attempt_dir" : "run_dir"));
        add_export(&b, "UNETCTL_RUN_JSON", strlen("UNETCTL_RUN_JSON"), json);
        if (s->run->engine->is_python)
            rc = add_python_path(&b, e);
    }
    set_text(s, "variables", buf_steal(&b));
    return rc;
}

/* Of the embedded engine, the trainer itself writes its marker. */
static void set_finish(struct script *s)
{
    struct buf b = {0};

    if (s->section) {
        buf_add(&b, "[ \"$code\" != 0 ] || ");
        template_quote_sh(&b, get(s, "unetctl"));
        buf_add(&b, " finish \"$attempt\" || code=$?");
    }
    set_text(s, "finish", buf_steal(&b));
}

/* ---- the reference's tags ---- */

static int set_tag_path(struct script *s, const char *name, const char *file, struct err *e)
{
    const char *user = s->w->templates;
    char path[PATH_MAX], found[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", user, file);
    if (!*user || !realpath(path, found)) {
        snprintf(path, sizeof path, "templates/tags/%s", file);
        if (paths_data(path, found, sizeof found, e))
            return -1;
    }
    set(s, name, "%s", found);
    return 0;
}

static int set_tags(struct script *s, struct err *e)
{
    const struct layout *l = &s->run->layout;

    set(s, "tag_program", "%s", *get(s, "script") ? get(s, "script") : get(s, "trainer"));
    set(s, "tag_program2", "%s", get(s, "tag_program"));
    set(s, "tag_epoch", "%s", get(s, "epochs"));
    set(s, "tag_batch", "%s", get(s, "global_batch"));
    set(s, "tag_aug", "0");
    set(s, "tag_task", "%s", get(s, "gpus_per_node"));
    set(s, "tag_node", "%d", l->nodes);
    set(s, "tag_command", "%d", l->nodes > 1 ? 1 : 2);
    return set_tag_path(s, "tag_program1", "tensorflow_create_tfconfig.py", e) ||
                   set_tag_path(s, "setup.sh", "setup_dist_env.sh", e)
               ? -1
               : 0;
}

/* The words that start the ranks. Steps side by side in one job are srun's alone: --exact takes no
 * more than a step needs, and no step takes all of the memory. */
static int set_launcher(struct script *s, struct err *e)
{
    const struct site *site = &s->w->site;
    bool launched = s->run->layout.tasks > 1 || s->run->engine->always_launched;
    struct buf words = {0};
    int rc;

    if (!s->w->one_allocation) {
        if (set_words(s, "launcher", launched ? site->launcher : "", e))
            return -1;
        if (launched && !*get(s, "launcher"))
            return err_set(e, ERR_CONFIG, "%s: %d GPUs need %d ranks, and the site has no "
                           "'launcher' that starts several", site->file, s->run->layout.gpus,
                           s->run->layout.tasks);
        return 0;
    }
    if (strncmp(site->launcher, "srun", 4) != 0 || (site->launcher[4] && site->launcher[4] != ' '))
        return err_set(e, ERR_CONFIG, "%s: --one-allocation needs a site whose 'launcher' is srun: "
                       "only Slurm divides a job's nodes among runs", site->file);
    buf_addf(&words, "%s --job-name={{run}} --exact --mem=0 --nodes={{nodes}} --ntasks={{tasks}} "
             "--gpus-per-task={{gpus_per_task}} --cpus-per-task={{cpus_per_task}}", site->launcher);
    rc = words.failed ? err_errno(e, ERR_INTERNAL, errno, "launcher")
                      : set_words(s, "launcher", words.data, e);
    buf_destroy(&words);
    return rc;
}

static int fill_values(struct script *s, struct err *e)
{
    const struct site *site = &s->w->site;
    char options[160] = "";
    size_t n = 0;

    if (init_values(s, e) || set_names(s, e))
        return -1;
    set_layout(s);
    set_job(s);
    set_lines(s);
    if (site->port_base && !s->w->one_allocation) /* there each run has its own */
        n = (size_t)snprintf(options, sizeof options, " --port-base %ld", site->port_base);
    if (*site->host_suffix)
        snprintf(options + n, sizeof options - n, " --host-suffix %s", site->host_suffix);
    if (set_launcher(s, e))
        return -1;
    char *words = expand_words(s, site->file, site->spec, e);
    if (!words)
        return -1;
    set(s, "spec", "%s%s%s", options, *words ? " " : "", words);
    free(words);
    if (set_script(s, e) || set_command(s, e) || set_tags(s, e))
        return -1;
    set_finish(s);
    return set_variables(s, e) ? -1 : check_memory(s, e);
}

/* ---- templates ---- */

static char *read_first(const char *const *candidates, size_t n, char *path, struct err *e)
{
    size_t size;

    for (size_t i = 0; i < n; i++)
        if (access(candidates[i], F_OK) == 0) {
            snprintf(path, PATH_MAX, "%s", candidates[i]);
            return atomicfile_read(path, MAX_TEMPLATE, &size, e);
        }
    *path = 0;
    return NULL;
}

static char *read_user_template(const char *user, const struct engine *engine, enum script_file file,
                                char *path, struct err *e)
{
    char own[PATH_MAX], hvd[PATH_MAX], plain[PATH_MAX];
    const char *candidates[] = {own, plain, hvd};
    struct stat st;
    size_t size;

    *path = 0;
    if (stat(user, &st)) {
        err_errno(e, ERR_CONFIG, errno, "templates: %s", user);
        snprintf(path, PATH_MAX, "%s", user);
        return NULL;
    }
    if (!S_ISDIR(st.st_mode)) {
        if (file == SCRIPT_RUN)
            return NULL;
        snprintf(path, PATH_MAX, "%s", user);
        return atomicfile_read(path, MAX_TEMPLATE, &size, e);
    }
    snprintf(own, sizeof own, "%s/%s/%s.sh", user, engine->name, file_names[file]);
    snprintf(plain, sizeof plain, "%s/%s.sh", user, file_names[file]);
    snprintf(hvd, sizeof hvd, "%s/%s_hvd.sh", user, file_names[file]);
    if (strcmp(engine->name, "horovod") != 0)
        return read_first(candidates, 2, path, e);
    candidates[1] = hvd;
    candidates[2] = plain;
    return read_first(candidates, 3, path, e);
}

static char *read_own_template(const struct engine *engine, enum script_file file, char *path,
                               struct err *e)
{
    char name[128];
    size_t size;

    snprintf(name, sizeof name, "templates/%s/%s.sh", engine->name, file_names[file]);
    if (paths_data(name, path, PATH_MAX, e)) {
        snprintf(name, sizeof name, "templates/embedded/%s.sh", file_names[file]);
        if (paths_data(name, path, PATH_MAX, e))
            return NULL;
    }
    return atomicfile_read(path, MAX_TEMPLATE, &size, e);
}

/* A folder that has neither is a typing error. */
static int check_folder(const char *user, const struct engine *engine, enum script_file file,
                        struct err *e)
{
    enum script_file other = file == SCRIPT_RUN ? SCRIPT_SUBMIT : SCRIPT_RUN;
    char path[PATH_MAX], *text = read_user_template(user, engine, other, path, e);

    free(text);
    return text || *path ? 0
                         : err_set(e, ERR_CONFIG, "templates: %s: has neither run_file.sh nor submit_file.sh "
                                   "for engine %s", user, engine->name);
}

char *script_read_template(const char *user, const struct engine *engine, enum script_file file,
                           char *path, struct err *e)
{
    char *text = NULL;

    if (*user) {
        text = read_user_template(user, engine, file, path, e);
        if (text || *path || check_folder(user, engine, file, e))
            return text;
    }
    return read_own_template(engine, file, path, e);
}

/* Read once for all runs of a plan. */
struct template {
    char *user;
    const struct engine *engine;
    enum script_file file;
    char path[PATH_MAX], *text;
};

static void forget(struct template *t)
{
    free(t->user);
    free(t->text);
    *t = (struct template){0};
}

/* Valid until the next but one has been read. */
static const struct template *read_once(const char *user, const struct engine *engine,
                                        enum script_file file, struct err *e)
{
    static struct template seen[4];
    static size_t next;

    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        if (seen[i].text && seen[i].engine == engine && seen[i].file == file &&
            strcmp(seen[i].user, user) == 0)
            return &seen[i];
    struct template *t = &seen[next];
    forget(t);
    *t = (struct template){.user = strdup(user), .engine = engine, .file = file};
    if (!t->user)
        err_errno(e, ERR_INTERNAL, ENOMEM, "templates");
    else
        t->text = script_read_template(user, engine, file, t->path, e);
    if (!t->text) {
        forget(t);
        return NULL;
    }
    next = (next + 1) % (sizeof seen / sizeof *seen);
    return t;
}

/* Are there lines for sbatch in the text itself? */
static bool has_directives(const char *text)
{
    return strncmp(text, "#SBATCH", 7) == 0 || strstr(text, "\n#SBATCH") != NULL;
}

/* Does one of them use one of the markers or tags "a|b"? */
static bool directives_use(const char *text, const char *names)
{
    char word[80];

    for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL) {
        size_t length = strcspn(line, "\n");
        for (const char *n = names; strncmp(line, "#SBATCH", 7) == 0 && *n; n += strspn(n, "|")) {
            size_t size = strcspn(n, "|");
            snprintf(word, sizeof word, "%s%.*s", strncmp(n, "tag_", 4) ? "{{" : "", (int)size, n);
            if (memmem(line, length, word, strlen(word)))
                return true;
            n += size;
        }
    }
    return false;
}

int script_has_directives(const char *user, const struct engine *engine, struct err *e)
{
    const struct template *t = read_once(user, engine, SCRIPT_SUBMIT, e);

    return t ? has_directives(t->text) : -1;
}

/* ---- what a template must use ---- */

/* One of the names ("a|b") must stand in the template. */
static bool is_used(const struct script *s, const bool *used, const char *names)
{
    while (*names) {
        size_t n = strcspn(names, "|");
        for (size_t i = 0; i < s->nvalues; i++)
            if (used[i] && strlen(s->values[i].name) == n && strncmp(s->values[i].name, names, n) == 0)
                return true;
        names += n + (names[n] == '|');
    }
    return false;
}

struct need {
    const char *names, *why;
    bool wanted;
};

static int check_needs(const struct script *s, const char *path, const char *text, const bool *used,
                       const struct need *needs, struct err *e)
{
    for (; needs->names; needs++)
        if (needs->wanted && !is_used(s, used, needs->names))
            return err_set(e, ERR_CONFIG, "%s:%zu: the marker '{{%.*s}}' is missing: %s (unetctl template "
                           "list)", path, template_count_lines(text),
                           (int)strcspn(needs->names, "|"), needs->names, needs->why);
    return 0;
}

static int check_run_file(const struct script *s, const char *path, const char *text, const bool *used,
                          struct err *e)
{
    bool tags = template_has_tags(text), other = s->section != NULL;
    const struct need needs[] = {
        {"command|trainer|script|tag_program|tag_program2", "nothing would be trained", true},
        {"attempt|attempt_dir|variables|command", "results would have no place", !tags && !other},
        {"variables|attempt_dir", "the script could not tell where log.csv goes", !tags && other},
        {"spec", "the trainer could not find its peers", !tags && !other},
        {"setup", "what the site sets up would be lost", !tags && *get(s, "setup")},
        {"env", "the site's environment would be lost", !tags && *get(s, "env")},
        {0}};

    return check_needs(s, path, text, used, needs, e);
}

static int check_tag_layout(const struct script *s, const char *path, const bool *used, struct err *e)
{
    const struct layout *l = &s->run->layout;

    if (!is_used(s, used, "tag_node|tag_task") || l->gpus % l->nodes == 0)
        return 0;
    return err_set(e, ERR_CONFIG, "%s: %d GPUs on %d nodes: tag_node and tag_task say the same for each "
                   "node; leave this count out, or write {{directives}} and {{launcher}}", path, l->gpus,
                   l->nodes);
}

static int check_submit_file(const struct script *s, const char *path, const char *text,
                             const bool *used, struct err *e)
{
    bool tags = template_has_tags(text), own = has_directives(text);
    bool directives = is_used(s, used, "directives");
    const struct need needs[] = {
        {"directives", "Slurm would not know what the job needs", !own},
        {"launcher", "several ranks would not be started", !tags},
        {"run_file", "no rank would do anything", !tags},
        {"finish", "the result would not be noted", !tags && s->section},
        {"setup", "what the site sets up would be lost", !tags && *get(s, "setup")},
        {"env", "the site's environment would be lost", !tags && *get(s, "env")},
        {0}};

    if (strncmp(text, "#!", 2) != 0)
        return err_set(e, ERR_CONFIG, "%s:1: a job script starts with #! (such as #!{{shell}})", path);
    if (own && !directives && !(directives_use(text, "nodes|tag_node") &&
                                directives_use(text, "tasks|gpus|tag_task")))
        return err_set(e, ERR_CONFIG, "%s: its #SBATCH lines ask for the same nodes and tasks in all runs; write "
                       "{{directives}}, or --nodes={{nodes}} and --ntasks={{tasks}}", path);
    return check_needs(s, path, text, used, needs, e) ? -1 : check_tag_layout(s, path, used, e);
}

/* Behind the last line that sbatch reads: it reads up to the first command, and of two that say the same the
 * later one holds. */
static size_t end_of_directives(const char *text)
{
    size_t end = strcspn(text, "\n") + (strchr(text, '\n') != NULL), next;

    for (size_t at = end; text[at] == '#' || text[at] == '\n'; at = next) {
        next = at + strcspn(text + at, "\n");
        next += text[next] == '\n';
        if (strncmp(text + at, "#SBATCH", 7) == 0)
            end = next;
    }
    return end;
}

/* Submitted by hand, too, a job with #SBATCH lines of its author's own has to be found again. */
static int add_own_words(const struct script *s, struct buf *dst, struct err *e)
{
    char *lines = job_directives(s->job);
    struct buf b = {0};

    if (lines && !dst->failed) {
        size_t end = end_of_directives(dst->data);
        buf_add_bytes(&b, dst->data, end);
        buf_addf(&b, "%s# Added by unetctl, which finds the job again by its comment.\n%s",
                 end && dst->data[end - 1] != '\n' ? "\n" : "", lines);
        buf_add(&b, dst->data + end);
    }
    int rc = !lines || dst->failed || b.failed ? err_set(e, ERR_INTERNAL, "no memory for submit_file.sh") : 0;
    free(lines);
    buf_destroy(dst);
    *dst = b;
    return rc;
}

/* A reference's template knows nothing of markers of results: what it leaves is looked at behind it. */
static void add_epilogue(const struct script *s, struct buf *dst)
{
    if (dst->length && dst->data[dst->length - 1] != '\n')
        buf_add(dst, "\n");
    buf_add(dst, "\n# Added by unetctl: log.csv becomes the result of this attempt.\nexec ");
    template_quote_sh(dst, get(s, "unetctl"));
    buf_add(dst, " finish --from ");
    template_quote_sh(dst, get(s, "run_dir"));
    buf_add(dst, " ");
    template_quote_sh(dst, get(s, "attempt_dir"));
    buf_add(dst, "\n");
}

/* The rendered file, or NULL; *tags: it was one of the reference's. */
static char *render(struct script *s, enum script_file file, bool *tags, struct err *e)
{
    const struct template *t = read_once(s->w->templates, s->run->engine, file, e);
    bool used[TEMPLATE_VALUES_MAX];
    char *rendered = NULL;
    struct buf b = {0};

    if (!t) {
        e->code = ERR_CONFIG;
        return NULL;
    }
    *tags = template_has_tags(t->text);
    if (template_expand(t->path, t->text, s->values, used, &b, e) == 0 &&
        (file == SCRIPT_RUN ? check_run_file : check_submit_file)(s, t->path, t->text, used, e) == 0) {
        if (*tags && file == SCRIPT_SUBMIT)
            add_epilogue(s, &b);
        if (file == SCRIPT_SUBMIT && !is_used(s, used, "directives") && add_own_words(s, &b, e)) {
            buf_destroy(&b);
            return NULL;
        }
        for (size_t i = 0; i < s->nuser; i++)
            s->used_by_user[i] |= used[i];
        rendered = buf_steal(&b);
        if (!rendered)
            err_set(e, ERR_INTERNAL, "%s: no memory", t->path);
    }
    buf_destroy(&b);
    return rendered;
}

static int check_tags(const struct script *s, bool tags, struct err *e)
{
    if (!tags || !s->w->one_allocation)
        return 0;
    return err_set(e, ERR_CONFIG, "%s: templates with the reference's tags start their ranks themselves, "
                   "which --one-allocation must do; write {{launcher}}, or leave it out", s->w->templates);
}

static int check_user_markers(const struct script *s, struct err *e)
{
    const struct yaml_origin *o = yaml_table_origin(study_keys, &s->w->study.origins, "markers");

    for (size_t i = 0; i < s->nuser; i++)
        if (!s->used_by_user[i])
            return err_set(e, ERR_CONFIG, "%s: markers.%s: no template uses it",
                           o->where ? o->where : s->w->study.file, s->values[i].name);
    return 0;
}

int script_render(const struct workspace *w, const struct run *run, int attempt,
                  const struct job *job, char **run_text, char **submit_text, bool *tags,
                  struct err *e)
{
    struct script s = {.w = w, .run = run, .attempt = attempt, .job = job,
                       .section = study_engine(&w->study, run->engine->name)};
    bool run_tags = false, submit_tags = false;
    int rc = -1;

    *run_text = *submit_text = NULL;
    if (fill_values(&s, e) == 0 && (*run_text = render(&s, SCRIPT_RUN, &run_tags, e)) &&
        (*submit_text = render(&s, SCRIPT_SUBMIT, &submit_tags, e)) && check_user_markers(&s, e) == 0)
        rc = check_tags(&s, run_tags || submit_tags, e);
    if (tags)
        *tags = run_tags || submit_tags;
    if (rc) {
        free(*run_text);
        free(*submit_text);
    }
    destroy(&s);
    return rc;
}
