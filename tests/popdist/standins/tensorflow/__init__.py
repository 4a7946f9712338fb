"""Stands in for TensorFlow."""
