/* record.c - programs that failed stay on disk, with the command that runs them again. */
#include "base/env.h"
#include "run/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool tt_cache_folder(char *path, size_t size);

char *tt_record_failure(const char *name, const char *text, size_t length, const char *message) {
    char folder[4096], path[4200];
    const char *dump = tt_env_text(TT_ENV_DUMP_DIR);
    if (*dump) { if (snprintf(folder, sizeof folder, "%s", dump) >= (int)sizeof folder) return NULL; mkdir(folder, 0777); }
    else if (!tt_cache_folder(folder, sizeof folder)) return NULL;
    tt_hash h = tt_hash_bytes(text, length, (tt_hash){0, 0});
    snprintf(path, sizeof path, "%s/failed-%016llx.mlir", folder, (unsigned long long)h.a);
    FILE *f = fopen(path, "w");
    if (!f) return NULL;
    fprintf(f, "// %s\n// ", name);
    for (const char *c = message; *c; c++) { fputc(*c, f); if (*c == '\n') fputs("// ", f); }
    fputc('\n', f);
    bool ok = fwrite(text, 1, length, f) == length;
    if (fclose(f) || !ok) { unlink(path); return NULL; }
    tt_str s = {0};
    tt_str_printf(&s, "%s/ttc run %s --plugin %s", tt_runtime_library_dir(), path, tt_runtime_plugin());
    return tt_str_take(&s);
}
