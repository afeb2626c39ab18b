"""As in the harness: the attribute `scene_test` of this package is the decorator, not the module."""

from .scene_test import SceneTestCase, TaskArgsBuilder, TensorArg, scene_test

__all__ = ["SceneTestCase", "TaskArgsBuilder", "TensorArg", "scene_test"]
