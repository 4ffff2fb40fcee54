/* env.c - the only reader of environment variables (tables/env.def).
 *
 * Each variable is read once, at its first use, and copied: so a program may still set one after the library
 * was loaded, and a later setenv moves nothing. Any thread. */
#include "base/env.h"
#include "base/arena.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct row {
    const char *name, *fallback, *help;
} row;

static const row rows[TT_N_ENV] = {
#define ENV(name, variable, type, fallback, help) {variable, fallback, help},
#include "tables/env.def"
#undef ENV
};

/* One immutable reading of a variable; old ones stay reachable, since their text may be borrowed. */
typedef struct reading {
    struct reading *older;
    int is_set;
    int64_t number;
    char text[];
} reading;

static _Atomic(reading *) current[TT_N_ENV];
static reading *retired[TT_N_ENV];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int parse_int(const char *text, int64_t *out) {
    static const char *const yes[] = {"true", "on", "yes"}, *const no[] = {"false", "off", "no"};
    for (int i = 0; i < 3; i++) {
        if (!strcasecmp(text, yes[i]))
            return *out = 1, 1;
        if (!strcasecmp(text, no[i]))
            return *out = 0, 1;
    }
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 0);
    if (end == text || *end || errno)
        return 0;
    *out = v;
    return 1;
}

static reading *read_variable(tt_env e) {
    pthread_mutex_lock(&lock);
    reading *r = atomic_load_explicit(&current[e], memory_order_relaxed);
    if (!r) {
        const char *value = getenv(rows[e].name);
        const char *text = value ? value : rows[e].fallback;
        size_t bytes = strlen(text) + 1;
        r = tt_calloc(1, sizeof *r + bytes);
        memcpy(r->text, text, bytes);
        r->is_set = value != NULL;
        if (!parse_int(text, &r->number))
            parse_int(rows[e].fallback, &r->number);
        r->older = retired[e];
        atomic_store_explicit(&current[e], r, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return r;
}

static inline const reading *get(tt_env e) {
    const reading *r = atomic_load_explicit(&current[e], memory_order_acquire);
    return r ? r : read_variable(e);
}

const char *tt_env_text(tt_env e) {
    return get(e)->text;
}

int64_t tt_env_int(tt_env e) {
    return get(e)->number;
}

int tt_env_is_set(tt_env e) {
    return get(e)->is_set;
}

const char *tt_env_name(tt_env e) {
    return rows[e].name;
}

const char *tt_env_help(tt_env e) {
    return rows[e].help;
}

void tt_env_reload(void) {
    pthread_mutex_lock(&lock);
    for (int e = 0; e < TT_N_ENV; e++) {
        reading *r = atomic_exchange(&current[e], NULL);
        if (r)
            retired[e] = r;
    }
    pthread_mutex_unlock(&lock);
}
