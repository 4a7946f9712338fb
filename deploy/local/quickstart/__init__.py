"""deploy/quickstart: command line (command), target cluster (target_cluster), Helm release (installation), container
images (images), example job (example), printed stages (progress)."""
