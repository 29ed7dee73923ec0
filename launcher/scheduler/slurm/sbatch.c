/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/sbatch.h"

#include <stdlib.h>
#include <string.h>

#include "launcher/scheduler/slurm/command.h"
#include "launcher/scheduler/slurm/limits.h"
#include "launcher/scheduler/slurm/message.h"

/* Returns the job's id in the output, or NULL. sbatch --parsable prints ID or ID;CLUSTER. */
static const char *find_id(const char *text, size_t *length)
{
    for (; text; text = strchr(text, '\n'), text += text != NULL) {
        *length = strspn(text, "0123456789");
        if (*length > 0 && strchr("\n;", text[*length]))
            return text;
    }
    return NULL;
}

/* Runs sbatch MODE WORDS SCRIPT, with --wrap=true for a job without a script. */
static json_t *run_sbatch(const json_t *job, const char *mode, struct command *c)
{
    const json_t *words = json_object_get(job, "words"), *word;
    const char **argv = calloc(json_array_size(words) + 4, sizeof *argv);
    const char *script = message_text(job, "script");
    size_t n = 0, i;

    *c = (struct command){0};
    if (!argv)
        return message_refuse("out of memory");
    argv[n++] = "sbatch";
    argv[n++] = mode;
    json_array_foreach(words, i, word) {
        argv[n++] = json_is_string(word) ? json_string_value(word) : "";
    }
    argv[n++] = script ? script : "--wrap=true";
    json_t *refusal = command_run(argv, c);
    free(argv);
    return refusal;
}

/* Checks what sbatch would refuse in words that say less. */
static json_t *check_job(const json_t *job)
{
    char *script;
    json_t *refusal = message_read_script(job, &script);

    free(script);
    if (!refusal && json_array_size(json_object_get(job, "words")) == 0)
        refusal = message_refuse("the job has no \"words\"");
    return refusal;
}

json_t *sbatch_submit(const json_t *job)
{
    struct command c;
    size_t n;
    json_t *answer = check_job(job);

    if (answer)
        return answer;
    answer = run_sbatch(job, "--parsable", &c);
    const char *id = answer || c.code ? NULL : find_id(c.out.data, &n);

    if (id) {
        answer = json_pack("{s:b, s:s#}", "ok", 1, "id", id, (int)n);
    } else if (!answer) {
        answer = c.code ? command_refuse("sbatch", &c)
                        : message_refuse_for(CAUSE_LOST, "sbatch printed no job id");
        limits_name(answer, c.err.data);
    }
    command_destroy(&c);
    return answer;
}

/* Decodes "Job 7 to start at SECONDS using 2 processors on nodes n[1-2] in partition main". */
static json_t *decode_forecast(const char *text)
{
    const char *start = strstr(text, " to start at "), *nodes = strstr(text, " on nodes ");
    long long seconds = start ? strtoll(start + strlen(" to start at "), NULL, 10) : 0;

    nodes = nodes ? nodes + strlen(" on nodes ") : "";
    return json_pack("{s:b, s:I, s:s#}", "ok", 1, "start", (json_int_t)seconds, "nodes", nodes,
                     (int)strcspn(nodes, " \n"));
}

json_t *sbatch_forecast(const json_t *job, int away)
{
    struct command c;
    json_t *answer = run_sbatch(job, "--test-only", &c);

    if (!answer && c.code == 0)
        answer = decode_forecast(c.err.data);
    else if (!answer && cause_passes(cause_find(c.err.data), away))
        answer = decode_forecast("");
    else if (!answer)
        answer = command_refuse("sbatch", &c);
    command_destroy(&c);
    return answer;
}
