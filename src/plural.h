/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UNETCTL_SRC_PLURAL_H
#define UNETCTL_SRC_PLURAL_H

/* Returns "" for 1, otherwise "s": printf("%d GPU%s", n, plural(n)). */
static inline const char *plural(long n)
{
    return n == 1 ? "" : "s";
}

#endif
