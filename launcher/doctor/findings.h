/* SPDX-License-Identifier: BSD-3-Clause */
/* The findings of a preflight, each with a remedy to type. */
#ifndef UNETCTL_LAUNCHER_DOCTOR_FINDINGS_H
#define UNETCTL_LAUNCHER_DOCTOR_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

enum finding_level { FINDING_OK, FINDING_WARNING, FINDING_ERROR };

struct finding {
    enum finding_level level;
    const char *check; /* "names", "ports" ...; not copied */
    char text[768];
    char remedy[512]; /* "" for FINDING_OK */
};

struct findings {
    struct finding *list;
    size_t count;
    bool failed; /* out of memory; findings_print reports it */
};

/* Adds one; findings_remedy adds its remedy. */
void findings_add(struct findings *f, enum finding_level level, const char *check, const char *fmt,
                  ...)
    __attribute__((format(printf, 4, 5)));

/* The remedy of the finding that was added last. */
void findings_remedy(struct findings *f, const char *fmt,
                     ...) __attribute__((format(printf, 2, 3)));

size_t findings_count(const struct findings *f, enum finding_level level);

/* On standard output, as text or as JSON. 0, or -1. */
int findings_print(const struct findings *f, bool as_json, struct err *e);

void findings_destroy(struct findings *f);

#endif
