/* log.c - log lines to stderr, one write each so that lines of many threads and processes do not mix. */
#include "base/log.h"
#include "base/arena.h"
#include "base/env.h"
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

int tt_log_level;

__attribute__((constructor)) static void read_level(void) {
    tt_log_level = (int)tt_env_int(TT_ENV_DEBUG);
}

void tt_log_write(int level, const char *format, ...) {
    char line[4096];
    int n = snprintf(line, sizeof line, "torch_tpu[%d] ", level);
    va_list args;
    va_start(args, format);
    int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, format, args);
    va_end(args);
    if (m < 0)
        return;
    size_t length = (size_t)n + (size_t)m;
    if (length > sizeof line - 2)
        length = sizeof line - 2;
    line[length] = '\n';
    ssize_t written = write(STDERR_FILENO, line, length + 1);
    (void)written; /* nobody is left to tell */
}
