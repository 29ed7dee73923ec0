/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/format/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

int pattern_compile(const char *pattern, struct pcre2_real_code_8 **dst, struct err *e)
{
    unsigned char why[128];
    PCRE2_SIZE at;
    uint32_t ngroups = 0;
    int code;
    pcre2_code *p = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, 0, &code, &at, NULL);

    if (!p) {
        pcre2_get_error_message(code, why, sizeof why);
        return err_set(e, ERR_CONFIG, "'%.200s' is not a regular expression; byte %zu: %s",
                       pattern, at,
                       (const char *)why);
    }
    pcre2_pattern_info(p, PCRE2_INFO_NAMECOUNT, &ngroups);
    if (ngroups && dst)
        *dst = p;
    else
        pcre2_code_free(p);
    return ngroups ? 0
           : err_set(e, ERR_CONFIG, "'%.200s' has no named group, so that nothing would be read "
                     "of a log; write one such as (?<epoch_time>[0-9.]+)", pattern);
}
