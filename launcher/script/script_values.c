/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/script/script_values.h"

#include <sys/stat.h>

#include "launcher/host/child.h"
#include "launcher/host/path.h"
#include "launcher/sandbox/sandbox.h"
#include "launcher/script/container.h"
#include "launcher/script/script.h"
#include "launcher/study/workspace.h"

void script_values_destroy(struct script_values *s)
{
    for (size_t i = 0; i < s->nvalues; i++) {
        if (i < s->nuser)
            free((char *)s->values[i].name);
        free((char *)s->values[i].value);
    }
}

/* ---- values ---- */

/* Returns the index of the value with this name, or nvalues, whose value is NULL. */
static size_t place_of(const struct script_values *s, const char *name)
{
    size_t i = s->nuser;

    while (i < s->nvalues && strcmp(s->values[i].name, name) != 0)
        i++;
    return i;
}

const char *script_values_get(const struct script_values *s, const char *name)
{
    return s->values[place_of(s, name)].value;
}

/* Takes ownership of text. A NULL is reported later, by check_memory. */
#define set_value(s, name, ...) set_text(s, name, mem_textf(NULL, __VA_ARGS__))
static void set_text(struct script_values *s, const char *name, char *text)
{
    s->values[place_of(s, name)].value = text;
}

static bool is_set(const struct study *s, const char *path)
{
    return yaml_table_origin(settings_of_study, &s->origins, path)->layer != YAML_BUILTIN;
}

/* Notes which markers have no value in this study. A limit of 0 is one: a whole training. */
static void note_needs(struct script_values *s)
{
    const struct study *study = s->run->study;
    bool batch = study_has(study, "train.batch_per_gpu") || study_has(study, "train.global_batch");
    const struct { const char *marker, *setting; bool has; } rows[] = {
        {"data_dir", "data.dir", study_has_images(study)},
        {"split", "data.dir", study_has_images(study)},
        {"epochs", "train.epochs", study_has(study, "train.epochs")},
        {"lr", "train.lr", study_has(study, "train.lr")},
        {"model", "model.name", study_has(study, "model.name")},
        {"global_batch", "train.batch_per_gpu", batch},
        {"batch_per_gpu", "train.batch_per_gpu", batch},
        {"steps", "limit.steps", is_set(study, "limit.steps")},
        {"minutes", "limit.minutes", is_set(study, "limit.minutes")}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        s->needs[place_of(s, rows[i].marker)] = rows[i].has ? NULL : rows[i].setting;
}

static int check_memory(const struct script_values *s, struct err *e)
{
    for (size_t i = 0; i < s->nvalues; i++)
        if (!s->values[i].value)
            return err_set(e, ERR_INTERNAL, "out of memory for the marker '%s'", s->values[i].name);
    return 0;
}

static bool is_marker(const char *name)
{
    for (const struct script_marker *m = script_marker_all(); m->name; m++)
        if (strcmp(m->name, name) == 0)
            return true;
    return false;
}

static size_t count_markers(void)
{
    const struct script_marker *m = script_marker_all();

    while (m->name)
        m++;
    return (size_t)(m - script_marker_all()) + 1;
}

/* Lists the names. Those of the user come first, so that a value of theirs for a tag_NAME has
 * precedence. */
static int init_values(struct script_values *s, struct err *e)
{
    const struct setting_lines *own = &s->run->study->markers;

    for (size_t i = 0; i < own->count; i++) {
        char *equals = strchr(own->lines[i], '=');
        if (s->nvalues + count_markers() > TEMPLATE_VALUES_MAX)
            return err_set(e, ERR_CONFIG, "%s: there are too many markers", s->run->study->file);
        char *name = strndup(own->lines[i], (size_t)(equals - own->lines[i]));
        if (!name)
            return err_errno(e, ERR_INTERNAL, errno, "markers");
        s->values[s->nvalues++] = (struct template_value){name, strdup(equals + 1)};
        s->nuser++;
        if (is_marker(name) && strncmp(name, "tag_", 4) != 0)
            return err_set(e, ERR_CONFIG, "%s: markers.%s is the name of a marker of unetctl; "
                           "choose another one ('unetctl template list' lists all)",
                           s->run->study->file, name);
    }
    for (const struct script_marker *m = script_marker_all(); m->name; m++)
        s->values[s->nvalues++] = (struct template_value){m->name, NULL};
    return 0;
}

int script_values_use(struct script_values *s, const char *file,
                      const bool used[TEMPLATE_VALUES_MAX], struct err *e)
{
    for (size_t i = 0; i < s->nvalues; i++) {
        s->is_used[i] |= used[i];
        if (used[i] && s->needs[i])
            return err_set(e, ERR_CONFIG, "%s: the marker '{{%s}}' has no value: set %s in "
                           "study.yaml, or by --set", file, s->values[i].name, s->needs[i]);
    }
    return 0;
}

/* Expands markers in words. Only markers whose values are already known may appear. */
static char *expand_words(struct script_values *s, const char *where, const char *words,
                          struct err *e)
{
    struct template_value known[TEMPLATE_VALUES_MAX + 1];
    size_t place[TEMPLATE_VALUES_MAX] = {0}, n = 0;
    bool used[TEMPLATE_VALUES_MAX], all[TEMPLATE_VALUES_MAX] = {false};
    struct buf b = {0};
    char *text = NULL;

    for (size_t i = 0; i < s->nvalues; i++)
        if (s->values[i].value) {
            place[n] = i;
            known[n++] = s->values[i];
        }
    known[n] = (struct template_value){0};
    int rc = template_expand(where, words, false, known, used, &b, e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        all[place[i]] = used[i];
    if (rc == 0 && script_values_use(s, where, all, e) == 0 && !(text = buf_steal(&b)))
        err_set(e, ERR_INTERNAL, "%s: out of memory", where);
    buf_destroy(&b);
    return text;
}

/* Sets a marker to the expanded words, followed by a blank unless they are empty. */
static int set_words(struct script_values *s, const char *name, const char *words, struct err *e)
{
    char *text = expand_words(s, s->plan->site.file, words, e);

    if (!text)
        return -1;
    set_value(s, name, "%s%s", text, *text ? " " : "");
    free(text);
    return 0;
}

/* Sets a marker to lines, the last of which ends where the marker's own line does. */
static void set_lines(struct script_values *s, const char *name, struct buf *lines)
{
    if (lines->length && lines->data[lines->length - 1] == '\n')
        lines->data[--lines->length] = 0;
    set_text(s, name, buf_steal(lines));
}

static void set_environment(struct script_values *s)
{
    struct buf setup = {0}, env = {0};

    template_add_lines(&setup, &s->plan->site.setup);
    template_add_exports(&env, &s->plan->site.env);
    if (s->section) {
        template_add_lines(&setup, &s->section->setup);
        template_add_exports(&env, &s->section->env);
    }
    set_lines(s, "setup", &setup);
    set_lines(s, "env", &env);
}

static void set_layout(struct script_values *s)
{
    const struct layout *l = &s->run->layout;
    const struct study *study = s->run->study;
    struct run_batch batch = plan_run_batch(s->run);

    set_value(s, "gpus", "%d", l->gpus);
    set_value(s, "nodes", "%d", l->nodes);
    set_value(s, "tasks", "%d", l->tasks);
    set_value(s, "tasks_per_node", "%d", l->tasks_per_node);
    int rest = l->tasks - (l->nodes - 1) * l->tasks_per_node;
    if (l->nodes == 1)
        set_value(s, "task_list", "%d", rest);
    else if (rest == l->tasks_per_node)
        set_value(s, "task_list", "%d(x%d)", rest, l->nodes);
    else if (l->nodes > 2)
        set_value(s, "task_list", "%d(x%d),%d", l->tasks_per_node, l->nodes - 1, rest);
    else
        set_value(s, "task_list", "%d,%d", l->tasks_per_node, rest);
    set_value(s, "gpus_per_task", "%d", l->gpus_per_task);
    set_value(s, "gpus_per_node", "%d", l->tasks_per_node * l->gpus_per_task);
    set_value(s, "cpus_per_task", "%d", s->job->cpus_per_task);
    set_value(s, "requeues", "%d", s->job->requeues);
    set_value(s, "epochs", "%d", study->train.epochs);
    set_value(s, "batch_per_gpu", "%ld", batch.per_gpu);
    set_value(s, "global_batch", "%ld", batch.global);
    set_value(s, "lr", "%.15g", study->train.lr);
    set_value(s, "steps", "%d", study->limit.steps);
    set_value(s, "minutes", "%.15g", study->limit.minutes);
}

static void set_job(struct script_values *s)
{
    const struct job_options *o = &s->plan->options;
    const struct job *job = s->job;
    struct job whole = *job;
    whole.own_directives = false; /* the template's own lines are elsewhere */
    char *lines = job_directives(&whole);
    size_t n = lines ? strlen(lines) : 0;

    if (n && lines[n - 1] == '\n') /* the marker's line has its own newline */
        lines[n - 1] = 0;
    set_text(s, "directives", lines);
    set_value(s, "job_name", "%s", job->name);
    set_value(s, "comment", "%s", job->tag);
    set_value(s, "output", "%s", job->output);
    set_value(s, "partition", "%s", o->partition ? o->partition : "");
    set_value(s, "account", "%s", o->account ? o->account : "");
    set_value(s, "qos", "%s", o->qos ? o->qos : "");
    set_value(s, "constraint", "%s", o->constraint ? o->constraint : "");
    set_value(s, "time_min", "%d", o->time_min);
}

static int set_names(struct script_values *s, struct err *e)
{
    const struct plan *p = s->plan;
    char path[PATH_MAX], data[PATH_MAX], split[PATH_MAX];
    const char *bindir = paths_bindir(e);

    if (!bindir)
        return -1;
    set_value(s, "unetctl", "%s/unetctl", bindir);
    set_value(s, "trainer", "%s%s", *p->site.trainer ? p->site.trainer : bindir,
              *p->site.trainer ? "" : "/unet-train");
    set_value(s, "shell", "%s", p->site.shell);
    set_value(s, "shell_setup", "%s", strstr(p->site.shell, "/zsh") ? "setopt sh_word_split" : "");
    set_value(s, "study", "%s", s->run->study->name);
    set_value(s, "study_dir", "%s", s->run->study->dir);
    set_value(s, "run", "%s", s->run->id);
    set_value(s, "engine", "%s", s->run->engine->name);
    set_value(s, "attempt", "%d", s->attempt);
    set_value(s, "seed", "%d", s->run->seed);
    set_value(s, "model", "%s", s->run->study->model.name);
    path_format(path, "%s/runs/%s", s->run->study->dir, s->run->id);
    set_value(s, "run_dir", "%s", path);
    set_value(s, "attempt_dir", "%s/attempt-%d", path, s->attempt);
    set_value(s, "run_file", "%s/run_file.sh", path);
    int from = run_dir_checkpoint(s->run->study->dir, s->run->id, s->attempt - 1);
    if (from) {
        set_value(s, "resume", " --resume attempt-%d", from);
        set_value(s, "resume_dir", "%s/attempt-%d", path, from);
    } else {
        set_value(s, "resume", "%s", "");
        set_value(s, "resume_dir", "%s", "");
    }
    const char *dir = s->run->study->data.dir;
    set_value(s, "data_dir", "%s", realpath(dir, data) ? data : dir);
    plan_split_file(s->run->study, plan_fold(s->run->study, s->run->seed), split);
    set_value(s, "split", "%s", split);
    return 0;
}

/* ---- the engine ---- */

/* Splits the words of the interpreter, which point into *text, unless it is the path of a program.
 * The caller frees *text, which is NULL if memory ran out. */
static size_t split_python(const char *python, char **text, const char *words[COMMAND_WORDS_MAX])
{
    *text = strdup(python);
    if (!*text)
        return 0;
    words[0] = *text;
    return strchr(python, '/') && access(python, X_OK) == 0
               ? 1
               : command_line_split(*text, words, COMMAND_WORDS_MAX);
}

int script_check_program(const struct engine *engine, const char *path, bool in_image,
                         struct err *e)
{
    struct stat st;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return err_set(e, ERR_CONFIG, "%s is %s; name the file that is run", path,
                       S_ISDIR(st.st_mode) ? "a folder" : "not a file");
    if (access(path, engine->is_python ? R_OK : X_OK) == 0 || (in_image && errno == ENOENT))
        return 0;
    return err_errno(e, ERR_CONFIG, errno, "%s%s", path,
                     engine->is_python ? "" : " (it must be a program, or a script with #! and "
                                              "chmod +x)");
}

/* Checks that the first word of the interpreter is a program here, unless lines of setup or a
 * container may bring it. */
static int check_python(const struct script_values *s, struct err *e)
{
    const char *words[COMMAND_WORDS_MAX], *engine = s->run->engine->name;
    char path[PATH_MAX], *text;
    size_t n = split_python(s->section->python, &text, words);
    bool found = n == 0 || container_is_set(s->run->study) || s->section->setup.count ||
                 s->plan->site.setup.count || child_find(words[0], X_OK, path);

    if (!found)
        err_set(e, ERR_CONFIG, "%s: %s.python: %s is not a program%s; correct it, or load it by a "
                "line of %s.setup", study_place(s->run->study, "engine"), engine, words[0],
                strchr(words[0], '/') ? "" : " in PATH", engine);
    free(text);
    return found ? 0 : -1;
}

/* Sets python, and script: the study's script, which is checked, or the one that comes with
 * unetctl. Both are empty for the embedded engine. */
static int set_script(struct script_values *s, struct err *e)
{
    const struct engine *engine = s->run->engine;
    char shipped[PATH_MAX] = "";

    set_value(s, "python", "%s", s->section ? s->section->python : "");
    if (!s->section || *s->section->script) {
        set_value(s, "script", "%s", s->section ? s->section->script : "");
        if (s->section && script_check_program(engine, s->section->script,
                                               container_is_set(s->run->study), e))
            return err_prefix(e, "%s: %s.script", s->run->study->file, engine->name);
        return s->section && engine->is_python ? check_python(s, e) : 0;
    }
    if (!engine->script)
        return err_set(e, ERR_CONFIG, "%s: engine %s needs a script of yours; set it there (%s: "
                       "{script: ./PROGRAM}), or with --set %s.script=./PROGRAM",
                       s->run->study->file, engine->name, engine->name, engine->name);
    if (paths_data(engine->script, shipped, sizeof shipped, e))
        return -1;
    set_value(s, "script", "%s", shipped);
    return 0;
}

static void add_word(struct buf *b, const char *word)
{
    template_add_sh(b, b->length && b->data[b->length - 1] != ' ' ? " %s" : "%s", word);
}

bool script_values_add_python(struct buf *b, const char *python)
{
    const char *words[COMMAND_WORDS_MAX];
    struct command_line c;
    struct err ignored;
    char *text;
    size_t n = split_python(python, &text, words);
    bool plain = command_line_parse(words, n, &c, &ignored) == 0 && !c.launcher && !c.is_module;

    for (size_t i = 0; i < n; i++)
        add_word(b, words[i]);
    b->failed |= !text;
    free(text);
    return plain && (c.interpreter < n || strstr(python, "python"));
}

/* Adds the words that start the script of an engine that runs Python: its interpreter, the launcher
 * of its ranks with their numbers, and the script or, at the end of `python`, "-m MODULE". */
static int add_script(const struct script_values *s, struct buf *b, struct err *e)
{
    const struct engine *engine = s->run->engine;
    const char *words[COMMAND_WORDS_MAX];
    struct command_line c;
    char *text;
    size_t n = split_python(s->section->python, &text, words);
    int rc = text ? command_line_parse(words, n, &c, e) : mem_fail(e);
    bool module = rc == 0 && c.is_module && c.program < n;
    bool flag = module && strncmp(words[c.program - 1], "-", 1) == 0; /* -m or --module */
    size_t cut = module ? c.program - flag : n;

    for (size_t i = 0; rc == 0 && i <= n; i++) {
        if (i == cut && engine->by_launcher) {
            buf_add(b, c.launcher ? "" : " -m torch.distributed.run");
            rc = command_line_add_numbers(&c, b, e);
        }
        if (i < n)
            add_word(b, words[i]);
    }
    if (rc == 0 && !module)
        add_word(b, script_values_get(s, "script"));
    free(text);
    return rc ? err_prefix(e, "%s: %s.python", s->run->study->file, engine->name) : 0;
}

static int set_command(struct script_values *s, struct err *e)
{
    struct buf b = {0};
    char where[PATH_MAX + 32];

    if (*s->run->study->data.stage) /* it is copied to the node before the others start */
        template_add_sh(&b, "%s stage --to %s --split %s --data %s --out %s -- ",
                        script_values_get(s, "unetctl"), s->run->study->data.stage,
                        script_values_get(s, "split"), script_values_get(s, "data_dir"),
                        script_values_get(s, "attempt_dir"));
    int rc = container_add_words(s->run->study, &s->plan->site, &b, e);
    snprintf(where, sizeof where, "%s: %s.args", s->run->study->file, s->run->engine->name);
    if (!s->section) {
        add_word(&b, script_values_get(s, "trainer"));
        buf_addf(&b, " train --run run.json --out attempt-%d%s", s->attempt,
                 script_values_get(s, "resume"));
        if (*s->run->study->data.stage)
            template_add_sh(&b, " --data %s", script_values_get(s, "data_dir"));
    } else if (s->run->engine->is_python) {
        rc = rc ? rc : add_script(s, &b, e);
    } else {
        add_word(&b, script_values_get(s, "script"));
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

int script_values_add_python_path(struct buf *b, struct err *e)
{
    char path[PATH_MAX];

    if (paths_data("python", path, sizeof path, e))
        return -1;
    template_add_sh(b, "export PYTHONPATH=%s\"${PYTHONPATH:+:$PYTHONPATH}\"\n", path);
    return 0;
}

/* Sets the environment of engines other than the embedded one, unet-train. */
static int set_variables(struct script_values *s, struct err *e)
{
    static const struct { const char *variable, *marker; } rows[] = {
        {"STUDY_DIR", "study_dir"}, {"RUN", "run"}, {"RUN_DIR", "run_dir"}, {"ATTEMPT", "attempt"},
        {"ATTEMPT_DIR", "attempt_dir"}, {"RESUME_DIR", "resume_dir"}, {"ENGINE", "engine"},
        {"SEED", "seed"}, {"GPUS", "gpus"},
        {"NODES", "nodes"}, {"TASKS", "tasks"}, {"TASK_GPUS", "gpus_per_task"},
        {"DATA_DIR", "data_dir"}, {"SPLIT", "split"}, {"TRAIN_EPOCHS", "epochs"},
        {"TRAIN_BATCH_PER_GPU", "batch_per_gpu"}, {"TRAIN_LR", "lr"}, {"STEPS", "steps"},
        {"MINUTES", "minutes"}};
    struct buf b = {0};
    char json[PATH_MAX + 16];
    int rc = 0;

    if (s->section) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            if (s->needs[place_of(s, rows[i].marker)])
                continue;
            buf_addf(&b, "export UNETCTL_%s=", rows[i].variable);
            template_add_sh(&b, "%s\n", script_values_get(s, rows[i].marker));
        }
        snprintf(json, sizeof json, "%s/run.json",
                 script_values_get(s, s->run->own_plan ? "attempt_dir" : "run_dir"));
        template_add_sh(&b, "export UNETCTL_RUN_JSON=%s\n", json);
        if (s->run->engine->is_python)
            rc = script_values_add_python_path(&b, e);
    }
    set_lines(s, "variables", &b);
    return rc;
}

/* Sets the line that hashes and copies what the script is (templates/source.sh). */
static int set_source(struct script_values *s, struct err *e)
{
    char path[PATH_MAX];
    struct buf b = {0};

    bool is_hashed = s->section || container_is_set(s->run->study);
    if (is_hashed && paths_data("templates/source.sh", path, sizeof path, e))
        return -1;
    if (is_hashed)
        template_add_sh(&b, "[ ! -e source.list ] || bash %s \"$attempt\"", path);
    set_text(s, "source", buf_steal(&b));
    return 0;
}

/* Sets the line that measures energy beside a rank; it never fails. */
static void set_energy(struct script_values *s)
{
    struct buf b = {0};

    template_add_sh(&b, "%s energy --pid $$ --gpus %s %s || :", script_values_get(s, "unetctl"),
                    script_values_get(s, "gpus_per_node"), script_values_get(s, "attempt_dir"));
    set_text(s, "energy", buf_steal(&b));
}

/* Sets the line that removes copies of the data from all nodes. It may take 60 s, in case a node is
 * lost, and 10 s after TERM, when Slurm soon kills the job. */
static void set_unstage(struct script_values *s)
{
    struct buf b = {0};

    if (*s->run->study->data.stage) {
        buf_addf(&b, "timeout -k 5 \"$([ \"$stopped_by\" = TERM ] && echo 10 || echo 60)\" %s",
                 script_values_get(s, "launcher"));
        template_add_sh(&b, "%s stage --remove --to %s", script_values_get(s, "unetctl"),
                        s->run->study->data.stage);
    }
    set_text(s, "unstage", buf_steal(&b));
}

/* Sets the lines that write DONE or FAILED. With the embedded engine, unet-train does that. */
static void set_finish(struct script_values *s)
{
    struct buf b = {0};

    if (s->section)
        template_add_sh(&b, "[ \"$code\" != 0 ] || %s finish \"$attempt\" || code=$?",
                        script_values_get(s, "unetctl"));
    set_text(s, "finish", buf_steal(&b));
}

/* ---- tags in place of markers (template.h) ---- */

static int set_tag_path(struct script_values *s, const char *name, const char *file, struct err *e)
{
    const char *user = s->plan->templates;
    char path[PATH_MAX], found[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", user, file);
    if (!*user || !realpath(path, found)) {
        snprintf(path, sizeof path, "templates/tags/%s", file);
        if (paths_data(path, found, sizeof found, e))
            return -1;
    }
    set_value(s, name, "%s", found);
    return 0;
}

static int set_tags(struct script_values *s, struct err *e)
{
    const struct layout *l = &s->run->layout;

    const char *script = script_values_get(s, "script");

    set_value(s, "tag_program", "%s", *script ? script : script_values_get(s, "trainer"));
    set_value(s, "tag_program2", "%s", script_values_get(s, "tag_program"));
    set_value(s, "tag_epoch", "%s", script_values_get(s, "epochs"));
    set_value(s, "tag_batch", "%s", script_values_get(s, "global_batch"));
    set_value(s, "tag_aug", "0");
    set_value(s, "tag_task", "%s", script_values_get(s, "gpus_per_node"));
    set_value(s, "tag_node", "%d", l->nodes);
    set_value(s, "tag_command", "%d", l->nodes > 1 ? 1 : 2);
    return set_tag_path(s, "tag_program1", "tensorflow_create_tfconfig.py", e) ||
                   set_tag_path(s, "setup.sh", "setup_dist_env.sh", e)
               ? -1
               : 0;
}

/* Returns whether mpirun must start the ranks, because the srun of the running sandbox (a private
 * Slurm) does not support PMIx. */
static bool lacks_pmix(const struct site *site)
{
    struct sandbox sandbox;
    struct err ignored;

    return site->sandbox && strstr(site->launcher, "--mpi=pmix") &&
           sandbox_find(&sandbox, &ignored) == 0 && !sandbox.pmix;
}

/* Returns whether this launcher starts daemons by srun on the job's other nodes. */
static bool is_mpirun(const char *launcher)
{
    return strncmp(launcher, "mpirun", 6) == 0 || strncmp(launcher, "mpiexec", 7) == 0;
}

static bool is_srun(const char *launcher)
{
    return strncmp(launcher, "srun", 4) == 0 && (!launcher[4] || launcher[4] == ' ');
}

/* Replaces the variables by which srun binds the GPUs of a node each to a task: each task, or each
 * of mpirun's daemons, sees all that its job asked for there. (With --gpu-bind=none Slurm 22.05
 * lets tasks see all GPUs of the machine.) */
#define UNBOUND                                                                                 \
    "env -u SLURM_GPUS_PER_TASK -u SLURM_TRES_PER_TASK -u SLURM_TRES_BIND "                     \
    "SLURM_GPUS_PER_NODE={{gpus_per_node}} "
#define PER_TASK " --gpus-per-task="

/* With --one-allocation, runs are steps side by side in one job, which only srun can start: with
 * --exact a step takes no more than it needs, and with --mem=0 the steps share the job's memory,
 * all of which the first step would reserve otherwise. */
#define STEP                                                                                    \
    " --job-name={{run}} --exact --mem=0 --nodes={{nodes}} --ntasks={{tasks}} "                 \
    "--cpus-per-task={{cpus_per_task}}"

static int set_launcher(struct script_values *s, struct err *e)
{
    const struct site *site = &s->plan->site;
    const char *launcher =
        lacks_pmix(site) ? SITE_MPIRUN_LAUNCHER : site->launcher;
    bool shared = s->run->engine->sees_node && is_srun(launcher);
    bool unbound = strcmp(site->scheduler, "slurm") == 0 && (is_mpirun(launcher) || shared);
    const char *own = shared ? strstr(launcher, PER_TASK) : NULL; /* left out */
    int n = own ? (int)(own - launcher) : (int)strlen(launcher);
    bool beside = s->plan->one_allocation;
    bool launched = beside || s->run->layout.tasks > 1 || s->run->engine->always_launched ||
                    container_is_pyxis(s->run->study);
    struct buf words = {0};

    if (beside && lacks_pmix(site))
        return err_set(e, ERR_CONFIG, "--one-allocation starts ranks by srun, which has no PMIx in "
                       "this sandbox (srun --mpi=list); leave the option out");
    if (beside && !is_srun(launcher))
        return err_set(e, ERR_CONFIG, "%s: --one-allocation needs a site whose 'launcher' is srun, "
                       "as only Slurm divides a job's nodes among runs", site->file);
    if (launched && !*launcher)
        return err_set(e, ERR_CONFIG, "%s: %d GPUs need %d ranks, and the site has no "
                       "'launcher' that starts several", site->file, s->run->layout.gpus,
                       s->run->layout.tasks);
    if (launched)
        buf_addf(&words, "%s%.*s%s%s%s", unbound ? UNBOUND : "", n, launcher,
                 own ? own + 1 + strcspn(own + 1, " ") : "", beside ? STEP : "",
                 beside && !shared ? PER_TASK "{{gpus_per_task}}" : "");
    buf_add(&words, "");
    int rc = container_add_options(s->run->study, &s->plan->site, &words, e);
    if (rc == 0)
        rc = words.failed ? err_errno(e, ERR_INTERNAL, errno, "launcher")
                          : set_words(s, "launcher", words.data, e);
    buf_destroy(&words);
    return rc;
}

int script_values_fill(struct script_values *s, struct err *e)
{
    const struct site *site = &s->plan->site;
    char options[192] = "";
    size_t n = 0;

    if (init_values(s, e) || set_names(s, e))
        return -1;
    set_layout(s);
    note_needs(s);
    set_job(s);
    set_environment(s);
    /* with --one-allocation, the job's script gives each run ports of its own */
    if (site->port_base && !s->plan->one_allocation)
        n = (size_t)snprintf(options, sizeof options, " --port-base %d", site->port_base);
    if (n && site->port_count > 1)
        n += (size_t)snprintf(options + n, sizeof options - n, " --port-count %d",
                              site->port_count);
    if (s->section)
        n += (size_t)snprintf(options + n, sizeof options - n, " --gpus-per-task %d%s",
                              s->run->layout.gpus_per_task,
                              s->run->engine->sees_node ? " --gpus-of-node" : "");
    if (*site->host_suffix)
        snprintf(options + n, sizeof options - n, " --host-suffix %s", site->host_suffix);
    if (container_check(s->run->study, &s->plan->site, e) || set_launcher(s, e))
        return -1;
    char *words = expand_words(
        s, site->file, lacks_pmix(site) && !*site->spec ? SITE_MPIRUN_SPEC : site->spec, e);
    if (!words)
        return -1;
    set_value(s, "spec", "%s%s%s", options, *words ? " " : "", words);
    free(words);
    if (set_script(s, e) || set_command(s, e) || set_tags(s, e))
        return -1;
    set_finish(s);
    set_unstage(s);
    set_energy(s);
    if (set_source(s, e))
        return -1;
    return set_variables(s, e) ? -1 : check_memory(s, e);
}
