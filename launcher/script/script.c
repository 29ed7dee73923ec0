/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/script/script.h"

#include <stdlib.h>
#include <string.h>

#include "launcher/script/container.h"
#include "launcher/script/script_template.h"
#include "launcher/script/script_values.h"

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
    if (template_expand(t->path, t->text, s->values, used, &b, e) == 0 &&
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
