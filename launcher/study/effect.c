/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/study/effect.h"

#include <stdlib.h>
#include <string.h>

#include "src/log.h"
#include "src/settings/settings.h"

/* Returns the most GPUs of a run: of those in the list and of those in the ledger. */
static int most_gpus(const struct ledger *l, const char *gpus)
{
    int most = study_most_gpus(gpus);

    for (size_t i = 0; l && i < l->count; i++) {
        const char *name = l->entries[i].run, *part = strstr(name, "-g");

        for (const char *next = part; next; next = strstr(next + 1, "-g"))
            part = next;
        if (part && atoi(part + 2) > most)
            most = atoi(part + 2);
    }
    return most;
}

int effect_check(const struct study *s, const struct ledger *l, const char *gpus, struct err *e)
{
    bool begun = l && l->count > 0;
    int most = gpus ? most_gpus(l, gpus) : 0;

    if (strcmp(s->engine, "embedded") != 0)
        return 0;
    for (const struct setting *k = settings_of_study; k->path; k++) {
        size_t row = (size_t)(k - settings_of_study);
        enum yaml_layer layer = s->origins.at[row].layer;

        if (layer < YAML_STUDY || (layer < YAML_COMMAND && s->has_effect[row]) ||
            need_check(settings_of_study, k, &s->settings, most, e) == 0)
            continue;
        err_prefix(e, "%s", study_place(s, k->path));
        if (!begun)
            return -1;
        log_warn("%s", e->text);
    }
    return 0;
}
