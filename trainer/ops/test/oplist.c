/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/ops/test/oplist.h"

#include "trainer/backends/backends.h"

static bool has_kernel(const struct kernel *const *kernels, const struct kernel *kernel)
{
    for (; kernels && *kernels; kernels++)
        if (*kernels == kernel)
            return true;
    return false;
}

const struct backend *oplist_owner(const struct kernel *kernel)
{
    for (size_t i = 0; kernel && backends[i]; i++)
        if (has_kernel(backends[i]->kernels, kernel))
            return backends[i];
    return NULL;
}

struct cell {
    const struct backend *owners[8];
    size_t n;
};

static void add_owner(struct cell *cell, const struct backend *owner)
{
    for (size_t i = 0; i < cell->n; i++)
        if (cell->owners[i] == owner)
            return;
    cell->owners[cell->n++] = owner;
}

/* Returns the backends whose kernels compute ops of this kind for the backend. */
static struct cell owners(const struct backend *backend, const struct op_kind *kind,
                          struct graph *const *graphs, size_t n)
{
    struct cell cell = {.n = 0};

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < graphs[i]->nops; k++)
            if (graphs[i]->ops[k]->kind == kind)
                add_owner(&cell, oplist_owner(backend_kernel(backend, graphs[i]->ops[k])));
    return cell;
}

static void print_cell(const struct cell *cell, FILE *out)
{
    char text[64] = "";

    for (size_t i = 0; i < cell->n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? "," : "",
                 cell->owners[i] ? cell->owners[i]->name : "-");
    fprintf(out, " %-16s", text);
}

void oplist_list(const struct test_case *cases, size_t n, FILE *out)
{
    struct graph **graphs = calloc(n, sizeof(struct graph *));

    for (size_t i = 0; graphs && i < n; i++)
        graphs[i] = rig_graph(&cases[i]);
    fprintf(out, "%-28s dtype", "op");
    for (size_t b = 0; backends[b]; b++)
        fprintf(out, " %-16s", backends[b]->name);
    fputc('\n', out);
    for (size_t k = 0; graphs && op_kinds[k]; k++) {
        if (op_kinds[k] == &cast_kind)
            continue; /* a cast never has floats only */
        fprintf(out, "%-28s f32  ", op_kinds[k]->name);
        for (size_t b = 0; backends[b]; b++) {
            struct cell cell = owners(backends[b], op_kinds[k], graphs, n);

            print_cell(&cell, out);
        }
        fputc('\n', out);
    }
    for (size_t i = 0; graphs && i < n; i++)
        graph_destroy(graphs[i]);
    free(graphs);
}
