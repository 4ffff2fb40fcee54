/* ttc_run.c - `ttc run FILE`: one program, once, on any plugin.
 *
 * Arguments come from .npy files; those not given are filled with reproducible numbers, so that any program can be run. */
#include "tool/ttc_device.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: ttc run FILE [--plugin P] [--arg FILE.npy]... [--out PREFIX] [--limit N] [--kernels reference|fast]\n"
    "Runs a StableHLO program on a PJRT plugin (default: the embedded engine) and prints its results.\n"
    "  --arg    the next argument, in order (bf16 as its uint16 bits); the others are filled with fixed numbers\n"
    "  --out    also writes PREFIX0.npy, PREFIX1.npy ...\n"
    "  --limit  elements printed per result (default 64)\n";

typedef struct options {
    const char *file, *plugin, *out, *kernels;
    char **args;
    int n_args;
    int64_t limit;
} options;

static bool read_options(int argc, char **argv, options *o) {
    *o = (options){.limit = 64, .args = tt_calloc((size_t)argc + 1, sizeof(char *))};
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--plugin") && more)
            o->plugin = argv[++i];
        else if (!strcmp(argv[i], "--arg") && more)
            o->args[o->n_args++] = argv[++i];
        else if (!strcmp(argv[i], "--out") && more)
            o->out = argv[++i];
        else if (!strcmp(argv[i], "--kernels") && more)
            o->kernels = strcmp(argv[++i], "reference") ? NULL : "kernels=reference";
        else if (!strcmp(argv[i], "--limit") && more)
            o->limit = strtoll(argv[++i], NULL, 10);
        else if (argv[i][0] == '-' || o->file)
            return false;
        else
            o->file = argv[i];
    }
    return o->file != NULL;
}

static tt_status show(tt_arena *a, const options *o, int n, const ttc_array *results) {
    for (int i = 0; i < n; i++) {
        printf("result %d: ", i);
        ttc_array_print(&results[i], o->limit);
        if (o->out)
            TT_TRY(ttc_npy_write(tt_arena_printf(a, "%s%d.npy", o->out, i), &results[i]));
    }
    return TT_OK;
}

static tt_status run(tt_arena *a, const options *o) {
    char *text;
    size_t length;
    hlo_graph *g;
    int n_args;
    ttc_array *args;
    tt_client *client;
    TT_TRY(ttc_read_file(o->file, &text, &length));
    tt_status error = hlo_parse(a, text, length, &g);
    free(text);
    TT_TRY_IN(error, "parsing %s", o->file);
    ttc_prepare(g);
    TT_TRY(ttc_arguments(g, o->n_args, o->args, &n_args, &args));
    int n_results = g->funcs[0]->body->n_results;
    ttc_array *results = tt_calloc((size_t)n_results + 1, sizeof *results);
    error = tt_client_create(ttc_plugin_path(a, o->plugin), 1, &client);
    if (!error) {
        error = ttc_execute(client, g, o->kernels, n_args, args, results);
        if (!error)
            error = show(a, o, n_results, results);
        tt_client_release(client);
    }
    ttc_arrays_free(n_args, args);
    ttc_arrays_free(n_results, results);
    free(args);
    free(results);
    return error;
}

int ttc_run(int argc, char **argv) {
    options o;
    tt_arena *a = tt_arena_create();
    int status = 2;
    if (!read_options(argc, argv, &o)) {
        fputs(usage, stderr);
    } else {
        tt_status error = run(a, &o);
        status = error ? ttc_fail("run", error) : 0;
    }
    free(o.args);
    tt_arena_destroy(a);
    return status;
}
