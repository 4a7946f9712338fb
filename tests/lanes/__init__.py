"""The test lanes: what there is (table), how one runs (runner), what it found (results)."""
