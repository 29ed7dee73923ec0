/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/plan/begin.h"

#include <sys/stat.h>

#include "launcher/host/child.h"
#include "launcher/plan/look.h"
#include "launcher/script/script.h"
#include "launcher/script/template.h"

#define NSET 20 /* keys that are set here, before those of --set */

/* The size of the images of the reference systems (the programs that results are compared with),
 * used while a folder has no images, and the longest side that is chosen without being asked, in
 * pixels. */
#define DEFAULT_HEIGHT 768
#define DEFAULT_WIDTH 1024
#define LONGEST_SIDE 1024

/* Derives a study's name from its folder's: letters become lower case, and characters that are not
 * allowed become '-'. */
static void derive_name(const char *folder, char dst[65])
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    char path[PATH_MAX];
    const char *base = realpath(folder, path) ? strrchr(path, '/') + 1 : "study";
    size_t n = 0;

    for (; *base && n < 64; base++, n++) {
        char c = *base >= 'A' && *base <= 'Z' ? (char)(*base - 'A' + 'a') : *base;
        dst[n] = strchr(allowed, c) && !(n == 0 && c == '.') ? c : '-';
    }
    dst[n] = 0;
    if (!n)
        strcpy(dst, "study");
}

/* Returns the multiple of step nearest to side, at least step. */
static long fit_side(double side, long step)
{
    long fitted = (long)(side / (double)step + 0.5) * step;

    return fitted < step ? step : fitted;
}

/* Returns the number that height and width must be multiples of with these settings. */
static long choose_step(const struct yaml_setting *settings, size_t n, const struct study *user)
{
    const char *network = user->model.name;
    int depth = user->model.depth;

    for (size_t i = 0; i < n; i++)
        if (strcmp(settings[i].path, "model.depth") == 0)
            depth = atoi(settings[i].value);
        else if (strcmp(settings[i].path, "model.name") == 0)
            network = settings[i].value;
    return study_sides(network, depth > 0 && depth < 16 ? depth : 0);
}

/* Chooses the size that images are trained at: their own, or a smaller one of the same aspect,
 * with sides rounded to multiples of step; without images the default size. */
static void choose_size(const struct data_look *look, long step, long *height, long *width)
{
    long longest = look->height > look->width ? look->height : look->width;
    double scale = longest > LONGEST_SIDE ? (double)LONGEST_SIDE / (double)longest : 1;

    *height = DEFAULT_HEIGHT;
    *width = DEFAULT_WIDTH;
    if (!longest)
        return;
    *height = fit_side(scale * (double)look->height, step);
    *width = fit_side(scale * (double)look->width, step);
}

static void warn_about(const struct data_look *look, const char *dir)
{
    if (*look->trouble && !look->unpaired && !look->unreadable)
        log_warn("%s", look->trouble);
    if (look->looked && look->meaning == DATA_ONE_CLASS)
        log_warn("%s: %s", dir, look->masks_text);
    if (look->images == 0)
        log_warn("%s/images has no image files: the sizes in study.yaml are a guess", dir);
    if (look->strange)
        log_warn("%s: %zu file%s not read, such as %s: the name ends in none of " FILENAME_IMAGES,
                 dir, look->strange, look->strange > 1 ? "s are" : " is", look->stranger);
    if (look->unpaired)
        log_warn("%s: %zu image%s or mask%s without a counterpart of the same name, such as %s",
                 dir, look->unpaired, plural(look->unpaired), plural(look->unpaired), look->odd);
    if (look->unreadable)
        log_warn("%s: %zu of %zu sampled images cannot be read ('unet-train data check "
                 "%s/images/*' says why)", dir, look->unreadable, look->sampled, dir);
    if (look->min_width != look->max_width || look->min_height != look->max_height)
        log_warn("%s: the images differ in size, from %ldx%ld to %ldx%ld (height x width); each is "
                 "resized with its aspect ratio kept, and padded", dir, look->min_height,
                 look->min_width, look->max_height, look->max_width);
    if (look->grey && look->colour)
        log_warn(
            "%s: %zu of %zu sampled images are grey, the others in colour; data.channels is %d",
            dir, look->grey, look->sampled - look->unreadable, look->channels >= 3 ? 3 : 1);
    if (look->image_spread > 0)
        log_warn("%s: the means of the images differ by %.1f deviations of the values within an image: "
                 "scaling each image by itself may learn more (-s data.scale=percentile)", dir,
                 look->image_spread);
    if (look->images && look->images < 10)
        log_warn("%s: there are only %zu image%s%s", dir, look->images, plural(look->images),
                 look->train ? "" : ", part of which is used for validation");
}

static void describe_data(const struct data_look *look, struct buf *dst)
{
    if (look->width)
        buf_addf(dst, "# Data: %zu images%s %ld %s; %ldx%ld (height x width), %s%s.\n", look->images,
                 look->classes ? " of" : ",", look->classes ? look->classes : (long)look->masks,
                 look->classes ? "classes" : "masks", look->height, look->width,
                 look->channels >= 3 ? "colour" : "grey", look->deep ? ", 16 bits" : "");
    if (look->train)
        buf_addf(dst,
                 "# The data set divides its images into training (%zu) and validation (%zu).\n",
                 look->train, look->val);
    if (look->looked && look->meaning != DATA_FOREGROUND)
        buf_addf(dst, "# Masks: %s.\n", look->masks_text);
}

/* Returns whether the settings so far, those of options and of the user's file, already say what
 * mask values mean. */
static bool are_masks_set(const struct yaml_setting *settings, size_t n)
{
    static const char keys[] = "data.classes data.ignore data.class_file data.soft_masks";

    while (n > 0 && !text_has_word(keys, settings[n - 1].path, strlen(settings[n - 1].path)))
        n--;
    return n > 0;
}

/* Stores what the masks seem to mean as settings in dst and returns the number of settings: 0 for
 * plain foreground, a single class, and masks that were not examined. Returns -1 with the possible
 * choices if the masks do not show what they mean, or if a class file is needed and the study's
 * folder has one. */
static int take_masks(const struct data_look *look, const char *dir, const char *folder,
                      char classes[24], struct yaml_setting *dst, struct err *e)
{
    char file[PATH_MAX];
    int n = 0;

    if (!look->looked || look->meaning == DATA_FOREGROUND || look->meaning == DATA_ONE_CLASS)
        return 0;
    if (look->meaning == DATA_UNSURE)
        return err_set(e, ERR_DATA, "%s: %s", dir, look->masks_text);
    snprintf(classes, 24, "%ld", look->mask_classes);
    dst[n++] = (struct yaml_setting){"data.classes", classes, "masks"};
    if (*look->ignore)
        dst[n++] = (struct yaml_setting){"data.ignore", look->ignore, "masks"};
    if (*look->class_file) {
        snprintf(file, sizeof file, "%s/%s", folder, BEGIN_CLASS_FILE);
        if (access(file, F_OK) == 0)
            return err_set(e, ERR_CONFIG, "%s exists already, and nothing is overwritten; use it "
                           "(-s data.class_file=%s -s data.classes=%s) or move it away", file, file,
                           classes);
        dst[n++] = (struct yaml_setting){"data.class_file", "./" BEGIN_CLASS_FILE, "masks"};
    }
    log_info("%s: %s", dir, look->masks_text);
    return n;
}

const char *begin_find_set(const struct begin *b, const char *key)
{
    size_t n = strlen(key);

    for (size_t i = b->set->count; i-- > 0;)
        if (strncmp(b->set->values[i], key, n) == 0 && b->set->values[i][n] == '=')
            return b->set->values[i] + n + 1;
    return "";
}

static int check_data(const struct begin *b, char dst[PATH_MAX], struct data_look *look,
                      struct err *e)
{
    if (!b->data_dir)
        return err_set(e, ERR_USAGE, "init: --data DIR is missing; name a folder with images/ and "
                       "masks/, or with a folder of images for each class. For a program of yours: "
                       "init STUDY -- PROGRAM ARGS, or --engine pytorch --script FILE");
    if (!realpath(b->data_dir, dst))
        return err_errno(e, ERR_DATA, errno, "--data %s", b->data_dir);
    struct data_place place = {dst, begin_find_set(b, "data.images"),
                               begin_find_set(b, "data.masks")};
    if (data_look_open(&place, true, look, e))
        return -1;
    if (look->sampled && look->unreadable == look->sampled)
        return err_set(e, ERR_DATA, "%s: none of %zu images can be read ('unet-train data check "
                       "%s/images/*' says why)", dst, look->sampled, dst);
    if ((look->train > 0) != (look->val > 0))
        return err_set(e, ERR_DATA, "%s: the data set has no %s images", dst,
                       look->train ? "validation" : "training");
    return 0;
}

/* Changes setting->value, a path of the command line, to the one for study.yaml, which dst holds:
 * relative if it is in the study's folder, otherwise absolute. */
static int place_path(const char *folder, const struct setting *key, struct yaml_setting *setting,
                      struct buf *dst, struct err *e)
{
    char *path = yaml_table_resolve(key, NULL, setting->value), own[PATH_MAX];
    size_t n = realpath(folder, own) ? strlen(own) : 0;

    if (!path)
        return err_errno(e, ERR_INTERNAL, errno, "%s %s", setting->where, setting->value);
    bool inside = n && strncmp(path, own, n) == 0 && path[n] == '/';
    buf_add(dst, inside ? "." : "");
    for (const char *c = inside ? path + n : path; *c; c++)
        buf_addf(dst, *c == '$' ? "$%c" : "%c", *c); /* the file's paths may have variables */
    free(path);
    setting->value = dst->data ? dst->data : "";
    return 0;
}

static int place_paths(const char *folder, struct yaml_setting *settings, size_t n,
                       struct buf *texts, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        const struct setting *key = setting_find(settings_of_study, settings[i].path);
        if (!key || key->type != SETTING_PATH || strncmp(settings[i].where, "--", 2) != 0)
            continue;
        struct buf *text = &texts[SETTINGS_MAX + (key - settings_of_study)];
        buf_destroy(text);
        if (place_path(folder, key, &settings[i], text, e))
            return -1;
    }
    return 0;
}

/* Copies the settings of the user's file, except lists, those that a site's profile has values for,
 * such as slurm.partition, and without `images` those of the trainer. */
static size_t take_user(const struct study *user, struct buf *texts, bool images,
                        struct yaml_setting *dst)
{
    size_t n = 0;

    for (const struct setting *k = settings_of_study; k->path; k++) {
        struct buf *text = &texts[k - settings_of_study];
        if (user->origins.at[k - settings_of_study].layer != YAML_USER || k->blank ||
            setting_is_list(k) || (!images && setting_is_of_trainer(k)))
            continue;
        setting_format(k, &user->settings, text);
        dst[n++] = (struct yaml_setting){k->path, text->data ? text->data : "", "user"};
    }
    return n;
}

/* ---- a program of the user's ---- */

/* What the words after "--", or --script, become in study.yaml. */
struct chosen {
    const struct engine *engine;
    char script[PATH_MAX], module[PATH_MAX]; /* module: the folder that it is found in, or "" */
    struct buf python, args, env;            /* args and env as JSON */
    struct buf placed;                       /* words that were made absolute, for a message */
    char paths[4][64];
};

static void destroy_chosen(struct chosen *c)
{
    buf_destroy(&c->python);
    buf_destroy(&c->args);
    buf_destroy(&c->env);
    buf_destroy(&c->placed);
}

/* Writes the path of a file with the current folder before it; links stay, as a Python of an
 * environment is one. */
static void make_absolute(const char *word, char dst[PATH_MAX])
{
    char here[PATH_MAX];

    while (strncmp(word, "./", 2) == 0)
        word += 2;
    if (*word == '/' || !getcwd(here, sizeof here) ||
        snprintf(dst, PATH_MAX, "%s%s%s", here, *word ? "/" : "", word) >= PATH_MAX)
        snprintf(dst, PATH_MAX, "%s", word);
}

/* Returns the word, or in path the word with an absolute path if it is a file or folder, or
 * --NAME=FILE, and notes that: runs begin in other folders. */
static const char *place_word(struct chosen *c, const char *word, char path[2 * PATH_MAX])
{
    const char *equals = *word == '-' ? strchr(word, '=') : NULL;
    const char *file = equals ? equals + 1 : word;
    size_t n = (size_t)(file - word);
    struct stat st;

    if (*file == '-' || *file == '/' || n >= PATH_MAX || stat(file, &st) != 0)
        return word;
    memcpy(path, word, n);
    make_absolute(file, path + n);
    template_add_sh(&c->placed, c->placed.length ? ", %s" : "%s", word);
    buf_add(&c->placed, S_ISDIR(st.st_mode) ? " (a folder, which all runs share)" : "");
    return path;
}

static bool is_in_container(const struct begin *b)
{
    return *begin_find_set(b, "container");
}

static int refuse_missing(const char *program, bool is_script, struct err *e)
{
    size_t word = strcspn(program, " ="), slash = strcspn(program, "/");
    char first[64], path[PATH_MAX];

    snprintf(first, sizeof first, "%.*s", (int)word, program);
    bool several = word < slash && program[word] != 0;
    if (several && (!is_script || child_find(first, X_OK, path) ||
                    strpbrk(program, "&|<>;=")))
        return err_set(e, ERR_CONFIG, "-- '%s': %s", program, program[word] == ' '
                       ? "type its words without quotes around them all; a command with && or < is "
                         "-- bash -c '...'"
                       : "write 'env NAME=VALUE PROGRAM', as no shell reads these words");
    return strchr(program, '/') || is_script
               ? err_set(e, ERR_CONFIG, "-- %s: there is no such %s", program,
                         is_script ? "script" : "program")
               : err_set(e, ERR_CONFIG, "-- %s: no folder of PATH has this program; load its "
                         "module or environment first, or give its path, such as ./%s", program,
                         program);
}

/* Checks that the first of the words is a program, and finds the file of the script. */
static int check_words(const struct begin *b, const struct command_line *c, size_t first,
                       struct chosen *dst, struct err *e)
{
    const char *folders = getenv("PYTHONPATH");
    char file[PATH_MAX], all[2 * PATH_MAX];
    const char *script = c->program < c->n ? c->words[c->program] : NULL;
    const char *starter = filename_base(c->words[0]);

    if (strcmp(starter, "sbatch") == 0 || strcmp(starter, "salloc") == 0)
        return err_set(e, ERR_USAGE, "init: -- %s ...: unetctl submits the jobs; name the command "
                       "that starts the program, such as -- srun ./a.out", starter);
    if (strcmp(starter, "composer") == 0)
        return err_set(e, ERR_USAGE, "init: -- composer ...: it starts as many ranks as its options "
                       "say, whatever the GPUs of a run; name the script: --engine pytorch -- "
                       "python3 SCRIPT ARGS");
    for (size_t i = c->end; c->launcher && first == c->end && i < c->n; i++)
        if (strcmp(c->words[i], ":") == 0)
            return err_set(e, ERR_USAGE, "init: -- %s ... : ...: several programs in one run; let "
                           "one start the others by its rank", starter);
    if (!script)
        return err_set(e, ERR_USAGE, "init: '-- %s ...' names no program or script that it starts",
                       filename_base(c->words[0]));
    bool is_first = first < c->program || !(c->has_script || is_in_container(b));
    if (is_first && access(c->words[first], F_OK) && !child_find(c->words[first], X_OK, file))
        return refuse_missing(c->words[first], false, e);
    snprintf(all, sizeof all, ".%s%.*s", folders ? ":" : "", PATH_MAX, folders ? folders : "");
    if (command_line_find(c, all, file)) {
        make_absolute(c->is_module ? "" : script, c->is_module ? dst->module : dst->script);
        if (c->is_module)
            snprintf(dst->script, sizeof dst->script, "%s", file);
        return 0;
    }
    if (is_in_container(b) || (c->is_module && !dst->engine->is_python) || !c->has_script)
        return 0;
    if (c->is_module)
        return err_set(e, ERR_CONFIG, "-- -m %s: neither this folder nor PYTHONPATH has the module",
                       script);
    return access(script, F_OK) ? refuse_missing(script, true, e)
                                : err_set(e, ERR_CONFIG, "-- %s: it is a folder; name the script",
                                          script);
}

/* Adds the words up to the script as `python`. Of a launcher that stays, the numbers are left out,
 * otherwise all of it. A module comes last. */
static void add_python(const struct command_line *c, bool keeps, struct chosen *dst)
{
    char path[2 * PATH_MAX];

    for (size_t i = 0, n; i < c->program; i += n) {
        bool own = c->launcher && i >= c->first && i < c->end, is_number = false;
        n = own ? command_line_count(c, i, &is_number) : 1;
        if ((own && (!keeps || is_number)) ||
            (c->is_module && (strcmp(c->words[i], "-m") == 0 ||
                              strcmp(c->words[i], "--module") == 0)))
            continue;
        for (size_t k = 0; k < n; k++) {
            buf_add(&dst->python, dst->python.length ? " " : "");
            template_quote_sh(&dst->python, place_word(dst, c->words[i + k], path));
        }
    }
    if (c->is_module)
        template_add_sh(&dst->python, dst->python.length ? " -m %s" : "python3 -m %s",
                        c->words[c->program]);
}

/* Adds a word to the arguments, a file by its absolute path. */
static void add_argument(struct chosen *dst, const char *word)
{
    char path[2 * PATH_MAX];

    buf_add(&dst->args, dst->args.length ? ", " : "[");
    buf_add_json_string(&dst->args, place_word(dst, word, path));
}

/* Returns whether the option of a launcher gives the ranks variables: mpirun's -x, -genv and such,
 * srun's --export=NAME=VALUE. */
static bool gives_variables(const char *const *option, size_t n)
{
    static const char *const names[] = {"x", "genv", "env", "genvlist", "envlist", "export"};
    const char *name = *option + strspn(*option, "-"), *value = strchr(name, '=');
    size_t length = strcspn(name, "="), last = sizeof names / sizeof *names - 1;

    value = value ? value + 1 : n > 1 ? option[1] : "";
    for (size_t i = 0; **option == '-' && i <= last; i++)
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0)
            return i < last || strchr(value, '=');
    return false;
}

static void log_left_out(const struct command_line *c, const char *engine, bool keeps)
{
    struct buf words = {0};
    bool variables = false;

    for (size_t i = c->first, n; i < c->end; i += n) {
        bool is_number;
        n = command_line_count(c, i, &is_number);
        for (size_t k = 0; k < n && (!keeps || is_number); k++)
            template_add_sh(&words, words.length ? " %s" : "%s", c->words[i + k]);
        variables |= !keeps && gives_variables(c->words + i, n);
    }
    if (words.length && !words.failed)
        log_info("left out: %s; unetctl %s", words.data,
                 keeps ? "fills in the numbers of each run" : "starts the ranks, one for each GPU");
    if (variables)
        log_warn("variables of the ranks belong in study.yaml: %s: {env: {NAME: VALUE}}", engine);
    buf_destroy(&words);
}

/* Returns the engine of --engine or else of the launcher. mpirun and srun start any program, so
 * there the script decides. */
static const char *choose_engine(const struct begin *b, const struct command_line *c)
{
    struct command_sign sign;
    char file[PATH_MAX];

    if (b->engine || !c->launcher)
        return b->engine ? b->engine : "command";
    if (strcmp(c->launcher->engine, "mpi") == 0 && (c->is_python || c->has_script) &&
        command_line_find(c, ".", file) && command_line_look(file, &sign) && sign.engine)
        return sign.engine;
    return c->launcher->engine;
}

/* Warns of words that say the same number of GPUs in every run. */
static void warn_of_words(const char *const *words, size_t nwords)
{
    static const char of_gpus[] = "gpus num_gpus ngpus n_gpus n_gpu num_gpu devices num_devices "
                                  "device world_size distributed_world_size nproc_per_node";
    char name[64];

    for (size_t i = 0; i < nwords; i++) {
        const char *word = words[i] + strspn(words[i], "-+"), *equals = strchr(word, '=');
        const char *value = equals ? equals + 1 : i + 1 < nwords ? words[i + 1] : "";
        size_t n = equals ? (size_t)(equals - word) : strlen(word), from = n;
        while (from > 0 && word[from - 1] != '.')
            from--;
        snprintf(name, sizeof name, "%.*s", (int)(n - from), word + from);
        for (char *p = name; *p; p++)
            *p = *p == '-' ? '_' : *p;
        bool said = *value && !value[strspn(value, "0123456789,")] && strcmp(value, "0") &&
                    strcmp(value, "1") && (equals || word > words[i]);
        bool is_nodes = text_has_word("nodes num_nodes nnodes", name, strlen(name));
        if (said && (is_nodes || text_has_word(of_gpus, name, strlen(name))))
            log_warn("%s%s%s is the same in each run, whatever its number of GPUs; if it means "
                     "them, write {{%s}}, or leave it out", words[i], equals ? "" : " ",
                     equals ? "" : value, is_nodes ? "nodes" : "gpus");
    }
}

/* Does so for the words of a shell's text, as far as quotes and blanks show them, and warns of
 * files and folders that a run, which begins in its own folder, does not find. */
static void warn_of_text(const char *text)
{
    const char *words[256];
    size_t n = 0;
    char *copy = strdup(text), *rest;
    bool moves = strstr(text, "cd /") || strstr(text, "cd $") || strstr(text, "cd ~");
    struct buf files = {0};

    for (char *word = copy ? strtok_r(copy, " \t\n;&|<>'\"", &rest) : NULL;
         word && n < sizeof words / sizeof *words; word = strtok_r(NULL, " \t\n;&|<>'\"", &rest)) {
        words[n++] = word;
        if (!moves && *word != '/' && word[strspn(word, ".")] && access(word, F_OK) == 0)
            template_add_sh(&files, files.length ? ", %s" : "%s", word);
    }
    warn_of_words(words, n);
    if (files.length && !files.failed)
        log_warn("'%s': a run begins in its own folder and does not find %s; write absolute paths",
                 text, files.data);
    buf_destroy(&files);
    free(copy);
}

/* Warns of these, of words that only a shell understands, and of the same GPUs in every run: of
 * words and scripts that set CUDA_VISIBLE_DEVICES. */
static void warn_of_gpus(const struct command_line *c)
{
    struct command_sign sign;
    char file[PATH_MAX];

    if (c->text)
        warn_of_text(c->text);
    else if (c->n > c->program)
        warn_of_words(c->words + c->program + 1, c->n - c->program - 1);
    for (size_t i = c->program; i < c->n; i++)
        if (*c->words[i] && !c->words[i][strspn(c->words[i], "<>|&;12")] &&
            strpbrk(c->words[i], "<>|&;"))
            log_warn("the program gets '%s' as a word, as no shell reads these; a command with it "
                     "is -- bash -c '...'", c->words[i]);
    for (size_t i = 0; i < c->program; i++)
        if (strncmp(c->words[i], "CUDA_VISIBLE_DEVICES=", 21) == 0)
            log_warn("%s is the same in each run: ranks see these GPUs, not those of their run; "
                     "leave it out", c->words[i]);
    if (command_line_find(c, ".", file) && (command_line_look(file, &sign), sign.gpus_line))
        log_warn("%s:%zu sets CUDA_VISIBLE_DEVICES: ranks see the GPUs that it names, not those of "
                 "their run; remove that line", file, sign.gpus_line);
}

bool begin_suggest(const char *init, const char *engine, const char *const *words, size_t n,
                   struct buf *dst)
{
    struct command_sign sign;
    struct command_line c;
    char file[PATH_MAX];
    struct err ignored;

    if (strcmp(engine, "command") || command_line_parse(words, n, &c, &ignored) || c.launcher ||
        !(c.text ? command_line_look_text(c.text, &sign)
                 : command_line_find(&c, ".", file) && command_line_look(file, &sign)))
        return false;
    if (c.text)
        buf_addf(dst, "'%s'", c.text);
    else
        buf_addf(dst, "%s:%zu", file, sign.line);
    if (c.text || !sign.engine) {
        buf_addf(dst, " starts ranks by %s, as many as stand there, whatever the GPUs of a run; name "
                 "that command: %s -- %s", sign.text, init, sign.command);
        return !dst->failed;
    }
    buf_addf(dst, " has %s, which is for several ranks, and engine command starts one on "
             "each node, with all its GPUs; for one rank per GPU type: %s --engine %s --", sign.text,
             init, sign.engine);
    for (size_t i = 0; i < n; i++)
        template_add_sh(dst, " %s", words[i]);
    return !dst->failed;
}

/* Warns of a marker in the words that no run gives a value to. */
static void warn_of_markers(const struct begin *b)
{
    struct template_value values[TEMPLATE_VALUES_MAX] = {{0}};
    bool used[TEMPLATE_VALUES_MAX];
    struct buf text = {0};
    struct err why;
    size_t n = 0;

    for (const struct script_marker *m = script_marker_all(); m->name; m++)
        values[n++] = (struct template_value){m->name, ""};
    for (size_t i = 0; i < b->nwords && !*begin_find_set(b, "markers"); i++)
        if (template_expand("the words after --", b->words[i], false, values, used, &text, &why))
            log_warn("%s; plan will refuse the study", why.text);
    buf_destroy(&text);
}

static int take_words(const struct begin *b, struct chosen *dst, struct err *e)
{
    struct command_line c;
    struct buf init = {0}, text = {0};

    if (command_line_parse(b->words, b->nwords, &c, e))
        return -1;
    dst->engine = engine_find(choose_engine(b, &c), e);
    if (!dst->engine)
        return -1;
    if (b->script || dst->engine->embedded)
        return err_set(e, ERR_USAGE, "init: %s", b->script ? "leave one of --script and PROGRAM out"
                       : "'-- WORDS' needs an engine that runs them, such as --engine pytorch");
    /* a launcher in a run of one rank is the user's own */
    bool own = c.launcher && strcmp(dst->engine->name, "command") == 0;
    bool keeps = c.launcher && c.launcher->numbers && dst->engine->by_launcher;
    bool drops = c.launcher && !own && !keeps;
    size_t first = drops && c.first == 0 ? c.end : 0;

    int rc = check_words(b, &c, first, dst, e) || (keeps && command_line_add_numbers(&c, &text, e));
    buf_destroy(&text);
    if (rc)
        return -1;
    if (dst->engine->is_python && (!c.has_script || (c.interpreter < c.n && !c.is_python)))
        return err_set(e, ERR_CONFIG, "-- %s: engine %s runs a script of Python: '-- python3 "
                       "SCRIPT ARGS', or choose --engine mpi", c.words[c.program],
                       dst->engine->name);
    if (dst->engine->is_python)
        add_python(&c, keeps, dst);
    for (size_t i = (dst->engine->is_python ? c.program : first) + 1; i < c.n; i++)
        if (!(drops && i >= c.first && i < c.end))
            add_argument(dst, c.words[i]);
    if (!dst->engine->is_python)
        snprintf(dst->script, sizeof dst->script, "%s", c.words[first]);
    if (c.launcher && !own)
        log_left_out(&c, dst->engine->name, keeps);
    if (dst->placed.length && !dst->placed.failed)
        log_info("made absolute, as a run begins in its own folder: %s; correct study.yaml where a "
                 "word does not mean that", dst->placed.data);
    warn_of_markers(b);
    warn_of_gpus(&c);
    template_add_sh(&init, "rm %s/" STUDY_FILE "; unetctl init %s", b->folder, b->folder);
    if (!init.failed && begin_suggest(init.data, dst->engine->name, b->words, b->nwords, &text))
        log_warn("%s", text.data);
    buf_destroy(&init);
    buf_destroy(&text);
    return 0;
}

/* Finds the program, which may be in PATH, and completes the lists. */
static int place_program(struct chosen *c, struct err *e)
{
    char path[PATH_MAX];
    const char *before = getenv("PYTHONPATH");
    struct buf all = {0};

    if (!c->engine->is_python && !strchr(c->script, '/')) {
        if (!child_find(c->script, X_OK, path))
            return refuse_missing(c->script, false, e);
        memcpy(c->script, path, sizeof path);
    }
    buf_add(&c->args, c->args.length ? "]" : "");
    if (*c->module) {
        buf_addf(&all, "%s%s%s", c->module, before ? ":" : "", before ? before : "");
        buf_add(&c->env, "{\"PYTHONPATH\": ");
        buf_add_json_string(&c->env, all.data ? all.data : c->module);
        buf_add(&c->env, "}");
        buf_destroy(&all);
    }
    return c->args.failed || c->python.failed || c->env.failed
               ? err_set(e, ERR_INTERNAL, "init: out of memory")
               : 0;
}

/* Finds what the study runs. */
static int choose_program(const struct begin *b, struct chosen *c, struct err *e)
{
    if (!b->nwords) {
        c->engine = b->engine ? engine_find(b->engine, e) : NULL;
        if (!c->engine || c->engine->embedded)
            return err_set(e, ERR_USAGE, "init: --script needs the engine that runs it, such "
                           "as --engine pytorch");
        snprintf(c->script, sizeof c->script, "%s", b->script);
    } else if (take_words(b, c, e) || place_program(c, e)) {
        return -1;
    }
    return script_check_program(c->engine, c->script, is_in_container(b), e)
               ? err_prefix(e, "init")
               : 0;
}

/* Adds the key "engine" and the engine's section. */
static size_t take_engine(struct chosen *c, struct yaml_setting *dst)
{
    const struct {
        const char *key, *value;
        bool is_set;
    } rows[] = {{"script", c->script, true},
                {"args", c->args.data ? c->args.data : "", true},
                {"python", c->python.length ? c->python.data : "python3",
                 c->engine->is_python || !*c->script},
                {"env", c->env.data, c->env.length}};
    size_t n = 0;

    dst[n++] = (struct yaml_setting){"engine", c->engine->name, "--engine"};
    if (!*c->script) /* the scripts of unetctl have no sync */
        dst[n++] = (struct yaml_setting){"model.batch_norm", "local", "--engine"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !c->engine->embedded; i++) {
        if (!rows[i].is_set)
            continue;
        snprintf(c->paths[i], sizeof c->paths[i], "%.40s.%s", c->engine->name, rows[i].key);
        dst[n++] = (struct yaml_setting){c->paths[i], rows[i].value, "--script"};
    }
    return n;
}

/* Adds the settings without which markers in the arguments have no value. */
static size_t take_markers(const struct buf *arguments, struct yaml_setting *dst)
{
    static const char *const rows[][3] = {{"{{steps}}", "limit.steps", "100"},
                                          {"{{minutes}}", "limit.minutes", "10"},
                                          {"{{global_batch}}", "train.global_batch", "16"},
                                          {"{{batch_per_gpu}}", "train.batch_per_gpu", "16"}};
    const char *text = arguments->data ? arguments->data : "";
    size_t n = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(text, rows[i][0]) && !(i == 3 && strstr(text, rows[2][0])))
            dst[n++] = (struct yaml_setting){rows[i][1], rows[i][2], ""};
    return n;
}

/* Adds, as comments, the keys of the log and the quality that no setting has. */
static void describe_log(const struct yaml_setting *settings, size_t n, struct buf *dst)
{
    static const char *const rows[][2] = {
        {"log", "# What is read of a run: log.csv or another known log in\n"
                "# $UNETCTL_ATTEMPT_DIR, a file that log.file names there, or lines of the\n"
                "# output. 'unetctl init OTHER --try LOG -- ...' proposes it from a log.\n"
                "# log:\n"
                "#   file: metrics.csv\n"
                "#   pattern: \"epoch (?<epoch>[0-9]+).* (?<epoch_time>[0-9.]+) s\"\n"},
        {"quality", "# quality:\n"
                    "#   name: val_loss  # as the log has it; without one only speed is compared\n"}};

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        bool is_set = false;
        for (size_t i = 0; i < n; i++)
            is_set |= strncmp(settings[i].path, rows[r][0], strcspn(settings[i].path, ".")) == 0;
        buf_add(dst, is_set ? "" : rows[r][1]);
    }
}

/* Writes the text of study.yaml for a program of the user's, without images. */
static int encode_program(const struct begin *b, const struct study *user, struct buf *texts,
                          struct buf *dst, struct err *e)
{
    struct yaml_setting settings[SETTINGS_MAX + NSET + CLI_LIST_MAX];
    struct chosen c = {0};
    char derived[65];
    size_t n = 0;
    int rc = choose_program(b, &c, e);

    buf_add(dst, "# A study: the same program on several numbers of GPUs. Made by unetctl init.\n"
                 "# unetctl plan shows its runs, unetctl submit starts them; further keys: man "
                 "unetctl\n");
    if (rc == 0) {
        settings[n++] = (struct yaml_setting){"site", "generic", ""};
        settings[n++] = (struct yaml_setting){"gpus", "1", ""};
        n += take_user(user, texts, false, settings + n);
        derive_name(b->folder, derived);
        settings[n++] = (struct yaml_setting){"name", b->name ? b->name : derived, "--name"};
        n += take_engine(&c, settings + n);
        n += take_markers(&c.args, settings + n);
        if (b->site)
            settings[n++] = (struct yaml_setting){"site", b->site, "--site"};
        for (size_t i = 0; i < b->nlog; i++)
            settings[n++] = b->log[i];
        rc = study_decode_set(b->set, settings + n, e) ||
             place_paths(b->folder, settings, n + b->set->count, texts, e) ||
             yaml_table_encode(settings_of_study, settings, n + b->set->count, false, dst, e);
        if (rc == 0)
            describe_log(settings, n + b->set->count, dst);
    }
    destroy_chosen(&c);
    return rc ? -1 : 0;
}

int begin_continue(const struct study *s, int gpus, struct buf *dst, struct err *e)
{
    static const char own[] = "gpus variants expect design.max_gpu_hours";
    struct yaml_setting settings[SETTINGS_MAX];
    char count[16];
    size_t n = 0;

    for (const struct setting *k = settings_of_study; k->path; k++) {
        enum yaml_layer layer = s->origins.at[k - settings_of_study].layer;
        struct buf text = {0};
        if ((layer < YAML_STUDY && layer != YAML_USER) ||
            text_has_word(own, k->path, strlen(k->path)))
            continue;
        char *value;
        if (setting_is_list(k)) {
            json_t *list = setting_json_encode(k, &s->settings);
            value = list ? json_dumps(list, JSON_ENCODE_ANY) : NULL;
            json_decref(list);
        } else {
            setting_format(k, &s->settings, &text);
            value = buf_steal(&text);
        }
        dst->failed |= !value;
        settings[n++] = (struct yaml_setting){k->path, value, ""};
    }
    snprintf(count, sizeof count, "%d", gpus);
    settings[n] = (struct yaml_setting){"gpus", count, ""};
    buf_addf(dst, "# Study %s with the number of GPUs that its report chose. Made by unetctl "
             "report --best.\n", s->name);
    int rc = yaml_table_encode(settings_of_study, settings, n + 1, false, dst, e);
    while (n > 0)
        free((char *)settings[--n].value);
    return rc;
}

/* ---- images ---- */

/* Writes the text of study.yaml for training on images, or for a program. */
static int encode_study(const struct begin *b, const struct study *user, struct buf *texts,
                        struct buf *dst, struct buf *class_file, struct err *e)
{
    struct yaml_setting settings[SETTINGS_MAX + NSET + CLI_LIST_MAX] = {
        {"data.height", NULL, ""}, {"data.width", NULL, ""}, {"data.channels", NULL, ""},
        {"site", NULL, ""}, {"gpus", NULL, ""}, {"train.epochs", NULL, ""}};
    char data[PATH_MAX], derived[65], height[24], width[24], channels[24], classes[24];
    struct chosen c = {0};
    struct data_look look;
    size_t n = 6, first = 0;
    long h, w;
    int masks = 0;

    if (!b->data_dir && (b->script || b->nwords))
        return encode_program(b, user, texts, dst, e);
    if ((b->script && choose_program(b, &c, e)) || check_data(b, data, &look, e))
        return -1;
    warn_about(&look, data);
    for (size_t i = 3; i < n; i++) /* what users change first */
        settings[i].value = setting_find(settings_of_study, settings[i].path)->preset;
    if (!look.classes)
        settings[n++] = (struct yaml_setting){"data.scale", "auto", ""};
    n += take_user(user, texts, true, settings + n);
    derive_name(b->folder, derived);
    settings[n++] = (struct yaml_setting){"name", b->name ? b->name : derived, "--name"};
    settings[n++] = (struct yaml_setting){"data.dir", data, "--data"};
    if (!b->model && look.classes && study_sides(user->model.name, user->model.depth) > 1)
        settings[n++] = (struct yaml_setting){"model.name", "resnet20", "--data"};
    if (b->model)
        settings[n++] = (struct yaml_setting){"model.name", b->model, "--model"};
    if (b->site)
        settings[n++] = (struct yaml_setting){"site", b->site, "--site"};
    if (b->engine && (c.engine = engine_find(b->engine, e)))
        n += take_engine(&c, settings + n);
    if (b->templates && access(b->templates, F_OK) != 0)
        return err_errno(e, ERR_CONFIG, errno, "--templates %s", b->templates);
    if (b->templates)
        settings[n++] = (struct yaml_setting){"templates", b->templates, "--templates"};
    if (study_decode_set(b->set, settings + n, e) ||
        place_paths(b->folder, settings, n + b->set->count, texts, e))
        return -1;
    n += b->set->count;
    if (!are_masks_set(settings, n) &&
        (masks = take_masks(&look, data, b->folder, classes, settings + n, e)) < 0)
        return -1;
    if (masks)
        buf_add(class_file, look.class_file);
    choose_size(&look, choose_step(settings + 3, n - 3, user), &h, &w);
    n += (size_t)masks;
    snprintf(height, sizeof height, "%ld", h);
    snprintf(width, sizeof width, "%ld", w);
    settings[0].value = height;
    settings[1].value = width;
    snprintf(channels, sizeof channels, "%d",
             look.channels > 4 ? look.channels : look.channels >= 3 ? 3 : 1);
    settings[2].value = channels;
    for (size_t i = 2; i < n; i++)
        if (strcmp(settings[i].path, "data.patch") == 0) /* it replaces height and width */
            first = *settings[i].value ? 2 : 0;
    buf_add(dst, "# A study: the same training on several numbers of GPUs. Made by unetctl init.\n"
                 "# unetctl plan shows its runs, unetctl submit starts them.\n");
    if (!b->full)
        buf_add(dst,
                "# Further keys: 'unetctl config' prints their values, and 'man unetctl' explains "
                     "them.\n");
    describe_data(&look, dst);
    return yaml_table_encode(settings_of_study, settings + first, n - first, b->full, dst, e);
}

int begin_encode(const struct begin *b, struct buf *dst, struct buf *class_file, struct err *e)
{
    struct buf texts[2 * SETTINGS_MAX] = {{0}};
    struct study user;

    if (study_open_user(&user, e))
        return -1;
    int rc = encode_study(b, &user, texts, dst, class_file, e);
    if (rc == 0 && (dst->failed || class_file->failed))
        rc = err_set(e, ERR_INTERNAL, "init: out of memory");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        buf_destroy(&texts[i]);
    study_close(&user);
    return rc;
}
