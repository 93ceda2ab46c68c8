import { useEffect, useState } from "preact/hooks";

/** The value, once it has not changed for so long: for what is asked of the server while a key is held. */
export function useRested<Value>(value: Value, milliseconds: number): Value {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setRested(() => value), milliseconds);
    return () => window.clearTimeout(timer);
  }, [value, milliseconds]);
  return rested;
}
