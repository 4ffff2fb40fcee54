/* call.c - the one place where plugin functions are called. Logs, injects faults, turns errors into
 * tt_status. Knows no clients or buffers. */
#include "pjrt/call.h"
#include "base/env.h"
#include "base/log.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const slot_names[] = {
#define PJRT(slot, client, engine, args) #slot,
#include "tables/pjrt.def"
#undef PJRT
};

const char *tt_pjrt_slot_name(tt_pjrt_slot slot) {
    return slot_names[slot];
}

/* Above zero while a fault is still to come; read without ordering, since one thread's call or another's may
 * be the one. */
static atomic_long fault_left;

__attribute__((constructor)) static void read_fault(void) {
    const char *text = tt_env_text(TT_ENV_FAULT);
    if (!strncmp(text, "pjrt:", 5))
        tt_pjrt_fault_set(strtol(text + 5, NULL, 10));
}

void tt_pjrt_fault_set(long nth) {
    atomic_store(&fault_left, nth > 0 ? nth : 0);
}

long tt_pjrt_fault_left(void) {
    return atomic_load(&fault_left);
}

static bool never_fails(tt_pjrt_slot slot) {
    const char *name = slot_names[slot];
    size_t n = strlen(name);
    return !strncmp(name, "Error_", 6) || (n > 8 && !strcmp(name + n - 8, "_Destroy"));
}

static bool fault_strikes(tt_pjrt_slot slot) {
    if (never_fails(slot))
        return false;
    long left = atomic_load(&fault_left);
    while (left > 0)
        if (atomic_compare_exchange_weak(&fault_left, &left, left - 1))
            return left == 1;
    return false;
}

static tt_pjrt_error *logged_call(const tt_plugin *p, tt_pjrt_slot slot, void *args) {
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    tt_pjrt_error *error = p->api->fn[slot](args);
    clock_gettime(CLOCK_MONOTONIC, &to);
    bool returns = slot != TT_PJRT_Error_Destroy && slot != TT_PJRT_Error_Message;
    int64_t ns = (to.tv_sec - from.tv_sec) * INT64_C(1000000000) + to.tv_nsec - from.tv_nsec;
    TT_LOG(5, "pjrt call=%s us=%" PRId64 ".%03d%s", slot_names[slot], ns / 1000, (int)(ns % 1000),
           returns && error ? " failed" : "");
    return error;
}

static tt_pjrt_error *call(const tt_plugin *p, tt_pjrt_slot slot, void *args, size_t args_size) {
    memcpy(args, &args_size, sizeof args_size); /* struct_size, the first field of all */
    if (__builtin_expect(tt_log_level >= 5, 0))
        return logged_call(p, slot, args);
    return p->api->fn[slot](args);
}

/* Consumes the plugin's error. */
static tt_status take_error(const tt_plugin *p, tt_pjrt_slot slot, tt_pjrt_error *error) {
    TT_PJRT_ARGS(string, message);
    message.a.object = error;
    call(p, TT_PJRT_Error_Message, &message, sizeof message);
    TT_PJRT_ARGS(get_int, code);
    code.a.object = error;
    tt_pjrt_error *inner = call(p, TT_PJRT_Error_GetCode, &code, sizeof code);
    if (inner)
        code.a.value = TT_UNKNOWN;
    int size = message.a.text ? (int)(message.a.size > 1 << 20 ? 1 << 20 : message.a.size) : 0;
    tt_status status = tt_status_make((tt_code)(code.a.value ? code.a.value : TT_UNKNOWN), __FILE__, __LINE__,
                                      "%.*s", size, message.a.text ? message.a.text : "");
    tt_pjrt_destroy(p, TT_PJRT_Error_Destroy, error);
    if (inner)
        tt_pjrt_destroy(p, TT_PJRT_Error_Destroy, inner);
    return tt_status_in(status, "PJRT %s", slot_names[slot]);
}

tt_status tt_pjrt_call(const tt_plugin *p, tt_pjrt_slot slot, void *args, size_t args_size) {
    if (!tt_pjrt_has(p->api, slot))
        TT_FAIL(UNIMPLEMENTED, "the plugin %s (PJRT 0.%d) has no %s", p->path, p->minor, slot_names[slot]);
    if (__builtin_expect(atomic_load_explicit(&fault_left, memory_order_relaxed) > 0, 0) &&
        fault_strikes(slot))
        TT_FAIL(INTERNAL, "PJRT call %s failed on purpose (TORCH_TPU_FAULT)", slot_names[slot]);
    tt_pjrt_error *error = call(p, slot, args, args_size);
    return __builtin_expect(error != NULL, 0) ? take_error(p, slot, error) : TT_OK;
}

void tt_pjrt_destroy(const tt_plugin *p, tt_pjrt_slot slot, void *object) {
    if (!object || !tt_pjrt_has(p->api, slot))
        return;
    TT_PJRT_ARGS(object, args);
    args.a.object = object;
    tt_pjrt_error *error = call(p, slot, &args, sizeof args);
    if (slot != TT_PJRT_Error_Destroy && error)
        tt_pjrt_destroy(p, TT_PJRT_Error_Destroy, error);
}
