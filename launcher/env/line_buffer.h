/* Cuts the output of a rank into chunks that mpirun forwards as they are:
 * - Its daemons read at most 4,096 bytes at a time and forward what one read returns; what two ranks write is
 *   mixed where these reads end (ORTE_IOF_BASE_MSG_MAX in orte/mca/iof/base/base.h of Open MPI v4.1.4,
 *   PRTE_IOF_BASE_MSG_MAX in src/mca/iof/base/base.h of PRRTE v3.0.13). So each chunk is one read at most,
 * and ends with a line.
 * - mpirun writes a chunk with the tags of its lines at once, which a pipe keeps together up to PIPE_BUF.
 * - Version 4.1 drops what exceeds 8,192 bytes with the tags (ORTE_IOF_BASE_TAGGED_OUT_MAX,
 *   orte/mca/iof/base/iof_base_output.c), also with the longer tags of --timestamp-output.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LINE_BUFFER_CHUNK_MAX 4096u /* with the tags of its lines */
#define LINE_BUFFER_TAG_MAX 25u     /* [JOB,RANK]<stderr>: with a space */
#define LINE_BUFFER_PIECE_MAX 4000u /* of a longer line */
#define LINE_BUFFER_CAPACITY (64u * 1024u)

/* Appended to a piece of a line that continues in the next one. */
#define LINE_BUFFER_MARK "\\\n"

struct line_buffer {
    size_t start, end;                 /* of the bytes that are not taken yet */
    char tag[LINE_BUFFER_TAG_MAX + 1]; /* before each line, if mpirun adds none */
    bool is_exact; /* a single rank: nothing is added, as no other rank's line can follow */
    char bytes[LINE_BUFFER_CAPACITY];
};

/* Where the next bytes are stored; *ret_len is at least 1 if everything was taken that could be. */
char *line_buffer_space(struct line_buffer *buffer, size_t *ret_len);
void line_buffer_add(struct line_buffer *buffer, size_t len); /* so many were stored there */
bool line_buffer_is_empty(const struct line_buffer *buffer);

enum line_buffer_rest {
    LINE_BUFFER_KEEP, /* an unfinished line waits for its end */
    LINE_BUFFER_CUT,  /* it has waited long enough: a piece of it */
    LINE_BUFFER_END,  /* there is no more: it is the last line */
};

/* The next chunk; 0: more bytes are needed. */
size_t line_buffer_take(struct line_buffer *buffer, enum line_buffer_rest rest,
                        char ret[LINE_BUFFER_CHUNK_MAX]);
