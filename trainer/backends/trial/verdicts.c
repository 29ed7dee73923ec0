/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/trial/verdicts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct verdict {
    struct verdict *next;
    bool works;
    struct trial_problem problem;
};

static struct verdicts_tally tally;

static void count(const char *fault)
{
    size_t n = strlen(tally.faults), size = sizeof tally.faults;

    ++*(*fault ? &tally.nwrong : &tally.nright);
    if (*fault && (size_t)snprintf(tally.faults + n, size - n, "%s%s", n ? "; " : "", fault) >=
                      size - n)
        memcpy(tally.faults + size - sizeof "...", "...", sizeof "...");
}

void verdicts_tally(struct verdicts_tally *dst)
{
    *dst = tally;
}

bool verdicts_ask(struct verdicts *v, const struct trial_problem *p, verdicts_try_f *try,
                  const struct kernel *kernel, const struct op *op)
{
    char fault[VERDICTS_FAULT] = "";
    struct verdict *known;
    bool works;

    for (known = v->first; known && memcmp(&known->problem, p, sizeof *p) != 0;
         known = known->next)
        ;
    if (!known && try(p, kernel, op, fault))
        count(fault);
    works = known ? known->works : !*fault;
    if (!known && (known = malloc(sizeof *known))) {
        known->next = v->first;
        known->works = works;
        memcpy(&known->problem, p, sizeof *p); /* with its padding */
        v->first = known;
    }
    return works;
}
