"""deploy/quickstart: the words of the command line (command), the cluster it is about (target), what is made there
(installation), and the example job (example)."""
