/* ttc_parallel.c - programs with interpreter.run_parallel: one of their functions runs on several devices.
 *
 * Part of `ttc check`. Such a program is three: what makes the arguments, the function on replicas x partitions
 * devices, and the checks of what came back. Each is compiled and run through the plugin as any other. */
#include "tool/ttc_device.h"
#include "base/env.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* [[@f, @f], [@f, @f]]: rows are replicas, columns partitions. */
static tt_status read_grid(const hlo_graph *g, const hlo_node *node, hlo_func **out_func, int *out_replicas, int *out_partitions) {
    const char *text = hlo_attr_text(node, HLO_A_PROGRAMS, "");
    int rows = 0, all = 0;
    *out_func = NULL;
    for (const char *p = text; *p; p++) {
        rows += *p == '[';
        if (*p != '@')
            continue;
        size_t n = strcspn(p + 1, ",] \n");
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)n, p + 1);
        hlo_func *f = hlo_func_find(g, name);
        TT_CHECK(f, NOT_FOUND, "run_parallel of @%s, which the module does not have", name);
        TT_CHECK(!*out_func || f == *out_func, UNIMPLEMENTED, "run_parallel of different functions");
        *out_func = f;
        all++;
    }
    rows--; /* the outer bracket */
    TT_CHECK(rows > 0 && all > 0 && all % rows == 0, INVALID_ARGUMENT, "run_parallel of %d programs in %d replicas", all, rows);
    *out_replicas = rows;
    *out_partitions = all / rows;
    TT_CHECK(all * (*out_func)->body->n_params == (int)node->n_operands && all * (*out_func)->body->n_results == node->n_results,
             INVALID_ARGUMENT, "run_parallel: %u arguments and %u results for %d programs", node->n_operands, node->n_results, all);
    return TT_OK;
}

static tt_status run_grid(tt_client *client, tt_executable *program, int n_devices, int n_args, const ttc_array *args, int n_results,
                          ttc_array *results) {
    size_t n_in = (size_t)n_devices * (size_t)n_args, n_out = (size_t)n_devices * (size_t)n_results;
    tt_buffer **buffers = tt_calloc(n_in + n_out + 1, sizeof *buffers), **out = buffers + n_in;
    tt_status error = TT_OK;
    for (size_t i = 0; i < n_in && !error; i++)
        error = tt_buffer_from_host(client, (int)i / n_args, args[i].type.dtype, args[i].type.rank, args[i].type.dims, args[i].data, false,
                                    &buffers[i]);
    if (!error)
        error = tt_executable_run_many(program, n_devices, n_args, buffers, out);
    for (size_t i = 0; i < n_out && !error; i++) {
        size_t bytes = (size_t)hlo_type_bytes(&results[i].type);
        results[i].data = tt_calloc(1, bytes + 16);
        error = tt_buffer_to_host(out[i], results[i].data, bytes);
    }
    for (size_t i = 0; i < n_in + n_out; i++)
        if (buffers[i])
            tt_buffer_release(buffers[i]);
    free(buffers);
    return error;
}

/* The function as a program of its own, compiled for all devices and run on them. */
static tt_status run_func(tt_client *client, hlo_graph *g, const hlo_node *node, const char *options, const ttc_array *args,
                          ttc_array *results) {
    hlo_func *f, *funcs[] = {NULL}, **all = g->funcs;
    int replicas = 0, partitions = 0, n_funcs = g->n_funcs;
    TT_TRY(read_grid(g, node, &f, &replicas, &partitions));
    hlo_func program = *f;
    program.name = "main";
    program.is_public = true;
    funcs[0] = &program;
    tt_str text = {0};
    g->funcs = funcs;
    g->n_funcs = 1;
    g->n_replicas = replicas;
    g->n_partitions = partitions;
    hlo_print(g, &text);
    g->funcs = all;
    g->n_funcs = n_funcs;
    g->n_replicas = g->n_partitions = 1;
    tt_executable *executable = NULL;
    tt_status error = tt_client_compile_many(client, replicas, partitions, text.data, text.length, options, &executable);
    tt_str_deinit(&text);
    TT_TRY(error);
    for (int i = 0; i < node->n_results; i++)
        results[i].type = *hlo_type_of(g, f->body->results[i % f->body->n_results]);
    error = run_grid(client, executable, replicas * partitions, f->body->n_params, args, f->body->n_results, results);
    tt_executable_release(executable);
    return error;
}

/* Runs the entry alone, without the other functions. */
static tt_status run_entry(tt_client *client, hlo_graph *g, const char *options, int n_args, const ttc_array *args, ttc_array *results) {
    int n_funcs = g->n_funcs;
    g->n_funcs = 1;
    tt_status error = ttc_execute(client, g, options, n_args, args, results);
    g->n_funcs = n_funcs;
    return error;
}

int ttc_parallel_find(const hlo_graph *g) {
    const hlo_block *b = g->n_funcs ? g->funcs[0]->body : NULL;
    for (int i = 0; b && i < b->n_nodes; i++)
        if (hlo_node_at(g, b->nodes[i])->op == HLO_RUN_PARALLEL)
            return i;
    return -1;
}

/* Puts parameters where the results were: the checks then read what the devices gave. */
static void results_to_params(hlo_graph *g, hlo_block *b, int at) {
    hlo_ref first = b->nodes[at];
    int n = hlo_node_at(g, first)->n_results;
    b->params = TT_NEW_N(g->arena, hlo_ref, n);
    b->n_params = n;
    for (int i = 0; i < n; i++) {
        hlo_ref r = n > 1 ? first + 1 + (hlo_ref)i : first;
        hlo_node *node = hlo_node_at(g, r);
        hlo_attr *index = TT_NEW(g->arena, hlo_attr);
        *index = (hlo_attr){.name = HLO_A_PARAM_INDEX, .kind = HLO_K_INT, .n = 1, .one = i};
        index->ints = &index->one;
        *node = (hlo_node){.op = HLO_PARAM, .n_results = 1, .n_attrs = 1, .type = node->type, .attrs = index};
        b->params[i] = r;
    }
    memmove(b->nodes + at, b->nodes + at + 1, sizeof *b->nodes * (size_t)(b->n_nodes - at - 1));
    b->n_nodes--;
    g->funcs[0]->alias = TT_NEW_N(g->arena, int, n);
    g->funcs[0]->donated = TT_NEW_N(g->arena, bool, n);
    for (int i = 0; i < n; i++)
        g->funcs[0]->alias[i] = -1;
}

tt_status ttc_parallel_run(tt_client *client, hlo_graph *g, int at, const char *options) {
    hlo_block *b = g->funcs[0]->body;
    TT_CHECK(!b->n_params, UNIMPLEMENTED, "run_parallel in a program that takes arguments");
    const hlo_node node = *hlo_node_at(g, b->nodes[at]);
    hlo_ref *saved = b->results;
    int n_saved = b->n_results, n_nodes = b->n_nodes, n_args = (int)node.n_operands;
    ttc_array *args = tt_calloc((size_t)n_args + 1, sizeof *args), *results = tt_calloc((size_t)node.n_results + 1, sizeof *results), last = {0};
    b->results = (hlo_ref *)(uintptr_t)node.operands;
    b->n_results = n_args;
    b->n_nodes = at;
    tt_status error = n_args ? run_entry(client, g, options, 0, NULL, args) : TT_OK;
    b->results = saved;
    b->n_results = n_saved;
    b->n_nodes = n_nodes;
    if (!error)
        error = run_func(client, g, &node, options, args, results);
    if (!error) {
        results_to_params(g, b, at);
        ttc_prepare(g);
        error = b->n_results == 1 ? run_entry(client, g, options, node.n_results, results, &last)
                                  : TT_ERROR(UNIMPLEMENTED, "run_parallel in a program with %d results", b->n_results);
    }
    ttc_arrays_free(1, &last);
    ttc_arrays_free(n_args, args);
    ttc_arrays_free(node.n_results, results);
    free(args);
    free(results);
    return error;
}
