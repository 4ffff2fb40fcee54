/* ttc_aot.c - `ttc aot`: compiles program files for TPU topologies with no TPU present, through libtpu's own compiler. */
#include "pjrt/client.h"
#include "tool/ttc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(void) {
    fprintf(stderr, "usage: ttc aot --plugin LIBTPU.so --topology v5e:1x1[,v6e:1x1...] FILE...\n");
    return 2;
}

typedef struct totals { int compiled, failed; double seconds; int64_t largest_bytes; const char *largest; } totals;

static void compile_one(const char *plugin, const char *topology, const char *path, totals *t) {
    char *text;
    size_t length;
    tt_status error = ttc_read_file(path, &text, &length);
    tt_aot_stats s = {0};
    if (!error) {
        error = tt_aot_compile(plugin, topology, text, length, &s);
        free(text);
    }
    t->seconds += s.seconds;
    if (error) {
        t->failed++;
        ttc_fail(path, error);
        return;
    }
    t->compiled++;
    int64_t hbm = s.argument_bytes + s.output_bytes - s.alias_bytes + s.temp_bytes + s.code_bytes;
    if (hbm > t->largest_bytes) { t->largest_bytes = hbm; t->largest = path; }
    printf("%s topology=%s seconds=%.2f hbm_bytes=%lld arguments=%lld outputs=%lld aliased=%lld temporaries=%lld code=%lld\n", path, topology, s.seconds,
           (long long)hbm, (long long)s.argument_bytes, (long long)s.output_bytes, (long long)s.alias_bytes, (long long)s.temp_bytes, (long long)s.code_bytes);
    fflush(stdout);
}

int ttc_aot(int argc, char **argv) {
    const char *plugin = NULL, *topologies = NULL;
    int first = 0;
    for (int i = 1; i < argc && !first; i++) {
        if (!strcmp(argv[i], "--plugin") && i + 1 < argc) plugin = argv[++i];
        else if (!strcmp(argv[i], "--topology") && i + 1 < argc) topologies = argv[++i];
        else { first = i; break; }
    }
    if (!plugin || !topologies || !first) return usage();
    int failed = 0;
    char *list = tt_strdup(topologies), *rest = list;
    for (char *topology; (topology = strsep(&rest, ","));) {
        totals t = {0};
        for (int i = first; i < argc; i++) compile_one(plugin, topology, argv[i], &t);
        printf("%s: %d programs compiled, %d failed, %.1f s, largest %lld HBM bytes (%s)\n", topology, t.compiled, t.failed, t.seconds,
               (long long)t.largest_bytes, t.largest ? t.largest : "-");
        failed += t.failed;
    }
    free(list);
    return failed != 0;
}
