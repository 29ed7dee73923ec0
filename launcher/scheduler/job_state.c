/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/job_state.h"

#include <stdio.h>
#include <string.h>

#include "launcher/host/jsonio.h"

void job_state_set(struct job_state *s, enum state state)
{
    s->state = state;
    s->phase = state_job_phase(state);
}

/* Slurm writes (null) for a text that it does not have. */
static json_t *encode_text(const char *text)
{
    json_t *o = strcmp(text, "(null)") == 0 ? NULL : json_string(text);

    return o ? o : json_string("");
}

json_t *job_state_encode(const struct job_state *s)
{
    return json_pack("{s:o, s:I, s:o, s:s, s:o, s:i, s:i, s:i, s:I, s:I, s:I, s:o, s:o, s:o}",
                     "id", encode_text(s->id), "uid", (json_int_t)s->uid, "user",
                     encode_text(s->user), "state", state_name(s->state), "reason",
                     encode_text(s->reason), "exit_code", s->exit_code, "signal", s->signal,
                     "restarts", s->restarts, "submitted", (json_int_t)s->submitted, "started",
                     (json_int_t)s->started, "ended", (json_int_t)s->ended, "nodes",
                     encode_text(s->nodes), "tag", encode_text(s->tag), "name",
                     encode_text(s->name));
}

static void copy_text(const json_t *o, const char *key, char *dst, size_t size)
{
    snprintf(dst, size, "%s", jsonio_text(o, key));
}

void job_state_decode(const json_t *o, struct job_state *dst)
{
    const json_t *uid = json_object_get(o, "uid");
    char state[32];

    *dst = (struct job_state){.exit_code = (int)jsonio_integer(o, "exit_code"),
                              .signal = (int)jsonio_integer(o, "signal"),
                              .restarts = (int)jsonio_integer(o, "restarts"),
                              .submitted = (time_t)jsonio_integer(o, "submitted"),
                              .started = (time_t)jsonio_integer(o, "started"),
                              .ended = (time_t)jsonio_integer(o, "ended"),
                              .joules = (double)jsonio_integer(o, "joules"),
                              .joules_s = (double)jsonio_integer(o, "joules_s"),
                              .uid = uid ? (long)json_integer_value(uid) : -1};
    copy_text(o, "id", dst->id, sizeof dst->id);
    copy_text(o, "user", dst->user, sizeof dst->user);
    copy_text(o, "reason", dst->reason, sizeof dst->reason);
    copy_text(o, "nodes", dst->nodes, sizeof dst->nodes);
    copy_text(o, "tag", dst->tag, sizeof dst->tag);
    dst->tag[strcspn(dst->tag, " ")] = 0; /* the user's own comment follows a blank */
    copy_text(o, "name", dst->name, sizeof dst->name);
    copy_text(o, "state", state, sizeof state);
    job_state_set(dst, state_find(state));
}
