"""Measurements of `torch.utils.benchmark`, with and without a search for the block size."""

from __future__ import annotations

import json

from torch.utils.benchmark import Timer

timer = Timer("sum(values)", globals={"values": list(range(1000))}, label="Sum", sub_label="1000", num_threads=1)
once = timer.timeit(50)
many = timer.blocked_autorange(min_run_time=0.02)
print(json.dumps({"once": once.raw_times, "many": many.raw_times, "number": many.number_per_run}))
