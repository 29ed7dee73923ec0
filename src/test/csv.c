/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"

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

    is_int(split("a,,c", line, cells, 4), 3, "a line has three cells, one of them empty");
    is_str(cells[1], "", "the second cell is empty");
    is_str(cells[2], "c", "the last cell is read");
    is_int(split("", line, cells, 4), 1, "an empty line is one empty cell");
    is_int(split("\"a,\"\"b\"\"\",c", line, cells, 4), 2, "quotes protect a comma");
    is_str(cells[0], "a,\"b\"", "doubled quotes become single ones");
    is_str(cells[1], "c", "the cell after a quoted one is read");
    is_int(split("\"a", line, cells, 4), -1, "a quote that is not closed is refused");
    is_int(split("\"a\"b", line, cells, 4), -1, "text after a closed quote is refused");
    is_int(split("a\"b", line, cells, 4), -1, "a quote within a bare cell is refused");
    is_int(split("1,2,3,4,5", line, cells, 4), -1, "more cells than there is room for are refused");

    csv_add_cell(&b, "plain");
    buf_add(&b, ",");
    csv_add_cell(&b, "a,\"b\"\n\x01");
    is_str(b.data, "plain,\"a,\"\"b\"\"  \"",
           "a written cell is quoted if necessary and has no control characters");
    is_int(csv_split(b.data, ',', cells, 4), 2, "written cells can be read");
    is_str(cells[1], "a,\"b\"  ", "they are the same");
    buf_destroy(&b);

    csv_add_cell(&b, "a\xe2\x80\xae" "b\xe2\x81\xa6\xc2\x9b\xd8\x9c\x7f" "c");
    is_str(b.data, "a b    c", "nor characters that change the direction of text");
    buf_destroy(&b);
    static const char *const texts[] = {
        "=1+1", "+1", "-1", "@A1", "'", "'=1", "''", " =1", ("\xef\xbc\x9d" "1"), "-", "=\"a,b\"",
        "a=1", "0-1", "", "1.5", "\xef\xbc\x81", "it's"};
    enum { NTEXTS = sizeof texts / sizeof *texts, NFORMULAS = 11 };
    for (int i = 0; i < NTEXTS; i++) {
        csv_add_cell(&b, texts[i]);
        is_int(b.length > 0 && b.data[b.data[0] == '"'] == '\'', i < NFORMULAS,
               "a formula, and only that, gets an apostrophe: %s", texts[i]);
        is_int(csv_split(b.data ? b.data : line, ',', cells, 4), 1, "it is one cell");
        is_str(csv_text(cells[0]), texts[i], "it is read as it was");
        buf_destroy(&b);
        line[0] = 0;
    }
    csv_add_cell(&b, "\t=1");
    is_str(b.data, "' =1", "a formula behind a control character is one, too");
    buf_destroy(&b);
    return done_testing();
}
