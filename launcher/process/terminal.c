#include "launcher/process/terminal.h"

#include <unistd.h>

bool terminal_is_there(void)
{
    return tcgetpgrp(STDIN_FILENO) >= 0;
}

bool terminal_is_foreground(void)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* From the background these are allowed because SIGTTOU is blocked. They fail only after a hang-up, which
 * the command learns by SIGHUP. */
void terminal_set_foreground(pid_t group)
{
    (void)tcsetpgrp(STDIN_FILENO, group);
}

void terminal_restore(pid_t group)
{
    if (tcgetpgrp(STDIN_FILENO) == group)
        (void)tcsetpgrp(STDIN_FILENO, getpgrp());
}
