"""For all tests: no timed asserts, hypothesis's deadline among them."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
