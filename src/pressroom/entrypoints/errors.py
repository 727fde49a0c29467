"""The one table that turns errors into what a caller sees: HTTP status, exit code, and a title for people.

Every class of `core/errors.py` has its row, found by the class or its nearest ancestor. What only HTTP knows (a
path without a route, a body over the limit) has a row as well. The slug ends the problem's `type`, which leads
to its paragraph in the docs page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pressroom.core.errors import (
    BadSetup,
    Conflict,
    Forbidden,
    InsufficientTokens,
    InvalidInput,
    NotFound,
    PressroomError,
    ProviderError,
    RateLimited,
    Unauthorized,
    Unavailable,
)

#: Exit codes that no error class owns. 2 is also what the command line says for wrong usage.
EXIT_OK = 0
EXIT_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Problem:
    slug: str
    status: int
    exit_code: int
    title: str
    title_ru: str
    meaning: str

    @property
    def type(self) -> str:
        return f"/api/problems/{self.slug}"


INTERNAL = Problem(
    "internal", 500, 70, "Unexpected error", "Непредвиденная ошибка",
    "A fault in Pressroom. The log has it under the request id; nothing of the request was kept halfway.",
)  # fmt: skip

PROBLEMS: Mapping[type[PressroomError], Problem] = MappingProxyType({
    PressroomError: INTERNAL,
    InvalidInput: Problem(
        "invalid-input", 422, 2, "Invalid input", "Неверные данные",
        "It cannot be done as asked. `field` names the value, `errors` every value when there are several.",
    ),
    NotFound: Problem(
        "not-found", 404, 3, "Not found", "Не найдено",
        "It does not exist, or not in this workspace.",
    ),
    Conflict: Problem(
        "conflict", 409, 4, "Conflict", "Конфликт",
        "It exists already, was changed meanwhile, is in the wrong state, or the same request is under way.",
    ),
    Unauthorized: Problem(
        "unauthorized", 401, 5, "Unauthorized", "Требуется авторизация",
        "No credential was presented, or one that is not known, has expired or was revoked.",
    ),
    Forbidden: Problem(
        "forbidden", 403, 6, "Forbidden", "Доступ запрещён",
        "The credential is known, but may not do this. The detail names the missing verb.",
    ),
    InsufficientTokens: Problem(
        "insufficient-tokens", 402, 7, "Insufficient tokens", "Недостаточно токенов",
        "The balance of the workspace does not cover it.",
    ),
    RateLimited: Problem(
        "rate-limited", 429, 8, "Too many requests", "Слишком много запросов",
        "Too much at once. `Retry-After` says when to come back.",
    ),
    Unavailable: Problem(
        "unavailable", 503, 9, "Temporarily unavailable", "Временно недоступно",
        "Something that is needed does not answer in time. `Retry-After` says when to try again.",
    ),
    BadSetup: Problem(
        "bad-setup", 500, 10, "Wrong setup", "Неверная настройка",
        "The machine or the configuration is wrong; only its owner can fix it.",
    ),
    ProviderError: Problem(
        "provider-failed", 502, 11, "Provider failed", "Сбой внешней службы",
        "A platform or another outside service refused, failed or did not answer.",
    ),
})  # fmt: skip

_ONLY_HTTP = (
    Problem("bad-request", 400, 2, "Bad request", "Неверный запрос", "The request is not readable as HTTP."),
    Problem(
        "method-not-allowed", 405, 2, "Method not allowed", "Метод не поддерживается",
        "The path exists, but not with this method. `Allow` names those that do.",
    ),
    Problem(
        "request-timeout", 408, 9, "Request timeout", "Запрос шёл слишком долго",
        "The request did not arrive completely within the time limit. It may be sent again.",
    ),
    Problem(
        "precondition-failed", 412, 4, "Precondition failed", "Условие не выполнено",
        "`If-Match` names another version than the present one: read it again, then repeat the edit.",
    ),
    Problem(
        "too-large", 413, 2, "Body too large", "Слишком большой запрос",
        "The body is over the limit. Nothing of it was read or kept.",
    ),
    Problem(
        "unsupported-media-type", 415, 2, "Unsupported media type", "Неподдерживаемый тип содержимого",
        "The body has to be `application/json`.",
    ),
    Problem(
        "headers-too-large", 431, 2, "Headers too large", "Слишком большие заголовки",
        "The request line and headers are over the limit.",
    ),
)  # fmt: skip

_BY_STATUS = {problem.status: problem for problem in (*reversed([*PROBLEMS.values()]), *_ONLY_HTTP)} | {
    500: INTERNAL
}


def problem_of(error: BaseException) -> Problem:
    """The row of an error's class, or of its nearest ancestor; what we did not foresee is internal."""
    return next((PROBLEMS[kind] for kind in type(error).__mro__ if kind in PROBLEMS), INTERNAL)


def problem_of_status(status: int) -> Problem:
    """The row of a status that the HTTP layer answers by itself."""
    return _BY_STATUS.get(status) or (_BY_STATUS[400] if 400 <= status < 500 else INTERNAL)


def every_problem() -> list[Problem]:
    """Each row once, by status, for the reference."""
    rows = {problem.slug: problem for problem in (*PROBLEMS.values(), *_ONLY_HTTP)}
    return sorted(rows.values(), key=lambda problem: (problem.status, problem.slug))
