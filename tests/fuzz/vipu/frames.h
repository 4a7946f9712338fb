/* What the two fuzz targets of HTTP/2 connections share: an input that is a list of frames, and a connected
 * pair of sockets to push it through. Of a frame the input gives type, flags, stream, length and payload, so
 * that a mutant is a wrong frame more often than no frame at all; a type byte of 0x80 and more is raw bytes.
 */
#pragma once

#include "base/core/str.h"
#include "base/io/loop.h"

void frames_add(struct str *out, unsigned type, unsigned flags, unsigned stream, struct slice payload);
/* The input as HTTP/2 has it, behind what out has already. */
void frames_build(struct slice input, struct str *out);

/* fds[0] is for the code under test, fds[1] the peer's; neither blocks. */
void frames_connect(int fds[2]);
/* Sends the bytes in pieces while the loop runs, and reads what comes back; ends when all is sent or the
 * other side is gone. Closes the peer's end. */
void frames_push(struct loop *loop, int peer, struct slice bytes);
