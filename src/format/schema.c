/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/format/schema.h"

int schema_check(double found, int code, struct err *e)
{
    if (found == SCHEMA)
        return 0;
    if (!(found > SCHEMA))
        return err_set(e, code, "schema: must be %d", SCHEMA);
    return err_set(e, code, "schema %.15g is of a later version, and this is version %s, which "
                            "reads schema %d; use the version that wrote it, or a later one",
                   found, PACKAGE_VERSION, SCHEMA);
}
