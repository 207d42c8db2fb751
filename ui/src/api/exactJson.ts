/**
 * JSON in which a number keeps its digits. The catalogue's numbers are exact at any size, a `number` is not: what it
 * cannot hold becomes an `ExactNumber`, which is shown, compared and sent back as it was written.
 */
export class ExactNumber {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text;
  }
}

type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown;

const keepDigits: Reviver = (_key, value, context) => {
  if (typeof value !== "number" || context?.source === undefined) return value;
  return isExact(value, context.source) ? value : new ExactNumber(context.source);
};

const digitsOf = (text: string): string =>
  text
    .replace(/[eE].*$/, "")
    .replace(/[-.]/g, "")
    .replace(/^0+/, "")
    .replace(/0+$/, "");

const isExact = (value: number, source: string): boolean =>
  Number.isFinite(value) && (Number.isSafeInteger(value) || digitsOf(String(value)) === digitsOf(source));

/** Parses JSON; on a browser whose `JSON.parse` does not show the source, digits beyond a `number` are lost. */
export const parseExact = (text: string): unknown => (JSON.parse as (text: string, reviver: Reviver) => unknown)(text, keepDigits);

/** Writes JSON; the inverse of `parseExact`. */
export const stringifyExact = (value: unknown, indent = 0, depth = 0): string => {
  if (value instanceof ExactNumber) return value.text;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const space = indent > 0 ? " " : "";
  const parts = Array.isArray(value)
    ? value.map((item) => stringifyExact(item, indent, depth + 1))
    : Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(([key, item]) => `${JSON.stringify(key)}:${space}${stringifyExact(item, indent, depth + 1)}`);
  if (parts.length === 0) return open + close;
  if (indent === 0) return open + parts.join(",") + close;
  const pad = "\n" + " ".repeat(indent * (depth + 1));
  return `${open}${pad}${parts.join("," + pad)}\n${" ".repeat(indent * depth)}${close}`;
};
