"""Work on claims that outlives the call that asked for it.

Kubelet gives a call 45 s and then asks again, while the driver may take longer. So the work goes
on, the call is answered in time with "ask again", and a second call about the same claim joins
the running work instead of starting it anew (node-agent.md 8, fault 31).
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

Answer = TypeVar("Answer")

ANSWER_SECONDS: Final = 40
"""Below kubelet's 45 s, so that the answer still reaches it."""

THREADS: Final = 16


@dataclass(slots=True)
class Jobs(Generic[Answer]):
    """One kind of work, at most one piece of it at a time for each claim."""

    name: str
    answer_seconds: float = ANSWER_SECONDS
    _threads: ThreadPoolExecutor = field(init=False)
    _running: dict[str, Future[Answer]] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix=self.name)

    def run(
        self,
        claim_uids: Sequence[str],
        work: Callable[[Sequence[str]], Mapping[str, Callable[[], Answer]]],
        *,
        late: Callable[[], Answer],
    ) -> Mapping[str, Answer]:
        """Answer for each claim: of work that runs already, or of new work.

        `work` gets the claims for which none runs, prepares for all of them together and returns
        one piece for each, which are done one after the other. `late` makes the answer for
        claims whose work is not done in time.
        """
        began = time.monotonic()
        if not claim_uids:
            return {}
        new: dict[str, Future[Answer]] = {}
        with self._lock:
            for claim_uid in claim_uids:
                if claim_uid not in self._running:
                    new[claim_uid] = self._running[claim_uid] = Future()
            asked = {claim_uid: self._running[claim_uid] for claim_uid in claim_uids}
        if new:
            self._threads.submit(self._work, new, work)
        answers = {}
        for claim_uid, future in asked.items():
            left = max(0.0, began + self.answer_seconds - time.monotonic())
            try:
                answers[claim_uid] = future.result(left)
            except LateError:
                answers[claim_uid] = late()
        return answers

    def close(self) -> None:
        """Let the threads end once what runs is done."""
        self._threads.shutdown(wait=False)

    def _work(
        self,
        new: Mapping[str, Future[Answer]],
        work: Callable[[Sequence[str]], Mapping[str, Callable[[], Answer]]],
    ) -> None:
        try:
            pieces = work(tuple(new))
            for claim_uid, future in new.items():
                answer = pieces[claim_uid]()
                self._forget(claim_uid)
                future.set_result(answer)
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            for claim_uid, future in new.items():
                if not future.done():
                    self._forget(claim_uid)
                    future.set_exception(error)

    def _forget(self, claim_uid: str) -> None:
        """Let the next call about the claim start work of its own."""
        with self._lock:
            self._running.pop(claim_uid, None)
