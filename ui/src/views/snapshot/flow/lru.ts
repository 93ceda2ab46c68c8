// Lru: the values that were looked at last, as many as are allowed; the others go.

export class Lru<Value> {
  private readonly values = new Map<string, Value>();

  constructor(private readonly most: number) {}

  get size(): number {
    return this.values.size;
  }

  has(key: string): boolean {
    return this.values.has(key);
  }

  /** Looks at it: it stays the longest from now on. */
  get(key: string): Value | undefined {
    const value = this.values.get(key);
    if (value === undefined) return undefined;
    this.values.delete(key);
    this.values.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.values.delete(key);
    this.values.set(key, value);
    for (const oldest of this.values.keys()) {
      if (this.values.size <= this.most) break;
      this.values.delete(oldest);
    }
  }
}
