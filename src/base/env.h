/* env.h - the only reader of environment variables; they are declared in tables/env.def and read once. */
#ifndef TT_ENV_H
#define TT_ENV_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef enum tt_env {
#define ENV(name, variable, type, fallback, help) TT_ENV_##name,
#include "tables/env.def"
#undef ENV
    TT_N_ENV
} tt_env;
const char *tt_env_text(tt_env);     /* the value, or the default; never NULL */
int64_t tt_env_int(tt_env);          /* "1", "true", "on", "yes" are 1; anything unreadable is the default */
/* 1 when the user set it. */
int tt_env_is_set(tt_env);
const char *tt_env_name(tt_env), *tt_env_help(tt_env);
void tt_env_reload(void);            /* tests only: read everything again */
#ifdef __cplusplus
}
#endif
#endif
