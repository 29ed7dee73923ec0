/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/results/csv.h"

#include "t/tap.h"

static int split(const char *text, char *copy, char **cells, int max)
{
    strcpy(copy, text);
    return csv_split(copy, ',', cells, max);
}

int main(void)
{
    char line[256], *cells[4];
    struct buf b = {0};

    is_int(split("a,,c", line, cells, 4), 3, "three cells, one of them empty");
    is_str(cells[1], "", "the empty one");
    is_str(cells[2], "c", "the last one");
    is_int(split("", line, cells, 4), 1, "an empty line is one empty cell");
    is_int(split("\"a,\"\"b\"\"\",c", line, cells, 4), 2, "quotes keep a comma");
    is_str(cells[0], "a,\"b\"", "doubled quotes are undone");
    is_str(cells[1], "c", "the cell behind quotes");
    is_int(split("\"a", line, cells, 4), -1, "a quote that is not closed");
    is_int(split("\"a\"b", line, cells, 4), -1, "text behind a closed quote");
    is_int(split("a\"b", line, cells, 4), -1, "a quote inside a bare cell");
    is_int(split("1,2,3,4,5", line, cells, 4), -1, "more cells than wanted");

    csv_add_cell(&b, "plain");
    buf_add(&b, ",");
    csv_add_cell(&b, "a,\"b\"\n\x01");
    is_str(b.data, "plain,\"a,\"\"b\"\"  \"",
           "written: quoted where needed, no control characters");
    is_int(csv_split(b.data, ',', cells, 4), 2, "what was written is read");
    is_str(cells[1], "a,\"b\"  ", "and is the same");
    buf_destroy(&b);
    return done_testing();
}
