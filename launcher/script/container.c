/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/script/container.h"

#include <sys/stat.h>

#include "launcher/host/path.h"
#include "launcher/script/template.h"

bool container_is_set(const struct study *s)
{
    return *s->container != 0;
}

bool container_is_pyxis(const struct study *s)
{
    const char *image = s->container, *runtime = s->container_runtime;
    size_t n = strlen(image);
    bool is_enroot = strchr(image, '#') || (n > 5 && strcmp(image + n - 5, ".sqsh") == 0);

    return n && (strcmp(runtime, "pyxis") == 0 || (strcmp(runtime, "auto") == 0 && is_enroot));
}

/* Returns the word by which the text names a container, or NULL. */
static const char *find_name(const char *text)
{
    static const char *const signs[] = {"--container-image", "apptainer ", "singularity ",
                                        "enroot ", "podman ", "podman-hpc ", "shifter ", "sarus ",
                                        "ch-run ", NULL};
    const char *const *sign = signs;

    while (*sign && !strstr(text, *sign))
        sign++;
    return *sign;
}

static int refuse_name(const char *file, const char *key, const char *text, struct err *e)
{
    const char *sign = find_name(text);

    if (!sign)
        return 0;
    return err_set(e, ERR_CONFIG, "%s: %s: '%.*s': name the image by 'container: IMAGE', in the "
                   "study or its site, and what starts it by container_runtime", file, key,
                   (int)strcspn(sign, " "), sign);
}

int container_check(const struct study *s, const struct site *site, struct err *e)
{
    const struct settings_program *section = study_engine(s, s->engine);
    const char *image = s->container, *place = study_place(s, "container");
    bool local = strcmp(site->scheduler, "slurm") != 0;

    if (refuse_name(site->file, "launcher", site->launcher, e) ||
        (section && refuse_name(s->file, "python", section->python, e)))
        return -1;
    if (*image == '/' && access(image, R_OK) != 0)
        return err_errno(e, ERR_CONFIG, errno, "%s: container %s", place, image);
    if (!container_is_pyxis(s))
        return 0;
    if (local || strncmp(site->launcher, "srun ", 5) != 0)
        return err_set(e, ERR_CONFIG, "%s: container %s: srun starts containers of Pyxis, and the "
                       "launcher of site %s is '%s'; choose another site or container_runtime",
                       place, image, site->name, site->launcher);
    return 0;
}

/* ---- what stands at the same path in the container ---- */

/* Returns whether this is a folder of the system, in whose place the container has its own. */
static bool is_of_system(const char *dir)
{
    static const char names[] = "usr bin sbin lib lib64 etc dev proc sys";

    return strcmp(dir, "/") == 0 || text_has_word(names, dir + 1, strcspn(dir + 1, "/"));
}

static bool is_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    return strncmp(path, dir, n) == 0 && (!path[n] || path[n] == '/');
}

static int add_folder(struct setting_lines *list, const char *dir, struct err *e)
{
    for (size_t i = 0; i < list->count; i++)
        if (is_below(dir, list->lines[i]))
            return 0;
    if (strpbrk(dir, ":,"))
        return err_set(e, ERR_CONFIG, "container: the folder %s has a colon or comma in its path, "
                       "which containers cannot mount; rename it", dir);
    return setting_append_line(list, dir, e);
}

/* Adds what exists of the folder of path, also by the path without symbolic links. */
static int add_path(struct setting_lines *list, const char *path, struct err *e)
{
    char dir[PATH_MAX], target[PATH_MAX];
    struct stat st;

    if (*path != '/' || snprintf(dir, sizeof dir, "%s", path) >= PATH_MAX)
        return 0;
    while (stat(dir, &st) || !S_ISDIR(st.st_mode)) {
        char *slash = strrchr(dir, '/');
        slash[slash == dir] = 0;
    }
    if (is_of_system(dir))
        return 0;
    return add_folder(list, dir, e) ||
                   (realpath(dir, target) && !is_of_system(target) && add_folder(list, target, e))
               ? -1
               : 0;
}

/* Does so with what is not in the image instead. */
static int add_existing(struct setting_lines *list, const char *path, struct err *e)
{
    return access(path, F_OK) == 0 ? add_path(list, path, e) : 0;
}

/* Lists the folders of what the program reads and writes, and of unetctl, since its trainer and
 * scripts may be the program. */
static int list_folders(const struct study *s, const struct site *site, struct setting_lines *list,
                        struct err *e)
{
    const struct settings_program *section = study_engine(s, s->engine);
    const char *bindir = paths_bindir(e);
    char shared[PATH_MAX];

    if (!bindir || paths_data("python", shared, sizeof shared, e))
        return -1;
    const char *const paths[] = {s->dir, s->data.dir, s->data.cache, s->data.class_file,
                                 s->model.name, s->model.init, bindir};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (add_path(list, paths[i], e))
            return -1;
    if (container_is_pyxis(s) && *s->data.stage == '/' && !strchr(s->data.stage, '$') &&
        add_folder(list, s->data.stage, e))
        return -1;
    if (add_existing(list, section ? section->script : site->trainer, e))
        return -1;
    *strrchr(shared, '/') = 0; /* of unetctl's data, also below /usr */
    if (add_folder(list, shared, e))
        return -1;
    for (size_t i = 0; section && i < section->args.count; i++)
        if (add_existing(list, section->args.lines[i], e))
            return -1;
    return 0;
}

int container_add_words(const struct study *s, const struct site *site, struct buf *dst,
                        struct err *e)
{
    struct setting_lines folders = {0};
    char path[PATH_MAX];

    if (!container_is_set(s) || container_is_pyxis(s))
        return 0;
    int rc = paths_data("templates/container.sh", path, sizeof path, e) ||
                     list_folders(s, site, &folders, e)
                 ? -1
                 : 0;
    if (rc == 0) {
        template_add_sh(dst, "bash %s %s %s", path, s->container_runtime, s->container);
        for (size_t i = 0; i < folders.count; i++)
            template_add_sh(dst, " %s", folders.lines[i]);
        buf_add(dst, " --");
    }
    setting_clear_lines(&folders);
    return rc;
}

int container_add_options(const struct study *s, const struct site *site, struct buf *dst,
                          struct err *e)
{
    struct setting_lines folders = {0};
    struct buf mounts = {0};

    if (!container_is_pyxis(s))
        return 0;
    int rc = list_folders(s, site, &folders, e);
    for (size_t i = 0; i < folders.count; i++)
        buf_addf(&mounts, "%s%s:%s", i ? "," : "", folders.lines[i], folders.lines[i]);
    template_add_sh(dst, " --container-image=%s --container-mounts=%s "
                    "--container-workdir={{run_dir|sh}}", s->container,
                    mounts.data ? mounts.data : "");
    buf_destroy(&mounts);
    setting_clear_lines(&folders);
    return rc;
}
