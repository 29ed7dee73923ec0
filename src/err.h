/* SPDX-License-Identifier: BSD-3-Clause */
/* An error: an exit code and one sentence for the user (what, where, why, what to type next). */
#pragma once

/* The exit codes of both programs, published in the man pages and never renumbered, and of their
 * tests (77). A program that ends because of signal N exits with 128 + N. */
enum err_code {
    ERR_OK = 0,
    ERR_INTERNAL = 1,    /* internal error, or some runs failed */
    ERR_USAGE = 2,       /* command line */
    ERR_CONFIG = 3,      /* study, site, run.json or template */
    ERR_SCHED = 4,       /* scheduler or host unreachable or refusing */
    ERR_PEER = 5,        /* peer lost, rendezvous or preflight failed */
    ERR_TIMEOUT = 6,     /* timed out */
    ERR_DATA = 7,        /* data missing or corrupt */
    ERR_STATS = 8,       /* not enough data for the asked statistics */
    ERR_CHECKPOINT = 9,  /* checkpoint unusable */
    ERR_RESUMABLE = 75,  /* stopped by a signal, or replaced by a later start; can be resumed */
    ERR_SKIP = 77,       /* prerequisite of a test missing */
    ERR_INTERRUPT = 130  /* interrupted */
};

#define ERR_TEXT_SIZE 1024

/* A function that can fail for an external reason takes a struct err * as its last parameter (or
 * before a format), fills it and returns -1 (or NULL). The pointer is never NULL. The function that
 * detects an error fills it; callers add context with err_prefix. A text that does not fit has
 * "..." instead of its middle. */
struct err {
    int code; /* enum err_code */
    char text[ERR_TEXT_SIZE];
};

/* Fills e and returns -1, for error paths of one line: return err_set(e, ERR_DATA, ...). */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Like err_set, followed by ": " and the text of errnum (an errno). */
int err_errno(struct err *e, int code, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts context before the text of e: "CONTEXT: TEXT". Returns -1. */
int err_prefix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Fills e for a program that was ended by a signal: code 128 + signal. Returns -1. */
int err_signal(struct err *e, int signal);

#ifndef __cplusplus /* before 2023 C++ has no such header, and kernels do not need it */
#include <stdatomic.h>
/* Returns err_signal if a signal's handler has set *interrupt, else 0, also for NULL. */
int err_interrupt(struct err *e, const atomic_int *interrupt);
#endif

/* Prefixes the error with the rank that failed, and its host unless that is NULL. Does nothing if
 * the text already begins with a rank, or for a signal (a code above 128), which every rank gets.
 * Returns -1. */
int err_rank(struct err *e, int rank, const char *host);
