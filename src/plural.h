/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Returns "" for 1, otherwise "s": printf("%d GPU%s", n, plural(n)). */
static inline const char *plural(long n)
{
    return n == 1 ? "" : "s";
}
