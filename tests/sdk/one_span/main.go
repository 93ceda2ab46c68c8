// Sends one span by an unchanged exporter of OpenTelemetry's Go SDK that knows nothing but OTEL_EXPORTER_OTLP_* of its
// environment, and prints the trace's id; what the SDK's user would see is on standard error: one_span PROTOCOL
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/trace"
)

// The exporter would try again for a minute, whatever it is told of a single export.
func patience() time.Duration {
	told, err := time.ParseDuration(os.Getenv("OTEL_EXPORTER_OTLP_TIMEOUT") + "ms")
	if err != nil {
		return time.Minute
	}
	return told
}

func exporter(ctx context.Context, protocol string) (*otlptrace.Exporter, error) {
	if protocol == "grpc" {
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}

func send(ctx context.Context, protocol string) error {
	made, err := exporter(ctx, protocol)
	if err != nil {
		return err
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(made))
	_, span := provider.Tracer("tests").Start(ctx, "over TLS")
	span.End()
	fmt.Println(span.SpanContext().TraceID())
	return provider.ForceFlush(ctx)
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience())
	defer cancel()
	if err := send(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
