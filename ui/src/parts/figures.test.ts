import { expect, it } from "vitest";
import { formatBytes, formatCount, formatRate, formatShare } from "./figures";

it.each([
  [formatCount(0), "0"],
  [formatCount(12345), "12,345"],
  [formatCount(1_234_567), "1.23 M"],
  [formatShare(0), "0 %"],
  [formatShare(0.00001), "< 0.01 %"],
  [formatShare(0.0123), "1.23 %"],
  [formatShare(0.5), "50 %"],
  [formatShare(0.9999), "> 99.9 %"],
  [formatShare(1), "100 %"],
  [formatRate(0), "0 /s"],
  [formatRate(0.002), "0.12 /min"],
  [formatRate(0.00002), "0.07 /h"],
  [formatRate(12.34), "12.3 /s"],
  [formatRate(123456), "123 k/s"],
  [formatBytes(0), "0 B"],
  [formatBytes(1536), "1.5 KiB"],
  [formatBytes(64 * 1024 * 1024), "64 MiB"],
])("%s", (text, expected) => expect(text).toBe(expected));
