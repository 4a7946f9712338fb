"""deploy/quickstart: command line (command), target cluster (target_cluster), Helm release (installation), container
images (images), example job (example) without a cluster (local_run), printed stages (progress)."""
