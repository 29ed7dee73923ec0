/* SPDX-License-Identifier: BSD-3-Clause */
/* The findings of a preflight (unetctl doctor): problems, each with a remedy, and checks that
 * passed. */
#ifndef UNETCTL_LAUNCHER_DOCTOR_FINDINGS_H
#define UNETCTL_LAUNCHER_DOCTOR_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

enum finding_level { FINDING_OK, FINDING_WARNING, FINDING_ERROR };

struct finding {
    enum finding_level level;
    const char *check; /* "names", "ports" ...; the pointer is kept */
    char text[768];
    char remedy[512]; /* "" for FINDING_OK */
};

struct findings {
    struct finding *list;
    size_t count;
    bool failed; /* memory ran out; findings_print reports it */
};

/* Adds a finding; findings_remedy adds its remedy. */
void findings_add(struct findings *f, enum finding_level level, const char *check, const char *fmt,
                  ...)
    __attribute__((format(printf, 4, 5)));

/* Sets the remedy of the finding that was added last. */
void findings_remedy(struct findings *f, const char *fmt,
                     ...) __attribute__((format(printf, 2, 3)));

size_t findings_count(const struct findings *f, enum finding_level level);

/* Prints the findings on standard output, as text or JSON. Returns 0 or -1. */
int findings_print(const struct findings *f, bool as_json, struct err *e);

void findings_destroy(struct findings *f);

#endif
