/* log.h - one line an event, key=value, to stderr. Levels: TORCH_TPU_DEBUG, meanings in tables/env.def. */
#ifndef TT_LOG_H
#define TT_LOG_H
#ifdef __cplusplus
extern "C" {
#endif
extern int tt_log_level;      /* read once from the environment; tests and torch.tpu may set it */
void tt_log_write(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define TT_LOG(level, ...) do { if (__builtin_expect(tt_log_level >= (level), 0)) tt_log_write((level), __VA_ARGS__); } while (0)
#ifdef __cplusplus
}
#endif
#endif
