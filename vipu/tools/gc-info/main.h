/* gc-info as a function, so that one file can be several programs. */
#pragma once

int gc_info_main(int argc, char **argv); /* returns the exit status */
