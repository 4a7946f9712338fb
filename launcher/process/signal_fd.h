/* Signals for poll: they are blocked, and read one by one. */
#pragma once

#include <signal.h>
#include <stdint.h>

#include "base/core/err.h"

/* A descriptor for these signals, which must be blocked. */
MUST_USE bool signal_fd_open(const sigset_t *signals, int *ret, struct err *err);
int signal_fd_read(int fd); /* 0: there is none */
/* The timeout for poll, from now to the earliest deadline; at least 0. */
int poll_timeout_ms(int64_t now_ms, int64_t deadline_ms);
