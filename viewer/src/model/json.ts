// Careful reading of values whose shape nobody promised.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Obj = { [key: string]: Json };

export const isObj = (value: unknown): value is Obj =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A field of an object, own properties only: `__proto__` and `toString` are keys like any other. */
export const get = (value: unknown, key: string): Json | undefined =>
  isObj(value) && Object.hasOwn(value, key) ? value[key] : undefined;

export const at = (value: unknown, ...path: string[]): Json | undefined => {
  let here: unknown = value;
  for (const key of path) here = get(here, key);
  return here as Json | undefined;
};

export const str = (value: unknown): string => (typeof value === "string" ? value : "");
export const num = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;
export const arr = (value: unknown): Json[] => (Array.isArray(value) ? value : []);
export const objs = (value: unknown): Obj[] => arr(value).filter(isObj);

/** Sets an own property even when it is called `__proto__`. */
export const put = (target: Obj, key: string, value: Json): void => {
  if (key === "__proto__")
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
};

/** A shallow copy that keeps every own key, `__proto__` included. */
export const copy = (source: Obj): Obj => {
  const out: Obj = {};
  for (const key of Object.keys(source)) put(out, key, source[key] as Json);
  return out;
};

/** Deep equality, the order of keys aside. */
export function same(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => same(item, b[index]));
  if (isObj(a) && isObj(b)) {
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
  }
  return false;
}
