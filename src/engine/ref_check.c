/* ref_check.c - the check ops of self-checking programs: a mismatch fails the run with the first differing element.
 *
 * They come as ops of the check dialect and as custom calls of the same names, and run like any other kernel, so that a
 * conformance program tests the whole path it takes. */
#include "engine/ref.h"
#include <math.h>
#include <stdio.h>

/* Distance in units of the last place of t; 0 when equal or both NaN, -1 when infinitely far. */
static int64_t ulps_apart(tt_dtype t, const void *a, const void *b) {
    double x = tt_element_get(t, a), y = tt_element_get(t, b);
    if (x == y || (isnan(x) && isnan(y)))
        return 0;
    if (isnan(x) || isnan(y) || isinf(x) != isinf(y) || isinf(x))
        return -1;
    int size = tt_dtype_size(t);
    uint64_t p = 0, q = 0, top = 1ull << (size * 8 - 1);
    memcpy(&p, a, (size_t)size);
    memcpy(&q, b, (size_t)size);
    uint64_t i = p & top ? top - (p ^ top) : top + p, k = q & top ? top - (q ^ top) : top + q;
    uint64_t distance = i > k ? i - k : k - i;
    return distance > INT64_MAX ? INT64_MAX : (int64_t)distance;
}

typedef enum rule { RULE_EQ, RULE_ALMOST, RULE_CLOSE } rule;

/* ALMOST allows 1e-4, absolute below 1 and relative above. */
static bool float_agrees(rule r, tt_dtype t, const void *a, const void *b, int64_t ulps) {
    double x = tt_element_get(t, a), y = tt_element_get(t, b);
    if (x == y || (isnan(x) && isnan(y)))
        return true;
    if (r == RULE_EQ || isnan(x) || isnan(y) || isinf(x) || isinf(y))
        return r == RULE_CLOSE && ulps_apart(t, a, b) >= 0 && ulps_apart(t, a, b) <= ulps;
    if (r == RULE_ALMOST)
        return fabs(x - y) <= 1e-4 * fmax(1, fabs(y));
    return ulps_apart(t, a, b) <= ulps;
}

static bool agrees(rule r, tt_dtype t, const char *a, const char *b, int64_t ulps) {
    if (tt_is_complex(t)) {
        tt_dtype part = tt_dtype_real(t);
        int size = tt_dtype_size(part);
        return float_agrees(r, part, a, b, ulps) && float_agrees(r, part, a + size, b + size, ulps);
    }
    if (tt_is_float(t))
        return float_agrees(r, t, a, b, ulps);
    return tt_element_get_int(t, a) == tt_element_get_int(t, b);
}

static void element_print(char *out, size_t bytes, tt_dtype t, const char *p) {
    tt_dtype part = tt_dtype_real(t);
    if (tt_is_complex(t))
        snprintf(out, bytes, "(%.17g, %.17g)", tt_element_get(part, p), tt_element_get(part, p + tt_dtype_size(part)));
    else if (tt_is_float(t))
        snprintf(out, bytes, "%.17g", tt_element_get(t, p));
    else if (t == TT_U64)
        snprintf(out, bytes, "%llu", (unsigned long long)tt_element_get_int(t, p));
    else
        snprintf(out, bytes, "%lld", (long long)tt_element_get_int(t, p));
}

tt_status ref_check(const char *name, const eng_tensor *actual, const eng_tensor *expected, int64_t ulps) {
    rule r = strstr(name, "almost") ? RULE_ALMOST : strstr(name, "close") ? RULE_CLOSE : RULE_EQ;
    TT_CHECK(hlo_type_equal(&actual->type, &expected->type), INVALID_ARGUMENT, "%s of a %s of rank %d and a %s of rank %d", name,
             tt_dtype_name(actual->type.dtype), actual->type.rank, tt_dtype_name(expected->type.dtype), expected->type.rank);
    int64_t n = ref_count(actual), bad = 0, first = 0;
    int size = ref_size(actual);
    const char *a = actual->data, *b = expected->data;
    for (int64_t i = 0; i < n; i++)
        if (!agrees(r, actual->type.dtype, a + i * size, b + i * size, ulps) && !bad++)
            first = i;
    if (!bad)
        return TT_OK;
    char got[96], wanted[96];
    element_print(got, sizeof got, actual->type.dtype, a + first * size);
    element_print(wanted, sizeof wanted, actual->type.dtype, b + first * size);
    TT_FAIL(FAILED_PRECONDITION, "%s: element %lld is %s, expected %s (%lld of %lld %s elements differ)", name, (long long)first, got,
            wanted, (long long)bad, (long long)n, tt_dtype_name(actual->type.dtype));
}

REF_KERNEL(check) {
    (void)run, (void)g, (void)out;
    const char *name = node->op == HLO_CUSTOM_CALL ? hlo_attr_text(node, HLO_A_CALL_TARGET_NAME, "") : hlo_op_text((hlo_op)node->op);
    const hlo_attr *value = hlo_attr_find(node, HLO_A_VALUE);
    if (node->op == HLO_CHECK_EXPECT_EQ_CONST || node->op == HLO_CHECK_EXPECT_ALMOST_EQ_CONST) {
        TT_CHECK(node->n_operands == 1 && value && value->type, INVALID_ARGUMENT, "%s without its value", name);
        eng_tensor expected = {.type = *value->type};
        REF_AUTO(char) spread = NULL;
        TT_TRY(ref_alloc(ref_count(&expected), ref_size(&expected), &spread));
        if (value->splat)
            ref_fill(ref_size(&expected), spread, value->data, ref_count(&expected));
        else
            ref_memcpy(spread, value->data, hlo_type_bytes(&expected.type));
        expected.data = spread;
        return ref_check(name, in, &expected, 0);
    }
    TT_CHECK(node->n_operands == 2, INVALID_ARGUMENT, "%s of %u values", name, node->n_operands);
    TT_CHECK(strstr(name, "expect_eq") || strstr(name, "expect_almost_eq") || strstr(name, "expect_close"), UNIMPLEMENTED,
             "custom_call @%s: the engine has no such target", name);
    return ref_check(name, in, in + 1, 3);
}
