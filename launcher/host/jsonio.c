/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/host/jsonio.h"

#include "src/atomicfile.h"
#include "src/format/schema.h"

static int print_as(json_t *root, size_t flags, const char *what, struct err *e)
{
    int rc = root ? json_dumpf(root, stdout, flags) : -1;

    json_decref(root);
    if (rc || putchar('\n') == EOF || fflush(stdout))
        return err_set(e, ERR_INTERNAL, "cannot write %s as JSON", what);
    return 0;
}

int jsonio_print(json_t *root, int digits, const char *what, struct err *e)
{
    return print_as(root, JSON_INDENT(2) | JSON_REAL_PRECISION((size_t)digits), what, e);
}

int jsonio_print_line(json_t *root, const char *what, struct err *e)
{
    return print_as(root, JSON_COMPACT, what, e);
}

json_t *jsonio_decode(const char *text, size_t n, const char *name, struct err *e)
{
    json_error_t why;
    json_t *o = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);

    if (!o)
        err_set(e, ERR_DATA, "%s:%d: %s", name, why.line, why.text);
    else if (schema_check(json_number_value(json_object_get(o, "schema")), ERR_DATA, e))
        err_prefix(e, "%s", name);
    else
        return o;
    json_decref(o);
    return NULL;
}

json_t *jsonio_read(const char *path, size_t limit, struct err *e)
{
    size_t n;
    char *text = atomicfile_read(path, limit, &n, e);
    json_t *o = text ? jsonio_decode(text, n, path, e) : NULL;

    free(text);
    return o;
}

int jsonio_check_marker(const json_t *marker, struct err *e)
{
    const json_t *schema = json_object_get(marker, "schema");

    return schema ? schema_check(json_number_value(schema), ERR_DATA, e) : 0;
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
