/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/cmd/cmd.h"

#include "t/tap.h"

int main(void)
{
    static const char *const bad[] = {"", "96", "96x", "x128", "96x128x3", "96X128", " 96x128",
                                      "96x-1", "0x128", "96x65536", "+96x128", "96 x 128",
                                      "99999999999999999999x1"};
    int h = 0, w = 0;
    struct err e;

    ok(options_size("768x1024", &h, &w, &e) == 0 && h == 768 && w == 1024, "height first");
    ok(options_size("1x65535", &h, &w, &e) == 0 && h == 1 && w == 65535, "the bounds");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ok(options_size(bad[i], &h, &w, &e) == -1 && e.code == ERR_USAGE, "%s", e.text);
    return done_testing();
}
