/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/submit/unreached.h"

#include <string.h>

#include "src/buf.h"
#include "src/log.h"
#include "src/plural.h"

static void add(struct buf *b, const char *option, const char *value)
{
    buf_addf(b, "%s%s%s%s", b->length ? " " : "", option, value ? " " : "", value ? value : "");
}

static void list_options(const struct workspace_args *args, int nwords, char **words,
                         struct buf *dst)
{
    char number[32];

    for (size_t i = 0; i < args->set.count; i++)
        if (strncmp(args->set.values[i], "slurm.", 6) == 0)
            add(dst, "--set", args->set.values[i]);
    if (args->max_in_flight) {
        snprintf(number, sizeof number, "%ld", args->max_in_flight);
        add(dst, "--max-in-flight", number);
    }
    for (size_t i = 0; i < args->after.count; i++)
        add(dst, "--after", args->after.values[i]);
    if (args->templates)
        add(dst, "--templates", args->templates);
    if (args->one_allocation)
        add(dst, "--one-allocation", NULL);
    for (int i = 0; i < nwords; i++)
        add(dst, words[i], NULL);
}

void unreached_report(const struct workspace_args *args, int nwords, char **words, size_t nactive)
{
    struct buf options = {0};

    if (nactive)
        list_options(args, nwords, words, &options);
    if (options.length && !options.failed)
        log_warn("%zu run%s active and keep%s the options of %s own submission; this call's are "
                 "only for new jobs: %s ('unetctl cancel RUN' and 'unetctl resume RUN' with them "
                 "make a new job of one)", nactive, nactive == 1 ? " is" : "s are",
                 nactive == 1 ? "s" : "", nactive == 1 ? "its" : "their", options.data);
    buf_destroy(&options);
}
