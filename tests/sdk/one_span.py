"""Sends one span by an unchanged exporter of OpenTelemetry's Python SDK that knows nothing but OTEL_EXPORTER_OTLP_* of its
environment, and prints the trace's id; what the SDK's user would see is on standard error: one_span.py PROTOCOL"""

import importlib
import logging
import sys

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

PLACES = {"grpc": "grpc", "http/protobuf": "http"}

logging.basicConfig(level=logging.WARNING)
place = importlib.import_module(f"opentelemetry.exporter.otlp.proto.{PLACES[sys.argv[1]]}.trace_exporter")
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(place.OTLPSpanExporter()))
span = provider.get_tracer("tests").start_span("over TLS")
span.end()
print(f"{span.get_span_context().trace_id:032x}")
provider.shutdown()
