/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads JSON documents (of the library jansson), with a check of their schema, prints them, and
 * reads members that may be absent. */
#pragma once

#include "src/base.h"

#include <jansson.h>

/* Prints root and a newline on stdout, real numbers with that many significant digits, and
 * releases root. It may be NULL, which is what jansson's functions return if memory ran out or a
 * text was not UTF-8. `what` names the document in errors. Returns 0, or -1 with ERR_INTERNAL. */
int jsonio_print(json_t *root, int digits, const char *what, struct err *e);

/* The same as one line, without blanks. */
int jsonio_print_line(json_t *root, const char *what, struct err *e);

/* Decodes n bytes of a file or of a command's output, which `name` names in errors. The caller
 * releases the document (json_decref). Returns NULL with ERR_DATA that begins with NAME:LINE if the
 * bytes are not JSON, or with NAME if the member "schema" is not that of this version
 * (src/format/schema.h). */
json_t *jsonio_decode(const char *text, size_t n, const char *name, struct err *e);

/* The same for a file of at most limit bytes; also NULL if it cannot be read. */
json_t *jsonio_read(const char *path, size_t limit, struct err *e);

/* Checks the schema of a run's marker (the file DONE or FAILED). One without a schema, as version
 * 0.1.0 wrote some, is accepted. Returns 0, or -1 with ERR_DATA and a text without the file's
 * name. */
int jsonio_check_marker(const json_t *marker, struct err *e);

/* Return a member's value, or "" and 0 if it is absent or of another type. */
const char *jsonio_text(const json_t *o, const char *key);
long long jsonio_integer(const json_t *o, const char *key);
