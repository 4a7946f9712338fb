"""Stands in for TensorFlow: its IPU configuration is an object of the caller's."""
