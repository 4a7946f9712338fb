/* The program behind `ipu-launch agent`, `remote` and `agent-ready`: argv[1] is the verb. ipu-launch
 * executes it, because TLS makes a static program large, and one of that size is enough. */
#pragma once

int agent_main(int argc, char **argv);
