/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/rounds/rounds_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "src/clock.h"
#include "src/mem.h"
#include "src/plural.h"

#define ROUNDS_FILE "rounds.json"
#define FILE_MAX ((size_t)16 << 20)

void rounds_file_destroy(struct rounds_record *r)
{
    json_decref(r->design);
    free(r->rounds);
    free(r->times);
    *r = (struct rounds_record){0};
}

static int grow(struct rounds_record *r, struct err *e)
{
    struct design_round *rounds = realloc(r->rounds, (r->count + 1) * sizeof *rounds);

    if (!rounds)
        return mem_fail(e);
    r->rounds = rounds;
    char (*times)[32] = realloc(r->times, (r->count + 1) * sizeof *times);
    if (!times)
        return mem_fail(e);
    r->times = times;
    return 0;
}

int rounds_file_add(struct rounds_record *r, const struct design_round *round, struct err *e)
{
    if (grow(r, e))
        return -1;
    r->rounds[r->count] = *round;
    clock_date(r->times[r->count++]);
    return 0;
}

static bool decode_round(const json_t *o, struct design_round *dst)
{
    const json_t *list = json_object_get(o, "runs"), *run;
    size_t i;

    *dst = (struct design_round){
        .tested = (int)jsonio_integer(o, "tested"),
        .look = (size_t)jsonio_integer(o, "look"),
        .pairs = (size_t)jsonio_integer(o, "pairs"),
        .family = (size_t)jsonio_integer(o, "family"),
        .gpu_hours = json_number_value(json_object_get(o, "gpu_hours"))};
    snprintf(dst->reason, sizeof dst->reason, "%s", jsonio_text(o, "reason"));
    if (json_array_size(list) > sizeof dst->runs / sizeof *dst->runs)
        return false;
    json_array_foreach(list, i, run) {
        struct design_run *r = &dst->runs[dst->nruns++];
        *r = (struct design_run){(int)jsonio_integer(run, "gpus"),
                                 (long)jsonio_integer(run, "seed"),
                                 json_is_true(json_object_get(run, "limited")),
                                 json_number_value(json_object_get(run, "gpu_hours"))};
        if (r->gpus < 1 || r->seed < 1)
            return false;
    }
    return dst->nruns > 0;
}

static int decode(const json_t *o, const char *file, struct rounds_record *dst, struct err *e)
{
    struct design_outcome *v = &dst->verdict;
    const json_t *round;
    size_t i;
    int s = DESIGN_CONTINUE;

    while (s <= DESIGN_FAILED &&
           strcmp(jsonio_text(o, "state"), design_state_name((enum design_state)s)) != 0)
        s++;
    *v = (struct design_outcome){.state = (enum design_state)s,
                                 .gpus = (int)jsonio_integer(o, "gpus"),
                                 .gpu_hours = json_number_value(json_object_get(o, "gpu_hours"))};
    snprintf(v->why, sizeof v->why, "%s", jsonio_text(o, "why"));
    dst->design = json_incref(json_object_get(o, "design"));
    if (s > DESIGN_FAILED || !json_is_object(dst->design))
        return err_set(e, ERR_DATA, "%s: its state or design is not one that this version knows",
                       file);
    json_array_foreach(json_object_get(o, "rounds"), i, round) {
        if (grow(dst, e))
            return -1;
        if (!decode_round(round, &dst->rounds[i]))
            return err_set(e, ERR_DATA, "%s: round %zu is not complete", file, i + 1);
        snprintf(dst->times[i], sizeof dst->times[i], "%.31s", jsonio_text(round, "time"));
        dst->count++;
    }
    return 0;
}

int rounds_file_read(const struct ledger *l, struct rounds_record *dst, struct err *e)
{
    char file[PATH_MAX];

    *dst = (struct rounds_record){0};
    if (!path_has_file(l->dir, ROUNDS_FILE))
        return 0;
    json_t *o = jsonio_read(path_format(file, "%s/" ROUNDS_FILE, l->dir), FILE_MAX, e);
    int rc = o ? decode(o, file, dst, e) : -1;
    json_decref(o);
    if (rc)
        rounds_file_destroy(dst);
    return rc;
}

static json_t *encode_round(const struct rounds_record *r, size_t i)
{
    const struct design_round *round = &r->rounds[i];
    json_t *runs = json_array();

    for (size_t k = 0; k < round->nruns; k++)
        json_array_append_new(runs, json_pack("{s:i, s:I, s:b, s:f}", "gpus", round->runs[k].gpus,
                                              "seed", (json_int_t)round->runs[k].seed, "limited",
                                              round->runs[k].limited, "gpu_hours",
                                              round->runs[k].gpu_hours));
    return json_pack("{s:i, s:s, s:s, s:i, s:i, s:i, s:i, s:f, s:o}", "number", (int)i + 1, "time",
                     r->times[i], "reason", round->reason, "tested", round->tested, "look",
                     (int)round->look, "pairs", (int)round->pairs, "family", (int)round->family,
                     "gpu_hours", round->gpu_hours, "runs", runs);
}

int rounds_file_write(const struct ledger *l, const struct rounds_record *r, struct err *e)
{
    const struct design_outcome *v = &r->verdict;
    json_t *rounds = json_array();

    for (size_t i = 0; i < r->count; i++)
        json_array_append_new(rounds, encode_round(r, i));
    json_t *o = json_pack("{s:i, s:s, s:i, s:s, s:f, s:O, s:o}", "schema", 1, "state",
                          design_state_name(v->state), "gpus", v->gpus, "why", v->why, "gpu_hours",
                          v->gpu_hours, "design", r->design, "rounds", rounds);
    char *text = o ? json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) : NULL;
    json_decref(o);
    return path_write(l->dir, ROUNDS_FILE, text, e);
}

bool rounds_file_describe(const struct ledger *l, char dst[ROUNDS_FILE_TEXT])
{
    struct rounds_record r;
    struct err ignored;

    *dst = 0;
    if (rounds_file_read(l, &r, &ignored))
        return false;
    const struct design_outcome *v = &r.verdict;
    size_t n = r.count;
    if (n && v->state == DESIGN_CONTINUE)
        snprintf(dst, ROUNDS_FILE_TEXT, "round %zu (about %.3g GPU-hours): %s", n, r.rounds[n - 1].gpu_hours,
                 r.rounds[n - 1].reason);
    else if (n)
        snprintf(dst, ROUNDS_FILE_TEXT, "%s after %zu round%s and %.3g GPU-hours: %s",
                 design_state_name(v->state), n, plural((long)n), v->gpu_hours, v->why);
    rounds_file_destroy(&r);
    return n > 0;
}
