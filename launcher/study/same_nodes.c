/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/study/same_nodes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "launcher/host/path.h"
#include "src/cluster/nodelist.h"
#include "src/files.h"
#include "src/log.h"
#include "src/plural.h"

static const char *notes_path(const struct plan *p, char dst[PATH_MAX])
{
    return path_format(dst, "%s/.unetctl/same-nodes", p->study.dir);
}

/* Returns whether the lists have a node in common; false if one of them is malformed. */
static bool overlap(const char *a, const char *b)
{
    struct err ignored;
    struct nodelist *la = nodelist_decode(a, NODELIST_LIMIT, &ignored);
    struct nodelist *lb = la ? nodelist_decode(b, NODELIST_LIMIT, &ignored) : NULL;
    bool found = false;

    for (size_t i = 0; lb && i < nodelist_count(la); i++)
        for (size_t j = 0; !found && j < nodelist_count(lb); j++)
            found = strcmp(nodelist_get(la, i, NULL), nodelist_get(lb, j, NULL)) == 0;
    nodelist_destroy(la);
    nodelist_destroy(lb);
    return found;
}

bool same_nodes_find(const struct plan *p, const struct run *run, char dst[SAME_NODES_SIZE])
{
    char path[PATH_MAX], line[SAME_NODES_SIZE + 32], list[SAME_NODES_SIZE];
    int gpus, nodes;
    FILE *f;

    *dst = 0;
    if (!p->study.slurm.same_nodes || p->options.nodelist || p->one_allocation ||
        !(f = files_stream(notes_path(p, path), "r", FILES_TEXT_MAX)))
        return false;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%d %d %127s", &gpus, &nodes, list) == 3 && gpus == run->layout.gpus &&
            nodes == run->layout.nodes)
            memcpy(dst, list, sizeof list);
    fclose(f);
    if (p->options.exclude && *dst && overlap(dst, p->options.exclude))
        *dst = 0;
    return *dst;
}

int same_nodes_choose(const struct plan *p, struct scheduler *s, const struct run *run,
                      const struct job *job, struct err *e)
{
    const struct layout *l = &run->layout;
    struct scheduler_forecast forecast;
    char path[PATH_MAX];

    if (scheduler_forecast(s, job, &forecast, e))
        return -1;
    if (!*forecast.nodes || strlen(forecast.nodes) >= SAME_NODES_SIZE - 1) {
        log_warn("slurm.same_nodes: Slurm does not say where %d GPU%s would run, so repeats may run "
                 "on any nodes", l->gpus, plural(l->gpus));
        return 0;
    }
    FILE *f = files_stream(notes_path(p, path), "a", 0);
    bool failed = !f || fprintf(f, "%d %d %s\n", l->gpus, l->nodes, forecast.nodes) < 0;
    if ((f && fclose(f)) || failed)
        return files_error(e, ERR_INTERNAL, errno, "cannot write", path);
    log_info("slurm.same_nodes: runs on %d GPU%s use %s", l->gpus, plural(l->gpus), forecast.nodes);
    return 0;
}
