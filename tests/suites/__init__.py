"""The test suites: what there is (table), how one runs (runner), what it found (results)."""
