/* SPDX-License-Identifier: BSD-3-Clause */
/* The test copies its own program into an imitated build tree and installation and runs it
 * there. */
#include "src/base.h"
#include "launcher/host/path.h"

#include "t/tap.h"

static char work[] = "/tmp/unetctl-paths.XXXXXX";

__attribute__((format(printf, 1, 2))) static int shell(const char *fmt, ...)
{
    char command[2 * PATH_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(command, sizeof command, fmt, ap);
    va_end(ap);
    return system(command);
}

/* Runs in the copy: prints what is found, or the error. */
static int print(const char *kind, const char *name)
{
    char path[PATH_MAX];
    struct err e;
    int rc = strcmp(kind, "data") == 0 ? paths_data(name, path, sizeof path, &e)
                                       : paths_libexec(name, path, sizeof path, &e);
    puts(rc ? e.text : path);
    return 0;
}

static void finds(const char *exe, const char *environment, const char *kind, const char *name,
                  const char *want)
{
    char command[PATH_MAX], got[1024] = "";

    snprintf(command, sizeof command, "env -u UNETCTL_LIBEXECDIR -u UNETCTL_DATADIR %s %s/%s %s %s",
             environment, work, exe, kind, name);
    FILE *f = popen(command, "r");
    if (!f || !fgets(got, sizeof got, f))
        bail_out("cannot run %s", command);
    pclose(f);
    ok(strstr(got, want) != NULL, "%s %s %s of %s", environment, kind, name, exe);
    if (!strstr(got, want))
        printf("# got %s# want %s\n", got, want);
}

int main(int argc, char **argv)
{
    char variable[PATH_MAX];
    struct err e;

    if (argc == 3)
        return print(argv[1], argv[2]);
    const char *bindir = paths_bindir(&e);
    ok(bindir && bindir[0] == '/', "bindir is %s", bindir ? bindir : "unknown");

    if (!mkdtemp(work) ||
        shell("cd %s && mkdir -p b s i/bin i/libexec/unetctl i/share/unetctl/templates v && "
              "echo %s/s >b/source-folder && touch s/plan b/helper v/helper i/libexec/unetctl/helper "
              "i/libexec/unetctl/plain i/share/unetctl/templates/t && "
              "chmod 755 b/helper v/helper i/libexec/unetctl/helper && "
              "cp /proc/%ld/exe b/self && cp b/self i/bin/self && ln -s i/bin/self link",
              work, work, (long)getpid()))
        bail_out("no work folder in /tmp");
    finds("b/self", "", "libexec", "helper", "/b/helper");
    finds("b/self", "", "data", "plan", "/s/plan");
    finds("b/self", "", "data", "nothing", "run make");
    finds("i/bin/self", "", "libexec", "helper", "/i/bin/../libexec/unetctl/helper");
    finds("i/bin/self", "", "libexec", "plain", "plain is not in");
    finds("i/bin/self", "", "data", "templates/t", "/i/bin/../share/unetctl/templates/t");
    finds("i/bin/self", "", "data", "plan", "set UNETCTL_DATADIR");
    finds("link", "", "libexec", "helper", "/i/bin/../libexec/unetctl/helper");
    snprintf(variable, sizeof variable, "UNETCTL_LIBEXECDIR=%s/v", work);
    finds("i/bin/self", variable, "libexec", "helper", "/v/helper");
    finds("i/bin/self", variable, "libexec", "plain",
          "the folder that the variable UNETCTL_LIBEXECDIR names");
    shell("rm -rf %s", work);
    return done_testing();
}
