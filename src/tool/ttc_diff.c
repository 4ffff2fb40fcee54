/* ttc_diff.c - `ttc diff A.so B.so FILE`: names the first op of a program whose value differs between two plugins.
 *
 * Every value of the (inlined) entry becomes a result of the program; both plugins run it on the same arguments, and the values are
 * compared in the order of the program. Values inside regions are not seen. */
#include "tool/ttc_device.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: ttc diff A B FILE [--arg FILE.npy]... [--rtol R] [--atol A]\n"
    "A and B are PJRT plugins; 'engine' is the embedded engine, 'reference' the same with its reference kernels.\n"
    "Default tolerance: by element type, 16 units in the last place of the largest value of an array. --rtol 0 --atol 0: bits of numbers.\n";

typedef struct options {
    const char *plugins[2], *file;
    char **args;
    int n_args, n_names;
    double rtol, atol; /* negative: by type */
} options;

static bool read_options(int argc, char **argv, options *o) {
    const char *names[3] = {NULL};
    *o = (options){.rtol = -1, .atol = -1, .args = tt_calloc((size_t)argc + 1, sizeof(char *))};
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--arg") && more)
            o->args[o->n_args++] = argv[++i];
        else if (!strcmp(argv[i], "--rtol") && more)
            o->rtol = strtod(argv[++i], NULL);
        else if (!strcmp(argv[i], "--atol") && more)
            o->atol = strtod(argv[++i], NULL);
        else if (argv[i][0] == '-' || o->n_names == 3)
            return false;
        else
            names[o->n_names++] = argv[i];
    }
    o->plugins[0] = names[0], o->plugins[1] = names[1], o->file = names[2];
    return o->n_names == 3;
}

/* Every value of the entry's block becomes a result; refs[] says which. Returns how many. */
static int expose(hlo_graph *g, hlo_ref **out_refs) {
    hlo_block *b = g->funcs[0]->body;
    int n = 0, most = b->n_nodes + b->n_results;
    for (int i = 0; i < b->n_nodes; i++)
        most += hlo_node_at(g, b->nodes[i])->n_results;
    hlo_ref *refs = TT_NEW_N(g->arena, hlo_ref, most + 1);
    for (int i = 0; i < b->n_nodes; i++) {
        const hlo_node *node = hlo_node_at(g, b->nodes[i]);
        for (uint32_t k = 0; k < node->n_results && node->op != HLO_CONSTANT; k++) {
            hlo_ref r = node->n_results > 1 ? b->nodes[i] + 1 + k : b->nodes[i];
            if (hlo_type_of(g, r)->dtype != TT_TOKEN)
                refs[n++] = r;
        }
    }
    b->results = refs;
    b->n_results = n;
    g->funcs[0]->alias = NULL;
    g->funcs[0]->donated = NULL;
    *out_refs = refs;
    return n;
}

static double epsilon_of(tt_dtype t) {
    switch ((int)tt_dtype_real(t)) {
    case TT_F64: return 0x1p-52;
    case TT_F32: return 0x1p-23;
    case TT_F16: return 0x1p-10;
    case TT_BF16: return 0x1p-7;
    }
    return tt_is_float(t) ? 0x1p-2 : 0;
}

typedef struct difference { int64_t n, first; double largest; } difference;

static double part_of(const ttc_array *x, int64_t i) {
    tt_dtype part = tt_dtype_real(x->type.dtype);
    const char *p = (const char *)x->data + i * tt_dtype_size(part);
    return tt_element_get(part, p);
}

static difference compare(const options *o, const ttc_array *a, const ttc_array *b) {
    tt_dtype t = a->type.dtype;
    int parts = tt_is_complex(t) ? 2 : 1, size = tt_dtype_size(tt_dtype_real(t));
    int64_t n = hlo_type_elements(&a->type) * parts;
    difference d = {0};
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(part_of(b, i)))
            largest = fmax(largest, fabs(part_of(b, i)));
    for (int64_t i = 0; i < n; i++) {
        double x = part_of(a, i), y = part_of(b, i), off = fabs(x - y);
        bool inexact = tt_is_float(t) || tt_is_complex(t);
        double allowed = o->rtol < 0 && o->atol < 0 ? 16 * epsilon_of(t) * largest : fmax(o->rtol, 0) * fabs(y) + fmax(o->atol, 0);
        bool same = inexact ? x == y || (isnan(x) && isnan(y)) || off <= allowed
                            : !memcmp((const char *)a->data + i * size, (const char *)b->data + i * size, (size_t)size);
        if (same)
            continue;
        if (!d.n++)
            d.first = i / parts;
        d.largest = off > d.largest || isnan(off) ? off : d.largest;
    }
    return d;
}

static void report(const hlo_graph *g, const options *o, int index, hlo_ref r, const ttc_array *a, const ttc_array *b, difference d) {
    const hlo_node *node = hlo_node_at(g, r);
    int result = 0;
    if (node->op == HLO_RESULT) {
        result = (int)hlo_attr_int(node, HLO_A_RESULT_INDEX, 0);
        node = hlo_node_at(g, node->operands[0]);
    }
    char x[96], y[96];
    ttc_element_text(x, sizeof x, a->type.dtype, a->data, d.first);
    ttc_element_text(y, sizeof y, b->type.dtype, b->data, d.first);
    printf("value %d, result %d of %s %s differs\n", index, result, hlo_op_text((hlo_op)node->op), hlo_type_print(g->arena, &a->type));
    printf("  element %lld: %s on %s, %s on %s; %lld of %lld differ, by at most %.6g\n", (long long)d.first, x, o->plugins[0], y,
           o->plugins[1], (long long)d.n, (long long)hlo_type_elements(&a->type), d.largest);
    for (uint32_t i = 0; i < node->n_operands; i++)
        printf("  operand %u: %s %s\n", i, hlo_op_text((hlo_op)hlo_node_at(g, node->operands[i])->op),
               hlo_type_print(g->arena, hlo_type_of(g, node->operands[i])));
}

static tt_status run_on(tt_arena *a, const char *plugin, const hlo_graph *g, int n_args, const ttc_array *args, ttc_array *results) {
    bool reference = !strcmp(plugin, "reference");
    tt_client *client;
    TT_TRY(tt_client_create(ttc_plugin_path(a, reference ? "engine" : plugin), 1, &client));
    tt_status error = ttc_execute(client, g, reference ? "kernels=reference" : NULL, n_args, args, results);
    tt_client_release(client);
    TT_TRY_IN(error, "on %s", plugin);
    return TT_OK;
}

static tt_status diff_graph(tt_arena *a, const options *o, hlo_graph *g, bool *out_differs) {
    hlo_ref *refs;
    int n_args;
    ttc_array *args, *results[2];
    TT_TRY(hlo_inline(g, NULL));
    ttc_prepare(g);
    int n = expose(g, &refs);
    TT_TRY(ttc_arguments(g, o->n_args, o->args, &n_args, &args));
    tt_status error = TT_OK;
    for (int i = 0; i < 2; i++) {
        results[i] = tt_calloc((size_t)n + 1, sizeof **results);
        if (!error)
            error = run_on(a, o->plugins[i], g, n_args, args, results[i]);
    }
    *out_differs = false;
    for (int i = 0; i < n && !error && !*out_differs; i++) {
        difference d = compare(o, &results[0][i], &results[1][i]);
        *out_differs = d.n > 0;
        if (*out_differs)
            report(g, o, i, refs[i], &results[0][i], &results[1][i], d);
    }
    if (!error && !*out_differs)
        printf("%d values agree\n", n);
    for (int i = 0; i < 2; i++) {
        ttc_arrays_free(n, results[i]);
        free(results[i]);
    }
    ttc_arrays_free(n_args, args);
    free(args);
    return error;
}

int ttc_diff(int argc, char **argv) {
    options o;
    if (!read_options(argc, argv, &o)) {
        fputs(usage, stderr);
        free(o.args);
        return 2;
    }
    tt_arena *a = tt_arena_create();
    char *text = NULL;
    size_t length;
    hlo_graph *g;
    bool differs = false;
    tt_status error = ttc_read_file(o.file, &text, &length);
    if (!error)
        error = hlo_parse(a, text, length, &g);
    if (!error)
        error = diff_graph(a, &o, g, &differs);
    int status = error ? ttc_fail("diff", error) : differs;
    free(text);
    free(o.args);
    tt_arena_destroy(a);
    return status;
}
