/* SPDX-License-Identifier: BSD-3-Clause */
/* A fuzz target without a fuzzer, in make check: the files of its corpus (or those given), each
 * once. */
#include "src/base.h"

#include <dirent.h>

#include "t/fuzz/fuzz.h"

static int replay(const char *path)
{
    static uint8_t data[1 << 20];
    FILE *f = fopen(path, "rb");

    if (!f) {
        printf("# %s: %s\n", path, strerror(errno));
        return -1;
    }
    size_t n = fread(data, 1, sizeof data, f);
    fclose(f);
    return LLVMFuzzerTestOneInput(data, n);
}

/* Replays the files of srcdir/t/fuzz/corpus/NAME that are not hidden; NAME is the program's name up
 * to a dot. Returns their number, or -1 if one cannot be read. */
static int replay_corpus(const char *program)
{
    const char *top = getenv("srcdir"), *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;
    char dir[4096], path[8192];
    int n = 0;

    snprintf(dir, sizeof dir, "%s/t/fuzz/corpus/%.*s", top ? top : ".", (int)strcspn(name, "."),
             name);
    DIR *d = opendir(dir);
    if (!d)
        printf("# %s: %s\n", dir, strerror(errno));
    for (const struct dirent *entry; d && (entry = readdir(d)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        printf("# %s\n", entry->d_name);
        fflush(stdout);
        if (replay(path))
            return -1;
        n++;
    }
    if (d)
        closedir(d);
    return n;
}

int main(int argc, char **argv)
{
    int n = 0;

    for (int i = 1; i < argc; i++)
        n += replay(argv[i]) == 0;
    if (argc == 1)
        n = replay_corpus(argv[0]);
    printf("%sok 1 - %d inputs\n1..1\n", n > 0 ? "" : "not ", n);
    return n > 0 ? 0 : 1;
}
