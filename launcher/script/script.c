/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/script/script.h"

#include <pthread.h>
#include <sys/stat.h>

#include "launcher/host/path.h"
#include "launcher/script/container.h"
#include "launcher/script/script_values.h"
#include "src/atomicfile.h"

/* ---- markers ---- */

static const struct script_marker markers[] = {
    {"directives", "submit_file.sh", "the #SBATCH lines of the job; lines of your own may replace "
                                     "it"},
    {"launcher", "submit_file.sh", "the site's command that starts several ranks; empty for one "
                                   "rank"},
    {"run_file", "submit_file.sh", "path of run_file.sh"},
    {"requeues", "", "how often the job may be requeued automatically (slurm.requeues)"},
    {"source", "", "keeps what a script is when the job starts; not for embedded"},
    {"finish", "submit_file.sh", "turns $code and log.csv into DONE or FAILED; not for embedded"},
    {"unstage", "", "in submit_file.sh: removes copies of the data from the nodes (data.stage)"},
    {"command", "run_file.sh", "the trainer or script with its arguments, as quoted words"},
    {"resume", "", "after trainer: the option that continues an earlier attempt, or empty"},
    {"resume_dir", "", "folder of the earlier attempt that is continued, or empty"},
    {"trainer", "", "embedded: path of unet-train, instead of command"},
    {"script", "", "other engines: path of the script, instead of command"},
    {"python", "", "other engines: interpreter of a Python script"},
    {"spec", "run_file.sh", "options of 'unetctl spec' on this site; required by embedded"},
    {"variables", "run_file.sh", "export lines of UNETCTL_ATTEMPT_DIR and so on; not for embedded"},
    {"energy", "", "in run_file.sh: measures the energy of the GPUs while the rank runs"},
    {"setup", "both", "shell lines of site and engine; required if there are any"},
    {"env", "both", "export lines of site and engine; likewise"},
    {"shell", "", "the site's shell for submit_file.sh: /bin/bash"},
    {"shell_setup", "", "zsh: the line that splits words as in other shells"},
    {"unetctl", "", "path of this program"},
    {"study", "", "name of the study"},
    {"study_dir", "", "folder of the study"},
    {"run", "", "id of the run, such as unet-g03-s1"},
    {"run_dir", "", "its folder"},
    {"engine", "", "what trains, such as pytorch or command (study.yaml: engine)"},
    {"attempt", "", "number of the attempt, from 1"},
    {"attempt_dir", "", "folder of the attempt, for log.csv"},
    {"seed", "", "seed of the run"},
    {"model", "", "model.name"},
    {"gpus", "", "GPUs of the run"},
    {"nodes", "", "nodes of the job"},
    {"tasks", "", "ranks of the job"},
    {"tasks_per_node", "", "ranks on each node; the last one may have fewer"},
    {"task_list", "", "ranks of each node in Slurm's notation, such as 2(x3),1"},
    {"gpus_per_node", "", "GPUs on each node; the last one may have fewer"},
    {"gpus_per_task", "", "GPUs of a rank"},
    {"cpus_per_task", "", "CPUs of a rank"},
    {"steps", "", "limit.steps"},
    {"minutes", "", "limit.minutes"},
    {"data_dir", "", "data.dir: images/ and masks/, or images of one class each"},
    {"split", "", "path of split.json"},
    {"epochs", "", "train.epochs"},
    {"batch_per_gpu", "", "images per step and GPU"},
    {"global_batch", "", "images per step over all GPUs"},
    {"lr", "", "train.lr, not scaled"},
    {"job_name", "", "the job's name, for #SBATCH lines of your own"},
    {"comment", "", "the job's comment, by which unetctl finds it again"},
    {"output", "", "the job's output file"},
    {"partition", "", "the job's partition, or empty"},
    {"account", "", "the job's account, or empty"},
    {"qos", "", "the job's QOS, or empty"},
    {"constraint", "", "the job's constraint, or empty"},
    {"time_min", "", "the time limit in minutes; 0 for none"},
    {"tag_program", "", "tag of the reference: the script"},
    {"tag_program1", "", "a program that prints TF_CONFIG"},
    {"tag_program2", "", "the script"},
    {"tag_epoch", "", "train.epochs"},
    {"tag_batch", "", "global batch"},
    {"tag_aug", "", "0; another value: markers: {tag_aug: 1} in study.yaml"},
    {"tag_task", "", "ranks and GPUs of each node"},
    {"tag_node", "", "nodes"},
    {"tag_command", "", "1 with MPI, on several nodes; 2 without"},
    {"setup.sh", "", "with tags: path of a script that sets RANK, LOCAL_RANK, WORLD_SIZE"},
    {NULL, NULL, NULL},
};

const struct script_marker *script_marker_all(void)
{
    return markers;
}

/* ---- templates ---- */

#define MAX_TEMPLATE (1 << 20)

static const char *const file_names[] = {[SCRIPT_RUN] = "run_file",
                                         [SCRIPT_SUBMIT] = "submit_file"};

/* Refuses zero bytes, which end a text, and lines that end in CR LF: bash takes the CR as a part
 * of the last word. */
static int check_text(const char *path, const char *text, size_t size, struct err *e)
{
    size_t line = strcspn(text, "\n");

    if (strlen(text) != size)
        return err_set(e, ERR_CONFIG, "%s: a template is a text, but byte %zu is 0", path,
                       strlen(text) + 1);
    if (line && text[line - 1] == '\r')
        return err_set(e, ERR_CONFIG, "%s:1: its lines end in CR LF, which no shell accepts; type: "
                       "sed -i 's/\\r$//' %s", path, path);
    return 0;
}

static char *read_file(const char *path, struct err *e)
{
    size_t size;
    char *text = atomicfile_read(path, MAX_TEMPLATE, &size, e);

    if (!text)
        e->code = ERR_CONFIG;
    if (text && check_text(path, text, size, e)) {
        free(text);
        return NULL;
    }
    return text;
}

static char *read_first(const char *const *candidates, size_t n, char *path, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (access(candidates[i], F_OK) == 0) {
            snprintf(path, PATH_MAX, "%s", candidates[i]);
            return read_file(path, e);
        }
    *path = 0;
    return NULL;
}

static char *read_user_template(const char *user, const struct engine *engine,
                                enum script_file file, char *path, struct err *e)
{
    char own[PATH_MAX], hvd[PATH_MAX], plain[PATH_MAX];
    const char *candidates[] = {own, plain, hvd};
    struct stat st;

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
        return read_file(path, e);
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

    snprintf(name, sizeof name, "templates/%s/%s.sh", engine->name, file_names[file]);
    if (paths_data(name, path, PATH_MAX, e)) {
        snprintf(name, sizeof name, "templates/%s/%s.sh",
                 file == SCRIPT_RUN ? "command" : "embedded", file_names[file]);
        if (paths_data(name, path, PATH_MAX, e))
            return NULL;
    }
    return read_file(path, e);
}

/* Refuses a user's folder that has neither of the two scripts: its name is likely to be a typing
 * error. */
static int check_folder(const char *user, const struct engine *engine, enum script_file file,
                        struct err *e)
{
    enum script_file other = file == SCRIPT_RUN ? SCRIPT_SUBMIT : SCRIPT_RUN;
    char path[PATH_MAX], *text = read_user_template(user, engine, other, path, e);

    free(text);
    return text || *path ? 0
                         : err_set(e, ERR_CONFIG,
                                   "templates: %s has neither run_file.sh nor submit_file.sh for "
                                   "engine %s", user, engine->name);
}

char *script_template_read(const char *user, const struct engine *engine, enum script_file file,
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

static struct script_template *read_template(const char *user, const struct engine *engine,
                                             enum script_file file, struct err *e)
{
    struct script_template *t = mem_zero(1, sizeof *t, e);

    if (!t)
        return NULL;
    t->engine = engine;
    t->file = file;
    t->user = mem_text(user, e);
    t->text = t->user ? script_template_read(user, engine, file, t->path, e) : NULL;
    if (t->text)
        return t;
    free(t->user);
    free(t);
    return NULL;
}

const struct script_template *script_template_get(const char *user, const struct engine *engine,
                                        enum script_file file, struct err *e)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct script_template *seen; /* a few: never freed, as threads use them */

    pthread_mutex_lock(&lock);
    struct script_template *t = seen;
    while (t && (t->engine != engine || t->file != file || strcmp(t->user, user) != 0))
        t = t->next;
    if (!t && (t = read_template(user, engine, file, e))) {
        t->next = seen;
        seen = t;
    }
    pthread_mutex_unlock(&lock);
    return t;
}

bool script_template_has_directives(const char *text)
{
    return strncmp(text, "#SBATCH", 7) == 0 || strstr(text, "\n#SBATCH") != NULL;
}

const char *script_template_find_directive(const char *text, const char *const *words)
{
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        for (size_t i = 0; strncmp(line, "#SBATCH", 7) == 0 && words[i]; i++)
            if (memmem(line, (size_t)(end - line), words[i], strlen(words[i])))
                return line;
    }
    return NULL;
}

size_t script_template_end_of_directives(const char *text)
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

/* ---- rendering ---- */

int script_has_directives(const char *user, const struct engine *engine, struct err *e)
{
    const struct script_template *t = script_template_get(user, engine, SCRIPT_SUBMIT, e);

    return t ? script_template_has_directives(t->text) : -1;
}

/* ---- what a template must use ---- */

/* Returns whether the template uses one of the names ("a|b"). */
static bool is_used(const struct script_values *s, const bool *used, const char *names)
{
    while (*names) {
        size_t n = strcspn(names, "|");
        for (size_t i = 0; i < s->nvalues; i++)
            if (used[i] && strlen(s->values[i].name) == n && strncmp(s->values[i].name, names,
                                                                     n) == 0)
                return true;
        names += n + (names[n] == '|');
    }
    return false;
}

struct need {
    const char *names, *why;
    bool wanted;
};

static int check_needs(const struct script_values *s, const char *path, const char *text,
                       const bool *used, const struct need *needs, struct err *e)
{
    for (; needs->names; needs++)
        if (needs->wanted && !is_used(s, used, needs->names))
            return err_set(e, ERR_CONFIG, "%s:%zu: the marker '{{%.*s}}' is missing: %s ('unetctl "
                           "template list' lists markers)", path, template_count_lines(text),
                           (int)strcspn(needs->names, "|"), needs->names, needs->why);
    return 0;
}

static int check_run_file(const struct script_values *s, const char *path, const char *text,
                          const bool *used, struct err *e)
{
    bool tags = template_has_tags(text), other = s->section != NULL;
    const struct need needs[] = {
        {"command|trainer|script|tag_program|tag_program2", "nothing would be trained", true},
        {"command", "the container would be left out",
         container_is_set(s->run->study) && !container_is_pyxis(s->run->study)},
        {"command", "the data would not be copied to the nodes (data.stage)",
         *s->run->study->data.stage},
        {"attempt|attempt_dir|variables|command", "results would have no folder", !tags && !other},
        {"variables|attempt_dir",
         "the script could not know where to write log.csv", !tags && other},
        {"spec", "the trainer could not find its peers", !tags && !other},
        {"setup", "what the site sets up would be lost", !tags && *script_values_get(s, "setup")},
        {"env", "the site's environment would be lost", !tags && *script_values_get(s, "env")},
        {0}};

    return check_needs(s, path, text, used, needs, e);
}

static int check_tag_layout(const struct script_values *s, const char *path, const bool *used,
                            struct err *e)
{
    const struct layout *l = &s->run->layout;

    if (!is_used(s, used, "tag_node|tag_task") || l->gpus % l->nodes == 0)
        return 0;
    return err_set(e, ERR_CONFIG, "%s: %d GPUs on %d nodes: tag_node and tag_task ask for the same "
                   "on each node; leave this number out, or use {{directives}} and {{launcher}}",
                   path, l->gpus, l->nodes);
}

static int check_submit_file(const struct script_values *s, const char *path, const char *text,
                             const bool *used, struct err *e)
{
    static const char *const clusters[] = {" --clusters", " -M", NULL};
    static const char *const nodes[] = {"{{nodes", "tag_node", NULL};
    static const char *const tasks[] = {"{{tasks", "{{gpus", "tag_task", NULL};
    bool tags = template_has_tags(text), own = script_template_has_directives(text);
    bool directives = is_used(s, used, "directives");
    const struct need needs[] = {
        {"directives", "Slurm would not know what the job needs", !own},
        {"launcher", "several ranks would not be started", !tags},
        {"run_file", "no rank would do anything", !tags},
        {"finish", "the result would not be recorded", !tags && s->section},
        {"setup", "what the site sets up would be lost", !tags && *script_values_get(s, "setup")},
        {"env", "the site's environment would be lost", !tags && *script_values_get(s, "env")},
        {0}};

    if (strncmp(text, "#!", 2) != 0)
        return err_set(e, ERR_CONFIG, "%s:1: a job script must start with #!, such as #!{{shell}}",
                       path);
    const char *line = script_template_find_directive(text, clusters);
    if (line)
        return err_set(e, ERR_CONFIG, "%s: '%.*s': the job would go to another cluster, where "
                       "unetctl would not find it; run unetctl on that cluster", path,
                       (int)strcspn(line, "\n"), line);
    if (own && !directives && !(script_template_find_directive(text, nodes) &&
                                script_template_find_directive(text, tasks)))
        return err_set(e, ERR_CONFIG, "%s: the #SBATCH lines ask for the same nodes and tasks in "
                       "all runs; use {{directives}}, or --nodes={{nodes}} and --ntasks={{tasks}}",
                       path);
    return check_needs(s, path, text, used, needs, e) ? -1 : check_tag_layout(s, path, used, e);
}

/* Adds unetctl's own #SBATCH lines to those of the template's author, so that a job which is
 * submitted by hand is found. */
static int add_own_words(const struct script_values *s, struct buf *dst, struct err *e)
{
    char *lines = job_directives(s->job);
    struct buf b = {0};

    if (lines && !dst->failed) {
        size_t end = script_template_end_of_directives(dst->data);
        buf_add_bytes(&b, dst->data, end);
        buf_addf(&b, "%s# Added by unetctl, which finds the job again by its comment.\n%s",
                 end && dst->data[end - 1] != '\n' ? "\n" : "", lines);
        buf_add(&b, dst->data + end);
    }
    int rc = !lines || dst->failed || b.failed ? err_set(e, ERR_INTERNAL,
                                                         "submit_file.sh: out of memory")
                                               : 0;
    free(lines);
    buf_destroy(dst);
    *dst = b;
    return rc;
}

/* Appends a check of the result to a template of the reference systems (template.h), which write
 * neither DONE nor FAILED. */
static void add_epilogue(const struct script_values *s, struct buf *dst)
{
    if (dst->length && dst->data[dst->length - 1] != '\n')
        buf_add(dst, "\n");
    template_add_sh(dst, "\n# Added by unetctl: log.csv becomes the result of this attempt.\n"
                    "exec %s finish --from %s %s\n", script_values_get(s, "unetctl"),
                    script_values_get(s, "run_dir"), script_values_get(s, "attempt_dir"));
}

/* Returns the rendered file, which the caller frees, or NULL. *tags becomes whether the template
 * has tags (template.h). */
static char *render_file(struct script_values *s, enum script_file file, bool *tags, struct err *e)
{
    const struct script_template *t = script_template_get(s->plan->templates, s->run->engine, file,
                                                          e);
    bool used[TEMPLATE_VALUES_MAX];
    char *rendered = NULL;
    struct buf b = {0};

    if (!t) {
        e->code = ERR_CONFIG;
        return NULL;
    }
    *tags = template_has_tags(t->text);
    if (template_expand(t->path, t->text, *tags, s->values, used, &b, e) == 0 &&
        script_values_use(s, t->path, used, e) == 0 &&
        (file == SCRIPT_RUN ? check_run_file : check_submit_file)(s, t->path, t->text, used,
                                                                  e) == 0) {
        if (*tags && file == SCRIPT_SUBMIT)
            add_epilogue(s, &b);
        if (file == SCRIPT_SUBMIT && !is_used(s, used, "directives") && add_own_words(s, &b, e)) {
            buf_destroy(&b);
            return NULL;
        }
        rendered = buf_steal(&b);
        if (!rendered)
            err_set(e, ERR_INTERNAL, "%s: out of memory", t->path);
    }
    buf_destroy(&b);
    return rendered;
}

static int check_tags(const struct script_values *s, bool tags, struct err *e)
{
    if (!tags || !s->plan->one_allocation)
        return 0;
    return err_set(e, ERR_CONFIG, "%s: templates with the reference's tags start their own ranks, "
                   "which --one-allocation must do; use {{launcher}}, or leave --one-allocation "
                   "out", s->plan->templates);
}

static int check_user_markers(const struct script_values *s, struct err *e)
{
    const struct yaml_origin *o = yaml_table_origin(settings_of_study, &s->run->study->origins,
                                                    "markers");

    for (size_t i = 0; i < s->nuser; i++)
        if (!s->is_used[i])
            return err_set(e, ERR_CONFIG, "%s: no template uses markers.%s",
                           o->where ? o->where : s->run->study->file, s->values[i].name);
    return 0;
}

int script_render(const struct plan *plan, const struct run *run, int attempt,
                  const struct job *job, char **run_text, char **submit_text, bool *tags,
                  struct err *e)
{
    struct script_values s = {.plan = plan, .run = run, .attempt = attempt, .job = job,
                       .section = study_engine(run->study, run->engine->name)};
    bool run_tags = false, submit_tags = false;
    int rc = -1;

    *run_text = *submit_text = NULL;
    if (script_values_fill(&s, e) == 0 && (*run_text = render_file(&s, SCRIPT_RUN, &run_tags, e)) &&
        (*submit_text = render_file(&s, SCRIPT_SUBMIT, &submit_tags, e)) &&
        check_user_markers(&s, e) == 0)
        rc = check_tags(&s, run_tags || submit_tags, e);
    if (tags)
        *tags = run_tags || submit_tags;
    if (rc) {
        free(*run_text);
        free(*submit_text);
    }
    script_values_destroy(&s);
    return rc;
}
