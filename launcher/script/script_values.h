/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of the markers {{NAME}} in the scripts of one attempt (a submission of a run). */
#pragma once

#include "launcher/script/template.h"
#include "launcher/study/plan.h"

/* Everything that the scripts of one attempt are made from. */
struct script_values {
    const struct plan *plan;
    const struct run *run;
    const struct job *job;
    const struct settings_program *section; /* NULL for the embedded engine, unet-train */
    int attempt;
    struct template_value values[TEMPLATE_VALUES_MAX + 1]; /* the user's markers, then unetctl's */
    size_t nuser, nvalues;
    const char *needs[TEMPLATE_VALUES_MAX]; /* the setting that a value lacks; NULL: none */
    bool is_used[TEMPLATE_VALUES_MAX]; /* by a template, or by words in the settings */
};

/* Fills in the values from plan, run, job, section and attempt, which are set. Returns 0, or -1
 * with an error, such as ERR_CONFIG; s must be destroyed in either case. */
int script_values_fill(struct script_values *s, struct err *e);
void script_values_destroy(struct script_values *s);

/* Returns the value of one of unetctl's markers, which lives as long as s. name must be one of
 * them. */
const char *script_values_get(const struct script_values *s, const char *name);

/* Notes which values `file` has used. Returns 0, or -1 with ERR_CONFIG if one of them needs a
 * setting that the study does not have. */
int script_values_use(struct script_values *s, const char *file,
                      const bool used[TEMPLATE_VALUES_MAX], struct err *e);
