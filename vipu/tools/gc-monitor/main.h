/* gc-monitor as a function, so that one file can be several programs. */
#pragma once

int gc_monitor_main(int argc, char **argv); /* returns the exit status */
