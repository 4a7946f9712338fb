/* A connection between a client and an agent after the handshake: frames in and out, and heartbeats from
 * each side. It owns the TLS connection. */
#pragma once

#include "launcher/remote/protocol/frame.h"
#include "launcher/remote/protocol/psk.h"

#define AGENT_CONN_HEARTBEAT_MS 3000
#define AGENT_CONN_IDLE_TIMEOUT_MS 15000
#define LINK_OUT_MAX_BYTES (256u * 1024u) /* beyond it nothing is read that would require a response */

struct agent_conn {
    struct psk *tls;
    struct str in, out;
    size_t taken; /* of `in` */
    int64_t last_received_ms, last_sent_ms;
    bool is_closed; /* the peer has sent its end of data */
};

void agent_conn_init(struct agent_conn *conn, struct psk *tls, int64_t now_ms);
void agent_conn_close(struct agent_conn *conn);
void agent_conn_detach(struct agent_conn *conn); /* as psk_detach */

int agent_conn_fd(const struct agent_conn *conn);
short agent_conn_events(const struct agent_conn *conn);
bool agent_conn_is_full(const struct agent_conn *conn);
/* Something can be read without waiting, so poll must not wait. */
bool agent_conn_has_more(const struct agent_conn *conn);

void agent_conn_send_number(struct agent_conn *conn, enum frame_type type, uint8_t channel, uint32_t number);
void agent_conn_send_bytes(struct agent_conn *conn, enum frame_type type, uint8_t channel,
                           struct slice bytes);

/* Reads and writes as much as possible, sends heartbeats. ERR_IO, ERR_TIMEOUT: the connection cannot be used
 * any more. */
MUST_USE bool agent_conn_process(struct agent_conn *conn, int64_t now_ms, struct err *err);
/* The next received frame; valid until the next agent_conn_process. *ret_got is false if there is none. */
MUST_USE bool agent_conn_next_frame(struct agent_conn *conn, struct frame *ret, bool *ret_got,
                                    struct err *err);
/* The deadline of the next call of agent_conn_process. */
int64_t agent_conn_deadline_ms(const struct agent_conn *conn);
