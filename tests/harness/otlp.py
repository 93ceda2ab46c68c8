"""An OTLP client made by hand: requests as plain dictionaries, sent as JSON over HTTP."""

import http.client
import json
import secrets
import time

RETRYABLE = {429, 502, 503, 504}


def trace_id():
    return secrets.token_hex(16)


def span_id():
    return secrets.token_hex(8)


def value(plain):
    if isinstance(plain, bool):
        return {"boolValue": plain}
    if isinstance(plain, int):
        return {"intValue": str(plain)}
    if isinstance(plain, float):
        return {"doubleValue": plain}
    return {"stringValue": plain}


def attributes(plain):
    return [{"key": key, "value": value(one)} for key, one in plain.items()]


def span(trace, name, duration_nano, *, start_nano=None, span=None, parent="", kind=2, error=False, **plain):
    start_nano = time.time_ns() - duration_nano if start_nano is None else start_nano
    return {
        "traceId": trace,
        "spanId": span or span_id(),
        "parentSpanId": parent,
        "name": name,
        "kind": kind,
        "startTimeUnixNano": str(start_nano),
        "endTimeUnixNano": str(start_nano + duration_nano),
        "attributes": attributes(plain),
        "status": {"code": 2, "message": "it failed"} if error else {},
    }


def request(service, spans, **resource):
    resource = {"service.name": service, **resource}
    scope = {"scope": {"name": "tests"}, "spans": spans}
    return {"resourceSpans": [{"resource": {"attributes": attributes(resource)}, "scopeSpans": [scope]}]}


def post(address, body, content_type="application/json", path="/v1/traces", timeout=120, **headers):
    """(status, headers, body) of one POST; raises OSError or HTTPException when the connection fails."""
    connection = http.client.HTTPConnection(address, timeout=timeout)
    try:
        names = {name.replace("_", "-"): text for name, text in headers.items()}
        connection.request("POST", path, body, {"Content-Type": content_type, **names})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


def try_send(address, body):
    """Sends a request once; its status, 0 when the connection failed (the outcome is then unknown)."""
    try:
        return post(address, body)[0]
    except (OSError, http.client.HTTPException):
        return 0


def send(address, content):
    """Sends a request that must be taken whole."""
    status, _, body = post(address, json.dumps(content).encode())
    assert status == 200 and not json.loads(body or b"{}").get("partialSuccess"), f"{status} {body!r}"
