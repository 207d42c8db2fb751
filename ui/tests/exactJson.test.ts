import { expect, test } from "vitest";

import { parseExact, stringifyExact } from "../src/api/exactJson";

test.each(["12345678901234567890", "0.1000000000000000055511151231257827", "-9007199254740993", "1e400", "1.5", "100", "0", "-0.25", "1e3", "2.50"])(
  "the digits of %s are kept",
  (text) => {
    const written = stringifyExact(parseExact(`[${text}]`)).slice(1, -1);
    expect([text, String(Number(text))]).toContain(written);
    if (String(Number(text)).replace(/\D/g, "").length >= 16 || !Number.isFinite(Number(text))) expect(written).toBe(text);
  },
);

test("all else is as JSON has it", () => {
  const value = { a: [1, "x\n\"", null, true, {}], b: { c: [] } };
  expect(JSON.parse(stringifyExact(value))).toEqual(value);
  expect(JSON.parse(stringifyExact(value, 2))).toEqual(value);
  expect(stringifyExact(value, 2)).toBe(JSON.stringify(value, null, 2));
  expect(stringifyExact({ gone: undefined, kept: 1 })).toBe('{"kept":1}');
});
