/** A file that cannot be shown; the message is one sentence for the person who dropped it. */
export class OpenError extends Error {
  override name = "OpenError";
}
