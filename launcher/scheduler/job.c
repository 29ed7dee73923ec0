/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/job.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/scheduler/sbatch_help.h"
#include "src/buf.h"
#include "src/cli.h"
#include "src/cluster/time_limit.h"

enum word_kind { WORD_TEXT, WORD_TIME, WORD_MEM, WORD_NICE, WORD_FLAG };

/* One table for the words people type and the lines they become. */
static const struct word {
    const char *name;
    char letter;
    enum word_kind kind;
    size_t offset; /* in struct job_options */
} words[] = {
    {"partition", 'p', WORD_TEXT, offsetof(struct job_options, partition)},
    {"account", 'A', WORD_TEXT, offsetof(struct job_options, account)},
    {"qos", 'q', WORD_TEXT, offsetof(struct job_options, qos)},
    {"constraint", 'C', WORD_TEXT, offsetof(struct job_options, constraint)},
    {"reservation", 0, WORD_TEXT, offsetof(struct job_options, reservation)},
    {"nodelist", 'w', WORD_TEXT, offsetof(struct job_options, nodelist)},
    {"exclude", 'x', WORD_TEXT, offsetof(struct job_options, exclude)},
    {"dependency", 'd', WORD_TEXT, offsetof(struct job_options, dependency)},
    {"licenses", 'L', WORD_TEXT, offsetof(struct job_options, licenses)},
    {"mem", 0, WORD_MEM, offsetof(struct job_options, mem)},
    {"time", 't', WORD_TIME, offsetof(struct job_options, time_min)},
    {"nice", 0, WORD_NICE, offsetof(struct job_options, nice)},
    {"exclusive", 0, WORD_FLAG, offsetof(struct job_options, exclusive)},
    {"hold", 'H', WORD_FLAG, offsetof(struct job_options, hold)},
    {0},
};

/* What else sbatch takes: passed on as it is, but for what unetctl itself decides. */
enum further_kind { FURTHER_VALUE, FURTHER_OPTIONAL, FURTHER_FLAG, FURTHER_OURS };

static const struct further {
    const char *name;
    char letter;
    enum further_kind kind;
    const char *why; /* of FURTHER_OURS: what to do instead */
} further[] = {
    {"acctg-freq", 0, FURTHER_VALUE, NULL}, {"batch", 0, FURTHER_VALUE, NULL},
    {"bb", 0, FURTHER_VALUE, NULL}, {"bbf", 0, FURTHER_VALUE, NULL},
    {"begin", 'b', FURTHER_VALUE, NULL}, {"cluster-constraint", 0, FURTHER_VALUE, NULL},
    {"container", 0, FURTHER_VALUE, NULL}, {"container-id", 0, FURTHER_VALUE, NULL},
    {"contiguous", 0, FURTHER_FLAG, NULL}, {"core-spec", 'S', FURTHER_VALUE, NULL},
    {"cores-per-socket", 0, FURTHER_VALUE, NULL}, {"cpu-freq", 0, FURTHER_VALUE, NULL},
    {"cpus-per-gpu", 0, FURTHER_VALUE, NULL}, {"deadline", 0, FURTHER_VALUE, NULL},
    {"delay-boot", 0, FURTHER_VALUE, NULL}, {"error", 'e', FURTHER_VALUE, NULL},
    {"export", 0, FURTHER_VALUE, NULL}, {"export-file", 0, FURTHER_VALUE, NULL},
    {"extra-node-info", 'B', FURTHER_VALUE, NULL}, {"get-user-env", 0, FURTHER_OPTIONAL, NULL},
    {"gid", 0, FURTHER_VALUE, NULL}, {"gpu-bind", 0, FURTHER_VALUE, NULL},
    {"gpu-freq", 0, FURTHER_VALUE, NULL}, {"gres", 0, FURTHER_VALUE, NULL},
    {"gres-flags", 0, FURTHER_VALUE, NULL}, {"hint", 0, FURTHER_VALUE, NULL},
    {"ignore-pbs", 0, FURTHER_FLAG, NULL}, {"input", 'i', FURTHER_VALUE, NULL},
    {"kill-on-invalid-dep", 0, FURTHER_VALUE, NULL}, {"mail-type", 0, FURTHER_VALUE, NULL},
    {"mail-user", 0, FURTHER_VALUE, NULL}, {"mcs-label", 0, FURTHER_VALUE, NULL},
    {"mem-bind", 0, FURTHER_VALUE, NULL}, {"mem-per-cpu", 0, FURTHER_VALUE, NULL},
    {"mem-per-gpu", 0, FURTHER_VALUE, NULL}, {"mincpus", 0, FURTHER_VALUE, NULL},
    {"network", 0, FURTHER_VALUE, NULL}, {"no-kill", 'k', FURTHER_OPTIONAL, NULL},
    {"no-requeue", 0, FURTHER_FLAG, NULL}, {"nodefile", 'F', FURTHER_VALUE, NULL},
    {"ntasks-per-core", 0, FURTHER_VALUE, NULL}, {"ntasks-per-socket", 0, FURTHER_VALUE, NULL},
    {"open-mode", 0, FURTHER_VALUE, NULL}, {"overcommit", 'O', FURTHER_FLAG, NULL},
    {"oversubscribe", 's', FURTHER_FLAG, NULL}, {"power", 0, FURTHER_VALUE, NULL},
    {"prefer", 0, FURTHER_VALUE, NULL}, {"priority", 0, FURTHER_VALUE, NULL},
    {"profile", 0, FURTHER_VALUE, NULL}, {"propagate", 0, FURTHER_OPTIONAL, NULL},
    {"quiet", 'Q', FURTHER_FLAG, NULL}, {"reboot", 0, FURTHER_FLAG, NULL},
    {"requeue", 0, FURTHER_FLAG, NULL}, {"signal", 0, FURTHER_VALUE, NULL},
    {"sockets-per-node", 0, FURTHER_VALUE, NULL}, {"spread-job", 0, FURTHER_FLAG, NULL},
    {"switches", 0, FURTHER_VALUE, NULL}, {"thread-spec", 0, FURTHER_VALUE, NULL},
    {"threads-per-core", 0, FURTHER_VALUE, NULL}, {"time-min", 0, FURTHER_VALUE, NULL},
    {"tmp", 0, FURTHER_VALUE, NULL}, {"tres-bind", 0, FURTHER_VALUE, NULL},
    {"use-min-nodes", 0, FURTHER_FLAG, NULL},
    {"verbose", 'v', FURTHER_FLAG, NULL}, {"wait-all-nodes", 0, FURTHER_VALUE, NULL},
    {"wckey", 0, FURTHER_VALUE, NULL},
    {"array", 'a', FURTHER_OURS, "each run is a job of its own; --seeds N repeats them"},
    {"chdir", 'D', FURTHER_OURS, "a job runs in the folder of its run"},
    {"clusters", 'M', FURTHER_OURS, "unetctl would not find the job again; run it on that cluster"},
    {"comment", 0, FURTHER_OURS, "unetctl finds the job again by its comment"},
    {"cpus-per-task", 'c', FURTHER_OURS, "--set slurm.cpus_per_gpu=N"},
    {"distribution", 'm', FURTHER_OURS, "ranks are numbered node by node"},
    {"gpus", 'G', FURTHER_OURS, "--gpus of unetctl, before the '--'"},
    {"gpus-per-node", 0, FURTHER_OURS, "gpus_per_node in the site file"},
    {"gpus-per-socket", 0, FURTHER_OURS, "--gpus of unetctl, before the '--'"},
    {"gpus-per-task", 0, FURTHER_OURS, "--gpus of unetctl, before the '--'"},
    {"help", 'h', FURTHER_OURS, "sbatch --help"},
    {"job-name", 'J', FURTHER_OURS, "the name is that of study and run"},
    {"nodes", 'N', FURTHER_OURS, "gpus_per_node in the site file decides"},
    {"ntasks", 'n', FURTHER_OURS, "the number of GPUs and the strategy decide"},
    {"ntasks-per-gpu", 0, FURTHER_OURS, "the strategy decides"},
    {"ntasks-per-node", 0, FURTHER_OURS, "the number of GPUs and the strategy decide"},
    {"output", 'o', FURTHER_OURS, "'unetctl logs RUN' shows it"},
    {"parsable", 0, FURTHER_OURS, "an option of unetctl submit"},
    {"test-only", 0, FURTHER_OURS, "unetctl plan --test-only"},
    {"tres-per-task", 0, FURTHER_OURS, "the number of GPUs decides"},
    {"uid", 0, FURTHER_OURS, "unetctl looks for jobs of the user who calls it: become that one"},
    {"usage", 0, FURTHER_OURS, "sbatch --help"},
    {"version", 'V', FURTHER_OURS, "sbatch --version"},
    {"wait", 'W', FURTHER_OURS, "--wait of unetctl submit, before the '--'"},
    {"wrap", 0, FURTHER_OURS, "unetctl writes the script"},
    {0},
};

#define NICE_BARE 100 /* what sbatch takes --nice without a number for */

static const char **text_of(const struct job_options *o, const struct word *w)
{
    return (const char **)((char *)o + w->offset);
}

static int *option_number(const struct job_options *o, const struct word *w)
{
    return (int *)((char *)o + w->offset);
}

static bool *flag_of(const struct job_options *o, const struct word *w)
{
    return (bool *)((char *)o + w->offset);
}

/* Digits up to max at *text, which moves behind them; -1 if there are none. */
static long take_number(const char **text, long max)
{
    char *end;

    if (**text < '0' || **text > '9')
        return -1;
    errno = 0;
    long v = strtol(*text, &end, 10);
    *text = end;
    return errno || v > max ? -1 : v;
}

long job_mem_decode(const char *text)
{
    static const char units[] = "KMGT";
    long v = take_number(&text, 1L << 30);

    if (v < 0)
        return -1;
    if (*text == 0)
        return v;
    const char *unit = strchr(units, *text & ~0x20);
    if (!unit || text[1] != 0)
        return -1;
    if (*unit == 'K')
        return (v + 1023) / 1024;
    return v << (10 * (unit - units - 1));
}

static int set_word(struct job_options *o, const struct word *w, const char *value, struct err *e)
{
    char *end;
    int minutes;
    long nice;

    switch (w->kind) {
    case WORD_FLAG:
        *flag_of(o, w) = true;
        return 0;
    case WORD_TIME:
        minutes = time_limit_decode(value);
        if (minutes < 0)
            return err_set(e, ERR_USAGE, "--time %s: not a time limit; write minutes, H:MM:SS or "
                           "D-HH:MM", value);
        *option_number(o, w) = minutes;
        return 0;
    case WORD_NICE:
        nice = strtol(value, &end, 10);
        if (end == value || *end || nice < -2147483645 || nice > 2147483645)
            return err_set(e, ERR_USAGE, "--nice=%s: not a number", value);
        *option_number(o, w) = (int)nice;
        return 0;
    case WORD_MEM:
        if (job_mem_decode(value) < 0)
            return err_set(e, ERR_USAGE, "--mem %s: not an amount of memory; write 4G or 4000M",
                           value);
        break;
    case WORD_TEXT:
        if (*value == 0 || strpbrk(value, "\n"))
            return err_set(e, ERR_USAGE, "--%s: the value is empty or has a line break", w->name);
        break;
    }
    *text_of(o, w) = value;
    return 0;
}

/* A typing error, or no option at all. NULL: it may be an option of a Slurm younger than this
 * list. */
static const char *nearest_option(const char *name)
{
    const char *names[sizeof words / sizeof *words + sizeof further / sizeof *further];
    size_t n = 0;

    for (const struct word *w = words; w->name; w++)
        names[n++] = w->name;
    for (const struct further *f = further; f->name; f++)
        names[n++] = f->name;
    names[n] = NULL;
    for (size_t i = 0; i < n; i++) /* sbatch would complete it */
        if (strncmp(names[i], name, strlen(name)) == 0)
            return names[i];
    return cli_nearest(name, names);
}

static int refuse_word(const char *text, const char *near, struct err *e)
{
    return err_set(e, ERR_USAGE, "'%.*s' is no option of sbatch%s%s%s", (int)strcspn(text, "="),
                   text, near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
}

static int add_extra(struct job_options *o, const char *word, struct err *e)
{
    for (const char *c = word; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return err_set(e, ERR_USAGE, "'%s': a control character or line break", word);
    if (o->nextra == JOB_EXTRA_MAX)
        return err_set(e, ERR_USAGE, "more than %d words for sbatch", JOB_EXTRA_MAX);
    o->extra[o->nextra++] = word;
    return 0;
}

static const struct further *find_further(const char *text, bool *has_value)
{
    bool is_long = strncmp(text, "--", 2) == 0;
    size_t n = strcspn(text, "=");

    *has_value = is_long ? text[n] != 0 : text[2] != 0;
    for (const struct further *f = further; f->name; f++)
        if (is_long ? strlen(f->name) == n - 2 && strncmp(text + 2, f->name, n - 2) == 0
                    : f->letter && f->letter == text[1])
            return f;
    return NULL;
}

/* sbatch would read -Hn3 as -H -n3. */
static bool is_bundle(const char *text)
{
    return text[0] == '-' && text[1] != '-' && text[1] &&
           text[2 + strspn(text + 2, (char[]){text[1], 0})];
}

static int refuse_bundle(const char *text, struct err *e)
{
    return err_set(e, ERR_USAGE, "'%s': write each option of sbatch as a word of its own", text);
}

/* The value of given[*i], which is the next word: into extra. */
static int add_option_value(struct job_options *o, int nwords, char **given, int *i, struct err *e)
{
    if (*i + 1 == nwords)
        return err_set(e, ERR_USAGE, "'%s' needs a value", given[*i]);
    return add_extra(o, given[++*i], e);
}

/* Takes an option of a Slurm plugin or of a Slurm newer than the table; anything else is a typo. */
static int take_unknown(struct job_options *o, int nwords, char **given, int *i, struct err *e)
{
    const char *text = given[*i];
    bool is_long = strncmp(text, "--", 2) == 0, has_value = strchr(text, '=') != NULL;
    char name[64];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    enum sbatch_help help = is_long ? sbatch_help_find(name + 2, o->in_sandbox) : SBATCH_HELP_NONE;
    if (help != SBATCH_HELP_NONE) {
        if (add_extra(o, text, e))
            return -1;
        return help == SBATCH_HELP_VALUE && !has_value ? add_option_value(o, nwords, given, i,
                                                                          e) : 0;
    }
    const char *near = is_long ? nearest_option(name + 2) : NULL;
    if (near || !is_long || strpbrk(text, " \t") == text + strcspn(text, "= \t"))
        return refuse_word(text, near, e);
    return add_extra(o, text, e);
}

/* given[*i] and its value, where that is a word of its own: into extra. */
static int take_further(struct job_options *o, int nwords, char **given, int *i, struct err *e)
{
    const char *text = given[*i];
    bool has_value;
    const struct further *f;

    if (text[0] != '-' || !text[1] || strcmp(text, "--") == 0)
        return refuse_word(text, NULL, e);
    f = find_further(text, &has_value);
    if (!f)
        return take_unknown(o, nwords, given, i, e);
    if (f->kind == FURTHER_OURS)
        return err_set(e, ERR_USAGE, "'%s': unetctl itself decides on --%s: %s", text, f->name,
                       f->why);
    if (f->kind == FURTHER_FLAG && is_bundle(text))
        return refuse_bundle(text, e);
    if (strcmp(f->name, "gres") == 0 &&
        strstr(has_value ? text : *i + 1 < nwords ? given[*i + 1] : "", "gpu"))
        return err_set(e, ERR_USAGE, "'%s': the GPUs of a job are those of --gpus; their type and "
                       "whether --gres asks for them say gpu_type and gpu_request of the site file",
                       text);
    if (add_extra(o, text, e))
        return -1;
    return f->kind == FURTHER_VALUE && !has_value ? add_option_value(o, nwords, given, i, e) : 0;
}

/* The word's table entry; *value is what stands behind "=" or the letter, or NULL. */
static const struct word *find_word(const char *text, const char **value)
{
    size_t n = strcspn(text, "=");

    *value = NULL;
    for (const struct word *w = words; w->name; w++) {
        if (strncmp(text, "--", 2) == 0 && strlen(w->name) == n - 2 &&
            strncmp(text + 2, w->name, n - 2) == 0) {
            if (text[n])
                *value = text + n + 1;
            return w;
        }
        if (text[0] == '-' && w->letter && text[1] == w->letter) {
            if (text[2])
                *value = text + 2;
            return w;
        }
    }
    return NULL;
}

int job_options_decode(struct job_options *o, int nwords, char **given, struct err *e)
{
    for (int i = 0; i < nwords; i++) {
        const char *value;
        const struct word *w = find_word(given[i], &value);

        if (!w) {
            if (take_further(o, nwords, given, &i, e))
                return -1;
            continue;
        }
        if (w->kind == WORD_FLAG && is_bundle(given[i]))
            return refuse_bundle(given[i], e);
        if (w->kind == WORD_FLAG && value) { /* --exclusive=user */
            if (add_extra(o, given[i], e))
                return -1;
            continue;
        }
        if (w->kind == WORD_NICE && !value) {
            *option_number(o, w) = NICE_BARE;
            continue;
        }
        if (w->kind != WORD_FLAG && !value) {
            if (i + 1 == nwords)
                return err_set(e, ERR_USAGE, "'%s' needs a value", given[i]);
            value = given[++i];
        }
        if (set_word(o, w, value, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- the words of sbatch ---- */

static void append_word(struct job_words *w, const char *fmt,
                        ...) __attribute__((format(printf, 2, 3)));
static void append_word(struct job_words *w, const char *fmt, ...)
{
    char **grown = realloc(w->words, (w->count + 1) * sizeof *grown);
    va_list ap;

    if (!grown) {
        w->failed = true;
        return;
    }
    w->words = grown;
    va_start(ap, fmt);
    if (vasprintf(&grown[w->count], fmt, ap) < 0)
        w->failed = true;
    else
        w->count++;
    va_end(ap);
}

static void add_word(struct job_words *dst, const struct job_options *o, const struct word *w)
{
    switch (w->kind) {
    case WORD_TEXT:
    case WORD_MEM:
        if (*text_of(o, w))
            append_word(dst, "--%s=%s", w->name, *text_of(o, w));
        break;
    case WORD_TIME:
    case WORD_NICE:
        if (*option_number(o, w))
            append_word(dst, "--%s=%d", w->name, *option_number(o, w));
        break;
    case WORD_FLAG:
        if (*flag_of(o, w))
            append_word(dst, "--%s", w->name);
        break;
    }
}

bool job_needs_whole_nodes(const struct job *job)
{
    return job->options.exclusive || (job->nodes > 0 && job->tasks % job->nodes != 0);
}

bool job_takes_gres(const struct job *job)
{
    return job->gres && job->nodes > 0 && job->tasks % job->nodes == 0;
}

/* --gres says the same for each node, so it cannot say 2+1. */
static void add_gpus(struct job_words *dst, const struct job *job)
{
    const char *type = job->gpu_type ? job->gpu_type : "", *colon = *type ? ":" : "";

    if (job_takes_gres(job)) {
        int tasks = job->tasks / job->nodes;
        append_word(dst, "--ntasks-per-node=%d", tasks);
        append_word(dst, "--cpus-per-task=%d", job->cpus_per_task);
        append_word(dst, "--gres=gpu:%s%s%d", type, colon, tasks * job->gpus_per_task);
    } else {
        append_word(dst, "--cpus-per-task=%d", job->cpus_per_task);
        append_word(dst, "--gpus-per-task=%s%s%d", type, colon, job->gpus_per_task);
    }
}

static void add_resources(struct job_words *dst, const struct job *job)
{
    struct job_options options = job->options;

    options.exclusive = job_needs_whole_nodes(job);
    append_word(dst, "--nodes=%d", job->nodes);
    append_word(dst, "--ntasks=%d", job->tasks);
    add_gpus(dst, job);
    if (job->signal_s)
        append_word(dst, "--signal=B:USR1@%d", job->signal_s);
    append_word(dst, "--%s", job->requeues ? "requeue" : "no-requeue");
    append_word(dst, "--open-mode=append");
    for (const struct word *w = words; w->name; w++)
        add_word(dst, &options, w);
}

void job_words_fill(const struct job *job, struct job_words *dst)
{
    *dst = (struct job_words){0};
    append_word(dst, "--job-name=%s", job->name);
    append_word(dst, "--comment=%s", job->tag);
    append_word(dst, "--chdir=%s", job->work_dir);
    append_word(dst, "--output=%s", job->output);
    if (job->own_directives) {
        for (int i = 0; i < job->options.ngiven; i++)
            append_word(dst, "%s", job->options.given[i]);
        return;
    }
    add_resources(dst, job);
    for (int i = 0; i < job->options.nextra; i++)
        append_word(dst, "%s", job->options.extra[i]);
}

void job_words_destroy(struct job_words *w)
{
    for (size_t i = 0; i < w->count; i++)
        free(w->words[i]);
    free(w->words);
    *w = (struct job_words){0};
}

/* sbatch splits these lines at blanks, ends them at #, and knows quotes and backslashes; it would
 * take a colon at the beginning of a word for an error. The name of an option stays bare. */
static void add_quoted(struct buf *b, const char *word)
{
    size_t name = word[0] == '-' ? strcspn(word, "=") + (strchr(word, '=') != NULL) : 0;

    if (*word && *word != ':' && !strpbrk(word, " \t\"'\\#")) {
        buf_add(b, word);
        return;
    }
    if (strpbrk(word, " \t\"'\\#") && strpbrk(word, " \t\"'\\#") < word + name)
        name = 0;
    buf_add_bytes(b, word, name);
    buf_add(b, "\"");
    for (const char *s = word + name; *s; s++)
        buf_addf(b, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
    buf_add(b, "\"");
}

char *job_directives(const struct job *job)
{
    struct job_words w;
    struct buf b = {0};

    job_words_fill(job, &w);
    for (size_t i = 0; i < w.count; i++) {
        buf_add(&b, w.words[i][0] == '-' || i == 0 ? "#SBATCH " : " ");
        add_quoted(&b, w.words[i]);
        if (i + 1 == w.count || w.words[i + 1][0] == '-')
            buf_add(&b, "\n");
    }
    b.failed |= w.failed;
    job_words_destroy(&w);
    return buf_steal(&b);
}

void job_add_output(const char *path, struct buf *dst)
{
    for (; *path; path++)
        buf_add_bytes(dst, *path == '%' ? "%%" : path, *path == '%' ? 2 : 1);
}
