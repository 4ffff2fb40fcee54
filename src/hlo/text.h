/* text.h - StableHLO text out and in; print(parse(print(g))) == print(g), and parse(print(g)) equals g.
 *
 * The printer writes MLIR's generic form ("stablehlo.add"(%0, %1) : (...) -> ...), one form for every op, which
 * every plugin's parser reads. The parser reads both the generic and the pretty form of every op of
 * hlo.def, func.func with private functions, location and attribute noise, dense literals (also hex). */
#ifndef HLO_TEXT_H
#define HLO_TEXT_H
#include "hlo/graph.h"
#ifdef __cplusplus
extern "C" {
#endif
void hlo_print(const hlo_graph *, tt_str *out_text);
/* Fails with INVALID_ARGUMENT naming line, column and what was expected; never crashes on any input. */
TT_MUST_CHECK tt_status hlo_parse(tt_arena *, const char *text, size_t length, hlo_graph **out_graph);
/* The next program of a text that holds several, separated by lines "// -----". *cursor starts at the text and moves on;
 * false at the end. */
bool hlo_text_next(const char **cursor, const char *end, const char **out_text, size_t *out_length);
#ifdef __cplusplus
}
#endif
#endif
