/* The simulator's own side of base/io/loop.h, which loop.c implements on virtual time: a loop is a process's,
 * and so stops with it and rests with it. */
#pragma once

#include "base/io/loop.h"
#include "fakes/clock.h"

struct host *loop_host(struct loop *loop);
