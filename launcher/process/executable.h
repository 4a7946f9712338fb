/* The path of this program's own file, without /proc: the kernel passes the name under which it was
 * executed. */
#pragma once

/* Absolute, links resolved; the caller frees it. NULL if it is unknown. */
char *executable_path(void);
/* The directory of that file; the caller frees it. NULL likewise. */
char *executable_dir(void);
