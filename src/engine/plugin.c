/* plugin.c - the engine's PJRT API table: GetPjrtApi, errors, plugin attributes, and an answer for every
 * slot.
 *
 * The plugin's only export. Slots live in plugin_*.c by topic; a slot that the engine does not implement says
 * so by its name. */
#include "engine/plugin.h"
#include <string.h>

tt_status eng_args_error(const char *slot, size_t expected, size_t got) {
    TT_FAIL(INVALID_ARGUMENT,
            "PJRT_%s: args of %zu bytes, expected at least %zu: the caller was built for an older PJRT (this "
            "plugin speaks %d.%d)",
            strncmp(slot, "eng_", 4) ? slot : slot + 4, got, expected, TT_PJRT_MAJOR, TT_PJRT_MINOR);
}

/* ---- errors ---- */
tt_pjrt_error *eng_Error_Destroy(void *args) {
    tt_status_free(((tt_pjrt_object *)args)->object);
    return NULL;
}

tt_pjrt_error *eng_Error_Message(void *args) {
    tt_pjrt_string *a = args;
    a->text = tt_status_text((const tt_error *)a->object);
    a->size = strlen(a->text);
    return NULL;
}

tt_pjrt_error *eng_Error_GetCode(void *args) {
    ENG_ARGS(get_int, a, value);
    int code = (int)tt_status_code((const tt_error *)a->object);
    a->value = code > TT_UNAUTHENTICATED ? TT_INVALID_ARGUMENT
                                         : code; /* ours beyond PJRT's are kinds of bad arguments */
    return NULL;
}

tt_pjrt_error *eng_Error_ForEachPayload(void *args) {
    ENG_ARGS(error_payloads, a, context); /* our errors carry none */
    (void)a;
    return NULL;
}

/* ---- plugin ---- */
tt_pjrt_error *eng_Plugin_Initialize(void *args) {
    (void)args;
    return NULL;
}

tt_pjrt_error *eng_Plugin_Attributes(void *args) {
    static const int64_t current[] = {1, 0, 0}, minimum[] = {0, 9, 0};
    static const tt_pjrt_named_value attributes[] = {
        {sizeof(tt_pjrt_named_value), NULL, "xla_version", 11, TT_PJRT_VALUE_INT64, {.int64 = 2}, 1},
        {sizeof(tt_pjrt_named_value),
         NULL,
         "stablehlo_current_version",
         25,
         TT_PJRT_VALUE_INT64_LIST,
         {.int64_list = current},
         3},
        {sizeof(tt_pjrt_named_value),
         NULL,
         "stablehlo_minimum_version",
         25,
         TT_PJRT_VALUE_INT64_LIST,
         {.int64_list = minimum},
         3},
    };
    ENG_ARGS(plugin_attributes, a, count);
    a->items = attributes;
    a->count = 3;
    return NULL;
}

/* ---- the table ---- */
#define MISSING_0(slot)                                                                                      \
    static tt_pjrt_error *missing_##slot(void *args) {                                                       \
        (void)args;                                                                                          \
        return eng_pjrt_error(                                                                               \
            TT_ERROR(UNIMPLEMENTED, "PJRT_" #slot " is not implemented by the torch_tpu engine"));           \
    }
#define MISSING_1(slot)
#define PJRT(slot, client, engine, args) MISSING_##engine(slot)
#include "tables/pjrt.def"
#undef PJRT

#define ENTRY_0(slot)                    [TT_PJRT_##slot] = missing_##slot,
#define ENTRY_1(slot)                    [TT_PJRT_##slot] = eng_##slot,
#define PJRT(slot, client, engine, args) ENTRY_##engine(slot)

static const tt_pjrt_api api = {
    .struct_size = sizeof(tt_pjrt_api),
    .version = {.struct_size = sizeof api.version, .major = TT_PJRT_MAJOR, .minor = TT_PJRT_MINOR},
    .fn =
        {
#include "tables/pjrt.def"
        },
};
#undef PJRT

__attribute__((visibility("default"))) const tt_pjrt_api *GetPjrtApi(void);

const tt_pjrt_api *GetPjrtApi(void) {
    return &api;
}
