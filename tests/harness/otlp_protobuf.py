"""Requests as harness.otlp makes them, in protobuf."""

import base64
import struct


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def sized(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def number(field, value):
    return varint(field << 3) + varint(int(value))


def fixed64(field, value):
    return varint(field << 3 | 1) + struct.pack("<Q", int(value))


def any_value(value):
    kind, content = next(iter(value.items()))
    match kind:
        case "stringValue":
            return sized(1, content)
        case "boolValue":
            return number(2, content)
        case "intValue":
            return number(3, content)
        case "doubleValue":
            return varint(4 << 3 | 1) + struct.pack("<d", content)
        case "arrayValue":
            return sized(5, b"".join(sized(1, any_value(one)) for one in content["values"]))
        case "kvlistValue":
            return sized(6, attributes(1, content))
        case "bytesValue":
            return sized(7, base64.b64decode(content))
    raise ValueError(kind)


def attributes(field, content):
    """The `values` of a map, or the `attributes` of anything else."""
    pairs = content.get("values", content.get("attributes", []))
    return b"".join(sized(field, sized(1, one["key"]) + sized(2, any_value(one["value"]))) for one in pairs)


def event(content):
    return fixed64(1, content["timeUnixNano"]) + sized(2, content["name"]) + attributes(3, content)


def link(content):
    return (sized(1, bytes.fromhex(content["traceId"])) + sized(2, bytes.fromhex(content["spanId"])) +
            sized(3, content.get("traceState", "")) + attributes(4, content))


def span(content):
    status = content.get("status", {})
    return (sized(1, bytes.fromhex(content["traceId"])) + sized(2, bytes.fromhex(content["spanId"])) +
            sized(3, content.get("traceState", "")) + sized(4, bytes.fromhex(content["parentSpanId"])) +
            sized(5, content["name"]) + number(6, content["kind"]) + fixed64(7, content["startTimeUnixNano"]) +
            fixed64(8, content["endTimeUnixNano"]) + attributes(9, content) +
            b"".join(sized(11, event(one)) for one in content.get("events", [])) +
            b"".join(sized(13, link(one)) for one in content.get("links", [])) +
            sized(15, sized(2, status.get("message", "")) + number(3, status.get("code", 0))))


def scope_spans(content):
    scope = content["scope"]
    about = sized(1, scope["name"]) + sized(2, scope.get("version", "")) + attributes(3, scope)
    return sized(1, about) + b"".join(sized(2, span(one)) for one in content["spans"]) + sized(3, content.get("schemaUrl", ""))


def encode(request):
    return b"".join(
        sized(1, sized(1, attributes(1, one["resource"])) + b"".join(sized(2, scope_spans(part)) for part in one["scopeSpans"]) +
              sized(3, one.get("schemaUrl", "")))
        for one in request["resourceSpans"])
