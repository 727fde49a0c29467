"""The reference as one page of plain HTML, made of the OpenAPI document. It loads nothing and runs nothing.

`/api/problems/<slug>`, the `type` of every problem, leads to its paragraph here.
"""

import json
import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any, cast

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from pressroom.entrypoints.api import openapi
from pressroom.entrypoints.api.parts import PlainRoute
from pressroom.entrypoints.errors import Problem, every_problem

Json = dict[str, Any]

PATH = "/api/docs"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
}


def routes(app: FastAPI) -> tuple[BaseRoute, ...]:
    pages: dict[str, bytes] = {}

    async def show(request: Request) -> Response:
        base = _base_of(request)
        if base not in pages:
            pages.clear()  # a server has one address, or a few
            pages[base] = page(openapi.document(app), base).encode()
        return Response(pages[base], 200, _HEADERS, "text/html; charset=utf-8")

    async def problem(request: Request) -> RedirectResponse:
        slug = request.path_params["slug"]
        if slug not in {known.slug for known in every_problem()}:
            raise HTTPException(404)
        return RedirectResponse(f"{PATH}#problem-{slug}", 303)

    async def without_slash(_request: Request) -> RedirectResponse:
        return RedirectResponse(PATH, 307)

    return (
        PlainRoute(PATH, show),
        PlainRoute(PATH + "/", without_slash),
        PlainRoute("/api/problems/{slug}", problem),
    )


def page(document: Json, base: str) -> str:
    """The whole page; `base` is the address that the examples call."""
    paths = cast("dict[str, dict[str, Json]]", document["paths"])
    operations = [
        _Operation(method, path, operation, document, base)
        for path, methods in paths.items()
        for method, operation in methods.items()
    ]
    groups = [
        (cast("Mapping[str, str]", tag), [one for one in operations if tag["name"] in one.spec["tags"]])
        for tag in document["tags"]
    ]
    title = f"{document['info']['title']} {document['info']['version']}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}: HTTP API</title>
<style>{_STYLE}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<h1>{escape(document["info"]["title"])} <small>HTTP API {escape(document["info"]["version"])}</small></h1>
{_prose(document["info"]["description"])}
<p>The same for programs: <a href="{openapi.PATH}">OpenAPI 3.1</a>. Whether work moves: <a href="/api/health">health</a>.</p>
</header>
<div class="columns">
<nav aria-label="Operations">{"".join(_menu(tag, members) for tag, members in groups)}
<h2><a href="#problems">Problems</a></h2></nav>
<main id="content">{"".join(_group(tag, members) for tag, members in groups)}
{_problems()}</main>
</div>
</body>
</html>
"""


class _Operation:
    def __init__(self, method: str, path: str, spec: Json, document: Json, base: str) -> None:
        self.method, self.path, self.spec = method.upper(), path, spec
        self.id = re.sub(r"[^a-z0-9]+", "-", f"{method}{path}".lower()).strip("-")
        self._document = document
        self._base = base

    def html(self) -> str:
        parts = [
            f"<h4>Example</h4>{_code(self._curl())}",
            self._parameters("path", "In the path"),
            self._parameters("query", "In the query"),
            self._parameters("header", "Headers"),
            self._body(),
            self._answers(),
        ]
        return (
            f'<section class="operation" id="{self.id}"><h3><a href="#{self.id}">{escape(self.spec["summary"])}</a></h3>'
            f'<p class="line"><b class="method {self.method.lower()}">{self.method}</b> <code>{_breakable(self.path)}</code></p>'
            f"{_prose(self.spec.get('description', ''))}{''.join(parts)}</section>"
        )

    def _parameters(self, place: str, title: str) -> str:
        found = [one for one in cast("list[Json]", self.spec.get("parameters", [])) if one["in"] == place]
        rows = [
            (one["name"], self._kind(one["schema"]), one.get("required", False), one.get("description", ""))
            for one in found
        ]
        return f"<h4>{title}</h4>{_table(rows)}" if rows else ""

    def _body(self) -> str:
        if "requestBody" not in self.spec:
            return ""
        content = self.spec["requestBody"]["content"]["application/json"]
        return f"<h4>Body</h4>{_table(self._fields(content['schema']))}"

    def _answers(self) -> str:
        answers = [
            (status, self._resolved(answer)) for status, answer in cast("Json", self.spec["responses"]).items()
        ]
        told = [self._answer(status, answer) for status, answer in answers if not _is_problem(answer)]
        refusals = [
            f'<a href="#problem-{_slug(answer)}">{status} {escape(answer["description"].partition(".")[0])}</a>'
            for status, answer in answers
            if _is_problem(answer)
        ]
        listed = f'<p class="refusals">Problems: {", ".join(refusals)}</p>' if refusals else ""
        return f"<h4>Answers</h4>{''.join(told)}{listed}"

    def _answer(self, status: str, answer: Json) -> str:
        description = "" if answer["description"] == "Successful Response" else escape(answer["description"])
        html = f'<p><b class="status">{status}</b> {_inline(description)}</p>'
        for content in cast("dict[str, Json]", answer.get("content", {})).values():
            example = content["example"]
            html += _code(example if isinstance(example, str) else _pretty(example))
            rows = self._fields(content["schema"])
            html += f"<details><summary>Fields</summary>{_table(rows)}</details>" if rows else ""
        return html

    def _curl(self) -> str:
        path = self.path
        options: list[str] = []
        for one in cast("list[Json]", self.spec.get("parameters", [])):
            if one["in"] == "path":
                given = "$WORKSPACE" if one["name"] == "workspace_id" else str(one["example"])
                path = path.replace("{" + one["name"] + "}", given)
        if self.path == "/ingest/push":
            options.append("-H 'X-Pressroom-Secret: prs_push_…'")
        elif self.path.startswith("/api/v1/"):
            options.append('-H "Authorization: Bearer $TOKEN"')
        if "requestBody" in self.spec:
            example = self.spec["requestBody"]["content"]["application/json"]["example"]
            options.append("-H 'Content-Type: application/json'")
            options.append(f"-d '{json.dumps(example, ensure_ascii=False)}'")
        elif self.method != "GET":
            options.insert(0, f"-X {self.method}")
        if self.method == "PATCH":
            options.insert(0, "-X PATCH")
        return " \\\n  ".join([f"curl {self._base}{path}", *options])

    def _fields(self, schema: Json) -> "list[tuple[str, str, bool, str]]":
        schema = self._resolved(schema)
        required = schema.get("required", ())
        return [
            (
                name,
                self._kind(field),
                name in required,
                self._resolved(field).get("description", "") or field.get("description", ""),
            )
            for name, field in cast("dict[str, Json]", schema.get("properties", {})).items()
        ]

    def _kind(self, schema: Json) -> str:
        schema = self._resolved(schema)
        if "enum" in schema:
            return " | ".join(map(str, schema["enum"]))
        if "const" in schema:
            return str(schema["const"])
        if "anyOf" in schema:
            kinds = dict.fromkeys(self._kind(one) for one in schema["anyOf"] if one.get("type") != "null")
            return " or ".join(kinds)
        if schema.get("type") == "array":
            return f"list of {self._kind(schema['items'])}"
        if schema.get("type") == "object" and schema.get("title") in self._document["components"]["schemas"]:
            return str(schema["title"])
        return {"date-time": "time", "uuid": "uuid"}.get(
            schema.get("format", ""), str(schema.get("type", "any"))
        )

    def _resolved(self, part: Json) -> Json:
        if "$ref" not in part:
            return part
        _, kind, name = part["$ref"].removeprefix("#/").split("/")
        return cast("Json", self._document["components"][kind][name])


def _menu(tag: Mapping[str, str], members: Iterable[_Operation]) -> str:
    links = "".join(f'<li><a href="#{one.id}">{escape(one.spec["summary"])}</a></li>' for one in members)
    return f'<h2><a href="#{tag["name"].lower()}">{escape(tag["name"])}</a></h2><ul>{links}</ul>'


def _group(tag: Mapping[str, str], members: Iterable[_Operation]) -> str:
    return (
        f'<section id="{tag["name"].lower()}"><h2>{escape(tag["name"])}</h2>{_prose(tag["description"])}'
        f"{''.join(one.html() for one in members)}</section>"
    )


def _problems() -> str:
    return f'<section id="problems"><h2>Problems</h2>{"".join(map(_problem, every_problem()))}</section>'


def _problem(problem: Problem) -> str:
    return (
        f'<section class="problem" id="problem-{problem.slug}"><h3>{problem.status} {escape(problem.title)}</h3>'
        f"{_prose(problem.meaning)}<p><code>{_breakable(problem.type)}</code></p></section>"
    )


def _table(rows: "Iterable[tuple[str, str, bool, str]]") -> str:
    body = "".join(
        f"<tr><th scope=row><code>{_breakable(name)}</code>{'<b class=required title=required> *</b>' if required else ''}</th>"
        f"<td><span class=kind>{escape(kind)}</span></td><td>{_inline(escape(description))}</td></tr>"
        for name, kind, required, description in rows
    )
    return f"<table>{body}</table>"


def _prose(text: str) -> str:
    return "".join(
        f"<p>{_inline(escape(' '.join(part.split())))}</p>" for part in text.split("\n\n") if part.strip()
    )


def _inline(escaped: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)


def _breakable(text: str) -> str:
    """A long path or name may be broken after its separators."""
    return re.sub(r"([/_])", r"\1<wbr>", escape(text))


def _code(text: str) -> str:
    return f"<pre tabindex=0><code>{escape(text)}</code></pre>"


def _pretty(example: object) -> str:
    return json.dumps(example, ensure_ascii=False, indent=2)


def _is_problem(answer: Json) -> bool:
    return "application/problem+json" in answer.get("content", {})


def _slug(answer: Json) -> str:
    return str(answer["content"]["application/problem+json"]["example"]["type"]).rpartition("/")[2]


def _base_of(request: Request) -> str:
    """The address that the reader used, where it is one that can stand in an example."""
    host = request.headers.get("host", "")
    return f"http://{host}" if re.fullmatch(r"[A-Za-z0-9.\[\]:-]{1,100}", host) else "http://127.0.0.1:8800"


_STYLE = """
:root{color-scheme:light dark;--ink:#1d2327;--soft:#5a646d;--paper:#fff;--panel:#f4f6f8;--line:#dde2e6;--link:#0a58b8;
--get:#0a6b3d;--post:#0a58b8;--patch:#8a5a00;--delete:#b3261e;--bar:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e4e8eb;--soft:#9aa5ae;--paper:#15191c;--panel:#1f2529;--line:#333c42;
--link:#7fb8ff;--get:#6fd19b;--post:#7fb8ff;--patch:#e8b95b;--delete:#ff8a80;--bar:#15191c}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
a{color:var(--link);text-decoration:none}a:hover,a:focus{text-decoration:underline}
:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:3px}
.skip{position:absolute;left:-999px}.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.4rem .8rem;z-index:1}
header,.columns{max-width:72rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2rem;padding-bottom:.5rem;border-bottom:1px solid var(--line)}header p{max-width:48rem}
h1{font-size:2rem;line-height:1.2;margin:0}h1 small{font-size:1rem;font-weight:400;color:var(--soft);white-space:nowrap}
.columns{display:grid;grid-template-columns:15rem minmax(0,1fr);gap:2.5rem}
nav{position:sticky;top:0;align-self:start;max-height:100vh;overflow-y:auto;padding:1rem 0;font-size:.9rem}
nav h2{font-size:.9rem;margin:1rem 0 .2rem}nav h2 a{color:inherit}nav ul{list-style:none;margin:0;padding:0}nav li{padding:.12rem 0}
main{padding:.5rem 0 4rem}
main>section>h2{font-size:1.5rem;margin:2.5rem 0 .25rem}
.operation,.problem{border-top:1px solid var(--line);padding:.5rem 0 1rem;margin-top:1.25rem}.problem{margin-top:0}
h3{font-size:1.15rem;margin:.75rem 0 .25rem}h3 a{color:inherit}
h4{font-size:.8rem;font-weight:600;color:var(--soft);margin:1.1rem 0 .3rem;text-transform:uppercase;letter-spacing:.04em}
p{margin:.5rem 0}.line{overflow-wrap:anywhere}
code,pre{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"Noto Sans Mono","DejaVu Sans Mono",monospace;font-size:.88em}
pre{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:.7rem .9rem;margin:.4rem 0;overflow-x:auto;line-height:1.45}
pre code{font-size:.85rem}p code,td code{background:var(--panel);border-radius:3px;padding:.05em .25em}
.line code{background:none;padding:0}
.method{display:inline-block;min-width:4.2em;font-size:.8rem}.get{color:var(--get)}.post{color:var(--post)}.patch{color:var(--patch)}.delete{color:var(--delete)}
.status{font-variant-numeric:tabular-nums}.required{color:var(--delete)}.kind,.refusals{color:var(--soft)}.refusals,.kind{font-size:.9rem}
table{border-collapse:collapse;width:100%;table-layout:fixed;font-size:.93rem}
th,td{text-align:left;vertical-align:top;padding:.35rem .8rem .35rem 0;border-top:1px solid var(--line);font-weight:400}
tr:first-child>*{border-top:0}th{width:15.5rem;overflow-wrap:anywhere}td:nth-child(2){width:11rem}
details{margin:.3rem 0}summary{cursor:pointer;color:var(--link);font-size:.9rem}
@media (max-width:52rem){.columns{display:block}nav{position:static;max-height:none;columns:2;column-gap:1.5rem;border-bottom:1px solid var(--line)}
nav h2{break-after:avoid}nav h2:first-child{margin-top:0}nav ul{break-inside:avoid}
table,tbody,tr,th,td{display:block;width:auto!important}tr{border-top:1px solid var(--line);padding:.4rem 0}tr:first-child{border-top:0}
th,td{border:0;padding:0;white-space:normal}td:empty{display:none}}
@media print{nav,.skip{display:none}.columns{display:block}}
"""
