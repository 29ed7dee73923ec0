/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads PTX as nvcc writes it: statements are decoded once, into insns. What is not understood is
 * an error with its line; nothing is skipped but comments, .version, .target, .address_size,
 * .pragma and what .align says. */
#include "config.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "t/ptx/machine.h"

#define MAX_NAME 160
#define MAX_ARGUMENTS 4
#define MAX_PARTS 8

enum what { REGISTER, REGISTERS, SHARED_VARIABLE, PARAMETER, LABEL };

struct symbol {
    enum what what;
    char name[MAX_NAME];
    unsigned n;            /* REGISTERS: how many; LABEL: its instruction */
    struct operand first;  /* of registers */
    size_t nbytes;         /* of a variable */
    uint64_t address;
    bool placed;
};

struct function {
    char name[MAX_NAME];
    unsigned first, nparams;
    struct operand param[MAX_ARGUMENTS], result, back;
    bool defined;
};

struct reader {
    struct ptx *ptx;
    const char *module;
    char *at;
    unsigned line, depth;
    struct symbol *symbols; /* of the module, then of the function that is read */
    unsigned nsymbols, nmodule, room;
    struct function function[MAX_ARGUMENTS];
    unsigned nfunctions;
    uint32_t function_bytes;
    struct kernel *kernel;     /* that is read, or */
    struct function *callable; /* this */
    unsigned first;
    char *why;
    jmp_buf failed;
};

__attribute__((noreturn, format(printf, 2, 3))) static void bad(struct reader *r, const char *fmt,
                                                               ...)
{
    va_list ap;
    int n = snprintf(r->why, PTX_WHY, "%s:%u: ", r->module, r->line);

    va_start(ap, fmt);
    vsnprintf(r->why + n, PTX_WHY - (size_t)n, fmt, ap);
    va_end(ap);
    longjmp(r->failed, 1);
}

static void *grow(struct reader *r, void *old, unsigned *room, unsigned n, size_t size)
{
    if (n < *room)
        return old;
    *room = *room ? 2 * *room : 256;
    void *p = realloc(old, *room * size);
    if (!p)
        bad(r, "out of memory");
    return p;
}

/* ---- text */

static void skip_space(struct reader *r)
{
    for (;; r->at++) {
        if (r->at[0] == '/' && r->at[1] == '/')
            r->at += strcspn(r->at, "\n");
        if (*r->at == '\n')
            r->line++;
        else if (!isspace((unsigned char)*r->at))
            return;
    }
}

static bool is_next(struct reader *r, const char *word)
{
    size_t n = strlen(word);

    skip_space(r);
    if (strncmp(r->at, word, n) != 0)
        return false;
    bool longer = isalnum((unsigned char)r->at[n]) || r->at[n] == '_';
    if (isalnum((unsigned char)word[n - 1]) && longer)
        return false;
    r->at += n;
    return true;
}

static void expect(struct reader *r, const char *word)
{
    if (!is_next(r, word))
        bad(r, "expected '%s' at '%.30s'", word, r->at);
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || strchr("_$%", c);
}

static void take_name(struct reader *r, char name[MAX_NAME])
{
    size_t n = 0;

    skip_space(r);
    while (r->at[n] && is_name(r->at[n]))
        n++;
    if (n == 0 || n >= MAX_NAME)
        bad(r, "expected a name at '%.30s'", r->at);
    memcpy(name, r->at, n);
    name[n] = '\0';
    r->at += n;
}

static unsigned long take_number(struct reader *r)
{
    char *end;

    skip_space(r);
    unsigned long v = strtoul(r->at, &end, 0);
    if (end == r->at)
        bad(r, "expected a number at '%.30s'", r->at);
    r->at = end;
    return v;
}

static unsigned type_bytes(struct reader *r, const char *type)
{
    unsigned bits = (unsigned)strtoul(type + 1, NULL, 10);

    if (strcmp(type, "pred") == 0)
        return 4;
    if (!*type || !strchr("bsuf", *type) || (bits != 8 && bits != 16 && bits != 32 && bits != 64))
        bad(r, "unknown type '%s'", type);
    return bits / 8;
}

static unsigned take_type(struct reader *r)
{
    char name[MAX_NAME];

    expect(r, ".");
    take_name(r, name);
    return type_bytes(r, name);
}

/* ---- symbols */

static struct symbol *add_symbol(struct reader *r, enum what what, const char *name)
{
    r->symbols = grow(r, r->symbols, &r->room, r->nsymbols, sizeof *r->symbols);
    struct symbol *s = &r->symbols[r->nsymbols++];
    *s = (struct symbol){.what = what};
    snprintf(s->name, sizeof s->name, "%s", name);
    return s;
}

/* The newest one of a name, as blocks may declare one again. */
static struct symbol *find_symbol(struct reader *r, const char *name)
{
    for (unsigned i = r->nsymbols; i > 0; i--)
        if (strcmp(r->symbols[i - 1].name, name) == 0)
            return &r->symbols[i - 1];
    return NULL;
}

static struct operand new_registers(struct reader *r, unsigned nbytes, unsigned n)
{
    uint32_t *end = r->kernel ? &r->kernel->register_bytes : &r->function_bytes;
    struct operand o = {.offset = *end, .nbytes = (uint8_t)nbytes};

    *end += n * nbytes * LANES;
    if (!r->kernel && *end > FUNCTION_BYTES)
        bad(r, "functions with more registers than fit");
    return o;
}

static bool find_register(struct reader *r, const char *name, struct operand *o)
{
    char prefix[MAX_NAME];
    size_t n = strlen(name);
    const struct symbol *s = find_symbol(r, name);

    if (s && s->what == REGISTER) {
        *o = s->first;
        return true;
    }
    while (n > 0 && isdigit((unsigned char)name[n - 1]))
        n--;
    unsigned number = (unsigned)strtoul(name + n, NULL, 10);
    memcpy(prefix, name, n);
    prefix[n] = '\0';
    s = find_symbol(r, prefix);
    if (!s || s->what != REGISTERS || number >= s->n)
        return false;
    *o = s->first;
    o->offset += number * o->nbytes * LANES;
    return true;
}

static bool find_special(const char *name, struct operand *o)
{
    static const char *const names[] = {"%tid.x", "%ntid.x", "%ctaid.x", "%nctaid.x"};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *o = (struct operand){.offset = FUNCTION_BYTES + i * 4 * LANES, .nbytes = 4};
            return true;
        }
    return false;
}

/* ---- operands */

static struct operand immediate(struct reader *r, uint64_t value, unsigned nbytes)
{
    struct operand o = {.nbytes = (uint8_t)nbytes, .fixed = malloc((size_t)LANES * nbytes)};

    if (!o.fixed)
        bad(r, "out of memory");
    for (unsigned l = 0; l < LANES; l++)
        memcpy((char *)o.fixed + (size_t)l * nbytes, &value, nbytes);
    return o;
}

static bool is_literal(const char *text, uint64_t *value)
{
    char *end;

    if (text[0] == '0' && (text[1] == 'f' || text[1] == 'd'))
        *value = strtoull(text + 2, &end, 16);
    else if (text[0] == '-')
        *value = (uint64_t)strtoll(text, &end, 0);
    else
        *value = strtoull(text, &end, 0);
    return end > text && *end == '\0';
}

/* Static shared memory is laid out as a kernel comes to use it. A kernel with that of the launch
 * cannot have any. */
static uint64_t variable_address(struct reader *r, struct symbol *s)
{
    if (s->what == PARAMETER)
        return PARAM_WINDOW;
    if (s->what != SHARED_VARIABLE || !r->kernel)
        bad(r, "'%s' has no address here", s->name);
    if (s->nbytes == 0)
        r->kernel->dynamic = true;
    if (r->kernel->dynamic && (s->nbytes || r->kernel->nstatic))
        bad(r, "'%s': static and dynamic shared memory in one kernel are not supported", s->name);
    if (!s->placed && s->nbytes) {
        s->address = SHARED_BASE + r->kernel->nstatic;
        r->kernel->nstatic += (s->nbytes + 15) / 16 * 16;
    }
    s->placed = true;
    return s->nbytes ? s->address : SHARED_BASE;
}

/* nbytes: what the instruction wants; 0: any register. */
static struct operand parse_operand(struct reader *r, const char *text, unsigned nbytes)
{
    struct operand o;
    uint64_t value;

    if (find_register(r, text, &o) || find_special(text, &o)) {
        if (nbytes && o.nbytes != nbytes)
            bad(r, "'%s' has %u bytes, the instruction wants %u", text, o.nbytes, nbytes);
        return o;
    }
    if (is_literal(text, &value))
        return immediate(r, value, nbytes ? nbytes : 4);
    struct symbol *s = find_symbol(r, text);
    if (!s || s->what == LABEL)
        bad(r, "unknown operand '%s'", text);
    return immediate(r, variable_address(r, s), nbytes ? nbytes : 8);
}

static struct operand parse_result(struct reader *r, const char *text, unsigned nbytes)
{
    struct operand o = parse_operand(r, text, nbytes);

    if (o.fixed)
        bad(r, "the result '%s' is not a register", text);
    return o;
}

/* Of an access of nbytes, any register that holds as many. */
static struct operand parse_value(struct reader *r, const char *text, unsigned nbytes)
{
    uint64_t value;
    unsigned of_literal = nbytes < 2 ? 2 : nbytes;
    struct operand o = parse_operand(r, text, is_literal(text, &value) ? of_literal : 0);

    if (o.nbytes < nbytes)
        bad(r, "'%s' has fewer than %u bytes", text, nbytes);
    return o;
}

/* Splits text at the commas outside of brackets into parts without spaces around them. Returns how
 * many. */
static unsigned split(struct reader *r, char *text, char *parts[], unsigned room)
{
    unsigned n = 0, depth = 0;
    char *part = text;

    for (char *c = text;; c++) {
        depth += strchr("[{(", *c) && *c;
        depth -= strchr("]})", *c) && *c;
        if (*c && (*c != ',' || depth))
            continue;
        char last = *c;
        *c = '\0';
        while (isspace((unsigned char)*part))
            part++;
        for (char *end = part + strlen(part); end > part && isspace((unsigned char)end[-1]);)
            *--end = '\0';
        if (*part || last || n) {
            if (n == room)
                bad(r, "more than %u operands", room);
            parts[n++] = part;
        }
        if (!last)
            return n;
        part = c + 1;
    }
}

static char *inside(struct reader *r, char *text, const char *brackets)
{
    size_t n = strlen(text);

    if (n < 2 || text[0] != brackets[0] || text[n - 1] != brackets[1])
        bad(r, "expected %s around '%s'", brackets, text);
    text[n - 1] = '\0';
    return text + 1;
}

static struct operand parse_address(struct reader *r, char *text, int64_t *displacement)
{
    char *base = inside(r, text, "[]"), *plus = strchr(base, '+');

    *displacement = 0;
    if (plus) {
        *displacement = strtoll(plus + 1, NULL, 0);
        *plus = '\0';
    }
    return parse_operand(r, base, 0);
}

static void parse_vector(struct reader *r, struct insn *i, char *text, unsigned n, unsigned nbytes,
                         bool result)
{
    char *part[MAX_PARTS];

    if (split(r, inside(r, text, "{}"), part, MAX_PARTS) != n)
        bad(r, "expected %u registers", n);
    for (unsigned k = 0; k < n; k++)
        i->operand[i->noperands++] = result ? parse_result(r, part[k], nbytes)
                                            : parse_operand(r, part[k], nbytes);
}

/* ---- instructions */

static struct insn *add_insn(struct reader *r)
{
    r->ptx->code = grow(r, r->ptx->code, &r->ptx->room, r->ptx->ncode, sizeof *r->ptx->code);
    struct insn *i = &r->ptx->code[r->ptx->ncode++];
    *i = (struct insn){.line = r->line};
    return i;
}

static void need(struct reader *r, bool met, const struct insn *i)
{
    if (!met)
        bad(r, "unknown form of instruction '%s'", i->text);
}

static void parse_arithmetic(struct reader *r, struct insn *i, char *part[], unsigned n)
{
    unsigned nsources = 0, nbytes[5];

    i->run = find_form(i->form, &nsources, nbytes);
    need(r, i->run && n == nsources + 1, i);
    i->kind = ARITHMETIC;
    i->operand[0] = parse_result(r, part[0], nbytes[0]);
    for (unsigned k = 1; k <= nsources; k++)
        i->operand[k] = parse_operand(r, part[k], nbytes[k]);
    i->noperands = n;
}

/* mov.b32 or .b64 between a register and its two halves. */
static void parse_halves(struct reader *r, struct insn *i, char *part[], unsigned n)
{
    unsigned nbytes = type_bytes(r, i->form + strlen("mov."));

    need(r, n == 2 && nbytes >= 4, i);
    i->kind = part[0][0] == '{' ? UNPACK : PACK;
    i->nbytes = nbytes / 2;
    if (i->kind == UNPACK) {
        parse_vector(r, i, part[0], 2, nbytes / 2, true);
        i->operand[i->noperands++] = parse_operand(r, part[1], nbytes);
    } else {
        i->operand[i->noperands++] = parse_result(r, part[0], nbytes);
        parse_vector(r, i, part[1], 2, nbytes / 2, false);
    }
}

static void add_move(struct reader *r, struct operand to, struct operand from)
{
    unsigned nsources, nbytes[5];
    struct insn *i = add_insn(r);

    i->form = "call.uni";
    i->text = strdup("a parameter of a function");
    i->run = find_form(to.nbytes == 8 ? "mov.b64" : "mov.b32", &nsources, nbytes);
    i->operand[0] = to;
    i->operand[1] = from;
    i->noperands = 2;
    if (to.nbytes != from.nbytes || to.nbytes < 4)
        bad(r, "a parameter of a function has %u bytes, not %u", from.nbytes, to.nbytes);
}

/* ld and st of a function's parameter, which is a register here. */
static bool parse_parameter(struct reader *r, struct insn *i, char *address, char *value,
                            bool load)
{
    char name[MAX_NAME];
    struct operand o;
    size_t n = strcspn(address + 1, "+]");

    snprintf(name, sizeof name, "%.*s", (int)n, address + 1);
    const struct symbol *s = find_symbol(r, name);
    if (!s || s->what != REGISTER || name[0] == '%')
        return false;
    o = s->first;
    need(r, !strchr(address, '+') || strstr(address, "+0]"), i);
    i->kind = ARITHMETIC;
    unsigned nsources, nbytes[5];
    i->run = find_form(o.nbytes == 8 ? "mov.b64" : "mov.b32", &nsources, nbytes);
    need(r, o.nbytes >= 4, i);
    i->operand[0] = load ? parse_result(r, value, o.nbytes) : o;
    i->operand[1] = load ? o : parse_operand(r, value, o.nbytes);
    i->noperands = 2;
    return true;
}

/* ld|st[.global|.shared|.param][.v2|.v4].TYPE */
static void parse_access(struct reader *r, struct insn *i, char *part[], unsigned n)
{
    static const char *const spaces[] = {"", "global", "shared", "param"};
    bool load = i->form[0] == 'l';
    char copy[MAX_NAME], *word, *state;
    unsigned nwords = 0;

    i->kind = load ? LOAD : STORE;
    i->nvector = 1;
    need(r, n == 2, i);
    snprintf(copy, sizeof copy, "%s", i->form + 3);
    for (word = strtok_r(copy, ".", &state); word; word = strtok_r(NULL, ".", &state), nwords++) {
        unsigned space = 1;
        while (space < 4 && strcmp(word, spaces[space]) != 0)
            space++;
        need(r, !i->nbytes, i);
        if (nwords == 0 && space < 4)
            i->space = (enum space)space;
        else if (word[0] == 'v' && (word[1] == '2' || word[1] == '4') && !word[2])
            i->nvector = (unsigned)(word[1] - '0');
        else
{
            i->nbytes = type_bytes(r, word);
            i->is_signed = word[0] == 's';
        }
    }
    need(r, i->nbytes, i);
    char *address = part[load], *value = part[!load];
    if (i->space == PARAM && parse_parameter(r, i, address, value, load))
        return;
    need(r, load || i->space != PARAM, i);
    i->operand[i->noperands++] = parse_address(r, address, &i->displacement);
    char *element[4] = {value};
    if (i->nvector > 1 && split(r, inside(r, value, "{}"), element, 4) != i->nvector)
        bad(r, "expected %u registers", i->nvector);
    for (unsigned k = 0; k < i->nvector; k++) {
        i->operand[i->noperands] = parse_value(r, element[k], i->nbytes);
        need(r, !load || !i->operand[i->noperands].fixed, i);
        i->noperands++;
    }
}

/* Sums without a result ("red"), too. */
static bool is_atomic(const char *form)
{
    static const char *const sums[] = {"add.u32", "add.u64", "global.add.u32", "global.add.u64",
                                       "shared.add.u32"};
    const char *sum = strncmp(form, "atom.", 5) == 0  ? form + 5
                      : strncmp(form, "red.", 4) == 0 ? form + 4
                                                      : "";

    for (size_t k = 0; k < sizeof sums / sizeof *sums; k++)
        if (strcmp(sum, sums[k]) == 0)
            return true;
    return false;
}

static void parse_atomic(struct reader *r, struct insn *i, char *part[], unsigned n)
{
    bool wide = strstr(i->form, ".u64"), returns = i->form[0] == 'a';

    need(r, n == (returns ? 3 : 2), i);
    i->kind = ATOMIC_ADD;
    i->space = strstr(i->form, ".shared") ? SHARED : strstr(i->form, ".global") ? GLOBAL : GENERIC;
    i->nbytes = wide ? 8 : 4;
    i->nvector = 1;
    i->operand[0] = parse_address(r, part[n - 2], &i->displacement);
    i->operand[1] = parse_operand(r, part[n - 1], i->nbytes);
    if (returns)
        i->operand[2] = parse_result(r, part[0], i->nbytes);
    i->noperands = n;
}

static void parse_copy(struct reader *r, struct insn *i, char *part[], unsigned n)
{
    int64_t unused = 0;

    need(r, n == 4 && strcmp(part[2], "16") == 0, i);
    i->kind = COPY;
    i->nbytes = 16;
    i->nvector = 1;
    i->operand[0] = parse_address(r, part[0], &i->displacement);
    i->operand[1] = parse_address(r, part[1], &unused);
    i->operand[2] = parse_operand(r, part[3], 4);
    i->noperands = 3;
    need(r, unused == 0 && i->operand[0].nbytes == 4 && i->operand[1].nbytes == 8, i);
}

static void parse_branch(struct reader *r, struct insn *i, char *part[], unsigned n)
{
    need(r, n == 1, i);
    i->kind = BRANCH;
    struct symbol *s = find_symbol(r, part[0]);
    if (!s) {
        s = add_symbol(r, LABEL, part[0]);
        s->n = ALL_LANES; /* not yet seen */
    }
    i->target = (unsigned)(s - r->symbols); /* the symbol, until the function ends */
}

static void parse_matrix(struct reader *r, struct insn *i, char *part[], unsigned n)
{
    if (strncmp(i->form, "mma.", 4) == 0) {
        need(r, n == 4, i);
        i->kind = MULTIPLY;
        parse_vector(r, i, part[0], 4, 4, true);
        parse_vector(r, i, part[1], 4, 4, false);
        parse_vector(r, i, part[2], 2, 4, false);
        parse_vector(r, i, part[3], 4, 4, false);
        return;
    }
    need(r, n == 2, i);
    i->kind = LOAD_MATRIX;
    i->transposed = strstr(i->form, ".trans.");
    parse_vector(r, i, part[0], 4, 4, true);
    i->operand[i->noperands++] = parse_address(r, part[1], &i->displacement);
    need(r, i->operand[4].nbytes == 4, i);
}

static struct function *find_function(struct reader *r, const char *name)
{
    for (unsigned k = 0; k < r->nfunctions; k++)
        if (strcmp(r->function[k].name, name) == 0)
            return &r->function[k];
    return NULL;
}

/* call.uni (result), function, (arguments): registers are moved around the jump. */
static void parse_call(struct reader *r, struct insn *i, char *part[], unsigned n)
{
    char *argument[MAX_ARGUMENTS];
    struct insn call = *i;

    need(r, n == 3 && !i->guarded, i);
    struct function *f = find_function(r, part[1]);
    if (!f)
        bad(r, "unknown function '%s'", part[1]);
    r->ptx->ncode--;
    if (split(r, inside(r, part[2], "()"), argument, MAX_ARGUMENTS) != f->nparams)
        bad(r, "expected %u arguments", f->nparams);
    for (unsigned k = 0; k < f->nparams; k++)
        add_move(r, f->param[k], parse_operand(r, argument[k], f->param[k].nbytes));
    i = add_insn(r);
    *i = call;
    i->kind = CALL;
    i->target = (unsigned)(f - r->function);
    i->operand[0] = f->back;
    i->noperands = 1;
    struct operand result = parse_result(r, inside(r, part[0], "()"), f->result.nbytes);
    add_move(r, result, f->result);
}

static void parse_simple(struct reader *r, struct insn *i, enum kind kind, bool met)
{
    need(r, met, i);
    i->kind = kind;
}

#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#define LDMATRIX "ldmatrix.sync.aligned.m8n8.x4."

static void parse_operands(struct reader *r, struct insn *i, char *text)
{
    char *part[MAX_OPERANDS];
    const char *form = i->form;
    unsigned n = split(r, text, part, MAX_OPERANDS);

    if (strcmp(form, "bra") == 0 || strcmp(form, "bra.uni") == 0)
        parse_branch(r, i, part, n);
    else if (strcmp(form, "ret") == 0)
        parse_simple(r, i, RETURN, n == 0);
    else if (strcmp(form, "trap") == 0)
        parse_simple(r, i, TRAP, n == 0);
    else if (strcmp(form, "bar.sync") == 0)
        parse_simple(r, i, BARRIER, n == 1 && strcmp(part[0], "0") == 0);
    else if (strcmp(form, "bar.warp.sync") == 0)
        parse_simple(r, i, WARP_BARRIER, n == 1 && strcmp(part[0], "-1") == 0);
    else if (strcmp(form, "cp.async.wait_all") == 0)
        parse_simple(r, i, COPY_WAIT, n == 0);
    else if (strcmp(form, "cp.async.cg.shared.global") == 0)
        parse_copy(r, i, part, n);
    else if (strcmp(form, MMA) == 0 || strcmp(form, LDMATRIX "shared.b16") == 0 ||
             strcmp(form, LDMATRIX "trans.shared.b16") == 0)
        parse_matrix(r, i, part, n);
    else if (strcmp(form, "call.uni") == 0)
        parse_call(r, i, part, n);
    else if (is_atomic(form))
        parse_atomic(r, i, part, n);
    else if (strncmp(form, "ld.", 3) == 0 || strncmp(form, "st.", 3) == 0)
        parse_access(r, i, part, n);
    else if ((strcmp(form, "mov.b32") == 0 || strcmp(form, "mov.b64") == 0) && n == 2 &&
             (part[0][0] == '{' || part[1][0] == '{'))
        parse_halves(r, i, part, n);
    else
        parse_arithmetic(r, i, part, n);
}

static void parse_insn(struct reader *r)
{
    char *end = r->at + strcspn(r->at, ";"), *text = strndup(r->at, (size_t)(end - r->at));
    struct insn *i = add_insn(r);

    i->text = text;
    if (!text)
        bad(r, "out of memory");
    if (!*end)
        bad(r, "the text ends within a statement");
    r->at = end + 1;
    for (char *c = text; *c; c++)
        if (isspace((unsigned char)*c)) {
            r->line += *c == '\n';
            *c = ' ';
        }
    char *word = i->words = strdup(text);
    if (!word)
        bad(r, "out of memory");
    if (word[0] == '@') {
        size_t n = strcspn(word, " ");
        word[n] = '\0';
        i->guarded = true;
        i->negated = word[1] == '!';
        i->guard = parse_operand(r, word + 1 + i->negated, 4);
        word += n + 1 + strspn(word + n + 1, " ");
    }
    size_t n = strcspn(word, " ");
    bool more = word[n];
    word[n] = '\0';
    i->form = word;
    parse_operands(r, i, more ? word + n + 1 : word + n);
}

/* ---- declarations */

/* .reg .TYPE NAME; or NAME<COUNT>; a function's .param in a body is a register, too. */
static void parse_reg(struct reader *r)
{
    char name[MAX_NAME];
    unsigned nbytes = take_type(r);

    take_name(r, name);
    if (is_next(r, "<")) {
        unsigned n = (unsigned)take_number(r);
        struct symbol *s = add_symbol(r, REGISTERS, name);
        s->n = n;
        s->first = new_registers(r, nbytes < 2 ? 2 : nbytes, n);
        expect(r, ">");
    } else {
        struct symbol *s = add_symbol(r, REGISTER, name);
        s->first = new_registers(r, nbytes < 2 ? 2 : nbytes, 1);
    }
    expect(r, ";");
}

/* [.align N] .TYPE NAME[N] */
static size_t parse_variable(struct reader *r, char name[MAX_NAME])
{
    size_t n = 1;

    if (is_next(r, ".align"))
        take_number(r);
    unsigned nbytes = take_type(r);
    take_name(r, name);
    if (is_next(r, "[")) {
        skip_space(r);
        n = *r->at == ']' ? 0 : take_number(r);
        expect(r, "]");
    }
    return n * nbytes;
}

static void parse_shared(struct reader *r)
{
    char name[MAX_NAME];
    size_t nbytes = parse_variable(r, name);
    struct symbol *s = add_symbol(r, SHARED_VARIABLE, name);

    s->nbytes = nbytes;
    expect(r, ";");
}

static char *name_in_c(struct reader *r, const char *mangled)
{
    const char *at = strncmp(mangled, "_ZL", 3) == 0 ? mangled + 3 : mangled + 2;
    char *name;

    if (strncmp(mangled, "_Z", 2) != 0 || !isdigit((unsigned char)*at))
        return strdup(mangled);
    size_t n = strtoul(at, &name, 10);
    if (n > strlen(name))
        bad(r, "'%s' is not a mangled name", mangled);
    return strndup(name, n);
}

static void parse_entry(struct reader *r)
{
    char name[MAX_NAME], param[MAX_NAME];

    take_name(r, name);
    struct kernel *all = realloc(r->ptx->kernels, (r->ptx->nkernels + 1) * sizeof *all);
    if (!all)
        bad(r, "out of memory");
    r->ptx->kernels = all;
    struct kernel *k = r->kernel = &all[r->ptx->nkernels++];
    *k = (struct kernel){.name = name_in_c(r, name), .first = r->ptx->ncode,
                         .register_bytes = FUNCTION_BYTES + 4 * 4 * LANES};
    for (unsigned n = 0; n < r->nsymbols; n++)
        r->symbols[n].placed = false; /* each kernel has a layout of its own */
    expect(r, "(");
    if (is_next(r, ".param")) {
        size_t nbytes = parse_variable(r, param);
        struct symbol *s = add_symbol(r, PARAMETER, param);
        s->nbytes = k->nparams = nbytes;
    }
    expect(r, ")");
    for (;;) {
        if (is_next(r, ".maxntid")) {
            k->nthreads_max = (unsigned)take_number(r);
            (void)is_next(r, ", 1, 1"); /* which nvcc leaves out for sm_100 */
        } else if (is_next(r, ".minnctapersm"))
            k->nblocks_min = (unsigned)take_number(r);
        else
            break;
    }
    expect(r, "{");
    r->depth = 1;
}

static struct operand parse_function_param(struct reader *r)
{
    char name[MAX_NAME];

    expect(r, ".param");
    unsigned nbytes = take_type(r);
    take_name(r, name);
    struct symbol *s = add_symbol(r, REGISTER, name);
    s->first = new_registers(r, nbytes, 1);
    return s->first;
}

/* .func (.param .TYPE RESULT) NAME (.param .TYPE NAME, ...) and ; or a body. The body comes last
 * and may name its parameters otherwise: calls are bound at the module's end. */
static void parse_function(struct reader *r)
{
    char name[MAX_NAME];
    struct function f = {.nparams = 0};

    expect(r, "(");
    f.result = parse_function_param(r);
    expect(r, ")");
    take_name(r, name);
    expect(r, "(");
    do {
        if (f.nparams == MAX_ARGUMENTS)
            bad(r, "more than %d parameters", MAX_ARGUMENTS);
        f.param[f.nparams++] = parse_function_param(r);
    } while (is_next(r, ","));
    expect(r, ")");
    f.back = new_registers(r, 4, 1);
    snprintf(f.name, sizeof f.name, "%s", name);
    struct function *known = find_function(r, name);
    if (known && known->nparams != f.nparams)
        bad(r, "'%s' is declared with other parameters", name);
    if (!known && r->nfunctions == MAX_ARGUMENTS)
        bad(r, "more than %d functions", MAX_ARGUMENTS);
    if (!known) {
        known = &r->function[r->nfunctions++];
        *known = f;
    }
    if (is_next(r, ";")) {
        r->nsymbols = r->nmodule;
        return;
    }
    /* The names stand for the registers that callers already use. */
    for (unsigned k = 0; k <= f.nparams; k++)
        r->symbols[r->nsymbols - 1 - k].first = k < f.nparams ? known->param[f.nparams - 1 - k]
                                                              : known->result;
    r->callable = known;
    known->first = r->ptx->ncode;
    known->defined = true;
    expect(r, "{");
    r->depth = 1;
}

/* ---- bodies and modules */

static void end_body(struct reader *r)
{
    for (unsigned k = r->kernel ? r->kernel->first : r->callable->first; k < r->ptx->ncode; k++) {
        struct insn *i = &r->ptx->code[k];
        if (i->kind == RETURN && r->callable) {
            i->operand[0] = r->callable->back;
            i->noperands = 1;
        }
        if (i->kind != BRANCH)
            continue;
        const struct symbol *s = &r->symbols[i->target];
        if (s->n == ALL_LANES)
            bad(r, "a branch to '%s', which is not there", s->name);
        i->target = s->n;
    }
    if (r->kernel)
        r->kernel->last = r->ptx->ncode;
    if (r->ptx->ncode == 0 || (r->ptx->code[r->ptx->ncode - 1].kind != RETURN &&
                               r->ptx->code[r->ptx->ncode - 1].kind != BRANCH))
        bad(r, "a body without an end");
    r->kernel = NULL;
    r->callable = NULL;
    r->nsymbols = r->nmodule;
}

static bool is_label(struct reader *r)
{
    size_t n = 0;
    char name[MAX_NAME];

    while (is_name(r->at[n]) && r->at[n])
        n++;
    if (n == 0 || r->at[n] != ':')
        return false;
    take_name(r, name);
    r->at++;
    struct symbol *s = find_symbol(r, name);
    if (!s)
        s = add_symbol(r, LABEL, name);
    s->n = r->ptx->ncode;
    return true;
}

static void parse_in_body(struct reader *r)
{
    if (is_next(r, "{"))
        r->depth++;
    else if (is_next(r, "}")) {
        if (--r->depth == 0)
            end_body(r);
    } else if (is_next(r, ".pragma"))
        r->at += strcspn(r->at, ";") + 1;
    else if (is_next(r, ".reg") || is_next(r, ".param"))
        parse_reg(r);
    else if (is_next(r, ".shared"))
        parse_shared(r);
    else if (*r->at == '.')
        bad(r, "unknown directive '%.20s'", r->at);
    else if (!is_label(r))
        parse_insn(r);
}

static void parse_in_module(struct reader *r)
{
    if (is_next(r, ".version") || is_next(r, ".target") || is_next(r, ".address_size")) {
        r->at += strcspn(r->at, "\n");
        return;
    }
    bool external = is_next(r, ".extern") || is_next(r, ".visible");
    if (is_next(r, ".shared")) {
        parse_shared(r);
        r->nmodule = r->nsymbols;
    } else if (is_next(r, ".entry"))
        parse_entry(r);
    else if (!external && is_next(r, ".func"))
        parse_function(r);
    else
        bad(r, "unknown directive '%.20s'", r->at);
}

static void bind_calls(struct reader *r)
{
    for (unsigned k = r->first; k < r->ptx->ncode; k++) {
        struct insn *i = &r->ptx->code[k];
        if (i->kind != CALL)
            continue;
        const struct function *f = &r->function[i->target];
        if (!f->defined)
            bad(r, "the function '%s' has no body", f->name);
        i->target = f->first;
    }
}

bool ptx_add(struct ptx *p, const char *name, const char *text, char why[PTX_WHY])
{
    char *copy = strdup(text);
    struct reader r = {.ptx = p, .module = name, .at = copy, .line = 1, .why = why};

    r.first = p->ncode;
    if (!copy || setjmp(r.failed) != 0) {
        free(copy);
        free(r.symbols);
        return false;
    }
    for (skip_space(&r); *r.at; skip_space(&r))
        if (r.kernel || r.callable)
            parse_in_body(&r);
        else
            parse_in_module(&r);
    if (r.kernel || r.callable)
        bad(&r, "the text ends within a body");
    bind_calls(&r);
    free(copy);
    free(r.symbols);
    return true;
}
