/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/format/document.h"

#include "t/tap.h"

static struct document *decode(const char *text, struct err *e)
{
    return document_decode(text, strlen(text), "a.yaml", e);
}

static void refused(const char *text, const char *want)
{
    struct err e = {0};
    struct document *d = decode(text, &e);

    ok(!d && e.code == ERR_CONFIG && strstr(e.text, want), "%s", d ? want : e.text);
    document_destroy(d);
}

static void check_tree(void)
{
    struct err e = {0};
    struct document *d = decode("# a comment\nname: x y\nlist: [1, '2']\n\nof:\n  a: {}\n  b:\n", &e);

    if (!d)
        bail_out("%s", e.text);
    is_int(d->root->kind, DOCUMENT_MAPPING, "the root is a mapping");
    is_int((long)d->root->count, 3, "of three keys");
    is_str(d->root->keys[2]->text, "of", "in their order");
    is_int((long)d->root->keys[2]->line, 5, "with their lines");
    is_str(document_get(d->root, "name")->text, "x y", "a text");
    const struct document_node *list = document_get(d->root, "list");
    ok(list->kind == DOCUMENT_LIST && list->count == 2 && !list->keys, "a list");
    ok(!list->items[0]->is_quoted && list->items[1]->is_quoted, "of a number and a quoted text");
    const struct document_node *of = document_get(d->root, "of");
    ok(document_get(of, "a")->kind == DOCUMENT_MAPPING, "a mapping within");
    is_str(document_get(of, "b")->text, "", "an empty value");
    ok(!document_get(of, "c") && !document_get(NULL, "a") && !document_get(list, "a"),
       "what is not there");
    is_int(document_refuse(of->items[0], &e, "no %s", "way"), -1, "an error");
    is_str(e.text, "a.yaml:6: no way", "has its place");
    document_destroy(d);
    d = decode("# nothing\n", &e);
    ok(d && !d->root, "only comments");
    document_destroy(d);
    d = decode("schema: 99\nfuture: 1\n", &e);
    ok(d && document_check_schema(d, &e) == -1 && strstr(e.text, "a.yaml:1:"), "%s", e.text);
    document_destroy(d);
}

int main(void)
{
    char deep[100];

    check_tree();
    refused("a: [1\n", "a.yaml:2: not YAML: ");
    refused("a:\n\tb: 1\n", "a.yaml:2: the line has a tab");
    refused("a: \xff\n", "a.yaml: not UTF-8 text");
    refused("a: 1\nb: 2\na: 3\n", "a.yaml:3: a is given twice, first in line 1");
    refused("[1]: 2\n", "a.yaml:1: a name is expected");
    refused("a: \"b\\0c\"\n", "a.yaml:1: control characters");
    refused("a: 1\n---\nb: 2\n", "a.yaml:2: a second document begins here");
    memset(deep, '[', 40);
    memset(deep + 40, ']', 40);
    deep[80] = 0;
    refused(deep, "a.yaml:1: lists and mappings are nested more than 32 deep");
    return done_testing();
}
