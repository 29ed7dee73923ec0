/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/cluster/time_limit.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

/* Reads digits at *text and advances *text past them. Returns -1 if there are none, or for a
 * number above INT_MAX. */
static long take_number(const char **text)
{
    char *end;

    if (**text < '0' || **text > '9')
        return -1;
    errno = 0;
    long v = strtol(*text, &end, 10);
    *text = end;
    return errno || v > INT_MAX ? -1 : v;
}

int time_limit_decode(const char *text)
{
    long part[4] = {0}, days = -1;
    int n = 0;

    for (;;) {
        if (n == 4 || (part[n++] = take_number(&text)) < 0)
            return -1;
        if (*text == '-' && n == 1 && days < 0) {
            days = part[0];
            n = 0;
        } else if (*text == 0) {
            break;
        } else if (*text != ':') {
            return -1;
        }
        text++;
    }
    if (n > 3)
        return -1;
    /* After days, the first number is hours. Without days, a single number is minutes, and two
     * are M:S. */
    double seconds = 0;
    if (days >= 0)
        seconds = days * 86400.0 + part[0] * 3600.0 + part[1] * 60.0 + part[2] * (n == 3);
    else if (n == 3)
        seconds = part[0] * 3600.0 + part[1] * 60.0 + part[2];
    else
        seconds = part[0] * 60.0 + part[1] * (n == 2);
    double minutes = (seconds + 59) / 60;
    return minutes >= 1 && minutes <= INT_MAX ? (int)minutes : -1;
}
