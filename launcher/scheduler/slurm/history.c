/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launcher/scheduler/job_state.h"
#include "launcher/scheduler/slurm/message.h"

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

/* Decodes a line, but for its id. */
static void take_job(const char *line, struct job_state *dst)
{
    char state[32], exit_code[32];

    take_word(line, "JobState", state, sizeof state);
    job_state_set(dst, state_find(state));
    take_word(line, "NodeList", dst->nodes, sizeof dst->nodes);
    take_word(line, "ExitCode", exit_code, sizeof exit_code);
    sscanf(exit_code, "%d:%d", &dst->exit_code, &dst->signal);
    take_name(line, dst->name, sizeof dst->name);
    dst->uid = take_user(line, dst->user, sizeof dst->user);
    dst->submitted = take_time(line, "SubmitTime");
    dst->started = take_time(line, "StartTime");
    dst->ended = take_time(line, "EndTime");
}

int history_read_jobcomp(const char *file, const json_t *ids, json_t *jobs)
{
    FILE *f = fopen(file, "r");
    char *line = NULL;
    size_t capacity = 0;

    if (!f)
        return -1;
    while (getline(&line, &capacity, f) > 0) {
        struct job_state j = {.uid = -1};
        take_word(line, "JobId", j.id, sizeof j.id);
        if (!message_has_id(ids, j.id))
            continue;
        take_job(line, &j);
        json_array_append_new(jobs, job_state_encode(&j));
    }
    free(line);
    fclose(f);
    return 0;
}
