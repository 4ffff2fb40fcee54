/* plugin.h - inside pjrt/: a loaded PJRT plugin. Plugins are loaded once per path and never unloaded: their
 * threads outlive clients. */
#ifndef TT_PLUGIN_H
#define TT_PLUGIN_H
#include "base/status.h"
#include "pjrt/abi.h"

typedef struct tt_plugin {
    const tt_pjrt_api *api;
    const char *path;
    int minor;
    struct tt_plugin *next;
} tt_plugin;

/* Loads and initialises the plugin, or gives the one already loaded from this path. Thread-safe. */
TT_MUST_CHECK tt_status tt_plugin_open(const char *path, const tt_plugin **out_plugin);
#endif
