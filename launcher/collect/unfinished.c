/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/unfinished.h"

#include <stdio.h>
#include <string.h>

#include "launcher/status/status.h"

/* Sets the state, and the note to "WHAT: REASON", or to WHAT if there is no reason. */
static void set_unfinished_state(struct result *r, enum result_state state, const char *what,
                                 const char *reason)
{
    char note[sizeof r->note];

    snprintf(note, sizeof note, "%s%s%.400s", what, *reason ? ": " : "", reason);
    r->state = state;
    result_set_text(r->note, sizeof r->note, note);
}

void unfinished_decide(struct result *r, const struct run_status *status)
{
    char what[64];

    switch (status->phase) {
    case RUN_ACTIVE:
        if (status->state == STATE_ENDED)
            set_unfinished_state(r, RESULT_RUNNING, "its job has ended", status->reason);
        else if (status->state == STATE_UNSEEN)
            set_unfinished_state(r, RESULT_RUNNING, "its job is not seen", status->reason);
        else if (status->state == STATE_PENDING)
            set_unfinished_state(r, RESULT_PENDING, "its job is waiting", status->reason);
        else
            set_unfinished_state(r, RESULT_RUNNING, "its job is running", status->reason);
        break;
    case RUN_BAD:
        if (*status->damage) { /* a damaged plan does not affect the job */
            set_unfinished_state(r, RESULT_UNFINISHED, "neither DONE nor FAILED", status->damage);
            break;
        }
        if (status->state == STATE_CANCELLED) {
            set_unfinished_state(r, RESULT_CANCELLED, "its job was cancelled", status->reason);
            break;
        }
        snprintf(what, sizeof what, "its job ended as %s", state_name(status->state));
        set_unfinished_state(r, RESULT_KILLED, what, status->reason);
        break;
    case RUN_PLANNED:
        set_unfinished_state(r, RESULT_NOT_STARTED, "generated, but never started", status->reason);
        break;
    case RUN_GOOD:
        set_unfinished_state(r, RESULT_RUNNING, "it finished just now: collect again", "");
        break;
    case RUN_UNKNOWN:
        set_unfinished_state(r, RESULT_UNFINISHED, "neither DONE nor FAILED", status->reason);
        break;
    }
}

void unfinished_resolve(struct workspace *w, struct results *table)
{
    struct status_list list;
    struct err e;

    if (results_count(table, RESULT_UNFINISHED) == 0 || status_list_collect(w, &list, &e))
        return;
    for (size_t i = 0; i < table->count; i++)
        for (size_t k = 0; k < list.count; k++)
            if (table->rows[i].state == RESULT_UNFINISHED &&
                strcmp(table->rows[i].run, list.runs[k].run.id) == 0) {
                unfinished_decide(&table->rows[i], &list.runs[k]);
                break;
            }
    status_list_destroy(&list);
}
