/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/job.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "src/buf.h"
#include "src/cli.h"

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

#define NICE_BARE 100 /* what sbatch takes --nice without a number for */

static const char **text_of(const struct job_options *o, const struct word *w)
{
    return (const char **)((char *)o + w->offset);
}

static int *number_of(const struct job_options *o, const struct word *w)
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

int job_time_decode(const char *text)
{
    long part[4] = {0}, days = -1;
    int n = 0;

    for (;;) {
        if (n == 4 || (part[n++] = take_number(&text, INT_MAX)) < 0)
            return -1;
        if (*text == '-' && n == 1 && days < 0) {
            days = part[0];
            n = 0;
        } else if (*text == 0) {
            break;
        } else if (*text != ':') {
            return -1;
        }
        text++;
    }
    if (n > 3)
        return -1;
    /* Behind days stand hours first; without days a lone number is minutes, two are M:S. */
    double seconds = 0;
    if (days >= 0)
        seconds = days * 86400.0 + part[0] * 3600.0 + part[1] * 60.0 + part[2] * (n == 3);
    else if (n == 3)
        seconds = part[0] * 3600.0 + part[1] * 60.0 + part[2];
    else
        seconds = part[0] * 60.0 + part[1] * (n == 2);
    double minutes = (seconds + 59) / 60;
    return minutes >= 1 && minutes <= INT_MAX ? (int)minutes : -1;
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
        minutes = job_time_decode(value);
        if (minutes < 0)
            return err_set(e, ERR_USAGE, "--time %s: not a time limit; write minutes, H:MM:SS or D-HH:MM",
                           value);
        *number_of(o, w) = minutes;
        return 0;
    case WORD_NICE:
        nice = strtol(value, &end, 10);
        if (end == value || *end || nice < -2147483645 || nice > 2147483645)
            return err_set(e, ERR_USAGE, "--nice=%s: not a number", value);
        *number_of(o, w) = (int)nice;
        return 0;
    case WORD_MEM:
        if (job_mem_decode(value) < 0)
            return err_set(e, ERR_USAGE, "--mem %s: not an amount of memory; write 4G or 4000M", value);
        break;
    case WORD_TEXT:
        if (*value == 0 || strpbrk(value, "\n"))
            return err_set(e, ERR_USAGE, "--%s: the value is empty or has a line break", w->name);
        break;
    }
    *text_of(o, w) = value;
    return 0;
}

static int refuse_word(const char *text, struct err *e)
{
    const char *names[sizeof words / sizeof *words];
    char name[64];
    size_t n = 0;

    for (const struct word *w = words; w->name; w++)
        names[n++] = w->name;
    names[n] = NULL;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    const char *near = strncmp(text, "--", 2) == 0 ? cli_nearest(name + 2, names) : NULL;
    return err_set(e, ERR_USAGE, "'%s' is no sbatch option that unetctl passes on%s%s%s; write it as an "
                   "#SBATCH line into submit_file.sh (unetctl generate) and run sbatch submit_file.sh",
                   name, near ? " (did you mean --" : "", near ? near : "", near ? "?)" : "");
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

        if (!w)
            return refuse_word(given[i], e);
        if (w->kind == WORD_FLAG && value)
            return err_set(e, ERR_USAGE, "'%s': --%s takes no value here", given[i], w->name);
        if (w->kind == WORD_NICE && !value) {
            *number_of(o, w) = NICE_BARE;
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

/* sbatch splits these lines at blanks and knows quotes and backslashes. */
static void add_value(struct buf *b, const char *value)
{
    if (!strpbrk(value, " \t\"'\\#")) {
        buf_add(b, value);
        return;
    }
    buf_add(b, "\"");
    for (const char *s = value; *s; s++)
        buf_addf(b, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
    buf_add(b, "\"");
}

static void add_text(struct buf *b, const char *name, const char *value)
{
    buf_addf(b, "#SBATCH --%s=", name);
    add_value(b, value);
    buf_add(b, "\n");
}

static void add_number(struct buf *b, const char *name, int value)
{
    buf_addf(b, "#SBATCH --%s=%d\n", name, value);
}

static void add_word(struct buf *b, const struct job_options *o, const struct word *w)
{
    switch (w->kind) {
    case WORD_TEXT:
    case WORD_MEM:
        if (*text_of(o, w))
            add_text(b, w->name, *text_of(o, w));
        break;
    case WORD_TIME:
    case WORD_NICE:
        if (*number_of(o, w))
            add_number(b, w->name, *number_of(o, w));
        break;
    case WORD_FLAG:
        if (*flag_of(o, w))
            buf_addf(b, "#SBATCH --%s\n", w->name);
        break;
    }
}

bool job_needs_whole_nodes(const struct job *job)
{
    return job->options.exclusive || (job->nodes > 0 && job->tasks % job->nodes != 0);
}

char *job_directives(const struct job *job)
{
    struct job_options options = job->options;
    struct buf b = {0};

    options.exclusive = job_needs_whole_nodes(job);

    add_text(&b, "job-name", job->name);
    add_text(&b, "comment", job->tag);
    add_text(&b, "chdir", job->work_dir);
    add_text(&b, "output", job->output);
    add_number(&b, "nodes", job->nodes);
    add_number(&b, "ntasks", job->tasks);
    add_number(&b, "cpus-per-task", job->cpus_per_task);
    add_number(&b, "gpus-per-task", job->gpus_per_task);
    if (job->signal_s)
        buf_addf(&b, "#SBATCH --signal=B:USR1@%d\n", job->signal_s);
    buf_addf(&b, "#SBATCH --%s\n#SBATCH --open-mode=append\n", job->requeues ? "requeue" : "no-requeue");
    for (const struct word *w = words; w->name; w++)
        add_word(&b, &options, w);
    return buf_steal(&b);
}
