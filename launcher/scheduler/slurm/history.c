/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/history.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launcher/scheduler/slurm/message.h"

json_t *history_describe(const struct history_job *j)
{
    /* slurmdbd's words for a job that never had nodes */
    bool has_nodes = j->nodes && strcmp(j->nodes, "None assigned") != 0;

    return json_pack("{s:o, s:o, s:o, s:o, s:I, s:i, s:i, s:I, s:I, s:I, s:o, s:o*}", "id",
                     message_string(j->id), "state", message_string(j->state), "name",
                     message_string(j->name), "user", message_string(j->user), "uid",
                     (json_int_t)j->uid, "exit_code", j->exit_code, "signal", j->signal,
                     "submitted", (json_int_t)j->submitted, "started", (json_int_t)j->started,
                     "ended", (json_int_t)j->ended, "nodes",
                     message_string(has_nodes ? j->nodes : NULL), "tres", j->tres);
}

void history_add_tres(json_t *dst, const char *name, long long count)
{
    if (count > 0 && count < LLONG_MAX - 1)
        json_object_set_new(dst, name, json_integer(count));
}

/* Copies the text after "NAME=" in a line of jobcomp/filetxt up to the first of the characters of
 * end, or "" if there is none. */
static void take_text(const char *line, const char *name, const char *end, char *dst, size_t size)
{
    size_t n = strlen(name);

    *dst = 0;
    for (const char *s = line; (s = strstr(s, name)); s += n)
        if ((s == line || s[-1] == ' ') && s[n] == '=') {
            snprintf(dst, size, "%.*s", (int)strcspn(s + n + 1, end), s + n + 1);
            return;
        }
}

static void take_word(const char *line, const char *name, char *dst, size_t size)
{
    take_text(line, name, " \n", dst, size);
}

static time_t take_time(const char *line, const char *name)
{
    struct tm tm = {.tm_isdst = -1};
    char text[32];

    take_word(line, name, text, sizeof text);
    return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? mktime(&tm) : 0;
}

/* Takes the name of a job, which may have blanks: JobState follows it. */
static void take_name(const char *line, char *dst, size_t size)
{
    take_text(line, "Name", "\n", dst, size);
    char *end = strstr(dst, " JobState=");
    if (end)
        *end = 0;
}

/* Takes "root(0)". */
static long take_user(const char *line, char *dst, size_t size)
{
    take_word(line, "UserId", dst, size);
    char *number = strrchr(dst, '('), *end;
    long uid = number ? strtol(number + 1, &end, 10) : -1;

    if (!number || end == number + 1)
        return -1;
    *number = 0;
    return uid;
}

int history_read_jobcomp(const char *file, const json_t *ids, json_t *jobs)
{
    FILE *f = fopen(file, "r");
    char *line = NULL, id[32], state[32], nodes[256], exit_code[32], name[256], user[80];
    size_t capacity = 0;

    if (!f)
        return -1;
    while (getline(&line, &capacity, f) > 0) {
        take_word(line, "JobId", id, sizeof id);
        if (!message_has_id(ids, id))
            continue;
        take_word(line, "JobState", state, sizeof state);
        take_word(line, "NodeList", nodes, sizeof nodes);
        take_word(line, "ExitCode", exit_code, sizeof exit_code);
        take_name(line, name, sizeof name);
        struct history_job j = {.id = id, .state = state, .nodes = nodes, .name = name,
                                .user = user, .uid = take_user(line, user, sizeof user),
                                .submitted = take_time(line, "SubmitTime"),
                                .started = take_time(line, "StartTime"),
                                .ended = take_time(line, "EndTime")};
        sscanf(exit_code, "%d:%d", &j.exit_code, &j.signal);
        json_array_append_new(jobs, history_describe(&j));
    }
    free(line);
    fclose(f);
    return 0;
}
