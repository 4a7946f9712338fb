/* Where this program's own file is, without /proc: the kernel says under which name it was executed. */
#pragma once

/* Absolute, links resolved; yours. NULL when it cannot be told. */
char *executable_path(void);
/* The directory of that file; yours. NULL likewise. */
char *executable_dir(void);
