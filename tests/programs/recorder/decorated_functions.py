"""Two decorated functions outside any case, and one with an explicit name."""

from opentelemetry.instrumentation.scenetest import dispatch, instrument


@dispatch()
def add() -> None: ...


@dispatch()
def multiply() -> None: ...


@dispatch(callable="step 1")
def step() -> None:
    add()


instrument()
for _ in range(2):
    add()
    multiply()
    step()
