/* status.h - the one way to fail.
 *
 * A tt_status is a pointer to an error, NULL is success (PJRT's own rule, so the engine hands these
 * out as PJRT_Error). A function that fails returns an owned tt_status; the caller passes it on
 * (TT_TRY), adds a frame (TT_TRY_IN) or consumes it (tt_status_free). Thread-compatible. */
#ifndef TT_STATUS_H
#define TT_STATUS_H
#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Codes and their meaning: tables/status.def; the numbers are PJRT's. */
typedef enum tt_code {
#define TT_CODE(name, number, exception) TT_##name = number,
#include "tables/status.def"
#undef TT_CODE
} tt_code;

typedef struct tt_error tt_error;
typedef tt_error *tt_status;

#define TT_OK ((tt_status)0)
#define TT_MUST_CHECK __attribute__((warn_unused_result))

TT_MUST_CHECK tt_status tt_status_make(tt_code code, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds a context frame ("lowering add.Tensor"); at most four are kept, the innermost first. */
TT_MUST_CHECK tt_status tt_status_in(tt_status error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
tt_code tt_status_code(const tt_error *error);            /* TT_OK_CODE for NULL */
const char *tt_status_message(const tt_error *error);     /* the bare message, borrowed */
/* Message, then frames, then file:line when TORCH_TPU_DEBUG is set. Borrowed: lives as long as the error. */
const char *tt_status_text(const tt_error *error);
void tt_status_free(tt_error *error);                     /* NULL is fine */
const char *tt_code_name(tt_code code);                   /* "INVALID_ARGUMENT" */

#define TT_FAIL(CODE, ...) return tt_status_make(TT_##CODE, __FILE__, __LINE__, __VA_ARGS__)
#define TT_ERROR(CODE, ...) tt_status_make(TT_##CODE, __FILE__, __LINE__, __VA_ARGS__)
#define TT_CHECK(cond, CODE, ...) do { if (!(cond)) TT_FAIL(CODE, __VA_ARGS__); } while (0)
#define TT_TRY(expr) do { tt_status tt_try_ = (expr); if (tt_try_) return tt_try_; } while (0)
#define TT_TRY_IN(expr, ...) do { tt_status tt_try_ = (expr); if (tt_try_) return tt_status_in(tt_try_, __VA_ARGS__); } while (0)

#ifdef __cplusplus
}
#endif
#endif
