// The receipt of a model call: hashes of what really went out. A row rebuilt from the record is held against it.

import { type Json, type Obj, arr, at, isObj, objs, str } from "./json.ts";
import { sha256Hex } from "./sha256.ts";

export type Check = "verified" | "mismatch" | "cannot-say";

export const receiptHash = (runId: string, content: string): string => sha256Hex(`${runId}\u001f${content}`).slice(0, 16);

/** JSON with sorted keys, as the receipt's digests use it. */
export function sortedJson(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(",")}]`;
  if (isObj(value))
    return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${sortedJson(value[key])}`).join(",")}}`;
  return value === undefined ? "null" : JSON.stringify(value);
}

/** The text that a message's hash covers. */
export function messageDigest(message: Obj): string {
  const calls = objs(message["toolCalls"]).map((call) =>
    [str(call["id"]), str(call["name"]), call["args"] === undefined ? "" : sortedJson(call["args"]), call["providerMeta"] === undefined ? "" : sortedJson(call["providerMeta"])].join("\u001d"),
  );
  const thinking = message["thinkingBlocks"];
  return [
    str(message["role"]), str(message["content"]), str(message["toolCallId"]), str(message["toolName"]), calls.join("\u001c"),
    Array.isArray(thinking) && thinking.length ? sortedJson(thinking) : "",
  ].join("\u001e");
}

export const toolDigest = (schema: Obj): string => {
  const { name, description, inputSchema } = schema;
  const out: Obj = {};
  if (name !== undefined) out["name"] = name;
  if (description !== undefined) out["description"] = description;
  if (inputSchema !== undefined) out["inputSchema"] = inputSchema;
  return sortedJson(out);
};

export interface Receipt {
  runId: string;
  systemHash: string;
  systemChars: number | undefined;
  pieces: string[];
  entries: { role: string; hash: string }[];
  requestOnly: Obj[];
  toolNames: string[];
  schemaHashes: string[];
  forced: string;
  withheld: string;
  cacheStrategy: Json | undefined;
  params: Obj;
  omitted: number;
}

export function readReceipt(value: Json | undefined): Receipt | undefined {
  if (!isObj(value) || at(value, "basis", "epoch") === undefined) return undefined;
  const texts = (list: Json | undefined): string[] => arr(list).map(str);
  const chars = at(value, "system", "chars");
  const omitted = at(value, "omittedForAttention", "count");
  const params = value["params"];
  return {
    runId: str(at(value, "basis", "runId")),
    systemHash: str(at(value, "system", "hash")),
    systemChars: typeof chars === "number" ? chars : undefined,
    pieces: objs(at(value, "system", "pieces")).map((piece) => str(piece["hash"])),
    entries: objs(at(value, "messages", "entries")).map((entry) => ({ role: str(entry["role"]), hash: str(entry["hash"]) })),
    requestOnly: objs(at(value, "messages", "requestOnly")),
    toolNames: texts(at(value, "tools", "names")),
    schemaHashes: texts(at(value, "tools", "schemaHashes")),
    forced: str(at(value, "tools", "forced")),
    withheld: str(at(value, "tools", "withheld")),
    cacheStrategy: at(value, "cache", "strategy"),
    params: isObj(params) ? params : {},
    omitted: typeof omitted === "number" ? omitted : 0,
  };
}

export const check = (receipt: Receipt | undefined, hash: string | undefined, content: string): Check => {
  if (!receipt || !receipt.runId || !hash) return "cannot-say";
  return receiptHash(receipt.runId, content) === hash ? "verified" : "mismatch";
};
