import pytest

import choose_extra


@pytest.mark.parametrize(
    ("version", "extra"),
    [
        (0, "host"),
        (11080, "host"),
        (12000, "cuda12"),
        (12090, "cuda12"),
        (13000, "cuda13"),
        (13020, "cuda13"),
    ],
)
def test_extra_fits_what_the_driver_runs(version, extra):
    assert choose_extra.fitting_extra(version) == extra


def test_machine_without_a_driver_has_version_0(monkeypatch):
    monkeypatch.setattr(choose_extra, "LIBRARIES", ("libnone.so.9",))
    assert choose_extra.driver_version() == 0
