/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/doctor/imports.h"

#include <stdio.h>
#include <string.h>

#include "launcher/host/child.h"
#include "launcher/scheduler/sbatch_help.h"
#include "launcher/script/container.h"
#include "launcher/script/script_values.h"
#include "launcher/script/template.h"
#include "src/buf.h"
#include "src/host/paths.h"

/* Prints "ok VERSION COUNT", or the module that is missing or fails with the reason, or why the
 * script cannot be read. Output of the modules goes to standard error. */
static const char program[] =
    "import ast, importlib, os, sys\n"
    "out, sys.stdout = sys.stdout, sys.stderr\n"
    "def say(*words):\n"
    "    out.write(' '.join(' '.join(map(str, words)).split()))\n"
    "    out.flush()\n"
    "    os._exit(0)\n"
    "path = sys.argv[1]\n"
    "sys.path[0] = os.path.dirname(path)\n"
    "try:\n"
    "    with open(path, 'rb') as f:\n"
    "        body = ast.parse(f.read(), path).body\n"
    "except (OSError, SyntaxError, ValueError) as e:\n"
    "    say('script', e)\n"
    "names = []\n"
    "for node in body:\n"
    "    if isinstance(node, ast.Import):\n"
    "        names += [a.name for a in node.names]\n"
    "    elif isinstance(node, ast.ImportFrom) and not node.level:\n"
    "        names.append(node.module)\n"
    "for name in names:\n"
    "    try:\n"
    "        importlib.import_module(name)\n"
    "    except ModuleNotFoundError as e:\n"
    "        say('missing', e.name or name)\n"
    "    except BaseException as e:\n"
    "        say('fails', name, type(e).__name__ + ':', e)\n"
    "say('ok', sys.version.split()[0], len(set(names)))\n";

/* Adds the shell text that a run begins with, up to the words in front of its program. */
static void add_start(const struct workspace *w, const struct settings_program *section,
                      struct buf *b)
{
    struct err ignored;

    template_add_sh(b, "cd %s\n{\n", w->study.dir);
    script_values_add_lines(b, &w->site.setup);
    if (section)
        script_values_add_lines(b, &section->setup);
    script_values_add_exports(b, &w->site.env);
    (void)script_values_add_python_path(b, &ignored);
    if (section)
        script_values_add_exports(b, &section->env);
    buf_add(b, "} >/dev/null 2>&1 </dev/null\nexec </dev/null timeout 120 ");
    if (container_add_words(w, b, &ignored)) /* container_check reports it */
        b->failed = true;
    buf_add(b, " ");
}

/* Adds the program above instead of the script. */
static void add_imports(const struct settings_program *section, const char *script, struct buf *b)
{
    script_values_add_python(b, section->python);
    template_add_sh(b, " -c %s %s 2>/dev/null", program, script);
}

/* Runs the text in bash and writes what it prints. Returns its exit code. */
static int run(struct buf *text, char *dst, size_t size)
{
    const char *const words[] = {"bash", "-c", text->failed ? "exit 1" : text->data, NULL};
    struct child c = {.argv = words, .out = CHILD_READ};
    struct child_end end;
    struct err ignored;
    int code = child_run(&c, &end, &ignored) ? 1 : end.code;

    snprintf(dst, size, "%s", end.out.data ? end.out.data : "");
    child_destroy(&end);
    buf_destroy(text);
    return code;
}

/* Adds what shows that the program of a run is in the container. */
static void add_first_program(const struct workspace *w, const struct settings_program *section,
                              bool is_python, struct buf *b)
{
    char bindir[PATH_MAX];

    if (section && !is_python) {
        template_add_sh(b, "test -x %s", section->script);
    } else if (section) {
        script_values_add_python(b, section->python);
        buf_add(b, " --version");
    } else {
        bool own = !*w->site.trainer && paths_bindir(bindir, sizeof bindir) == 0;
        template_quote_sh(b, own ? bindir : w->site.trainer);
        buf_addf(b, "%s --version", own ? "/unet-train" : "");
    }
    buf_add(b, " 2>&1");
}

static bool check_pyxis(const struct workspace *w, struct findings *f)
{
    bool has = sbatch_help_find("container-image", w->site.sandbox) != SBATCH_HELP_NONE;

    findings_add(f, has ? FINDING_OK : FINDING_ERROR, "container", has
                 ? "%s: not started here; 'unetctl doctor --gpus 1' starts unetctl in it"
                 : "%s: Slurm has no Pyxis here (no --container-image in the help of sbatch)",
                 w->study.container);
    if (!has)
        findings_remedy(f, "choose another container_runtime in %s", w->study.file);
    return false;
}

/* Starts the container here. Returns whether that worked. */
static bool check_container(const struct workspace *w, const struct settings_program *section,
                            bool is_python, struct findings *f)
{
    static const char own[] = "unetctl: error: container "; /* of templates/container.sh */
    bool on_nodes = strcmp(w->scheduler, "slurm") == 0 && !w->site.sandbox;
    char said[4096];
    struct buf text = {0};
    struct err e;

    if (container_check(w, &e)) {
        findings_add(f, FINDING_ERROR, "container", "%s", e.text);
        findings_remedy(f, "set container and container_runtime in %s", w->study.file);
        return false;
    }
    if (container_is_pyxis(w))
        return check_pyxis(w, f);
    add_start(w, section, &text);
    add_first_program(w, section, is_python, &text);
    int code = run(&text, said, sizeof said);
    said[strcspn(said, "\n")] = 0;
    if (code == 0) {
        findings_add(f, FINDING_OK, "container", "%s starts%s%s", w->study.container,
                     *said ? ": " : "", said);
        return true;
    }
    enum finding_level level = code == ERR_PEER && on_nodes ? FINDING_WARNING : FINDING_ERROR;
    if (strncmp(said, own, strlen(own)) == 0)
        findings_add(f, level, "container", "%.400s", said + strlen(own));
    else
        findings_add(f, level, "container", "%s: %s does not start: %.400s", w->study.container,
                     !section ? "unet-train" : is_python ? section->python : section->script,
                     *said ? said : "it does not exist, or is not executable");
    findings_remedy(f, "correct container, container_runtime or the program in %s; 'unetctl doctor "
                    "--gpus 1' starts the container on a node", w->study.file);
    return false;
}

static void add_finding(const struct workspace *w, const char *python, const char *script,
                        const char *said, struct findings *f)
{
    const char *word = strchr(said, ' ') ? strchr(said, ' ') + 1 : "", *engine = w->study.engine;

    if (strncmp(said, "ok ", 3) == 0) {
        findings_add(f, FINDING_OK, "python", "%s (%.*s) has the modules that %s imports", python,
                     (int)strcspn(word, " "), word, script);
    } else if (strncmp(said, "missing ", 8) == 0) {
        findings_add(f, FINDING_ERROR, "python", "%s: %s has no module '%s'", script, python, word);
        findings_remedy(f, "type '%s -m pip install %s' (the package's name may differ), or choose "
                        "another interpreter with %s.python, or lines for %s.setup in %s", python,
                        word, engine, engine, w->study.file);
    } else if (strncmp(said, "fails ", 6) == 0) {
        findings_add(f, FINDING_WARNING, "python", "%s: importing %.400s", script, word);
        findings_remedy(f, "type '%s -c \"import %.*s\"' on a node: a library may exist only there",
                        python, (int)strcspn(word, " "), word);
    } else if (strncmp(said, "script ", 7) == 0) {
        findings_add(f, FINDING_ERROR, "python", "%s: %.400s", script, word);
        findings_remedy(f, "correct the script, or set %s.script in %s", engine, w->study.file);
    } else {
        findings_add(f, FINDING_ERROR, "python", "the interpreter %s does not start, or did not "
                     "end within 120 s", python);
        findings_remedy(f, "set %s.python in %s, or load it in %s.setup", engine, w->study.file,
                        engine);
    }
}

void imports_check(const struct workspace *w, struct findings *f)
{
    const struct settings_program *section = study_engine(&w->study, w->study.engine);
    struct err e;
    const struct engine *engine = engine_find(w->study.engine, &e);
    char shipped[PATH_MAX], said[4096];
    struct buf text = {0};

    if (container_is_set(w) && engine && !check_container(w, section, engine->is_python, f))
        return;
    if (!section || !engine || !engine->is_python || (!*section->script && !engine->script))
        return;
    if (workspace_check_shipped(w, &e)) {
        findings_add(f, FINDING_ERROR, "script", "%s", e.text);
        findings_remedy(f, "set model.batch_norm: local in %s", w->study.file);
    }
    const char *script = section->script;
    if (!*script && paths_data(engine->script, shipped, sizeof shipped, &e) == 0)
        script = shipped;
    if (!strstr(section->python, "python")) {
        findings_add(f, FINDING_OK, "python", "not checked: '%s' starts the script",
                     section->python);
        return;
    }
    add_start(w, section, &text);
    add_imports(section, script, &text);
    run(&text, said, sizeof said);
    add_finding(w, section->python, script, said, f);
}
