/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/host/jsonio.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/atomicfile.h"
#include "src/schema.h"

int jsonio_print(json_t *root, int digits, const char *what, struct err *e)
{
    size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION((size_t)digits);
    int rc = root ? json_dumpf(root, stdout, flags) : -1;

    json_decref(root);
    if (rc)
        return err_set(e, ERR_INTERNAL, "cannot write %s as JSON", what);
    putchar('\n');
    return 0;
}

json_t *jsonio_read(const char *path, size_t limit, struct err *e)
{
    json_error_t why;
    size_t n;
    char *text = atomicfile_read(path, limit, &n, e);
    json_t *o = text ? json_loadb(text, n, 0, &why) : NULL;

    if (text && !o)
        err_set(e, ERR_DATA, "%s:%d: %s", path, why.line, why.text);
    free(text);
    if (o && schema_check(json_number_value(json_object_get(o, "schema")), ERR_DATA, e)) {
        err_prefix(e, "%s", path);
        json_decref(o);
        return NULL;
    }
    return o;
}

const char *jsonio_text(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));

    return text ? text : "";
}

long long jsonio_integer(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}
