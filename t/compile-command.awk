# SPDX-License-Identifier: BSD-3-Clause
# Stands in for the compiler ($COMPILER): appends the entry of its command line, whose last word is
# the source, to $COMPILE_COMMANDS.
function quoted(text) {
    gsub(/[\\"]/, "\\\\&", text)
    return "\"" text "\""
}
BEGIN {
    n = split(ENVIRON["COMPILER"], compiler, " ")
    for (i = 1; i <= n; i++) words = words quoted(compiler[i]) ", "
    for (i = 1; i < ARGC; i++) words = words quoted(ARGV[i]) (i < ARGC - 1 ? ", " : "")
    printf "{\"directory\": %s, \"file\": %s, \"arguments\": [%s]}\n", quoted(ENVIRON["PWD"]),
        quoted(ARGV[ARGC - 1]), words >>ENVIRON["COMPILE_COMMANDS"]
}
