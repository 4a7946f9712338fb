/* A connection between a client and an agent after the handshake: frames in and out, and a beat from each
 * side by which the other knows that it is alive. It owns the TLS connection. */
#pragma once

#include "launcher/remote/frame.h"
#include "launcher/remote/psk.h"

#define LINK_BEAT_MS 3000
#define LINK_SILENCE_MS 15000
#define LINK_OUT_MAX_BYTES (256u * 1024u) /* beyond it nothing is read that would have to be sent */

struct link {
    struct psk *tls;
    struct str in, out;
    size_t taken; /* of `in` */
    int64_t heard_ms, told_ms;
    bool is_closed; /* the peer has said that nothing follows */
};

void link_init(struct link *link, struct psk *tls, int64_t now_ms);
void link_close(struct link *link);
void link_forget(struct link *link); /* as psk_forget */

int link_fd(const struct link *link);
short link_events(const struct link *link);
bool link_is_full(const struct link *link);
/* Something can be read without waiting, so poll must not wait. */
bool link_has_more(const struct link *link);

void link_put(struct link *link, const struct frame *frame);
void link_put_number(struct link *link, enum frame_type type, uint8_t channel, uint32_t number);
void link_put_bytes(struct link *link, enum frame_type type, uint8_t channel, struct slice bytes);

/* Reads what has come, sends what can go, beats. ERR_IO, ERR_TIMEOUT: the connection is of no use any more.
 */
MUST_USE bool link_turn(struct link *link, int64_t now_ms, struct err *err);
/* The next frame that has come; good until the next link_turn. *ret_got is false when there is none. */
MUST_USE bool link_next(struct link *link, struct frame *ret, bool *ret_got, struct err *err);
/* When link_turn has to be called again, at the latest. */
int64_t link_deadline_ms(const struct link *link);
