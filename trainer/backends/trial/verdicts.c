/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/trial/verdicts.h"

#include <stdlib.h>
#include <string.h>

struct verdict {
    struct verdict *next;
    bool works;
    struct trial_problem problem;
};

bool verdicts_ask(struct verdicts *v, const struct trial_problem *p, verdicts_try_f *try,
                  const struct kernel *kernel, const struct op *op)
{
    struct verdict *known;
    bool works;

    pthread_mutex_lock(&v->lock);
    for (known = v->first; known && memcmp(&known->problem, p, sizeof *p) != 0;
         known = known->next)
        ;
    works = known ? known->works : try(p, kernel, op);
    if (!known && (known = malloc(sizeof *known))) {
        known->next = v->first;
        known->works = works;
        memcpy(&known->problem, p, sizeof *p); /* with its padding */
        v->first = known;
    }
    pthread_mutex_unlock(&v->lock);
    return works;
}

void verdicts_count(struct verdicts *v, unsigned *nworking, unsigned *nothers)
{
    pthread_mutex_lock(&v->lock);
    for (const struct verdict *known = v->first; known; known = known->next)
        ++*(known->works ? nworking : nothers);
    pthread_mutex_unlock(&v->lock);
}
