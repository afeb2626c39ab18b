"""pytest plugin: reaches the harness's scene_test module, which pytest's assertion rewriter loads past import hooks."""
