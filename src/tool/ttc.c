/* ttc.c - the developer's command line: dispatch over the table in ttc.h, and reading of program files. */
#include "tool/ttc.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct command {
    const char *name, *arguments, *help;
    int (*run)(int argc, char **argv);
} command;

static const command commands[] = {
#define X(name, arguments, help) {#name, arguments, help, ttc_##name},
    TTC_COMMANDS(X)
#undef X
};

tt_status ttc_read_file(const char *path, char **out_text, size_t *out_length) {
    FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    if (!f)
        TT_FAIL(NOT_FOUND, "%s: %s", path, strerror(errno));
    tt_str s = {0};
    char block[65536];
    size_t n;
    while ((n = fread(block, 1, sizeof block, f)) > 0)
        tt_str_append(&s, block, n);
    bool failed = ferror(f);
    if (f != stdin)
        fclose(f);
    if (failed) {
        tt_str_deinit(&s);
        TT_FAIL(DATA_LOSS, "%s: cannot be read", path);
    }
    *out_length = s.length;
    *out_text = tt_str_take(&s);
    return TT_OK;
}

int ttc_fail(const char *context, tt_status error) {
    fprintf(stderr, "ttc: %s: %s\n", context, tt_status_text(error));
    tt_status_free(error);
    return 1;
}

bool ttc_blank(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '/' && i + 1 < length && text[i + 1] == '/')
            while (i < length && text[i] != '\n')
                i++;
        else if (text[i] != ' ' && text[i] != '\n' && text[i] != '\t' && text[i] != '\r')
            return false;
    }
    return true;
}

int ttc_each_program(const char *path, ttc_program_fn *each, void *context) {
    char *text;
    size_t length, program_length;
    tt_status error = ttc_read_file(path, &text, &length);
    if (error)
        return ttc_fail(path, error);
    int failed = 0, index = 0;
    const char *cursor = text, *program;
    while (hlo_text_next(&cursor, text + length, &program, &program_length)) {
        if (ttc_blank(program, program_length))
            continue;
        tt_arena *arena = tt_arena_create();
        hlo_graph *g;
        error = hlo_parse(arena, program, program_length, &g);
        if (!error)
            error = each(context, path, index, g);
        if (error) {
            char where[4200];
            snprintf(where, sizeof where, "%s, program %d", path, index);
            failed += ttc_fail(where, error);
        }
        tt_arena_destroy(arena);
        index++;
    }
    free(text);
    return failed;
}

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(argv[1], commands[i].name))
            return commands[i].run(argc - 1, argv + 1);
    if (argc > 1)
        fprintf(stderr, "ttc: no subcommand '%s'\n", argv[1]);
    fprintf(stderr, "usage: ttc COMMAND ...\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(stderr, "  ttc %s %s\n      %s\n", commands[i].name, commands[i].arguments, commands[i].help);
    return 2;
}
