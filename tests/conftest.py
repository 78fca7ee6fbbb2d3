"""Settings that every test shares."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import settings

# shared machines are noisy: no example is judged by its time
settings.register_profile("default", deadline=None, max_examples=40)
settings.load_profile("default")
