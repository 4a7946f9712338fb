/* Bytes to browsers, made once and shared by all who get them: a message with its WebSocket frame, or an HTTP
 * response. */
#pragma once

#include <stddef.h>

#include "operator/serve/live/websocket.h"

struct frame {
    unsigned owners;
    size_t len;
    char bytes[];
};

struct frame *frame_of_bytes(struct slice bytes); /* as they are; all have one owner */
struct frame *frame_new(enum websocket_opcode opcode, struct slice payload);
struct frame *frame_of_text(char *text);       /* takes the text */
struct frame *frame_keep(struct frame *frame); /* one more owner */
void frame_drop(struct frame *frame);          /* one less; accepts NULL */
