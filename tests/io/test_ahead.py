"""A second thread computes items while this one works on those before them."""

from threading import Event

import pytest

from parkf.io.ahead import ahead


def test_items_keep_their_order() -> None:
    assert list(ahead(iter(range(100)))) == list(range(100))
    assert list(ahead(iter(()))) == []


def test_an_item_is_computed_while_the_one_before_is_in_use() -> None:
    begun = Event()

    def items():
        yield 1
        begun.set()
        yield 2

    found = ahead(items())
    assert next(found) == 1
    assert begun.wait(60)
    assert list(found) == [2]


def test_an_error_comes_in_the_place_of_its_item() -> None:
    def items():
        yield 1
        raise ValueError("item 2")

    found = ahead(items())
    assert next(found) == 1
    with pytest.raises(ValueError, match="item 2"):
        next(found)


def test_few_items_are_computed_that_nobody_wants() -> None:
    computed = []

    def items():
        for number in range(1000):
            computed.append(number)
            yield number

    found = ahead(items())
    next(found)
    found.close()
    assert len(computed) < 20
