import { describe, expect, test } from "vitest";

import { completions } from "../src/query/complete";
import { formatQuery, parseQuery, QuerySyntaxError } from "../src/query/text";
import lines from "./queryLines.json";

// The same lines are read by the command line's parser in tests/unit/test_ui_client.py.
describe("a line is read as the command line reads it", () => {
  test.each(lines.read as [string, [string, string, unknown][]][])("%s", (line, wanted) => {
    expect(parseQuery(line).map(({ field, type, value }) => [field, type, value ?? null])).toEqual(wanted);
    expect(parseQuery(formatQuery(parseQuery(line)))).toEqual(parseQuery(line));
  });

  test.each(lines.refused as [string, number][])("%s is refused at %i", (line, position) => {
    expect(() => parseQuery(line)).toThrow(QuerySyntaxError);
    try {
      parseQuery(line);
    } catch (error) {
      expect((error as QuerySyntaxError).position + 1).toBe(position);
    }
  });
});

test("a line is completed where something is due", () => {
  const keys = ["owner", "tier", "cost centre"];
  expect(completions("", keys)).toEqual(["owner ", "tier ", '"cost centre" ']);
  expect(completions("ow", keys)).toEqual(["owner "]);
  expect(completions("tier = 1 and ", keys)).toContain("tier = 1 and owner ");
  expect(completions("owner ", keys)).toContain("owner = ");
  expect(completions("owner = d", keys)).toEqual([]);
});
