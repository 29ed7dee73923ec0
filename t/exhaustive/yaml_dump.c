/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the nodes that <yaml.h> reads from a file. t3170-plain.t builds it with libyaml and with
 * bench/gpu/plain/yaml.h, and compares the output. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

static void dump(yaml_document_t *d, int index, int depth)
{
    const yaml_node_t *n = yaml_document_get_node(d, index);

    printf("%*s%zu ", 2 * depth, "", (size_t)n->start_mark.line);
    if (n->type == YAML_SCALAR_NODE)
        printf("%s%s\n", n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? "" : "quoted ",
               (const char *)n->data.scalar.value);
    if (n->type == YAML_SEQUENCE_NODE) {
        printf("list\n");
        for (const yaml_node_item_t *i = n->data.sequence.items.start;
             i < n->data.sequence.items.top; i++)
            dump(d, *i, depth + 1);
    }
    if (n->type == YAML_MAPPING_NODE) {
        printf("mapping\n");
        for (const yaml_node_pair_t *i = n->data.mapping.pairs.start;
             i < n->data.mapping.pairs.top; i++) {
            dump(d, i->key, depth + 1);
            dump(d, i->value, depth + 1);
        }
    }
}

int main(int argc, char **argv)
{
    static char text[65536];
    yaml_parser_t parser;
    yaml_document_t document;
    FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;

    if (!f)
        return 2;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
    if (!yaml_parser_load(&parser, &document)) {
        printf("line %zu: %s\n", (size_t)parser.problem_mark.line + 1, parser.problem);
        return 1;
    }
    dump(&document, 1, 0);
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
    return 0;
}
