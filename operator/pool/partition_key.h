/* The access key with which the pods of a job use their partition, as the user that the partition has in
 * secure mode. Derived, so that no operator has to remember it; another job that gets the same id gets
 * another key.
 */
#pragma once

/* 64 hexadecimal digits; the caller frees it with mem_free_secret. */
char *partition_key_derive(const char *secret, const char *id, const char *job_uid);
