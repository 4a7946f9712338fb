/* Logging for the programs' shells: one line per event on stderr, text (`level message key=value`) or JSON.
 * Values are quoted if necessary and control characters escaped, so bytes from outside cannot forge a line.
 * log_warn("watch ended", KV("kind", "pods"), KVF("after_s", "%d", 12)); */
#pragma once

#include <stdbool.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log_kv {
    const char *key;
    const char *value; /* NULL omits the pair */
};

void log_setup(enum log_level least, bool json);
bool log_parse_level(const char *text, enum log_level *ret); /* debug, info, warn, error */
const char *log_level_name(enum log_level level);
enum log_level log_level(void); /* the lowest level that is logged */
void log_set_level(enum log_level least);
bool log_enabled(enum log_level level);
/* Formats into a ring of eight buffers: valid until the log call that it is an argument of has returned. */
const char *log_fmt(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Called through the macros below: msg, then any number of KV or KVF, then the end mark. */
void log_write(enum log_level level, const char *msg, ...);

#define KV(k, v) ((struct log_kv){(k), (v)})
#define KVF(k, ...) ((struct log_kv){(k), log_fmt(__VA_ARGS__)})
#define LOG_END ((struct log_kv){0})
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__, LOG_END)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__, LOG_END)
#define log_warn(...) log_write(LOG_WARN, __VA_ARGS__, LOG_END)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__, LOG_END)
