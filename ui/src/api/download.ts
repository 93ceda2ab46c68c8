// A file of the server's, as a browser saves it: asked for like everything else, so that the server learns who asks.
import { askFile } from "./ask";

/** Rejects with an AskError. */
export async function download(address: string, name: string): Promise<void> {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await askFile(address));
  link.download = name;
  link.click();
  // The browser has begun to read it by then; a file is not to stay in memory.
  window.setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
