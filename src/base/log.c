/* log.c - log lines to stderr, one write each so that lines of many threads and processes do not mix. */
#include "base/log.h"
#include "base/arena.h"
#include "base/env.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int tt_log_level;

__attribute__((constructor)) static void read_level(void) {
    tt_log_level = (int)tt_env_int(TT_ENV_DEBUG);
}

void tt_log_write(int level, const char *format, ...) {
    char few[4096], *line = few;
    int n = snprintf(few, sizeof few, "torch_tpu[%d] ", level);
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int m = vsnprintf(few + n, sizeof few - (size_t)n - 1, format, args);
    va_end(args);
    size_t length = m < 0 ? 0 : (size_t)n + (size_t)m;
    if (length > sizeof few - 2) { /* the text of a program */
        line = tt_malloc(length + 2);
        memcpy(line, few, (size_t)n);
        vsnprintf(line + n, (size_t)m + 1, format, again);
    }
    va_end(again);
    if (m < 0)
        return;
    line[length] = '\n';
    ssize_t written = write(STDERR_FILENO, line, length + 1);
    (void)written; /* nobody is left to tell */
    if (line != few)
        free(line);
}
