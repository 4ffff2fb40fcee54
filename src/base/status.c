/* status.c - errors: a code, a message, where it was born, up to four frames of context.
 *
 * Lives on the heap, because an error outlives every arena it could be born in. */
#include "base/status.h"
#include "base/arena.h"
#include "base/log.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FRAMES = 4 };

struct tt_error {
    tt_code code;
    int line, n_frames;
    const char *file; /* a literal */
    char *message, *text;
    char *frames[MAX_FRAMES];
};

static char *format_text(const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *text = tt_malloc((size_t)(n < 0 ? 0 : n) + 1);
    text[0] = 0;
    if (n > 0)
        vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return text;
}

tt_status tt_status_make(tt_code code, const char *file, int line, const char *format, ...) {
    tt_error *e = tt_calloc(1, sizeof *e);
    va_list args;
    va_start(args, format);
    e->message = format_text(format, args);
    va_end(args);
    e->code = code;
    e->file = file;
    e->line = line;
    return e;
}

tt_status tt_status_in(tt_status e, const char *format, ...) {
    if (!e || e->n_frames == MAX_FRAMES)
        return e;
    va_list args;
    va_start(args, format);
    e->frames[e->n_frames++] = format_text(format, args);
    va_end(args);
    free(e->text);
    e->text = NULL;
    return e;
}

tt_code tt_status_code(const tt_error *e) {
    return e ? e->code : TT_OK_CODE;
}

const char *tt_status_message(const tt_error *e) {
    return e ? e->message : "";
}

const char *tt_status_text(const tt_error *error) {
    tt_error *e = (tt_error *)error; /* the text is a cache of what the error says already */
    if (!e)
        return "";
    if (e->text)
        return e->text;
    tt_str s = {0};
    tt_str_puts(&s, e->message);
    for (int i = 0; i < e->n_frames; i++)
        tt_str_printf(&s, "\n  in %s", e->frames[i]);
    if (tt_log_level > 0)
        tt_str_printf(&s, "\n  at %s:%d", e->file, e->line);
    e->text = tt_str_take(&s);
    return e->text;
}

void tt_status_free(tt_error *e) {
    if (!e)
        return;
    for (int i = 0; i < e->n_frames; i++)
        free(e->frames[i]);
    free(e->message);
    free(e->text);
    free(e);
}

const char *tt_code_name(tt_code code) {
    switch (code) {
#define TT_CODE(name, number, exception)                                                                     \
    case TT_##name:                                                                                          \
        return code == TT_OK_CODE ? "OK" : #name;
#include "tables/status.def"
#undef TT_CODE
    }
    return "UNKNOWN";
}
