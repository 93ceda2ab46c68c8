"""What the tests across folders share: the real programs, a hand-made OTLP client, and waiting without sleeping."""
