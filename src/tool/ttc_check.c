/* ttc_check.c - `ttc check DIR|FILE...`: runs self-checking programs on an engine and counts them.
 *
 * A file holds one program, or several between lines "// -----"; all must pass. Programs check themselves by check.expect_* ops, so
 * a failed run is a failed program. Files run in a child process: one that crashes or hangs fails, and the rest goes on. */
#include "tool/ttc_device.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PASSED, FAILED, SKIPPED, N_OUTCOMES, NO_PLUGIN = -1, SECONDS_PER_FILE = 60, N_DEVICES = 4, MESSAGE_BYTES = 1000 };

static const char usage[] =
    "usage: ttc check DIR|FILE... [--kernels reference|fast|both] [--plugin P] [-v]\n"
    "Runs every .mlir program found and closes with 'N passed, N failed, N skipped'. Default: both kinds of kernels of the\n"
    "embedded engine; another plugin has one kind. -v also names what passed and why something was skipped.\n";

typedef struct checker {
    tt_arena *arena;
    int n_files, cap_files;
    char **files;
    const char *plugin, *kernels;
    bool verbose, missing;
    int counts[N_OUTCOMES];
} checker;

/* ---- files ---- */
static bool ends_with(const char *text, const char *tail) {
    size_t n = strlen(text), m = strlen(tail);
    return n >= m && !strcmp(text + n - m, tail);
}

static void add_file(checker *c, const char *path) {
    if (c->n_files == c->cap_files)
        c->files = tt_realloc(c->files, sizeof *c->files * (size_t)(c->cap_files = c->cap_files * 2 + 64));
    c->files[c->n_files++] = tt_arena_printf(c->arena, "%s", path);
}

static void add_path(checker *c, const char *path, bool named) {
    struct stat s;
    if (stat(path, &s) != 0) {
        printf("%s: %s\n", path, strerror(errno));
        c->missing = true;
    } else if (!S_ISDIR(s.st_mode)) {
        if (named || ends_with(path, ".mlir"))
            add_file(c, path);
    } else {
        struct dirent **entries;
        int n = scandir(path, &entries, NULL, alphasort);
        for (int i = 0; i < n; i++) {
            if (entries[i]->d_name[0] != '.')
                add_path(c, tt_arena_printf(c->arena, "%s/%s", path, entries[i]->d_name), false);
            free(entries[i]);
        }
        if (n >= 0)
            free(entries);
    }
}

/* ---- one file ---- */
/* Things of StableHLO's own interpreter, not of a program that a device runs. */
static const char *skip_reason(const char *text) {
    static const struct { const char *word, *reason; } table[] = {
        {"interpreter.probe", "writes intermediate values to files"},
        {"stablehlo.infeed", "the interpreter's own queue of inputs; the PJRT interface has none"},
        {"stablehlo.outfeed", "the interpreter's own queue of outputs; the PJRT interface has none"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strstr(text, table[i].word))
            return table[i].reason;
    return NULL;
}

static tt_status run_program(checker *c, tt_client *client, const char *text, size_t length) {
    tt_arena *a = tt_arena_create();
    hlo_graph *g = NULL;
    int n_args = 0;
    ttc_array *args = NULL, *results = NULL;
    tt_status error = hlo_parse(a, text, length, &g);
    int parallel = error ? -1 : ttc_parallel_find(g);
    if (parallel >= 0) {
        error = ttc_parallel_run(client, g, parallel, c->kernels);
    } else if (!error) {
        ttc_prepare(g);
        error = ttc_arguments(g, 0, NULL, &n_args, &args);
    }
    if (!error && parallel < 0) {
        int n = g->funcs[0]->body->n_results;
        results = tt_calloc((size_t)n + 1, sizeof *results);
        error = ttc_execute(client, g, c->kernels, n_args, args, results);
        if (!error)
            ttc_arrays_free(n, results);
        ttc_arrays_free(n_args, args);
    }
    free(args);
    free(results);
    tt_arena_destroy(a);
    return error;
}

static tt_status run_file(checker *c, tt_client *client, const char *path, const char **out_skipped) {
    char *text;
    size_t length;
    TT_TRY(ttc_read_file(path, &text, &length));
    tt_status error = TT_OK;
    *out_skipped = skip_reason(text);
    const char *cursor = text, *program;
    size_t program_length;
    for (int part = 1; !error && !*out_skipped && hlo_text_next(&cursor, text + length, &program, &program_length); part++) {
        if (ttc_blank(program, program_length))
            continue;
        error = run_program(c, client, program, program_length);
        if (error)
            error = tt_status_in(error, "program %d of the file", part);
    }
    free(text);
    return error;
}

/* ---- the child: one line per file, "index outcome message" ---- */
static void one_line(char *out, size_t bytes, const char *text) {
    snprintf(out, bytes, "%s", text);
    for (char *p = out; *p; p++)
        if (*p == '\n')
            *p = ' ';
}

static void child(checker *c, int from, FILE *to) {
    tt_client *client = NULL;
    char message[MESSAGE_BYTES];
    tt_status error = tt_client_create(ttc_plugin_path(c->arena, c->plugin), N_DEVICES, &client);
    if (error) {
        one_line(message, sizeof message, tt_status_text(error));
        fprintf(to, "%d %d %s\n", NO_PLUGIN, FAILED, message);
        tt_status_free(error);
        return;
    }
    for (int i = from; i < c->n_files; i++) {
        const char *skipped = NULL;
        alarm(SECONDS_PER_FILE);
        tt_status failed = run_file(c, client, c->files[i], &skipped);
        alarm(0);
        one_line(message, sizeof message, failed ? tt_status_text(failed) : skipped ? skipped : "");
        fprintf(to, "%d %d %s\n", i, failed ? FAILED : skipped ? SKIPPED : PASSED, message);
        fflush(to);
        tt_status_free(failed);
    }
    tt_client_release(client);
}

/* ---- the parent ---- */
static void count(checker *c, int file, int outcome, const char *message) {
    static const char *const names[] = {"passed", "FAILED", "skipped"};
    c->counts[outcome]++;
    if (c->verbose || outcome == FAILED)
        printf("%s %s%s%s\n", names[outcome], c->files[file], *message ? ": " : "", message);
}

/* Reads what one child says; *out_next is the first file that it did not finish. */
static tt_status follow(checker *c, int from, FILE *lines, int *out_next) {
    char line[MESSAGE_BYTES + 64];
    int next = from, file, outcome, at = 0;
    tt_status error = TT_OK;
    while (fgets(line, sizeof line, lines)) {
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%d %d %n", &file, &outcome, &at) < 2)
            continue;
        if (file == NO_PLUGIN && !error)
            error = TT_ERROR(UNAVAILABLE, "%s", line + at);
        if (file != next || outcome < 0 || outcome >= N_OUTCOMES)
            continue;
        count(c, file, outcome, line + at);
        next++;
    }
    *out_next = next;
    return error;
}

static tt_status run_all(checker *c) {
    for (int next = 0; next < c->n_files;) {
        int ends[2];
        fflush(stdout);
        TT_CHECK(pipe(ends) == 0, UNAVAILABLE, "pipe: %s", strerror(errno));
        pid_t pid = fork();
        TT_CHECK(pid >= 0, UNAVAILABLE, "fork: %s", strerror(errno));
        if (pid == 0) {
            close(ends[0]);
            FILE *to = fdopen(ends[1], "w");
            if (to) {
                child(c, next, to);
                fclose(to);
            }
            free(c->files);
            tt_arena_destroy(c->arena);
            exit(0); /* not _exit: a leak checker looks at exit */
        }
        close(ends[1]);
        FILE *lines = fdopen(ends[0], "r");
        tt_status error = follow(c, next, lines, &next);
        fclose(lines);
        int status = 0;
        char message[128];
        waitpid(pid, &status, 0);
        TT_TRY(error);
        if (next < c->n_files) {
            if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
                snprintf(message, sizeof message, "still running after %d s", SECONDS_PER_FILE);
            else if (WIFSIGNALED(status))
                snprintf(message, sizeof message, "the process died: %s", strsignal(WTERMSIG(status)));
            else
                snprintf(message, sizeof message, "the process ended with status %d", WEXITSTATUS(status));
            count(c, next++, FAILED, message);
        } else if (status) {
            printf("the last process ended with status %d\n", status);
            c->counts[FAILED]++;
        }
    }
    return TT_OK;
}

static tt_status run_kernels(checker *c, const char *name, const char *option) {
    int before[N_OUTCOMES];
    memcpy(before, c->counts, sizeof before);
    c->kernels = option;
    TT_TRY(run_all(c));
    printf("%s kernels: %d passed, %d failed, %d skipped\n", name, c->counts[PASSED] - before[PASSED], c->counts[FAILED] - before[FAILED],
           c->counts[SKIPPED] - before[SKIPPED]);
    return TT_OK;
}

static tt_status check(checker *c, const char *kernels) {
    bool both = !strcmp(kernels, "both");
    if (both || !strcmp(kernels, "reference"))
        TT_TRY(run_kernels(c, "reference", "kernels=reference"));
    if (both || !strcmp(kernels, "fast"))
        TT_TRY(run_kernels(c, "fast", "kernels=fast"));
    if (!strcmp(kernels, "plugin"))
        TT_TRY(run_kernels(c, "the plugin's", NULL));
    printf("%d passed, %d failed, %d skipped\n", c->counts[PASSED], c->counts[FAILED], c->counts[SKIPPED]);
    return TT_OK;
}

int ttc_check(int argc, char **argv) {
    checker c = {.arena = tt_arena_create()};
    const char *kernels = NULL;
    bool good = true;
    for (int i = 1; i < argc && good; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--kernels") && more)
            kernels = argv[++i];
        else if (!strcmp(argv[i], "--plugin") && more)
            c.plugin = argv[++i];
        else if (!strcmp(argv[i], "-v"))
            c.verbose = true;
        else if (argv[i][0] == '-')
            good = false;
        else
            add_path(&c, argv[i], true);
    }
    if (!kernels)
        kernels = c.plugin && strcmp(c.plugin, "engine") ? "plugin" : "both";
    good = good && (!strcmp(kernels, "both") || !strcmp(kernels, "reference") || !strcmp(kernels, "fast") || !strcmp(kernels, "plugin"));
    int status = 2;
    if (!good || (!c.n_files && !c.missing)) {
        fputs(usage, stderr);
    } else {
        tt_status error = check(&c, kernels);
        status = error ? ttc_fail("check", error) : c.counts[FAILED] || c.missing ? 1 : 0;
    }
    free(c.files);
    tt_arena_destroy(c.arena);
    return status;
}
