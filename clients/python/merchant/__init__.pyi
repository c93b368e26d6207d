from typing import Any, Callable, Iterable, Mapping, Optional, Protocol, Sequence, TypedDict, Union

__version__: str
CLOCK_WINDOW_SECONDS: int
SIGNER_AHEAD_SECONDS: int
HIDDEN_SECONDS: int
MOST_ENTRIES: int
MOST_BYTES: int
DEEPEST: int
MOST_DIGITS: int

Json = dict[str, Any]
Id = Union[int, str]
Bytes = Union[str, bytes, bytearray]

class _Fields(Protocol):
    def items(self) -> Iterable[tuple[str, str]]: ...

Headers = Union[_Fields, Iterable[tuple[str, str]]]

class Todo(TypedDict):
    again: bool
    who: str
    what: str

class Link(TypedDict):
    url: str
    expiration: Any
    subscriptionId: Any
    answer: Json

class Withdrawal(TypedDict):
    withdrawId: Any
    found: bool

class Sent(TypedDict, total=False):
    txHash: Optional[str]
    address: Optional[str]
    state: Optional[str]
    subscriptionIds: list[int]

class Open(TypedDict):
    entry: Json
    why: str

class Billed(TypedDict):
    sent: list[Sent]
    failed: list[Json]
    open: list[Open]

RETRY: dict[str, Todo]

def what_to_do(failure: Mapping[str, Any]) -> Todo: ...
def sign(secret: Bytes, timestamp: str, method: str, path_and_query: str, body: Bytes = b"") -> str: ...

class NotVerified(Exception): ...

def verify_callback(
    headers: Headers,
    path_and_query: str,
    body: Bytes,
    credentials: Mapping[str, Union[Bytes, Sequence[Bytes]]],
    method: str = "POST",
    now: Optional[float] = None,
) -> Json: ...
def event_key(event: Mapping[str, Any], body: Bytes) -> str: ...
def verify_answer(
    headers: Headers, status: int, body: Bytes, secret: Bytes, request_sign: str, now: Optional[float] = None
) -> None: ...

class JsonNumber(str): ...

def parse(text: str) -> Any: ...
def dump(value: Any) -> str: ...

class CallError(Exception):
    status: Optional[int]
    code: Optional[int]
    msg: Optional[str]
    retry_after: Optional[int]
    max_batch: Optional[int]
    def __init__(
        self,
        message: str,
        status: Optional[int] = None,
        code: Optional[int] = None,
        msg: Optional[str] = None,
        retry_after: Optional[int] = None,
        max_batch: Optional[int] = None,
    ) -> None: ...
    @property
    def passes(self) -> bool: ...
    @property
    def may_have_happened(self) -> bool: ...

class NotProven(CallError): ...
class NotKnown(CallError): ...

class Conflict(CallError):
    withdraw_id: Any

class Platform:
    def __init__(
        self,
        url: str,
        key: str,
        secret: str,
        payment_url: Optional[str] = None,
        not_found_codes: Iterable[int] = (),
        *,
        timeout: float = 15,
        tries: int = 4,
        pause: float = 0.5,
        clock: Callable[[], float] = ...,
    ) -> None: ...
    def create_link(
        self, chain_id: Id, plan_id: Id, external_user_id: str, redirection_url: str, notify_url: str
    ) -> Link: ...
    def create_cancel_link(self, out_trade_no: str, redirection_url: str, notify_url: str) -> Link: ...
    def subscriptions(self, size: int = 500) -> list[Json]: ...
    def chains(self) -> list[Json]: ...
    def currencies(self, chain_id: Id) -> list[Json]: ...
    def create_user(self, uuid: str) -> Any: ...
    def user(self, uuid: str) -> Optional[Json]: ...
    def recharge(self, recharge_id: Id) -> Optional[Json]: ...
    def withdrawal(self, withdraw_id: Optional[Id] = None, out_trade_no: Optional[str] = None) -> Optional[Json]: ...
    def withdraw(
        self,
        chain_id: Id,
        currency_id: Id,
        withdraw_address: str,
        withdraw_amount: str,
        out_trade_no: str,
        notify_url: Optional[str] = None,
    ) -> Withdrawal: ...
    def chargeable(self, size: int = 500) -> list[Json]: ...

class Signer:
    def __init__(
        self,
        url: str,
        key: str,
        secret: str,
        most_entries: int = 500,
        most_bytes: int = 1_000_000,
        *,
        timeout: float = 15,
        tries: int = 4,
        pause: float = 0.5,
        clock: Callable[[], float] = ...,
    ) -> None: ...
    def bill(self, entries: Iterable[Json], families: Mapping[Any, str], dry_run: bool = False) -> Billed: ...
    def status(self, billing: str) -> list[Json]: ...
    def charges(self, **asked: Optional[Id]) -> Json: ...
    def control(self) -> list[Json]: ...
    def pause(self, chain_id: Optional[Id] = None, why: Optional[str] = None) -> list[Json]: ...
    def resume(self, pauses: Mapping[Any, int]) -> list[Json]: ...
