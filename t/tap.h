/* SPDX-License-Identifier: BSD-3-Clause */
/* Test Anything Protocol for unit tests: one line per check, a plan at the end. */
#pragma once

#include "src/base.h"

static int tap_count, tap_failures;

static void tap_report(bool pass, const char *file, int line, const char *fmt, va_list ap)
{
    printf("%sok %d - ", pass ? "" : "not ", ++tap_count);
    vprintf(fmt, ap);
    putchar('\n');
    if (!pass) {
        tap_failures++;
        printf("# failed at %s:%d\n", file, line);
    }
    fflush(stdout);
}

__attribute__((format(printf, 4, 5), unused)) static bool
tap_ok(bool pass, const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    tap_report(pass, file, line, fmt, ap);
    va_end(ap);
    return pass;
}

/* A function, not a macro that keeps got and want in variables: they may point into a structure
 * that another call returned by value, which exists only until this call returns. */
__attribute__((format(printf, 5, 6), unused)) static void
tap_is_str(const char *got, const char *want, const char *file, int line, const char *fmt, ...)
{
    bool pass = got && want ? strcmp(got, want) == 0 : got == want;
    va_list ap;

    va_start(ap, fmt);
    tap_report(pass, file, line, fmt, ap);
    va_end(ap);
    if (!pass)
        printf("# got  '%s'\n# want '%s'\n", got ? got : "(null)", want ? want : "(null)");
}

/* ok(condition, "what is true", ...) */
#define ok(condition, ...) tap_ok((condition), __FILE__, __LINE__, __VA_ARGS__)

/* is_int(got, want, "what"), is_str(...): print both values when they differ */
#define is_int(got, want, ...)                                                 \
    do {                                                                       \
        long long tap_g = (long long)(got), tap_w = (long long)(want);         \
        if (!ok(tap_g == tap_w, __VA_ARGS__))                                  \
            printf("# got %lld, want %lld\n", tap_g, tap_w);                   \
    } while (0)

#define is_str(got, want, ...) tap_is_str((got), (want), __FILE__, __LINE__, __VA_ARGS__)

__attribute__((unused)) static void tap_skip(int n, const char *reason)
{
    while (n-- > 0)
        printf("ok %d # skip %s\n", ++tap_count, reason);
}

/* The rest can't run at all: the whole file counts as skipped. Only before the first check. */
#define skip_all(reason)                     \
    do {                                     \
        printf("1..0 # skip %s\n", (reason)); \
        exit(0);                             \
    } while (0)

#define bail_out(...)              \
    do {                           \
        printf("Bail out! ");      \
        printf(__VA_ARGS__);       \
        putchar('\n');             \
        exit(255);                 \
    } while (0)

/* return done_testing(); at the end of main */
__attribute__((unused)) static int done_testing(void)
{
    printf("1..%d\n", tap_count);
    return tap_failures ? 1 : 0;
}
