/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/submit/measured.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/study/run_dir.h"
#include "launcher/submit/run_settings.h"
#include "src/map.h"
#include "src/mem.h"

/* The measured runs that differ only in their seeds. */
struct group {
    const struct study *study; /* their settings */
    double total_s;
    size_t runs;
};

/* Writes the id without its seed. */
static const char *find_group(const char *id, char dst[RUN_ID_SIZE])
{
    const char *seed = strrchr(id, '-');

    snprintf(dst, RUN_ID_SIZE, "%.*s", seed ? (int)(seed - id) : RUN_ID_SIZE - 1, id);
    return dst;
}

/* Returns how long the training of the run took, or 0 if that says nothing about others, since it
 * has other settings than study. */
static double measure(const struct plan *p, const struct study *study, const char *id)
{
    struct run_attempt attempt;
    struct run_progress progress;
    struct layout layout;
    struct run run;
    struct err ignored;

    if (run_dir_attempt(p->study.dir, id, &attempt, &ignored) || attempt.marker != RUN_DONE ||
        attempt.number != 1 || run_dir_layout(p->study.dir, id, 1, &layout, &ignored) != 0 ||
        run_dir_read(p->study.dir, id, &run, NULL, &ignored))
        return 0;
    run.study = study;
    if (run_settings_compare(p, &run, &ignored))
        return 0;
    run_dir_progress(&attempt, &progress);
    return progress.training_s > 0 ? progress.training_s : 0;
}

static int number_groups(const struct plan *plan, struct group *groups, struct map *dst)
{
    char name[RUN_ID_SIZE];

    for (size_t i = 0; i < plan->count; i++) {
        if (map_get(dst, find_group(plan->runs[i].id, name), NULL))
            continue;
        groups[dst->count].study = plan->runs[i].study;
        if (map_set(dst, name, dst->count))
            return -1;
    }
    return 0;
}

int measured_collect(const struct plan *plan, double *seconds, struct err *e)
{
    struct group *groups = calloc(plan->count + 1, sizeof *groups);
    struct map numbers = {0};
    struct setting_lines ids = {0};
    char name[RUN_ID_SIZE];
    size_t g;
    int rc = groups && number_groups(plan, groups, &numbers) == 0 ? 0 : mem_fail(e);

    if (rc == 0)
        rc = run_dir_list(plan->study.dir, &ids, e);
    for (size_t i = 0; rc == 0 && i < ids.count; i++) {
        if (!map_get(&numbers, find_group(ids.lines[i], name), &g))
            continue;
        double s = measure(plan, groups[g].study, ids.lines[i]);
        groups[g].total_s += s;
        groups[g].runs += s > 0;
    }
    for (size_t i = 0; rc == 0 && i < plan->count; i++) {
        map_get(&numbers, find_group(plan->runs[i].id, name), &g);
        seconds[i] = groups[g].runs ? groups[g].total_s / (double)groups[g].runs : 0;
    }
    setting_clear_lines(&ids);
    map_destroy(&numbers);
    free(groups);
    return rc;
}
