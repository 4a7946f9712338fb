/* poprun as a function, so that one file can be several programs. */
#pragma once

int poprun_main(int argc, char **argv); /* returns the exit status */
