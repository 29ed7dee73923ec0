/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/format/schema.h"

#include <math.h>

#include "t/tap.h"

int main(void)
{
    struct err e = {0};

    is_int(schema_check(SCHEMA, ERR_DATA, &e), 0, "the schema of this version is read");
    is_int(schema_check(SCHEMA + 1, ERR_DATA, &e), -1, "a later schema is refused");
    ok(e.code == ERR_DATA && strstr(e.text, "schema 2 is of a later version") &&
           strstr(e.text, PACKAGE_VERSION) && strstr(e.text, "use the version that wrote it"),
       "the error has its number, this version and what to do");
    is_int(schema_check(1.5, ERR_DATA, &e), -1, "a number that is not whole is refused");
    is_int(schema_check(0, ERR_CONFIG, &e), -1, "a missing schema is refused");
    ok(e.code == ERR_CONFIG && strcmp(e.text, "schema: must be 1") == 0,
       "the error has the required schema");
    is_int(schema_check(NAN, ERR_CONFIG, &e), -1, "a schema of NaN is refused");
    return done_testing();
}
