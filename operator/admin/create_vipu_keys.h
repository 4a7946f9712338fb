/* ipu-operator create-vipu-keys: fills the Secret of the chart's own V-IPU controller, once. */
#pragma once

int create_vipu_keys_main(int argc, char **argv, const char *(*env)(const char *));
