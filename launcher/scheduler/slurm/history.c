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

    return json_pack("{s:o, s:o, s:i, s:i, s:I, s:I, s:o, s:o*}", "id", message_string(j->id),
                     "state", message_string(j->state), "exit_code", j->exit_code, "signal",
                     j->signal, "started", (json_int_t)j->started, "ended", (json_int_t)j->ended,
                     "nodes", message_string(has_nodes ? j->nodes : NULL), "tres", j->tres);
}

void history_add_tres(json_t *dst, const char *name, long long count)
{
    if (count > 0 && count < LLONG_MAX - 1)
        json_object_set_new(dst, name, json_integer(count));
}

/* Copies the word after "NAME=" in a line of jobcomp/filetxt, or "" if there is none. */
static void take_word(const char *line, const char *name, char *dst, size_t size)
{
    size_t n = strlen(name);

    *dst = 0;
    for (const char *s = line; (s = strstr(s, name)); s += n)
        if ((s == line || s[-1] == ' ') && s[n] == '=') {
            snprintf(dst, size, "%.*s", (int)strcspn(s + n + 1, " \n"), s + n + 1);
            return;
        }
}

static time_t decode_time(const char *text)
{
    struct tm tm = {.tm_isdst = -1};

    return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? mktime(&tm) : 0;
}

int history_read_jobcomp(const char *file, const json_t *ids, json_t *jobs)
{
    FILE *f = fopen(file, "r");
    char *line = NULL, id[32], state[32], start[32], end[32], nodes[256], exit_code[32];
    size_t capacity = 0;

    if (!f)
        return -1;
    while (getline(&line, &capacity, f) > 0) {
        take_word(line, "JobId", id, sizeof id);
        if (!message_has_id(ids, id))
            continue;
        take_word(line, "JobState", state, sizeof state);
        take_word(line, "StartTime", start, sizeof start);
        take_word(line, "EndTime", end, sizeof end);
        take_word(line, "NodeList", nodes, sizeof nodes);
        take_word(line, "ExitCode", exit_code, sizeof exit_code);
        struct history_job j = {.id = id, .state = state, .started = decode_time(start),
                                .ended = decode_time(end), .nodes = nodes};
        sscanf(exit_code, "%d:%d", &j.exit_code, &j.signal);
        json_array_append_new(jobs, history_describe(&j));
    }
    free(line);
    fclose(f);
    return 0;
}
