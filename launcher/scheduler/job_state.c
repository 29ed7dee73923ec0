/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/job_state.h"

#include <stdio.h>
#include <string.h>

void job_state_set(struct job_state *s, enum state state)
{
    s->state = state;
    s->phase = state_job_phase(state);
}

static json_t *encode_text(const char *text)
{
    json_t *o = json_string(text);

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

static json_int_t number_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static void copy_text(const json_t *o, const char *key, char *dst, size_t size)
{
    const char *text = json_string_value(json_object_get(o, key));

    snprintf(dst, size, "%s", text ? text : "");
}

void job_state_decode(const json_t *o, struct job_state *dst)
{
    char state[32];

    *dst = (struct job_state){.exit_code = (int)number_of(o, "exit_code"),
                              .signal = (int)number_of(o, "signal"),
                              .restarts = (int)number_of(o, "restarts"),
                              .submitted = (time_t)number_of(o, "submitted"),
                              .started = (time_t)number_of(o, "started"),
                              .ended = (time_t)number_of(o, "ended"),
                              .joules = (double)number_of(o, "joules"),
                              .joules_s = (double)number_of(o, "joules_s"),
                              .uid = json_object_get(o, "uid") ? (long)number_of(o, "uid") : -1};
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
